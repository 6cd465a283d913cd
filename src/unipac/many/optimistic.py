"""The rounds of one seed of an agent that chooses by the least upper bound of its levels.

All that the agent does is done by the functions of ``bandits.levelled`` and ``linalg``; here is the loop. Upper bounds
by the outermost level come first, for four actions at a time. Only an action that has the largest of them is evaluated
in the other levels, as in ``linalg.fast.argmax``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.levelled.confidence import Confidence, set_radii
from unipac.bandits.levelled.kernels import Scratch, learn, verdict
from unipac.linalg import ridge
from unipac.linalg.levels import Levels
from unipac.many.offers import CLOSE, SMALL, evaluate_group, hold, offer
from unipac.many.record import Asked, Told, fresh, mark, tell
from unipac.many.worlds import GROUP, World, dot, fixed_set, noise_of


class Room(NamedTuple):
    """Scratch memory of one seed."""

    actions: Array
    """(n, d); or (1, d), if actions are not kept but drawn again."""
    group: Array
    """(4, d)."""
    factor: Array
    """(d, d + 2), or (1, 3) if d is large."""
    bound: Array
    """(n,): upper bounds."""
    x: Array
    """(d,): the action chosen."""
    counts: NDArray[np.int64]
    """(E,)."""


@inlined
def bound_outer(
    levels: Levels, S: int, world: World, seed: np.uint64, t: int, which: int, room: Room
) -> tuple[float, float]:
    """Write the upper bounds of all actions by the outermost level; the largest, and the best reward."""
    n = room.bound.size
    beta = levels.beta[S - 1]
    factor = levels.rows[S - 1]
    if levels.rows.shape[1] <= SMALL:
        hold(levels.rows, S - 1, room.factor)
        factor = room.factor
    best, top = -math.inf, -math.inf
    for first in range(0, n, GROUP):
        offer(world, seed, t, which, first, n, room.group, room.actions)
        m0, m1, m2, m3, q0, q1, q2, q3 = evaluate_group(factor, room.group)
        for a in range(GROUP):
            k = first + a
            if k < n:
                mean = m0 if a == 0 else m1 if a == 1 else m2 if a == 2 else m3
                width2 = q0 if a == 0 else q1 if a == 1 else q2 if a == 2 else q3
                ucb = mean + beta * math.sqrt(width2)
                room.bound[k] = ucb
                best = max(best, ucb)
                top = max(top, dot(room.group[a], world.theta))
    return best, top


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
    """Copy action k; it is drawn again if it was not kept."""
    n = room.bound.size
    if room.actions.shape[0] == n:
        for j in range(room.x.size):
            room.x[j] = room.actions[k, j]
    else:
        offer(world, seed, t, which, k // GROUP * GROUP, n, room.group, room.actions)
        a = k % GROUP
        for j in range(room.x.size):
            even, odd = (
                (room.group[0, j], room.group[1, j]) if a < 2 else (room.group[2, j], room.group[3, j])
            )
            room.x[j] = even if a % 2 == 0 else odd


@inlined
def race(
    levels: Levels,
    S: int,
    world: World,
    seed: np.uint64,
    t: int,
    which: int,
    best: float,
    room: Room,
    s: Scratch,
) -> int:
    """The first action with the largest least upper bound; it is in ``room.x``, its values by level in s."""
    while True:
        k = first_of(room.bound, best)
        take(world, seed, t, which, k, room)
        value = math.inf
        for i in range(S):
            s.means[i], s.width2[i] = ridge.evaluate(levels.rows[i], room.x)
            value = min(value, s.means[i] + levels.beta[i] * math.sqrt(s.width2[i]))
        if value >= room.bound[k] - CLOSE * abs(room.bound[k]):
            return k
        room.bound[k] = value
        best = value
        for i in range(room.bound.size):
            best = max(best, room.bound[i])


@inlined
def outside(levels: Levels, changed: int, S: int, theta: Array) -> bool:
    """Whether θ is outside of a set from level ``changed`` on; 0: none has changed."""
    found = False
    if changed > 0:
        for i in range(changed - 1, S):
            found |= not ridge.distance(levels.rows[i], theta) <= levels.beta[i]
    return found


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
    """All rounds of one seed; ``key`` is the seed, and its column in what is told is ``seed``."""
    once = int(np.int64(1))
    random = np.uint64(key)
    for i in range(levels.size.size):
        levels.size[i], levels.rotations[i], levels.logdet[i] = 0, 0, 0.0
    ridge.reset(levels.rows[0], confidence.regularization)
    S, changed = once, once
    set_radii(levels, confidence, once, once)
    marks = fresh(room.counts)
    for t in range(asked.rounds):
        left = outside(levels, changed, S, world.theta)
        which = fixed_set(world, t)
        best, top = bound_outer(levels, S, world, random, t, which, room)
        k = race(levels, S, world, random, t, which, best, room, s)
        choice = verdict(levels, S, confidence, k, -math.inf, s.means, s.width2)
        mean = dot(room.x, world.theta)
        gap = max(top - mean, 0.0)
        marks = mark(marks, asked, told, seed, t, gap, choice.certificate, left, choice.refuted, room.counts)
        y = mean + noise_of(world, random, np.uint64(t))
        lowest, S_after = learn(levels, S, confidence, room.x, y, once, s)
        changed, S = min(lowest, S), S_after
    tell(marks, told, seed, S, room.counts)
