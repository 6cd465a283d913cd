"""Episodes of a finite MDP: their random numbers, and what happens when a policy is played.

Episode k uses row k mod 1024 of the random numbers of block k // 1024: the first one for the first state, one
for each transition. So it is a function of (seed, k), whatever was played before.

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
"""Episodes whose random numbers are drawn at once."""

_FEW = 32  # states among which the next one is found by going through them; else by halving


class World(NamedTuple):
    """A finite MDP for kernels, in writable arrays in C order; nobody writes to them.

    T is the number of stages H, or 1 where one table serves all of them, for each array by itself.
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
    """(T, S, A, S): rewards by next state; (0, 0, 0, 0) where they do not depend on it."""
    optimal: Array
    """(S,): V*_1."""
    terminal: NDArray[np.bool_]
    """(S,): states that end an episode."""


_worlds: WeakKeyDictionary[FiniteMDP, World] = WeakKeyDictionary()


def world_of(mdp: FiniteMDP) -> World:
    """The MDP for kernels; made once for each object and kept as long as it."""
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
        entropy, key = check.count("seed", seed, least=0), ()
    sequence = np.random.SeedSequence(entropy, spawn_key=(*key, block))
    return np.random.default_rng(sequence).random((EPISODE_BLOCK, 1 + horizon))


def first_states(mdp: FiniteMDP, uniforms: Array) -> Integers:
    """First states for uniform random numbers, (n,) -> (n,)."""
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
    """The reward at stage entry h."""
    reward: float
    if world.arrivals.shape[0] == 0:
        reward = world.rewards[stage_entry(world.rewards.shape[0], h), s, a]
    else:
        reward = world.arrivals[stage_entry(world.arrivals.shape[0], h), s, a, following]
    return reward


@jit
def simulate(
    world: World, action: Integers, level: Integers, start: int, uniforms: Array
) -> tuple[Integers, Integers, Integers, Array, Integers]:
    """One episode from state ``start``: state, action, level, reward and next state of each stage, (n,).

    n = H unless a terminal state ends the episode: then n is the stage of the last action, and the next
    state is -1 there. ``action`` and ``level`` are (H, P, S) by level p of the stage before, as in
    ``planning``; the first stage has p = P - 1. ``uniforms`` (H,) decide the transitions.
    """
    horizon, n_levels, _ = action.shape
    states, actions, levels, followings = np.empty((4, horizon), dtype=np.int64)
    rewards = np.empty(horizon)
    s, p, n = start, n_levels - 1, horizon
    for h in range(horizon):
        a = action[h, p, s]
        p = level[h, p, s]
        t = sample(world.cumulative[stage_entry(world.cumulative.shape[0], h), s, a], uniforms[h])
        states[h], actions[h], levels[h], followings[h] = s, a, p, t
        rewards[h] = reward_of(world, h, s, a, t)
        if world.terminal[t]:
            followings[h] = -1
            n = h + 1
            break
        s = t
    return states[:n], actions[:n], levels[:n], rewards[:n], followings[:n]
