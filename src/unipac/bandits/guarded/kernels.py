"""Compiled rounds of ``Guarded``: levels that close one after the other and watch over a heuristic.

guard     eliminate actions, and explore those that a closed level does not know well enough
pick      the choice of a heuristic that is a single regression on all data
verdict   mean, bounds and certificate of the chosen action
decide    all of these
play      many rounds, if the heuristic is a single regression
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.guarded.learning import Rules, _scratch, closed_levels, covers, learn, radius_of
from unipac.bandits.levelled import kernels as single
from unipac.bandits.levelled.confidence import Confidence, set_radii as set_own_radii
from unipac.bandits.protocol.verdict import contradict
from unipac.bandits.sets import kernels as tight, memory
from unipac.bandits.sets.certify import certificate as tight_certificate, interval, move_on
from unipac.bandits.sets.learning import covers as covered_by_sets, learn as learn_sets
from unipac.bandits.sets.weighted import learn as learn_weighted
from unipac.linalg import levels as stack
from unipac.linalg.blocks import block_of
from unipac.linalg.fast import argmax, simd
from unipac.linalg.fast.evaluate import evaluate_all, evaluate_sparse, four
from unipac.linalg.levels import Levels

NEVER = 1 << 40


class Work(NamedTuple):
    """Scratch memory for n actions."""

    alive: NDArray[np.int64]
    """(n,): the rows of X that no level has ruled out, in their order."""
    dropped: NDArray[np.int64]
    """(n,): the level that ruled the action out; NEVER if none did."""
    block: NDArray[np.int64]
    """(n,): the block of the action."""
    images: Array
    """(C, n, D): Mx of every action still alive, in its block, by level, padded with zeros to a multiple of four."""
    outcome: Array
    """(C, m, D): z of every level and block, likewise: the estimated reward of x is ⟨Mx, z⟩."""
    width2: Array
    """(n,): squared widths in the level at hand."""
    means: Array
    """(n,): estimated rewards from all data."""
    all_width2: Array
    radius: Array
    """(1,): the radius of the heuristic."""


def workspace(n: int, rows: Array) -> Work:
    """Scratch memory for n actions, for a stack with these factors."""
    capacity, d, columns = rows.shape
    m, D = d // (columns - 2), (columns + 1) // 4 * 4
    integers, floats = np.empty((3, n), dtype=np.int64), np.empty((3, n))
    images, outcome = np.zeros((capacity, n, D)), np.zeros((capacity, m, D))
    values = floats[0], floats[1], floats[2]
    return Work(integers[0], integers[1], integers[2], images, outcome, *values, np.empty(1))


_workspace = jit(workspace)


@inlined
def guard(
    levels: Levels, rules: Rules, zeta: float, closed: int, X: Array, work: Work
) -> tuple[int, int, int, int]:
    """The row to play, or -1 if the heuristic may pick; its level; how many are ``work.alive``; the last level used.

    If rewards are linear only within ζ, an action is ruled out only if it is worse by more than 2ζ.
    """
    n = X.shape[0]
    m, width = work.outcome.shape[1], levels.rows.shape[2] - 2
    count = n
    for i in range(n):
        work.alive[i], work.dropped[i] = i, NEVER
    if m > 1:
        for i in range(n):
            work.block[i] = block_of(X, i, width)
    for level in range(1, closed + 1):
        for b in range(m):
            for j in range(width):
                work.outcome[level, b, j] = levels.rows[level, b * width + j, width + 1]
        best, largest = int(np.int64(0)), -math.inf
        for a in range(count):
            k = work.alive[a]
            mean, work.width2[k] = _image(levels.rows, level, X, k, work)
            if mean > largest:
                best, largest = k, mean
        kept = 0
        widest, wide = best, -1.0
        radius = radius_of(levels, rules, level, zeta)
        for a in range(count):  # without branches, as it is hard to predict which action survives
            k = work.alive[a]
            mean, width2 = _difference(work, level, best, k)
            stays = mean <= radius * math.sqrt(width2) + 2.0 * zeta
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
    """Keep u = Mx of row k of X in this level and its block; returns its mean u·z and squared width u·u."""
    _, d, row = rows.shape
    _, m, D = work.outcome.shape
    w, begin, z = row - 2, int(np.int64(0)), level * m * D
    if m > 1:
        begin, z = work.block[k] * w, z + work.block[k] * D
    x, at, to = k * d + begin, (level * d + begin) * row, (level * X.shape[0] + k) * D
    i = int(np.int64(0))
    while i + 3 < w:
        simd.store(work.images, to + i, four(rows, at, row, X, x, i))
        i += 4
        at += 4 * row
    while i < w:
        u = 0.0
        for j in range(i + 1):
            u += rows[level, begin + i, j] * X[k, begin + j]
        work.images[level, k, i] = u
        i += 1
    mean, q = simd.zero(), simd.zero()
    for j in range(0, D, 4):
        u4 = simd.load(work.images, to + j)
        mean += u4 * simd.load(work.outcome, z + j)
        q += u4 * u4
    return simd.total(mean), simd.total(q)


@inlined
def _difference(work: Work, level: int, a: int, b: int) -> tuple[float, float]:
    """Estimated reward and squared width of x_a − x_b in this level; exactly zero for copies."""
    _, n, D = work.images.shape
    m = work.outcome.shape[1]
    z = level * m * D
    if m > 1:
        if work.block[a] != work.block[b]:
            return _across(work, level, a, b)
        z += work.block[a] * D
    mean, q = simd.zero(), simd.zero()
    at, other = (level * n + a) * D, (level * n + b) * D
    for j in range(0, D, 4):
        u = simd.load(work.images, at + j) + simd.load(work.images, other + j) * -1.0
        mean += u * simd.load(work.outcome, z + j)
        q += u * u
    return simd.total(mean), simd.total(q)


@jit
def _across(work: Work, level: int, a: int, b: int) -> tuple[float, float]:
    """The same for actions of two blocks, which are orthogonal in Σ⁻¹."""
    _, n, D = work.images.shape
    m = work.outcome.shape[1]
    at, other = (level * n + a) * D, (level * n + b) * D
    z, other_z = (level * m + work.block[a]) * D, (level * m + work.block[b]) * D
    mean, q = simd.zero(), simd.zero()
    for j in range(0, D, 4):
        u, v = simd.load(work.images, at + j), simd.load(work.images, other + j) * -1.0
        mean += u * simd.load(work.outcome, z + j) + v * simd.load(work.outcome, other_z + j)
        q += u * u + v * v
    return simd.total(mean), simd.total(q)


@inlined
def look(levels: Levels, X: Array, work: Work) -> None:
    """Evaluate all actions on all data."""
    once, first = int(np.int64(1)), int(np.int64(0))
    n, d = X.shape
    if levels.rows.shape[2] == d + 2 and (X[0, 0] == 0.0 or X[0, d - 1] == 0.0):
        evaluate_sparse(levels.rows, once, once, X, first, n, work.means, work.all_width2)
    else:
        evaluate_all(levels.rows, once, once, X, first, n, work.means, work.all_width2)


@inlined
def pick(levels: Levels, confidence: Confidence, count: int, work: Work) -> int:
    """The pick, among the alive actions, of a heuristic that is one regression on all data with its own radius."""
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
    levels: Levels, rules: Rules, sets: Array | None, spare: Array, X: Array, k: int, last: int, work: Work
) -> tuple[float, float, float, float, float, bool]:
    """Mean, width, ucb and lcb, certificate, and whether the bounds are refuted.

    They come from the set of all data and, if there are any, the ``sets`` behind certificates; mean and width are those
    of the regression that gives the ucb. ``spare`` is scratch memory of the sets.
    """
    return _verdict(levels, rules, memory.known(sets, spare, X.shape[0]), X, k, last, work)


@inlined
def _verdict(
    levels: Levels, rules: Rules, known: memory.Open | None, X: Array, k: int, last: int, work: Work
) -> tuple[float, float, float, float, float, bool]:
    """As ``verdict``, with unpacked sets. If bounds refute the ζ in force, the answer is under the next one."""
    beta, zeta = levels.beta[0], 0.0
    mean, width = work.means[k], math.sqrt(work.all_width2[k])
    reach = rules.norm * rules.action_norm
    ucb, lcb = mean + beta * width, mean - beta * width
    refuted, moved = False, False
    first = int(np.int64(0))
    if known is None:
        ucb, lcb = min(ucb, rules.high), max(lcb, rules.low)
        refuted = contradict(lcb, ucb, reach)
    else:
        first = known.sets.status[0]
        asks = True
        while asks:
            zeta = known.rules.zetas[known.sets.status[0]]
            beta = levels.beta[0] + zeta * math.sqrt(levels.size[0])
            reach = rules.norm * rules.action_norm + zeta
            mean, width = work.means[k], math.sqrt(work.all_width2[k])
            ucb, lcb = mean + beta * width + zeta, mean - beta * width - zeta
            tight.look(known.sets, X, known.work)
            upper, lower, by_sets, center, own = interval(known.sets, known.rules, X, k, k, known.work)
            if by_sets < ucb:
                mean, width = center, own
            ucb, lcb = min(min(ucb, upper), rules.high), max(max(lcb, lower), rules.low)
            refuted = known.sets.status[1] != 0 or contradict(lcb, ucb, reach)
            asks = refuted and known.sets.status[1] == 0 and tight.assume_next(known.sets, known.rules)
            moved |= asks
    certificate = math.nan
    if not refuted:
        certificate = 2.0 * reach
        if known is None:
            best = -math.inf
            for i in range(work.means.size):
                best = max(best, work.means[i] + beta * math.sqrt(work.all_width2[i]))
            certificate = min(max(min(best, rules.high) - lcb, 0.0), certificate)
        if not moved:  # otherwise the levels ruled actions out under another ζ
            certificate = by_levels(levels, rules, zeta, k, last, certificate, work)
        if known is not None:
            for i in range(work.means.size):
                known.work.outer[0, i], known.work.outer[1, i] = work.means[i], work.all_width2[i]
            all_data = int(np.int64(0))
            certificate = tight_certificate(
                known.sets, known.rules, levels.rows, all_data, beta, X, k, lcb, certificate, known.work
            )
    if known is not None:
        tight.answered(known.sets, known.rules, first)
    return mean, width, max(ucb, rules.low), min(lcb, rules.high), certificate, refuted


@jit
def by_levels(
    levels: Levels, rules: Rules, zeta: float, k: int, last: int, certificate: float, work: Work
) -> float:
    """The least of a certificate and of those of the closed levels up to ``last``."""
    for level in range(1, last + 1):
        gap = 0.0
        radius = radius_of(levels, rules, level, zeta)
        for i in range(work.means.size):
            if work.dropped[i] > level:
                m, q = _difference(work, level, i, k)
                gap = max(gap, m + radius * math.sqrt(q) + 2.0 * zeta)
                if gap >= certificate:
                    break  # nothing new from this level
        certificate = min(certificate, gap)
    return certificate


@jit
def look_and_guard(
    levels: Levels, rules: Rules, zeta: float, X: Array, work: Work
) -> tuple[int, int, int, int]:
    """As ``guard``, after all actions were evaluated on all data."""
    look(levels, X, work)
    return guard(levels, rules, zeta, closed_levels(levels.rows), X, work)


@jit
def decide(
    levels: Levels,
    rules: Rules,
    zeta: float,
    sets: Array | None,
    spare: Array,
    confidence: Confidence,
    X: Array,
    work: Work,
) -> tuple[int, int, float, float, float, float, float, bool]:
    """Row, level and verdict of a round, if the heuristic is a single regression on all data; ζ is the one in force."""
    look(levels, X, work)
    k, level, count, last = guard(levels, rules, zeta, closed_levels(levels.rows), X, work)
    if k < 0:
        k = pick(levels, confidence, count, work)
    mean, width, ucb, lcb, certificate, refuted = verdict(levels, rules, sets, spare, X, k, last, work)
    return k, level, mean, width, ucb, lcb, certificate, refuted


@jit
def play(
    levels: Levels,
    rules: Rules,
    sets: Array | None,
    spare: Array,
    heuristic: Array,
    shared: bool,
    actions: Array,
    rewards: Array,
    truth: Array,
    refuted: bool,
    record: single.Record,
) -> tuple[int, bool]:
    """Play T rounds on actions (T, n, d), or (1, n, d), and rewards (T, n).

    Returns T, and whether bounds were ever refuted. ``heuristic`` is the memory of one regression; ``shared`` says
    whether that is the guard's own regression on all data.
    """
    inner, confidence = single._unpack(heuristic)
    s = single.scratch(heuristic, inner)
    _, n, d = actions.shape
    once = int(np.int64(1))
    work, own, rows = _workspace(n, levels.rows), _scratch(levels.size.size, d), np.empty((n, d))
    bonus = np.empty(inner.beta.size)
    closed, rounds = closed_levels(levels.rows), levels.size[0]
    zeta = 0.0
    known = memory.known(sets, spare, n)
    for t in range(rewards.shape[0]):
        X = actions[t] if actions.shape[0] > 1 else actions[0]
        if sets is not None:
            zeta = known.rules.zetas[known.sets.status[0]]
        if truth.size > 0:
            record.covered[t] = covers(levels, rules, closed, zeta, truth)
            if sets is not None:
                record.covered[t] &= covered_by_sets(known.sets, known.rules, truth, known.work)
        look(levels, X, work)
        k, level, count, last = guard(levels, rules, zeta, closed, X, work)
        if k < 0 and shared:
            k = pick(levels, confidence, count, work)
        elif k < 0:
            for a in range(count):
                rows[a] = X[work.alive[a]]
            by = single.scaled(inner, once, confidence.scale, bonus)
            room = argmax.workspace(count, d, inner.size.size)
            k = work.alive[argmax.select(by, once, rows[:count], room, s.means, s.width2)]
        _, _, _, _, certificate, wrong = _verdict(levels, rules, known, X, k, last, work)
        refuted |= wrong
        record.chosen[t], record.level[t] = k, level
        record.certificate[t] = math.nan if refuted else certificate
        record.reward[t] = rewards[t, k]
        x, y = X[k], rewards[t, k]
        if sets is not None:
            c = levels.beta[0]
            if record.zeta.size > 0:
                record.zeta[t] = known.rules.zetas[known.sets.status[2]]
                move_on(known.sets, known.rules, levels.rows, once - 1, c, rounds, X, k, known.work)
            if known.sets.weighted.shape[0] > 0:
                behind = known.sets, known.rules, levels.rows, once - 1, c
                learn_weighted(*behind, X, k, y, once, False, k, known.work)
            learn_sets(known.sets, known.rules, X, k, y, once, False, k, known.work)
        closed = learn(levels, closed, rounds, rules, x, y, level, once, work.all_width2[k], own)
        rounds += 1
        if not shared:
            evaluate_all(inner.rows, once, once, X, k, k + 1, s.means, s.width2)
            single.learn(inner, once, confidence, x, y, once, s)
    return rewards.shape[0], refuted
