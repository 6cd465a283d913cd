"""The rounds of one seed of an agent that chooses by the least upper bound of its levels.

The functions of ``bandits.levelled`` and ``linalg`` do the work; this module has the loop. It first computes the upper
bounds by the outermost level, for four actions at a time. Only an action with the largest of them is evaluated in the
other levels, as in ``linalg.fast.argmax``.
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._constants import NEGLIGIBLE
from unipac._jit import inlined, jit
from unipac.bandits.levelled.confidence import Confidence, set_radii
from unipac.bandits.levelled.kernels import Scratch, certify
from unipac.linalg import ridge
from unipac.linalg.dense import dot
from unipac.linalg.levels import DISJOINT, NESTED, SINGLE, Levels, learn_whole, level_of, open_level
from unipac.many.offers import CLOSE, Room, evaluate_group, hold, offer
from unipac.many.record import Asked, Marks, Told, fresh, mark, tell
from unipac.many.worlds import GROUP, World, fixed_set, noise_of


@inlined
def bound_outer(
    levels: Levels, S: int, world: World, seed: np.uint64, t: int, which: int, kept: bool, room: Room
) -> tuple[float, float, float]:
    """Bound all actions by the outermost level: the largest bound, the second largest, the best reward.

    The first action with the largest bound is left in ``room.x``; bounds and actions are written only if ``kept``.
    """
    n, d = room.bound.size, room.x.size
    beta = levels.beta[S - 1]
    hold(levels.rows, S - 1, room)
    best, second, top = -math.inf, -math.inf, -math.inf
    for first in range(0, n, GROUP):
        offer(world, seed, t, which, first, n, room.group)
        m0, m1, m2, m3, q0, q1, q2, q3 = evaluate_group(levels.rows, S - 1, room)
        for a in range(GROUP):
            k = first + a
            if k < n:
                mean = m0 if a == 0 else m1 if a == 1 else m2 if a == 2 else m3
                width2 = q0 if a == 0 else q1 if a == 1 else q2 if a == 2 else q3
                ucb = mean + beta * math.sqrt(width2)
                top = max(top, dot(world.theta, room.group[a]))
                second = max(second, min(best, ucb))
                if ucb - CLOSE * abs(ucb) > best:
                    best = ucb
                    for j in range(d):
                        room.x[j] = room.group[a, j]
                if kept:
                    room.bound[k] = ucb
                    if room.actions.shape[0] == n:
                        for j in range(d):
                            room.actions[k, j] = room.group[a, j]
    return best, second, top


@inlined
def first_of(bound: Array, best: float) -> int:
    """The first action with the largest bound, which is ``best``."""
    least = best - CLOSE * abs(best)
    k = int(np.int64(0))
    while k < bound.size - 1 and bound[k] < least:
        k += 1
    return k


@inlined
def take(world: World, seed: np.uint64, t: int, which: int, k: int, room: Room) -> None:
    """Copy action k into ``room.x``; it is drawn again if it was not kept."""
    n = room.bound.size
    if room.actions.shape[0] == n:
        for j in range(room.x.size):
            room.x[j] = room.actions[k, j]
    else:
        offer(world, seed, t, which, k // GROUP * GROUP, n, room.group)
        a = k % GROUP
        for j in range(room.x.size):
            even, odd = (
                (room.group[0, j], room.group[1, j]) if a < 2 else (room.group[2, j], room.group[3, j])
            )
            room.x[j] = even if a % 2 == 0 else odd


@inlined
def evaluate_all(levels: Levels, S: int, x: Array, s: Scratch) -> tuple[float, float]:
    """Write the squared width of x in all levels; returns its least upper and greatest lower bound."""
    ucb, lcb = math.inf, -math.inf
    for i in range(S):
        mean, s.width2[i] = ridge.evaluate(levels.rows[i], x)
        bonus = levels.beta[i] * math.sqrt(s.width2[i])
        ucb, lcb = min(ucb, mean + bonus), max(lcb, mean - bonus)
    return ucb, lcb


@inlined
def race(
    levels: Levels, S: int, world: World, seed: np.uint64, t: int, which: int, room: Room, s: Scratch
) -> tuple[float, float]:
    """Bounds of the first action with the largest least upper bound; it is left in ``room.x``, its widths in ``s``."""
    while True:
        best = room.bound[0]
        for i in range(1, room.bound.size):
            best = max(best, room.bound[i])
        k = first_of(room.bound, best)
        take(world, seed, t, which, k, room)
        ucb, lcb = evaluate_all(levels, S, room.x, s)
        if ucb >= room.bound[k] - CLOSE * abs(room.bound[k]):
            return ucb, lcb
        room.bound[k] = ucb


@inlined
def choose(
    levels: Levels, S: int, rule: int, world: World, seed: np.uint64, t: int, room: Room, s: Scratch
) -> tuple[float, float, float]:
    """Choose as ``race`` does; returns the bounds of the chosen action, and the best reward.

    The outermost of nested levels has all data. Its favourite is the choice in 998 of 1,000 rounds, so bounds and
    actions are not kept at first: they would have to be written to memory that is slow on a GPU.
    """
    which = fixed_set(world, t)
    kept = rule == DISJOINT
    while True:
        best, second, top = bound_outer(levels, S, world, seed, t, which, kept, room)
        if kept:
            ucb, lcb = race(levels, S, world, seed, t, which, room, s)
            return ucb, lcb, top
        ucb, lcb = evaluate_all(levels, S, room.x, s)
        if ucb > second + CLOSE * abs(ucb) or ucb >= best - CLOSE * abs(best):
            return ucb, lcb, top
        kept = True


@inlined
def certified(confidence: Confidence, ucb: float, lcb: float) -> tuple[float, bool]:
    """The certificate of the action with the largest upper bound, and whether its bounds are refuted."""
    high = min(ucb, confidence.high)
    return certify(confidence, high, high, max(lcb, confidence.low))


@inlined
def learn_once(
    levels: Levels, S: int, confidence: Confidence, x: Array, y: float, theta: Array, s: Scratch
) -> tuple[int, bool]:
    """As ``levelled.kernels.learn`` for one round; returns the number of levels, and whether θ is outside of a set.

    Only sets that change are checked. Threads of a GPU go through the levels side by side, and the distance to θ is
    computed while a level is in the cache.
    """
    if ridge.squared_norm(x) < (NEGLIGIBLE * confidence.action_norm) ** 2:
        return S, False
    once = int(np.int64(1))
    rule, lam = confidence.rule, confidence.regularization
    level = once if rule == SINGLE else level_of(s.width2, S)
    S_after = max(level, S)
    if level > S:
        open_level(levels.rows, levels.logdet, levels.rotations, level, rule, lam)
        s.width2[level - 1] = s.width2[level - 2] if rule == NESTED else ridge.squared_norm(x) / lam
    last = S_after if rule == NESTED else level
    changed = min(level, S)
    for j in range(once, S_after + 1):
        if level <= j <= last:
            learn_whole(levels, j - 1, x, y, 1.0, lam, s.below)
        if j >= changed:
            s.means[j - 1] = ridge.distance(levels.rows[j - 1], theta)
    levels.size[level - 1] += 1
    set_radii(levels, confidence, changed, S_after)
    outside = False
    for i in range(S_after):
        if i >= changed - 1:
            outside |= not s.means[i] <= levels.beta[i]
    return S_after, outside


@inlined
def begin(levels: Levels, confidence: Confidence, theta: Array) -> bool:
    """Reset to one level without data; returns whether θ is outside of its set."""
    once = int(np.int64(1))
    for i in range(levels.size.size):
        levels.size[i], levels.rotations[i], levels.logdet[i] = 0, 0, 0.0
    ridge.reset(levels.rows[0], confidence.regularization)
    set_radii(levels, confidence, once, once)
    return not ridge.distance(levels.rows[0], theta) <= levels.beta[0]


@inlined
def decide(
    levels: Levels,
    S: int,
    confidence: Confidence,
    world: World,
    random: np.uint64,
    t: int,
    left: bool,
    marks: Marks,
    asked: Asked,
    told: Told,
    seed: int,
    room: Room,
    s: Scratch,
) -> tuple[Marks, float]:
    """Choose in round t; returns the marks and the reward. The action is left in ``room.x``."""
    ucb, lcb, top = choose(levels, S, confidence.rule, world, random, t, room, s)
    certificate, refuted = certified(confidence, ucb, lcb)
    mean = dot(world.theta, room.x)
    gap = max(top - mean, 0.0)
    marks = mark(marks, asked, told, seed, t, gap, certificate, left, refuted, room.counts)
    return marks, mean + noise_of(world, random, np.uint64(t))


@jit
def play_one(
    key: int,
    seed: int,
    world: World,
    confidence: Confidence,
    asked: Asked,
    levels: Levels,
    s: Scratch,
    room: Room,
    told: Told,
) -> None:
    """Play all rounds of one seed; ``key`` is the seed, ``seed`` its column in the results."""
    random, S = np.uint64(key), int(np.int64(1))
    left, marks = begin(levels, confidence, world.theta), fresh(room.counts)
    for t in range(asked.rounds):
        marks, y = decide(levels, S, confidence, world, random, t, left, marks, asked, told, seed, room, s)
        S, left = learn_once(levels, S, confidence, room.x, y, world.theta, s)
    tell(marks, told, seed, S, room.counts)
