"""Finite MDPs that come with candidates for Q*, for searches among functions."""

from __future__ import annotations

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.mdps import tables
from unipac.envs.mdps.finite_mdp import FiniteMDP


class CandidateMDP(FiniteMDP):
    """The MDP of `random_candidates`.

    Attributes:
        candidates: N functions with values in [0, 1], (N, H, S, A), read-only; the last one is Q*.

    Example:
        >>> mdp = random_candidates(candidates=4)
        >>> isinstance(mdp, CandidateMDP), mdp.candidates.shape
        (True, (4, 2, 3, 2))
    """

    candidates: Array


def random_candidates(
    n_states: int = 3, n_actions: int = 2, horizon: int = 2, candidates: int = 6, seed: int = 0
) -> CandidateMDP:
    """A random MDP with a list of functions, one of which is its Q*.

    - States: S; the first state of an episode is uniform.
    - Transitions: uniform in the simplex, drawn separately for each stage.
    - Rewards: uniform in [0, 1/H], drawn separately for each stage, so that no return exceeds 1.
    - Candidates: N functions. The last is Q*; the others are larger, min(Q* + U, 1) with U uniform in [0, 1].
    - Optimum: by dynamic programming.

    Args:
        n_states: number S of states.
        n_actions: number A of actions.
        horizon: number H of stages.
        candidates: number N of functions.
        seed: seed of the MDP and of the functions.

    Example:
        >>> mdp = random_candidates()
        >>> mdp, mdp.candidates.shape
        (<random_candidates: 3 states, 2 actions, horizon 2>, (6, 2, 3, 2))
        >>> bool((mdp.candidates[-1] == mdp.optimal_q()).all())
        True
    """
    n_states = check.count("n_states", n_states)
    n_actions = check.count("n_actions", n_actions)
    horizon = check.count("horizon", horizon)
    number = check.count("candidates", candidates)
    rng = np.random.default_rng(check.seed("seed", seed))
    shape = (horizon, n_states, n_actions)
    size = horizon * n_states * n_actions * (n_states + number)
    tables.check_size(size, f"{n_states} states and {number} candidates")
    transitions = rng.dirichlet(np.ones(n_states), size=shape)
    rewards = rng.random(shape) / horizon
    initial = np.full(n_states, 1 / n_states)
    mdp = CandidateMDP(transitions, rewards, initial, name="random_candidates")
    truth = mdp.optimal_q()
    more = rng.random((number - 1, *shape))
    functions = np.concatenate([np.minimum(truth + more, 1.0), truth[None]])
    functions.setflags(write=False)
    mdp.candidates = functions
    return mdp
