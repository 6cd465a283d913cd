"""Compiled certificates: how much better than the chosen action another can be, by A, B and C.

C is the set of all data that the agent has anyway: the regression in entry ``level`` of its stack, with radius c.
A, and differences in C, take d² steps per direction. So they are computed only for actions that B, weighted B and the
bounds of single actions leave above the certificate found so far.

interval      least upper and greatest lower bound of an action, by A and B
move_on       put the next ζ in force if the bounds of an action refute the current one
index_a       the upper bound of an action by A alone, for choices
certificate   the largest bound on a difference y − x
bound_all     the intervals of all actions, by A, B and C
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.protocol.verdict import contradict
from unipac.bandits.sets.kernels import _products, answered, assume_next, half_a, length, look, look_at
from unipac.bandits.sets.memory import (
    MEAN,
    MIXED,
    MOST,
    RADIUS_B,
    WEIGHTED_RADIUS,
    WIDTH2,
    Rules,
    Sets,
    Work,
    unpack,
    workspace,
)
from unipac.linalg.fast import simd
from unipac.linalg.fast.evaluate import evaluate_all

UNDERFLOW = 1e-290
"""Squares of widths below this may be lost to underflow."""


@inlined
def interval(
    sets: Sets, rules: Rules, X: Array, k: int, row: int, work: Work
) -> tuple[float, float, float, float, float]:
    """Upper and lower bound on the mean reward of action k by the sets and S‖x‖, and the upper bound by the sets alone.

    Also returns mean and width of the regression that gives the last bound. ``row`` holds the action's values.
    """
    b, width2 = work.block[row], work.values[row, WIDTH2]
    mean, mixed = work.values[row, MEAN], work.values[row, MIXED]
    zeta = rules.zetas[sets.status[0]]
    if width2 < UNDERFLOW:  # the square of so short an action is lost, so the sets give no bound
        return math.inf, -math.inf, math.inf, mean, math.sqrt(width2)
    a = half_a(sets, rules, b, work.images, row, width2)
    f = sets.sums[b, RADIUS_B] * math.sqrt(width2)
    ball = rules.norm * length(X, k)
    upper = min(mean + a, mixed + f)
    lower = max(max(mean - a, mixed - f), -ball)
    width = math.sqrt(width2)
    if sets.weighted.shape[0] > 0 and work.weighted_values[1, row] >= UNDERFLOW:
        center, own = work.weighted_values[0, row], math.sqrt(work.weighted_values[1, row])
        w = sets.weighted_sums[b, WEIGHTED_RADIUS] * own
        lower = max(lower, center - w)
        if center + w < upper:
            upper, mean, width = center + w, center, own
    return min(upper, ball) + zeta, lower - zeta, upper + zeta, mean, width


@inlined
def index_a(sets: Sets, rules: Rules, k: int, scale: float, work: Work) -> float:
    """The index by which a choice ranks action k: ⟨θ̂, x⟩ plus ``scale`` times the half-width by A."""
    half = half_a(sets, rules, work.block[k], work.images, k, work.values[k, WIDTH2])
    return float(work.values[k, MEAN] + scale * half)


@inlined
def _subtract(work: Work, i: int, k: int) -> int:
    """Write Mx_i − Mx_k into the last row of the images; returns the number of that row."""
    D = work.images.shape[1]
    row = int(work.images.shape[0]) - 1
    for j in range(0, D, 4):
        u = simd.load(work.images, i * D + j) + simd.load(work.images, k * D + j) * -1.0
        simd.store(work.images, row * D + j, u)
    return row


@inlined
def certificate(
    sets: Sets,
    rules: Rules,
    rows: Array,
    level: int,
    c: float,
    X: Array,
    k: int,
    lower: float,
    most: float,
    work: Work,
) -> float:
    """How much better than action k another can be, at most ``most``; the reward of k is at least ``lower``.

    ``work.outer`` has the means and squared widths of all actions in the regression of C.
    """
    n = X.shape[0]
    zeta = rules.zetas[sets.status[0]]
    first, largest = int(np.int64(-1)), 0.0
    for i in range(n):
        bound = _quick(sets, rules, c, i, k, lower, zeta, work) if i != k else 0.0
        work.values[i, MOST] = bound
        if bound > largest:
            first, largest = i, bound
    found = 0.0
    for step in range(-1, n):  # the largest first: then few others are left to check
        i = first if step < 0 else step
        if i < 0 or found >= most:
            break
        if (step < 0 or i != first) and work.values[i, MOST] > found:
            bound = _slow(sets, rules, rows, level, c, X, i, k, lower, found, zeta, work)
            found = max(found, min(work.values[i, MOST], bound))
    return min(found, most)


@inlined
def _quick(
    sets: Sets,
    rules: Rules,
    c: float,
    i: int,
    k: int,
    lower: float,
    zeta: float,
    work: Work,
) -> float:
    """How much better action i can be than k, by what takes d steps: differences in B, bounds of single actions."""
    b = work.block[i]
    mixed, radius = work.values[i, MIXED], sets.sums[b, RADIUS_B]
    upper = mixed + radius * math.sqrt(work.values[i, WIDTH2])
    if sets.weighted.shape[0] > 0:
        w = sets.weighted_sums[b, WEIGHTED_RADIUS] * math.sqrt(work.weighted_values[1, i])
        upper = min(upper, work.weighted_values[0, i] + w)
    upper = min(upper, work.outer[0, i] + c * math.sqrt(work.outer[1, i])) + zeta
    bound = min(upper, rules.high) - lower
    if b == work.block[k]:
        width = _apart(work.images, i, k)
        bound = min(bound, mixed - work.values[k, MIXED] + radius * width + 2.0 * zeta)
        if sets.weighted.shape[0] > 0:
            width = sets.weighted_sums[b, WEIGHTED_RADIUS] * _apart(work.weighted_images, i, k)
            bound = min(bound, work.weighted_values[0, i] - work.weighted_values[0, k] + width)
    return float(bound)


@inlined
def _apart(images: Array, i: int, k: int) -> float:
    """‖Mx_i − Mx_k‖, the width of a difference."""
    D = images.shape[1]
    w = simd.zero()
    for j in range(0, D, 4):
        u = simd.load(images, i * D + j) + simd.load(images, k * D + j) * -1.0
        w += u * u
    return math.sqrt(simd.total(w))


@inlined
def _slow(
    sets: Sets,
    rules: Rules,
    rows: Array,
    level: int,
    c: float,
    X: Array,
    i: int,
    k: int,
    lower: float,
    enough: float,
    zeta: float,
    work: Work,
) -> float:
    """The same by A, the difference in C and S‖y − x‖; stops once the bound is at most ``enough``."""
    bound = math.inf
    b = work.block[i]
    if b == work.block[k]:
        row = _subtract(work, i, k)
        mean, _, q = _products(work, row, b)
        bound = mean + half_a(sets, rules, b, work.images, row, q) + 2.0 * zeta
        if bound <= enough:
            return bound
    length2 = 0.0
    for j in range(X.shape[1]):
        v = X[i, j] - X[k, j]
        work.difference[0, j] = v
        length2 += v * v
    bound = min(bound, rules.norm * math.sqrt(length2) + 2.0 * zeta)
    if bound <= enough:
        return bound
    if b == work.block[k]:
        first, once, at = int(np.int64(0)), int(np.int64(1)), level + int(np.int64(1))
        evaluate_all(rows, at, at, work.difference, first, once, work.one[0], work.one[1])
    else:  # actions of two blocks are orthogonal in C
        work.one[0, 0] = work.outer[0, i] - work.outer[0, k]
        work.one[1, 0] = work.outer[1, i] + work.outer[1, k]
    bound = min(bound, float(work.one[0, 0]) + c * math.sqrt(work.one[1, 0]) + 2.0 * zeta)
    if bound <= enough:
        return bound
    half = half_a(sets, rules, b, work.images, i, work.values[i, WIDTH2])
    upper = min(float(work.values[i, MEAN]) + half, rules.norm * length(X, i)) + zeta
    return min(bound, min(upper, rules.high) - lower)


@jit
def bound_all(
    memory: Array, spare: Array, rows: Array, level: int, c: float, count: int, X: Array, out: Array
) -> None:
    """Mean, width, ucb and lcb of every row of X, as the rows of ``out``, by A, B and C.

    Mean and width are those of the regression that gives the least upper bound. C has radius c + ζ √``count``. If the
    bounds refute the ζ in force, the next ζ is used.
    """
    sets, rules = unpack(memory)
    n = X.shape[0]
    work = workspace(spare, n, sets)
    means, width2 = work.outer[0], work.outer[1]
    at = level + int(np.int64(1))
    evaluate_all(rows, at, at, X, int(np.int64(0)), n, means, width2)
    first = sets.status[0]
    refuted = True
    while refuted:
        look(sets, X, work)
        refuted = False
        zeta = rules.zetas[sets.status[0]]
        reach = rules.norm * rules.action_norm + zeta
        for k in range(n):
            upper, lower, by_sets, mean, width = interval(sets, rules, X, k, k, work)
            bonus = (c + zeta * math.sqrt(count)) * math.sqrt(width2[k]) + zeta
            out[0, k], out[1, k] = means[k], math.sqrt(width2[k])
            if by_sets < means[k] + bonus:
                out[0, k], out[1, k] = mean, width
            out[2, k], out[3, k] = min(upper, means[k] + bonus), max(lower, means[k] - bonus)
            refuted |= contradict(max(out[3, k], rules.low), min(out[2, k], rules.high), reach)
        if refuted and not assume_next(sets, rules):
            break
    answered(sets, rules, first)


@jit
def move_on(
    sets: Sets, rules: Rules, rows: Array, level: int, c: float, count: int, X: Array, k: int, work: Work
) -> None:
    """Before row k of X is learned, move on to the next ζ as long as its bounds refute the one in force.

    So the ζ in force is a function of the learned rounds, in their order. C is as in ``bound_all``.
    """
    if rules.zetas.size < 2:
        return
    once, row = int(np.int64(1)), int(np.int64(0))
    at = level + once
    evaluate_all(rows, at, at, X, k, k + 1, work.one[0], work.one[1])
    mean, width = work.one[0, 0], math.sqrt(work.one[1, 0])
    while sets.status[1] == 0 and sets.status[0] + 1 < rules.zetas.size:
        look_at(sets, X, k, k + 1, row, work)
        zeta = rules.zetas[sets.status[0]]
        upper, lower, _, _, _ = interval(sets, rules, X, k, row, work)
        bonus = (c + zeta * math.sqrt(count)) * width + zeta
        upper, lower = min(min(upper, mean + bonus), rules.high), max(max(lower, mean - bonus), rules.low)
        if not contradict(lower, upper, rules.norm * rules.action_norm + zeta):
            return
        if not assume_next(sets, rules):
            sets.status[1] = 1
