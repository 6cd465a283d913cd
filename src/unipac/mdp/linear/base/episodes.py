"""Compiled episodes of the agents that count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import jit
from unipac.linalg.levels import NESTED, SINGLE
from unipac.mdp.linear.base import backward, counted
from unipac.mdp.linear.base.backward import Plan
from unipac.mdp.linear.base.counted import Counted
from unipac.mdp.linear.base.radius import FINITE, FIXED
from unipac.theory import mdp_radii, radii

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_finite = jit(mdp_radii._flute_finite)
_mixture = jit(radii._mixture)


class Rules(NamedTuple):
    """The constants of an agent."""

    rule: int
    """SINGLE, DISJOINT or NESTED, as in ``linalg.levels``."""
    kind: int
    """FIXED, FINITE or MIXTURE, as in ``radius``."""
    horizon: int
    regularization: float
    scale: float
    """``bonus_scale``."""
    rise: float
    """Replan when a log det rose by more than this; negative: before every episode."""
    constants: Array
    """(levels, 2): of the radius of each level."""


class World(NamedTuple):
    """A finite MDP, for play."""

    transitions: Array
    """(H, S, A, S)."""
    cumulative: Array
    """(H, S, A, S): sums of the transitions, for sampling."""
    rewards: Array
    """(H, S, A)."""
    optimal: Array
    """(S,): V*_1."""


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
            beta = rules.constants[i, 0]
        elif rules.kind == FINITE:
            beta = _finite(data.logdet[h, i], rules.horizon, rules.constants[i, 0], rules.constants[i, 1])
        else:
            delta = rules.constants[i, 0]
            beta = rules.horizon * _mixture(data.logdet[h, i], delta, 1.0, 1.0, rules.regularization)
        data.beta[h, i] = rules.scale * beta


@jit
def prepare(data: Counted, plan: Plan, rules: Rules, S: int, dirty: Integers) -> bool:
    """Plan anew before an episode if it is time to; returns whether it was."""
    stale = rules.rise < 0.0 or plan.due[0] or backward.is_outdated(data, plan, S, rules.rise)
    if stale:
        backward.backward(data, plan, S, dirty)
    return stale


@jit
def choose(data: Counted, plan: Plan, rules: Rules, h: int, s: int, previous: int) -> tuple[int, int]:
    """The action at entry h and the level of the stage, given that of the stage before (lines 16-22)."""
    if rules.rule == SINGLE:
        return plan.action[h, 0, s], 1
    a = plan.action[h, max(1, previous - 1) - 1, s]
    return a, min(data.first[h, s, a], previous)


@jit
def learn(
    data: Counted,
    rules: Rules,
    S: int,
    dirty: Integers,
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
    counted.learn(data, h, level, used, rules.rule, s, a, reward, following, below)
    set_radii(data, rules, h, level, used if rules.rule == NESTED else level)
    dirty[h] = min(dirty[h], level)
    return used, counted.find_first(data, h, used)


@jit
def play(
    data: Counted,
    plan: Plan,
    rules: Rules,
    world: World,
    starts: Integers,
    uniforms: Array,
    dirty: Integers,
    record: Record,
) -> int:
    """Episodes from the states ``starts``, with uniforms (K, H) for the transitions.

    Returns how many episodes were played before the stack was full.
    """
    K: int = uniforms.shape[0]
    H = rules.horizon
    capacity = data.size.shape[1]
    below = np.empty(data.features.shape[2] + 2)
    S = counted.top(data)
    single = rules.rule == SINGLE
    changed = H
    for k in range(K):
        if not single and capacity <= S:
            return k
        levels = 1 if single else S + 1
        record.replanned[k] = prepare(data, plan, rules, S, dirty)
        if record.replanned[k]:
            changed = H
        if changed > 0:
            backward.evaluate(data, plan, levels, world.transitions, world.rewards, changed)
        changed = 0
        s = starts[k]
        record.gap[k] = world.optimal[s] - plan.value[0, levels - 1, s]
        record.bound[k] = plan.V[0, S - 1, s]
        previous = S + 1
        used = S
        total = 0.0
        for h in range(H):
            a, level = choose(data, plan, rules, h, s, previous)
            following = _sample(world.cumulative[h, s, a], uniforms[k, h])
            reward = world.rewards[h, s, a]
            used, passes_more = learn(data, rules, used, dirty, h, level, s, a, reward, following, below)
            if passes_more:
                changed = h + 1
            record.level[k, h] = level
            total += reward
            previous = level
            s = following
        record.reward[k] = total
        if used > S:
            S = end_with_new_level(data, plan, used)
    return K


@jit
def end_with_new_level(data: Counted, plan: Plan, used: int) -> int:
    """After an episode in which stage 1 opened a level: the new S (line 25)."""
    plan.due[0] = True
    for h in range(plan.cap.size):
        counted.find_first(data, h, used)
    return used


@jit
def _sample(cumulative: Array, uniform: float) -> int:
    """The first state whose cumulative probability exceeds the uniform number."""
    s: int = 0
    while s < cumulative.size - 1 and uniform >= cumulative[s]:
        s += 1
    return s
