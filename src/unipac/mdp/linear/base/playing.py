"""Whole episodes of UPACLSVI in compiled code: the same numbers as the loop of ``_plan`` and ``_learn``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac._jit import jit
from unipac.envs.planning import level_values_into, stage_entry
from unipac.envs.simulation import World, reward_of, sample
from unipac.mdp.linear.base.lsvi import FRESH, STALE, State, has_room, learn, plan
from unipac.mdp.linear.base.value_bounds import Rules

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@jit
def play(
    state: State,
    rules: Rules,
    world: World,
    starts: Integers,
    uniforms: Array,
    first: int,
    out: Array,
    fresh: NDArray[np.bool_],
) -> int:
    """Episodes from ``first`` on, until there is no room for another; returns the next one.

    ``out`` (4, K): gap, reward, bound, certificate; ``fresh`` (K,): whether there was a new plan.
    """
    H, n_states = state.action.shape
    values, no_level = np.zeros((H + 1, 1, n_states)), np.zeros((H, 1, n_states), dtype=np.int64)
    states, actions, following = np.empty((3, H), dtype=np.int64)
    rewards = np.empty(H)
    for k in range(first, starts.size):
        if not has_room(state.data, H):
            return k
        if state.age[0] == STALE:
            plan(state, rules)
        fresh[k] = state.age[0] == FRESH
        if fresh[k] or k == first:
            action = state.action.reshape((H, 1, n_states))
            level_values_into(world.tables, world.rewards, action, no_level, H, values, world.reach)
        s = starts[k]
        out[0, k] = world.optimal[s] - values[0, 0, s]
        out[2, k], out[3, k] = state.bound[s], state.bound[s] - state.lower[s]
        for h in range(H):
            a = state.action[h, s]
            t = sample(world.cumulative[stage_entry(world.cumulative.shape[0], h), s, a], uniforms[k, h])
            states[h], actions[h], following[h], rewards[h] = s, a, t, reward_of(world, h, s, a, t)
            s = t
        out[1, k] = rewards.sum()
        learn(state, rules, states, actions, rewards, following)
    return starts.size
