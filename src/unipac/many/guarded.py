"""The rounds of one seed of Guarded over LinUCB with the guard's own regression, without further sets.

Levels and radii are the functions of ``bandits.guarded``; the rest is its ``kernels``: ``guard``, ``pick`` and
``verdict``, with ``ridge.evaluate`` in place of four lanes side by side, which a GPU does not have.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.guarded.kernels import NEVER
from unipac.bandits.guarded.learning import Rules, close, radius_of, set_radii
from unipac.bandits.levelled.kernels import Scratch
from unipac.bandits.protocol.verdict import contradict
from unipac.linalg import ridge
from unipac.linalg.dense import dot
from unipac.linalg.levels import Levels, learn_whole, threshold
from unipac.many.offers import CLOSE, SMALL, Room, evaluate_group, hold, offer
from unipac.many.record import Asked, Told, fresh, mark, tell
from unipac.many.worlds import GROUP, World, fixed_set, noise_of


class Guard(NamedTuple):
    """Further scratch memory, explained in ``bandits.guarded.kernels.Work``."""

    alive: NDArray[np.int64]
    dropped: NDArray[np.int64]
    width2: Array
    means: Array
    all_width2: Array
    difference: Array


@inlined
def look(
    levels: Levels, world: World, seed: np.uint64, t: int, room: Room, held: Guard
) -> tuple[float, float]:
    """Evaluate all actions on all data; returns the largest upper bound and the best reward."""
    n = held.means.size
    which = fixed_set(world, t)
    all_data = int(np.int64(0))
    hold(levels.rows, all_data, room)
    best, top = -math.inf, -math.inf
    for first in range(0, n, GROUP):
        offer(world, seed, t, which, first, n, room.group)
        m0, m1, m2, m3, q0, q1, q2, q3 = evaluate_group(levels.rows, all_data, room)
        for a in range(GROUP):
            k = first + a
            if k < n:
                mean = m0 if a == 0 else m1 if a == 1 else m2 if a == 2 else m3
                width2 = q0 if a == 0 else q1 if a == 1 else q2 if a == 2 else q3
                held.means[k], held.all_width2[k] = mean, width2
                for j in range(room.x.size):
                    room.actions[k, j] = room.group[a, j]
                best = max(best, mean + levels.beta[0] * math.sqrt(width2))
                top = max(top, dot(world.theta, room.group[a]))
    return best, top


@inlined
def subtract(room: Room, held: Guard, a: int, b: int) -> None:
    """Write x_a − x_b."""
    for j in range(held.difference.size):
        held.difference[j] = room.actions[a, j] - room.actions[b, j]


@inlined
def guard(levels: Levels, rules: Rules, closed: int, room: Room, held: Guard) -> tuple[int, int, int, int]:
    """As ``bandits.guarded.kernels.guard`` for linear rewards."""
    n = held.means.size
    count = n
    for i in range(n):
        held.alive[i], held.dropped[i] = i, NEVER
    for level in range(1, closed + 1):
        hold(levels.rows, level, room)
        factor = levels.rows[level]
        if levels.rows.shape[1] <= SMALL:
            factor = room.factor
        best, largest = int(np.int64(0)), -math.inf
        for a in range(count):
            k = held.alive[a]
            mean, held.width2[k] = ridge.evaluate(factor, room.actions[k])
            if mean > largest:
                best, largest = k, mean
        kept = int(np.int64(0))
        widest, wide = best, -1.0
        radius = radius_of(levels, rules, level, 0.0)
        for a in range(count):
            k = held.alive[a]
            subtract(room, held, best, k)
            mean, width2 = ridge.evaluate(factor, held.difference)
            if mean <= radius * math.sqrt(width2):
                held.alive[kept] = k
                kept += 1
                if held.width2[k] > wide:
                    widest, wide = k, held.width2[k]
            else:
                held.dropped[k] = level
        count = kept
        if count == 1:
            return held.alive[0], 0, count, level
        if held.width2[widest] > threshold(level):
            return widest, level, count, level
    return -1, 0, count, closed


@inlined
def pick(alpha: float, count: int, room: Room, held: Guard) -> int:
    """What LinUCB picks from the alive actions; ``CLOSE`` bounds count as equal, and the first action wins."""
    best = -math.inf
    for a in range(count):
        k = held.alive[a]
        room.bound[k] = held.means[k] + alpha * math.sqrt(held.all_width2[k])
        best = max(best, room.bound[k])
    a = int(np.int64(0))
    while room.bound[held.alive[a]] < best - CLOSE * abs(best):
        a += 1
    return int(held.alive[a])


@inlined
def certificate(
    levels: Levels, rules: Rules, best: float, k: int, last: int, room: Room, held: Guard
) -> tuple[float, bool]:
    """The certificate of action k, and whether its bounds are refuted."""
    mean, bonus = held.means[k], levels.beta[0] * math.sqrt(held.all_width2[k])
    reach = rules.norm * rules.action_norm
    ucb, lcb = min(mean + bonus, rules.high), max(mean - bonus, rules.low)
    if contradict(lcb, ucb, reach):
        return math.nan, True
    found = min(max(min(best, rules.high) - lcb, 0.0), 2.0 * reach)
    for level in range(1, last + 1):
        gap = 0.0
        radius = radius_of(levels, rules, level, 0.0)
        for i in range(held.means.size):
            if held.dropped[i] > level and gap < found:
                subtract(room, held, i, k)
                mean, width2 = ridge.evaluate(levels.rows[level], held.difference)
                gap = max(gap, mean + radius * math.sqrt(width2))
        found = min(found, gap)
    return found, False


@inlined
def learn(
    levels: Levels,
    closed: int,
    rounds: int,
    rules: Rules,
    y: float,
    level: int,
    room: Room,
    s: Scratch,
) -> int:
    """As ``bandits.guarded.learning.learn``, for a single round just decided; returns how many levels are closed."""
    first = int(np.int64(0))
    learn_whole(levels, first, room.x, y, 1.0, rules.regularization, s.below)
    set_radii(levels, rules, first, first)
    if level > 0:
        for i in range(level, closed + 1):
            learn_whole(levels, i, room.x, y, 1.0, rules.regularization, s.below)
        levels.size[level] += 1
        set_radii(levels, rules, level, closed)
    levels.size[0] += 1
    return close(levels, closed, rounds + 1, rules)


@inlined
def outside(levels: Levels, changed: int, closed: int, theta: Array) -> bool:
    """Whether θ is outside of the set of all data, or of a closed level from ``changed`` on."""
    found = not ridge.distance(levels.rows[0], theta) <= levels.beta[0]
    for i in range(changed, closed + 1):
        found |= not ridge.distance(levels.rows[i], theta) <= levels.beta[i]
    return found


@jit
def play_one(
    key: int,
    seed: int,
    world: World,
    rules: Rules,
    alpha: float,
    asked: Asked,
    levels: Levels,
    s: Scratch,
    room: Room,
    held: Guard,
    told: Told,
) -> None:
    """Play all rounds of one seed; ``key`` is the seed, ``seed`` its column in the results."""
    once = int(np.int64(1))
    random = np.uint64(key)
    for i in range(levels.size.size):
        levels.size[i], levels.rotations[i], levels.logdet[i] = 0, 0, 0.0
    ridge.reset(levels.rows[0], rules.regularization)
    set_radii(levels, rules, once - 1, once - 1)
    closed = close(levels, once - 1, once - 1, rules)
    changed = once
    marks = fresh(room.counts)
    for t in range(asked.rounds):
        left = outside(levels, changed, closed, world.theta)
        best, top = look(levels, world, random, t, room, held)
        k, level, count, last = guard(levels, rules, closed, room, held)
        if k < 0:
            k = pick(alpha, count, room, held)
        found, refuted = certificate(levels, rules, best, k, last, room, held)
        for j in range(room.x.size):
            room.x[j] = room.actions[k, j]
        mean = dot(world.theta, room.x)
        gap = max(top - mean, 0.0)
        marks = mark(marks, asked, told, seed, t, gap, found, left, refuted, room.counts)
        y = mean + noise_of(world, random, np.uint64(t))
        before = closed
        closed = learn(levels, closed, t, rules, y, level, room, s)
        changed = level if level > 0 else before + 1
    tell(marks, told, seed, closed, room.counts)
