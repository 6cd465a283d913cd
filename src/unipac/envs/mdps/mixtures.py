"""Named linear mixture MDPs. States and actions are numbered from 0, stages from 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.mdps import tables
from unipac.envs.mdps.factories import ForcedFirst, river_swim
from unipac.envs.mdps.mixture_mdp import MixtureMDP, model_ensemble


def mixture_swim(n_states: int = 4, horizon: int = 8) -> MixtureMDP:
    """RiverSwim in which the swimmer may be confused: a mixture of four known kernels.

    - States, actions and rewards: those of `river_swim`; every episode starts in state 0.
    - Kernels: RiverSwim, RiverSwim with left and right exchanged, no move, back to state 0.
    - Weights: θ = (0.8, 0.1, 0.05, 0.05) at all stages.
    - Features: φ(s, a, s') lists the four probabilities, d = 4.
    - Optimum: by dynamic programming; for 4 states and H = 8, V*_1(0) = 0.605.

    Args:
        n_states: number of states, at least 2.
        horizon: number H of stages.

    Example:
        >>> mixture_swim().optimal_value()[0].round(3)
        np.float64(0.605)
    """
    river = river_swim(n_states, horizon)
    swim = river.tables[0]
    stay, reset = np.zeros_like(swim), np.zeros_like(swim)
    stay[np.arange(n_states), :, np.arange(n_states)] = 1.0
    reset[..., 0] = 1.0
    features = model_ensemble(np.stack([swim, swim[:, ::-1], stay, reset]))
    weights = [0.8, 0.1, 0.05, 0.05]
    return MixtureMDP(features, weights, river.reward_tables[0], horizon=horizon, name="mixture_swim")


def random_mixture(
    n_states: int = 8,
    n_actions: int = 3,
    dim: int = 4,
    horizon: int = 5,
    seed: int = 0,
    homogeneous: bool = False,
) -> MixtureMDP:
    """A mixture of random kernels with random weights.

    - States: S; the first state of an episode is uniform.
    - Kernels: d, with rows uniform in the simplex; φ(s, a, s') lists their probabilities.
    - Weights: uniform in the simplex, drawn separately for each stage unless ``homogeneous``.
    - Rewards: uniform in [0, 1], the same at all stages.
    - Optimum: by dynamic programming.

    Args:
        n_states: number S of states.
        n_actions: number A of actions.
        dim: number d of kernels.
        horizon: number H of stages.
        seed: seed of the MDP.
        homogeneous: whether all stages have the same weights.

    Example:
        >>> random_mixture(n_states=3, n_actions=2, dim=2, horizon=2)
        <random_mixture: 3 states, 2 actions, horizon 2, dimension 2>
    """
    n_states = check.count("n_states", n_states)
    n_actions = check.count("n_actions", n_actions)
    dim = check.count("dim", dim)
    horizon = check.count("horizon", horizon)
    alike = check.flag("homogeneous", homogeneous)
    rng = np.random.default_rng(check.seed("seed", seed))
    tables.check_size((dim + horizon) * n_states**2 * n_actions, f"{n_states} states and {dim} kernels")
    models = rng.dirichlet(np.ones(n_states), size=(dim, n_states, n_actions))
    weights = rng.dirichlet(np.ones(dim), size=1 if alike else horizon)
    rewards = rng.random((n_states, n_actions))
    return MixtureMDP(
        model_ensemble(models),
        weights[0] if alike else weights,
        rewards,
        np.full(n_states, 1 / n_states),
        horizon if alike else None,
        name="random_mixture",
    )


class VTRKiller(ForcedFirst, MixtureMDP):
    """The MDP of `vtr_killer`.

    Attributes:
        forced: number of forced episodes.
        forced_state: 0, where both actions are the good one.
        choice_state: 1, where action 0 is the good one and action 1 the bad one.

    Example:
        >>> mdp = vtr_killer(forced=10)
        >>> isinstance(mdp, VTRKiller), mdp.forced, mdp.forced_state, mdp.choice_state
        (True, 10, 0, 1)
    """

    def forced_episode(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Array, Array]:
        """The mean of many forced episodes, for ``agent.absorb``: next states are given as probabilities.

        The second stage carries no information and is left out.
        """
        one = np.zeros(1, dtype=np.int64)
        return one, one, one, np.zeros(1), self.tables[0, self.forced_state, :1].copy()


def vtr_killer(forced: int = 1000) -> VTRKiller:
    """The MDP on which UCRL-VTR fails: many episodes with data in one direction, then a choice of two.

    - States: 0 is ``forced_state``, 1 is ``choice_state``, where episodes start by default, 2 is good, 3 bad.
    - Actions: 2. The good one leads to state 2 or 3 with probability 1/2 each, the bad one to state 3. In the
      forced state both actions are the good one; in the choice state only action 0 is.
    - Features, d = 3: φ(s, a, good) = e_a, φ(s, a, bad) = e_3 - e_a, with a = 1 for the good action and 2 for the
      bad one, and θ = (1/2, 0, 1), whose norm is 1.118. From states 2 and 3 the next one is 3, φ = e_3.
    - Horizon: 2. Rewards: 1 in state 2 at stage 2, else 0.
    - Optimum: V*_1 = 1/2 in states 0 and 1; the bad action has the gap 1/2.

    V_2 is known, so φ_V is e_1 or e_2, as in the two-armed bandit `killer`. The forced episodes can be absorbed
    in one step, with their next states at the mean::

        mdp = vtr_killer()
        agent.absorb(mdp.forced_episode(), times=10**12)

    Args:
        forced: number of episodes that ``initial_states`` starts in the forced state.

    Example:
        >>> mdp = vtr_killer()
        >>> mdp.optimal_q()[0, mdp.choice_state]
        array([0.5, 0. ])
    """
    forced = check.count("forced", forced, least=0)
    features = np.zeros((4, 2, 4, 3))
    for state, action, arm in ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)):
        features[state, action, 2, arm] = 1.0
        features[state, action, 3, arm] = -1.0
        features[state, action, 3, 2] = 1.0
    features[2:, :, 3, 2] = 1.0
    rewards = np.zeros((2, 4, 2))
    rewards[1, 2] = 1.0
    mdp = VTRKiller(features, [0.5, 0.0, 1.0], rewards, np.eye(4)[1], horizon=2, name="vtr_killer")
    mdp.forced = forced
    return mdp
