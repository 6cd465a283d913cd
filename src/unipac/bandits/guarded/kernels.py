"""Compiled rounds of ``Guarded``: levels that close one after the other and watch over a heuristic.

The stack has all data as its first entry and closed level l as entry l, where ``linalg.levels`` counts from 1.

guard     eliminate, and explore what a closed level does not know well enough
pick      what the heuristic would play, if it is a single regression on all data
verdict   what is known of the action chosen
decide    all of these
learn     all data learn every round, closed levels the explored ones; levels close
play      all of it, round after round, if the heuristic is a single regression
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.levelled import kernels as single
from unipac.bandits.levelled.confidence import Confidence, set_radii as set_own_radii
from unipac.bandits.protocol.verdict import contradict
from unipac.linalg import levels as stack, ridge
from unipac.linalg.fast import argmax, simd
from unipac.linalg.fast.evaluate import evaluate_all, four
from unipac.linalg.levels import Levels
from unipac.theory.kernels import level_delta as _level_delta, mixture as _mixture

_learn_level = stack._learn

NEVER = 1 << 40

NARROWER = 1e-6
"""By this relative amount the squared width of an explored round may have become narrower, by rounding alone."""


class Rules(NamedTuple):
    """The constants of a guard, all of them float64."""

    gate: float
    """g d: level l is open for the first g d 4^l rounds."""
    delta: float
    """δ/2: for all data, and shared by the levels."""
    noise: float
    norm: float
    regularization: float
    action_norm: float
    low: float
    high: float


class Work(NamedTuple):
    """Scratch memory for n actions."""

    alive: NDArray[np.int64]
    """(n,): the rows of X that no level has ruled out, in their order."""
    dropped: NDArray[np.int64]
    """(n,): the level that ruled the action out; NEVER if none did."""
    images: Array
    """(C, n, D): Mx of every action still alive, by level, padded with zeros to a multiple of four."""
    outcome: Array
    """(C, D): z of every level, likewise: the estimated reward of x is ⟨Mx, z⟩."""
    width2: Array
    """(n,): squared widths in the level at hand."""
    means: Array
    """(n,): estimated rewards, from all data; what follows, too."""
    all_width2: Array
    radius: Array
    """(1,): of the heuristic."""


def workspace(n: int, d: int, capacity: int) -> Work:
    """Scratch memory, for a stack with room for ``capacity`` entries."""
    D = (d + 3) // 4 * 4
    integers, floats = np.empty((2, n), dtype=np.int64), np.empty((3, n))
    images, outcome = np.zeros((capacity, n, D)), np.zeros((capacity, D))
    return Work(integers[0], integers[1], images, outcome, floats[0], floats[1], floats[2], np.empty(1))


_workspace = jit(workspace)


@jit
def closed_levels(rows: Array) -> int:
    """How many levels are closed: the others have no factor yet."""
    closed = int(np.int64(0))
    while closed + 1 < rows.shape[0] and rows[closed + 1, 0, 1] > 0.0:
        closed += 1
    return closed


@inlined
def guard(levels: Levels, closed: int, X: Array, work: Work) -> tuple[int, int, int, int]:
    """Row to be played, or -1 if the heuristic may pick from ``work.alive``; level; how many; last level used."""
    n, d = X.shape
    count = n
    for i in range(n):
        work.alive[i], work.dropped[i] = i, NEVER
    for level in range(1, closed + 1):
        for j in range(d):
            work.outcome[level, j] = levels.rows[level, j, d + 1]
        best, largest = int(np.int64(0)), -math.inf
        for a in range(count):
            k = work.alive[a]
            mean, work.width2[k] = _image(levels.rows, level, X, k, work)
            if mean > largest:
                best, largest = k, mean
        kept = 0
        widest, wide = best, -1.0
        for a in range(count):  # without branches: which action survives is hard to predict
            k = work.alive[a]
            mean, width2 = _difference(work, level, best, k)
            stays = mean <= levels.beta[level] * math.sqrt(width2)
            work.alive[kept] = k
            kept += stays
            work.dropped[k] = NEVER if stays else level
            wider = stays & (work.width2[k] > wide)
            widest, wide = (k, work.width2[k]) if wider else (widest, wide)
        count = kept
        if count == 1:
            return work.alive[0], 0, count, level
        if work.width2[widest] > stack.threshold(level):
            return widest, level, count, level
    return -1, 0, count, closed


@inlined
def _image(rows: Array, level: int, X: Array, k: int, work: Work) -> tuple[float, float]:
    """Keep u = Mx of row k of X in this level; its mean u·z and squared width u·u."""
    _, d, row = rows.shape
    D = work.images.shape[2]
    x, at, to = k * d, level * d * row, (level * X.shape[0] + k) * D
    i = int(np.int64(0))
    while i + 3 < d:
        simd.store(work.images, to + i, four(rows, at, row, X, x, i))
        i += 4
        at += 4 * row
    while i < d:
        u = 0.0
        for j in range(i + 1):
            u += rows[level, i, j] * X[k, j]
        work.images[level, k, i] = u
        i += 1
    m, q = simd.zero(), simd.zero()
    for j in range(0, D, 4):
        u4 = simd.load(work.images, to + j)
        m += u4 * simd.load(work.outcome, level * D + j)
        q += u4 * u4
    return simd.total(m), simd.total(q)


@inlined
def _difference(work: Work, level: int, a: int, b: int) -> tuple[float, float]:
    """Estimated reward and squared width of x_a − x_b in this level; exactly zero for copies."""
    _, n, D = work.images.shape
    m, q = simd.zero(), simd.zero()
    at, other = (level * n + a) * D, (level * n + b) * D
    for j in range(0, D, 4):
        u = simd.load(work.images, at + j) + simd.load(work.images, other + j) * -1.0
        m += u * simd.load(work.outcome, level * D + j)
        q += u * u
    return simd.total(m), simd.total(q)


@inlined
def look(levels: Levels, X: Array, work: Work) -> None:
    """Evaluate all actions on all data."""
    once = int(np.int64(1))
    evaluate_all(levels.rows, once, once, X, int(np.int64(0)), X.shape[0], work.means, work.all_width2)


@inlined
def pick(levels: Levels, confidence: Confidence, count: int, work: Work) -> int:
    """What a heuristic that is a single regression on all data, with the radius of its own, picks from the alive."""
    own = Levels(levels.rows, levels.logdet, work.radius, levels.size, levels.rotations)
    set_own_radii(own, confidence, int(np.int64(1)), int(np.int64(1)))
    radius = confidence.scale * own.beta[0]
    best, largest = int(np.int64(0)), -math.inf
    for a in range(count):
        k = work.alive[a]
        ucb = work.means[k] + radius * math.sqrt(work.all_width2[k])
        if ucb > largest:
            best, largest = k, ucb
    return best


@inlined
def verdict(
    levels: Levels, rules: Rules, k: int, last: int, work: Work
) -> tuple[float, float, float, float, float, bool]:
    """Mean, width, ucb and lcb in the set of all data, certificate, and whether the bounds are refuted."""
    best = -math.inf
    for i in range(work.means.size):
        best = max(best, work.means[i] + levels.beta[0] * math.sqrt(work.all_width2[i]))
    mean, width = work.means[k], math.sqrt(work.all_width2[k])
    ucb, lcb = min(mean + levels.beta[0] * width, rules.high), max(mean - levels.beta[0] * width, rules.low)
    reach = rules.norm * rules.action_norm
    if contradict(lcb, ucb, reach):
        return mean, width, max(ucb, rules.low), min(lcb, rules.high), math.nan, True
    certificate = min(max(min(best, rules.high) - lcb, 0.0), 2.0 * reach)
    for level in range(1, last + 1):
        gap = 0.0
        for i in range(work.means.size):
            if work.dropped[i] > level:
                m, q = _difference(work, level, i, k)
                gap = max(gap, m + levels.beta[level] * math.sqrt(q))
                if gap >= certificate:
                    break  # nothing new from this level
        certificate = min(certificate, gap)
    return mean, width, max(ucb, rules.low), min(lcb, rules.high), certificate, False


@jit
def look_and_guard(levels: Levels, X: Array, work: Work) -> tuple[int, int, int, int]:
    """As ``guard``, after all actions were evaluated on all data."""
    look(levels, X, work)
    return guard(levels, closed_levels(levels.rows), X, work)


@jit
def decide(
    levels: Levels, rules: Rules, confidence: Confidence, X: Array, work: Work
) -> tuple[int, int, float, float, float, float, float, bool]:
    """Row, level and verdict of a round, if the heuristic is a single regression on all data."""
    look(levels, X, work)
    k, level, count, last = guard(levels, closed_levels(levels.rows), X, work)
    if k < 0:
        k = pick(levels, confidence, count, work)
    mean, width, ucb, lcb, certificate, refuted = verdict(levels, rules, k, last, work)
    return k, level, mean, width, ucb, lcb, certificate, refuted


@jit
def set_radii(levels: Levels, rules: Rules, low: int, high: int) -> None:
    """Renew the radii of the entries from ``low`` to ``high``."""
    for i in range(low, high + 1):
        delta = rules.delta if i == 0 else _level_delta(rules.delta, i)
        levels.beta[i] = _mixture(levels.logdet[i], delta, rules.noise, rules.norm, rules.regularization)


@inlined
def close(levels: Levels, closed: int, rounds: int, rules: Rules) -> int:
    """Close the levels that the next round finds closed: each keeps what all data were; returns how many are."""
    while rounds + 1.0 > rules.gate * 4.0 ** (closed + 1.0):
        closed += 1
        ridge.copy(levels.rows[0], levels.rows[closed])
        levels.logdet[closed], levels.rotations[closed] = levels.logdet[0], levels.rotations[0]
        set_radii(levels, rules, closed, closed)
    return closed


class Scratch(NamedTuple):
    """Room for the values of one action by entry of the stack, and for a rotation."""

    means: Array
    width2: Array
    below: Array


def scratch(capacity: int, d: int) -> Scratch:
    """Scratch memory for a stack."""
    return Scratch(np.empty(capacity), np.empty(capacity), np.empty(d + 2))


_scratch = jit(scratch)


@jit
def learn_one(levels: Levels, rules: Rules, x: Array, y: float, level: int, times: int, s: Scratch) -> None:
    """Learn ``times`` equal rounds that were decided at ``level``; a genuine round never exceeds the closed ones."""
    closed = closed_levels(levels.rows)
    learn(levels, closed, levels.size[0], rules, x, y, min(level, closed), times, math.nan, s)


@inlined
def learn(
    levels: Levels,
    closed: int,
    rounds: int,
    rules: Rules,
    x: Array,
    y: float,
    level: int,
    times: int,
    width2: float,
    s: Scratch,
) -> int:
    """Add ``times`` equal rounds, explored at ``level`` as long as they are wide, else free; how many are closed.

    What is wide is decided here: with late rewards a round may have been wide when it was chosen, and no longer be.

    ``width2`` is the squared width of x on all data, NaN if it is not known.
    """
    first, once = int(np.int64(0)), int(np.int64(1))
    row = x.reshape((1, x.size))
    explored = int(np.int64(0))
    if level > 0:
        evaluate_all(levels.rows, level + 1, level + 1, row, first, once, s.means, s.width2)
        if s.width2[0] >= (1.0 - NARROWER) * 4.0**-level:  # else others were learned since it was chosen
            explored = max(once, stack.share(s.width2[0], level, times))
    while times > 0:
        room = rules.gate * 4.0 ** (closed + 1.0) - rounds
        step = times if room >= times else max(1, math.floor(room))
        if explored > 0 or math.isnan(width2):
            evaluate_all(
                levels.rows, once, closed + 1 if explored > 0 else once, row, first, once, s.means, s.width2
            )
        else:
            s.width2[0] = width2
        width2 = math.nan
        _learn_level(levels, once, x, y, step, s.width2, rules.regularization, s.below)
        set_radii(levels, rules, first, first)
        if explored > 0:
            part = min(step, explored)
            for i in range(level, closed + 1):
                _learn_level(levels, i + 1, x, y, part, s.width2, rules.regularization, s.below)
            levels.size[level] += part
            explored -= part
            set_radii(levels, rules, level, closed)
        levels.size[0] += step
        rounds += step
        times -= step
        closed = close(levels, closed, rounds, rules)
    return closed


@jit
def covers(levels: Levels, closed: int, truth: Array) -> bool:
    """Whether the truth lies in all sets."""
    inside = True
    for i in range(closed + 1):
        inside &= ridge.distance(levels.rows[i], truth) <= levels.beta[i]
    return inside


@jit
def play(
    levels: Levels,
    rules: Rules,
    heuristic: Array,
    shared: bool,
    actions: Array,
    rewards: Array,
    truth: Array,
    refuted: bool,
    record: single.Record,
) -> tuple[int, bool]:
    """Rounds on actions (T, n, d), or (1, n, d), and rewards (T, n): T, and whether bounds are refuted, now or before.

    ``heuristic`` is the memory of one regression; ``shared``: it is the one on all data that the guard has itself.
    """
    inner, confidence = single._unpack(heuristic)
    s = single.scratch(heuristic, inner)
    _, n, d = actions.shape
    once = int(np.int64(1))
    work, own, rows = _workspace(n, d, levels.size.size), _scratch(levels.size.size, d), np.empty((n, d))
    bonus = np.empty(inner.beta.size)
    closed, rounds = closed_levels(levels.rows), levels.size[0]
    for t in range(rewards.shape[0]):
        X = actions[t] if actions.shape[0] > 1 else actions[0]
        if truth.size > 0:
            record.covered[t] = covers(levels, closed, truth)
        look(levels, X, work)
        k, level, count, last = guard(levels, closed, X, work)
        if k < 0 and shared:
            k = pick(levels, confidence, count, work)
        elif k < 0:
            for a in range(count):
                rows[a] = X[work.alive[a]]
            by = single.scaled(inner, once, confidence.scale, bonus)
            room = argmax.workspace(count, d, inner.size.size)
            k = work.alive[argmax.select(by, once, rows[:count], room, s.means, s.width2)]
        _, _, _, _, certificate, wrong = verdict(levels, rules, k, last, work)
        refuted |= wrong
        record.chosen[t], record.level[t] = k, level
        record.certificate[t] = math.nan if refuted else certificate
        record.reward[t] = rewards[t, k]
        x, y = X[k], rewards[t, k]
        closed = learn(levels, closed, rounds, rules, x, y, level, once, work.all_width2[k], own)
        rounds += 1
        if not shared:
            evaluate_all(inner.rows, once, once, X, k, k + 1, s.means, s.width2)
            single.learn(inner, once, confidence, x, y, once, s)
    return rewards.shape[0], refuted
