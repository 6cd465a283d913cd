"""Visit counts of many episodes of a finite MDP under one policy, drawn in one step."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac.envs.mdps import planning
from unipac.envs.mdps.finite_mdp import FiniteMDP
from unipac.envs.streams import stream_of

RANDOM = -1
"""Entry of a policy that means: draw the action uniformly."""


def visits(
    mdp: FiniteMDP,
    policy: ArrayLike,
    episodes: int,
    *,
    batch: int = 0,
    seed: int | np.random.SeedSequence = 0,
) -> Integers:
    """How often each step (s, a, s') occurs at each stage in this many episodes.

    Conditional on the number of episodes in each state, the counts of actions and next states are multinomial.
    So the visit counts have their exact distribution, however many episodes there are.

    Args:
        mdp: the MDP.
        policy: the actions, (H, S); for -1 the action is drawn uniformly.
        episodes: number of episodes.
        batch: number of the batch; different batches have different episodes.
        seed: seed of the episodes.

    Returns:
        (H, S, A, S).

    Example:
        >>> from unipac.envs import river_swim
        >>> visits(river_swim(3, 2), [[0, 0, 0], [-1, 0, 0]], 10**12)[0, 0, 0]
        array([1000000000000,             0,             0])
    """
    check.require(isinstance(mdp, FiniteMDP), "mdp", "a FiniteMDP", mdp)
    H, S, A = mdp.rewards_shape
    action = planning.integers("policy", np.asarray(policy) + 1, (H, S), A + 1) - 1
    episodes = check.count("episodes", episodes, least=0)
    rng = stream_of(seed).generator(check.count("batch", batch, least=0))
    counts = np.zeros((H, S, A, S), dtype=np.int64)
    here = rng.multinomial(episodes, _exact(mdp.initial))
    for h in range(H):
        P = mdp.tables[planning.stage_entry(len(mdp.tables), h)]
        chances = np.full((S, A), 1 / A)
        fixed = np.flatnonzero(action[h] != RANDOM)
        chances[fixed] = np.eye(A)[action[h][fixed]]
        counts[h] = rng.multinomial(rng.multinomial(here, chances), _exact(P))
        here = counts[h].sum(axis=(0, 1))
    return counts


def _exact(P: Array) -> Array:
    """The distributions, rescaled so that their sums are as close to 1 as possible."""
    rescaled: Array = P / P.sum(axis=-1, keepdims=True)
    return rescaled


def largest_return(mdp: FiniteMDP) -> float:
    """The largest sum of rewards that is possible in an episode, over all policies and outcomes.

    Example:
        >>> from unipac.envs import river_swim
        >>> largest_return(river_swim(3, 3))
        1.0
    """
    most = np.zeros(mdp.n_states)
    for h in reversed(range(mdp.horizon)):
        P = mdp.tables[planning.stage_entry(len(mdp.tables), h)]
        after = np.where(P > 0, most, -np.inf).max(axis=2)
        if mdp.arrival_rewards is None:
            most = (mdp.reward_tables[planning.stage_entry(len(mdp.reward_tables), h)] + after).max(axis=1)
        else:
            paid = mdp.arrival_rewards[planning.stage_entry(len(mdp.arrival_rewards), h)]
            most = np.where(P > 0, paid + most, -np.inf).max(axis=(1, 2))
    return float(most[mdp.initial > 0].max())
