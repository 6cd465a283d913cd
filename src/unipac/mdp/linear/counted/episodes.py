"""Compiled episodes of the agents that count transitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs.mdps.planning import level_values_into, stage_entry
from unipac.envs.play.simulation import World, reward_of, sample
from unipac.linalg.levels import NESTED, SINGLE
from unipac.mdp.linear.counted import backward, sums as counted
from unipac.mdp.linear.counted.backward import Plan
from unipac.mdp.linear.counted.sums import Counted, Planned
from unipac.mdp.linear.radius import FINITE, FIXED, Rules
from unipac.theory.kernels import flute_finite, mixture


class State(NamedTuple):
    """All that an agent has learned, and its plan."""

    data: Counted
    planned: Planned
    plan: Plan
    """The one that the agent follows."""
    proof: Plan
    """The plan with unscaled radii, from which bounds come; the same arrays as ``plan`` if the scale is 1."""
    dirty: Integers
    """(H,): the lowest level changed since the last plan."""


class Record(NamedTuple):
    """Where ``play`` writes what happened in each of K episodes."""

    gap: Array
    level: Integers
    reward: Array
    bound: Array
    replanned: NDArray[np.bool_]


@jit
def set_radii(data: Counted, rules: Rules, h: int, lowest: int, S: int) -> None:
    """Renew β at entry h for the levels from ``lowest`` to S."""
    for i in range(lowest - 1, S):
        if rules.kind == FIXED:
            beta = rules.constants[i, h, 0]
        elif rules.kind == FINITE:
            span = rules.horizon - 1.0 - h
            beta = flute_finite(data.logdet[h, i], span, rules.constants[i, h, 0], rules.constants[i, h, 1])
        else:
            delta = rules.constants[i, h, 0]
            beta = rules.horizon * mixture(data.logdet[h, i], delta, 1.0, 1.0, rules.regularization)
        data.beta[h, i] = beta


@jit
def is_stale(data: Counted, planned: Planned, plan: Plan, rules: Rules, S: int) -> bool:
    """Whether it is time to plan anew before an episode."""
    return bool(
        rules.rise < 0.0
        or planned.levels[0] < S
        or backward.is_outdated(data.logdet, plan.logdet, S, rules.rise)
    )


@jit
def prepare(state: State, rules: Rules, S: int) -> bool:
    """Plan anew before an episode if the plan is stale; returns whether it was."""
    data, planned, plan, proof, dirty = state
    stale = is_stale(data, planned, plan, rules, S)
    if stale:
        backward.backward(data, plan, S, dirty, rules.scale, rules.centre)
        if rules.scale != 1.0:
            backward.backward(data, proof, S, dirty, 1.0, rules.centre)
        for h in range(rules.horizon):
            counted.keep(data, planned, h, dirty[h], S)
            dirty[h] = S + 1
        planned.levels[0] = S
    return stale


@jit
def learn(
    data: Counted,
    dirty: Integers,
    rules: Rules,
    S: int,
    h: int,
    level: int,
    s: int,
    a: int,
    reward: float,
    following: int,
    below: Array,
) -> tuple[int, bool]:
    """Add a transition (line 23); returns the levels in use and whether some pair now passes more levels.

    If stage 1 opens a level, all stages have it from here on. There must be room for it.
    """
    if h == 0 and level > S:
        for stage in range(rules.horizon):
            counted.open_level(data, stage, level, rules.rule, rules.regularization)
            set_radii(data, rules, stage, level, level)
    used = max(S, level) if h == 0 else S
    paid = reward - rules.centre[h]
    counted.learn(data, h, level, used, rules.rule, rules.regularization, s, a, paid, following, below)
    set_radii(data, rules, h, level, used if rules.rule == NESTED else level)
    dirty[h] = min(dirty[h], level)
    return used, counted.find_first(data, h, used)


@jit
def learn_episode(
    state: State,
    rules: Rules,
    states: Integers,
    actions: Integers,
    levels: Integers,
    rewards: Array,
    following: Integers,
) -> None:
    """Add the transitions of an episode; levels count from 0, as in ``mdp.protocol.plan.Episode``."""
    data = state.data
    below = np.empty(data.features.shape[2] + 2)
    S = counted.top(data)
    used = S
    for h in range(states.size):
        s, a, level, r = states[h], actions[h], levels[h] + 1, rewards[h]
        used, _ = learn(data, state.dirty, rules, used, h, level, s, a, r, following[h], below)
    if used > S:
        end_with_new_level(data, used)


@jit
def end_with_new_level(data: Counted, used: int) -> int:
    """After an episode in which stage 1 opened a level: the new S (line 25)."""
    for h in range(data.size.shape[0]):
        counted.find_first(data, h, used)
    return used


@jit
def play(state: State, rules: Rules, world: World, starts: Integers, uniforms: Array, record: Record) -> int:
    """Play episodes from the states ``starts``, with uniforms (K, H) for the transitions.

    Returns how many episodes were played before the stack was full.
    """
    data, planned, plan, proof, dirty = state
    K: int = uniforms.shape[0]
    H = rules.horizon
    n_states = data.features.shape[0]
    capacity = data.size.shape[1]
    below = np.empty(data.features.shape[2] + 2)
    S = counted.top(data)
    single = rules.rule == SINGLE
    P = 0
    changed = H
    for k in range(K):
        if not single and capacity <= S:
            return k
        record.replanned[k] = is_stale(data, planned, plan, rules, S)
        if record.replanned[k]:
            prepare(state, rules, S)
        if (1 if single else S + 1) != P:
            P = 1 if single else S + 1
            actions = np.empty((H, P, n_states), dtype=np.int64)
            levels = np.empty((H, P, n_states), dtype=np.int64)
            values = np.zeros((H + 1, P, n_states))
            changed = H
        if record.replanned[k]:
            changed = H
        if changed > 0:
            backward.tabulate(data, plan, single, changed, actions, levels)
            level_values_into(world.tables, world.rewards, actions, levels, changed, values, world.reach)
        changed = 0
        s = starts[k]
        record.gap[k] = world.optimal[s] - values[0, P - 1, s]
        record.bound[k] = proof.V[0, S - 1, s]
        p = P - 1
        used = S
        total = 0.0
        for h in range(H):
            a = actions[h, p, s]
            p = levels[h, p, s]
            row = world.cumulative[stage_entry(world.cumulative.shape[0], h), s, a]
            following = sample(row, uniforms[k, h])
            reward = reward_of(world, h, s, a, following)
            record.level[k, h] = p + 1
            over = world.terminal[following]
            learned = -1 if over else following
            used, passes_more = learn(data, dirty, rules, used, h, p + 1, s, a, reward, learned, below)
            if passes_more:
                changed = h + 1
            total += reward
            if over:
                record.level[k, h + 1 :] = 0
                break
            s = following
        record.reward[k] = total
        if used > S:
            S = end_with_new_level(data, used)
    return K
