"""Weighted B, compiled: B of a regression whose rounds have weights 1/v, where every reward lies in a range.

v bounds the variance of a reward with forecast q (Lemma 4 of ``docs/theory/sets.md``). For rewards in [0, 1] whose mean
is at most a small h, v is near h, where B uses 1/4. So certificates gain where rewards are near an end of the range.
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._constants import LARGEST_GROWTH
from unipac._jit import jit
from unipac.bandits.sets.certify import interval
from unipac.bandits.sets.kernels import look_at
from unipac.bandits.sets.memory import LATE, ROTATIONS, WEIGHTED_EXCESS, Rules, Sets, Work
from unipac.linalg import ridge
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import REFRESH_EVERY
from unipac.theory.kernels import pair_variance as _pair_variance

LEAST_VARIANCE = 1e-5
"""v is at least this part of the squared range: a larger v is valid, too; a smaller one could spoil the widths."""


@jit
def forecast(
    sets: Sets, rules: Rules, rows: Array, level: int, c: float, X: Array, k: int, row: int, work: Work
) -> tuple[float, float]:
    """The forecast q of the reward of row k of X, and v, by A, B, weighted B, C and the range, before the reward.

    ``row`` holds the action's values. C, with radius c, is the regression in entry ``level`` of a stack.
    """
    at = level + int(np.int64(1))
    evaluate_all(rows, at, at, X, k, k + 1, work.one[0], work.one[1])
    upper, lower, _, _, _ = interval(sets, rules, X, k, row, work)
    bonus = c * math.sqrt(work.one[1, 0])
    upper = min(min(upper, work.one[0, 0] + bonus), rules.high)
    lower = max(max(lower, work.one[0, 0] - bonus), rules.low)
    q = min(max(work.weighted_values[0, row], lower), upper)
    # Bounds that contradict each other may lie outside of the range.
    q = min(max(q, rules.least), rules.least + rules.span)
    share = (q - rules.least) / rules.span
    high = min(max((upper - rules.least) / rules.span, share), 1.0)
    low = max(min((lower - rules.least) / rules.span, share), 0.0)
    v = min(_pair_variance(low, high, share) * rules.span**2, rules.noise**2)
    return q, max(v, LEAST_VARIANCE * rules.span**2)


@jit
def learn(
    sets: Sets,
    rules: Rules,
    rows: Array,
    level: int,
    c: float,
    X: Array,
    k: int,
    y: float,
    times: int,
    late: bool,
    known: int,
    work: Work,
) -> None:
    """Add the reward of row k of X, ``times`` times, to the regression with weights, before A, B and C learn it.

    ``late`` and ``known`` are as in ``learning.learn``, C is as in ``forecast``. Rounds are left out if rounding would
    spoil the widths, and once B has ended; neither depends on their reward.
    """
    row = known
    if known < 0:
        row = int(np.int64(0))
        look_at(sets, X, k, k + 1, row, work)
    b = work.block[row]
    _, d, columns = sets.weighted.shape
    square = rules.action_norm**2
    if late or sets.counts[b, LATE] != 0 or times * square > LARGEST_GROWTH * rules.regularization:
        return
    q, v = forecast(sets, rules, rows, level, c, X, k, row, work)
    weight = times / v
    if weight * square > LARGEST_GROWTH * rules.weighted_regularization:
        return
    mean, gain = work.weighted_values[0, row], weight * work.weighted_values[1, row]
    r = y - mean
    rise = (mean - q) * (2.0 * y - mean - q) + r * r * (gain / (1.0 + gain))
    sets.weighted_sums[b, WEIGHTED_EXCESS] += weight * rise
    below, own = work.below, sets.weighted[b]
    below[0], below[d + 1] = 0.0, y
    for j in range(d):
        below[j + 1] = X[k, b * d + j]
    ridge.push(own, weight, below[:columns])
    if times > 1 or sets.counts[b, ROTATIONS] + 1 >= max(REFRESH_EVERY, d):  # when A and B refresh, too
        ridge.refresh(own)
