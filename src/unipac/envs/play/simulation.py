"""Episodes of a finite MDP: their random numbers, and the simulation of a policy.

Episode k uses row k mod 1024 of the random numbers of block k // 1024: the first number for the first state, and
one for each transition. So it depends on (seed, k) and the policy only, not on the episodes before.

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=4)
    >>> uniforms = episode_uniforms(seed=0, block=0, horizon=4)
    >>> start = first_states(mdp, uniforms[:, 0])
    >>> always_right = np.ones((4, 1, 3), dtype=np.int64)  # one level
    >>> no_level = np.zeros((4, 1, 3), dtype=np.int64)
    >>> state, *_ = simulate(world_of(mdp), always_right, no_level, start[7], uniforms[7, 1:])
    >>> state
    array([0, 0, 1, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._jit import inlined, jit
from unipac.envs.mdps.finite_mdp import FiniteMDP
from unipac.envs.mdps.planning import reach_of, stage_entry

EPISODE_BLOCK = 1024
"""Number of episodes whose random numbers are drawn at once."""

_FEW = 32  # up to this many states a linear search is used, beyond it bisection


class World(NamedTuple):
    """A finite MDP for kernels, in C-ordered arrays that are writable but never written to.

    T is the number of stages H, or 1 if one table serves all stages; it may differ between the arrays.
    """

    tables: Array
    """(T, S, A, S): transitions."""
    cumulative: Array
    """(T, S, A, S): sums of the transitions, for sampling."""
    reach: Integers
    """(T, S, A, 2): the first possible next state and one more than the last, for ``level_values_into``."""
    rewards: Array
    """(T, S, A): expected rewards."""
    arrivals: Array
    """(T, S, A, S): rewards by next state; (0, 0, 0, 0) if they do not depend on it."""
    optimal: Array
    """(S,): V*_1."""
    terminal: NDArray[np.bool_]
    """(S,): states that end an episode."""


_worlds: WeakKeyDictionary[FiniteMDP, World] = WeakKeyDictionary()


def world_of(mdp: FiniteMDP) -> World:
    """The MDP in the form for kernels; made once for each MDP object and kept as long as that lives."""
    check.require(isinstance(mdp, FiniteMDP), "mdp", "a FiniteMDP", mdp)
    world = _worlds.get(mdp)
    if world is None:
        arrivals = mdp.arrival_rewards
        world = _worlds[mdp] = World(
            tables=mdp.tables.copy(),
            cumulative=np.cumsum(mdp.tables, axis=3),
            reach=reach_of(mdp.tables),
            rewards=mdp.reward_tables.copy(),
            arrivals=np.empty((0, 0, 0, 0)) if arrivals is None else arrivals.copy(),
            optimal=mdp.optimal_value().copy(),
            terminal=mdp.terminal.copy(),
        )
    return world


def episode_uniforms(seed: int | np.random.SeedSequence, block: int, horizon: int) -> Array:
    """The random numbers of one block of episodes, (1024, 1 + H).

    Example:
        >>> episode_uniforms(seed=3, block=2, horizon=5).shape
        (1024, 6)
    """
    block = check.count("block", block, least=0)
    horizon = check.count("horizon", horizon)
    if isinstance(seed, np.random.SeedSequence):
        entropy: int | Sequence[int] | None = seed.entropy
        key = tuple(seed.spawn_key)
    else:
        entropy, key = check.seed("seed", seed), ()
    sequence = np.random.SeedSequence(entropy, spawn_key=(*key, block))
    return np.random.default_rng(sequence).random((EPISODE_BLOCK, 1 + horizon))


def first_states(mdp: FiniteMDP, uniforms: Array) -> Integers:
    """First states that uniform random numbers select, (n,) -> (n,)."""
    drawn = np.searchsorted(np.cumsum(mdp.initial), uniforms, side="right")
    return np.asarray(np.minimum(drawn, mdp.n_states - 1), dtype=np.int64)


@jit
def sample(cumulative: Array, uniform: float) -> int:
    """The first state whose cumulative probability exceeds the uniform number."""
    first, last = 0, cumulative.size - 1
    if last < _FEW:
        while first < last and uniform >= cumulative[first]:
            first += 1
        return first
    while first < last:
        middle = (first + last) // 2
        if uniform >= cumulative[middle]:
            first = middle + 1
        else:
            last = middle
    return first


@inlined
def reward_of(world: World, h: int, s: int, a: int, following: int) -> float:
    """The reward of (s, a) at stage entry h, with the next state ``following``."""
    reward: float
    if world.arrivals.shape[0] == 0:
        reward = world.rewards[stage_entry(world.rewards.shape[0], h), s, a]
    else:
        reward = world.arrivals[stage_entry(world.arrivals.shape[0], h), s, a, following]
    return reward


def simulate(
    world: World, action: Integers, level: Integers, start: int, uniforms: Array
) -> tuple[Integers, Integers, Integers, Array, Integers]:
    """One episode from state ``start``: state, action, level, reward and next state of each stage, (n,).

    n = H unless a terminal state ends the episode: then n is the stage of the last action, whose next
    state is recorded as -1. ``action`` and ``level`` are (H, P, S), where p is the level of the stage before,
    as in ``planning``; the first stage has p = P - 1. ``uniforms`` (H,) determine the transitions.
    """
    steps, rewards = np.empty((4, len(action)), dtype=np.int64), np.empty(len(action))
    n = _simulate(world, action, level, start, uniforms, steps, rewards)
    states, actions, levels, followings = steps[:, :n]
    return states, actions, levels, rewards[:n], followings


@jit
def _simulate(
    world: World,
    action: Integers,
    level: Integers,
    start: int,
    uniforms: Array,
    steps: Integers,
    rewards: Array,
) -> int:
    """As ``simulate``, into ``steps`` (4, H), whose rows are state, action, level and next state; returns n."""
    n_levels: int = action.shape[1]
    horizon: int = action.shape[0]
    states, actions, levels, followings = steps
    s, p, n = start, n_levels - 1, horizon
    for h in range(horizon):
        a = action[h, p, s]
        p = level[h, p, s]
        t = sample(world.cumulative[stage_entry(world.cumulative.shape[0], h), s, a], uniforms[h])
        states[h], actions[h], levels[h], followings[h] = s, a, p, t
        rewards[h] = reward_of(world, h, s, a, t)
        if world.terminal[t]:
            followings[h] = -1
            return h + 1
        s = t
    return n
