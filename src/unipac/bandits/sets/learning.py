"""What the sets behind certificates learn, compiled.

learn     a round enters the block of its action
covers    whether a parameter is in all sets
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._constants import LARGEST_GROWTH
from unipac._jit import inlined, jit
from unipac.bandits.sets.kernels import _write_image, renew
from unipac.bandits.sets.memory import (
    COUNT,
    CROSS,
    EXCESS,
    LATE,
    LOGDET,
    MIX,
    RADIUS_A,
    RADIUS_B,
    ROTATIONS,
    SCALE,
    SQUARES,
    STEP,
    WEIGHTED_RADIUS,
    Rules,
    Sets,
    Work,
)
from unipac.linalg import ridge, triangle
from unipac.linalg.blocks import block_of
from unipac.linalg.levels import REFRESH_EVERY


@inlined
def learn(
    sets: Sets, rules: Rules, X: Array, k: int, y: float, times: int, late: bool, known: int, work: Work
) -> None:
    """Add a reward of row k of X, ``times`` times, to the block of that action.

    ``late``: the reward of a younger decision came before. ``known``: the row of the action's image, -1 if it has none.

    The forecast uses only what was learned before this reward. If ``times`` is so large that rounding would spoil the
    widths, the rounds are left out; that does not depend on their reward.
    """
    m, d, columns = sets.rows.shape
    if times * rules.action_norm**2 > LARGEST_GROWTH * rules.regularization:
        return
    b = int(np.int64(0)) if m == 1 else block_of(X, k, d)
    rows, s, counts, below = sets.rows[b], sets.sums[b], sets.counts[b], work.below
    row = known
    if known < 0:
        row = work.images.shape[0] - 1
        _write_image(sets.rows, b, X, k, work.images, row)
    mean, forecast, width2 = 0.0, 0.0, 0.0
    for i in range(d):
        u = work.images[row, i]
        width2 += u * u
        mean += u * rows[i, d + 1]
        if columns > d + 2:
            forecast += u * rows[i, d + 2]
    q = min(max(mean, rules.low), rules.high)
    r = y - mean
    weight = float(times)
    gain = weight * width2
    wide = width2 > 1.0 and rules.high == math.inf  # within a range, the error of a forecast is small enough
    if rules.zetas[rules.zetas.size - 1] == 0.0 and (times > 1 or wide):
        # The average over forecasts from N(mean, R²w²): many rounds at once give the same as one after the other.
        s[EXCESS] += rules.noise**2 * math.log1p(gain)
    else:
        s[EXCESS] += weight * ((mean - q) * (2.0 * y - mean - q) + r * r * (gain / (1.0 + gain)))
    if columns > d + 2:
        rq = q - forecast
        s[CROSS] += weight * r * rq / (1.0 + gain)
        s[SQUARES] += weight * rq * rq / (1.0 + gain)
        below[d + 2] = q
    s[COUNT] += weight
    if late:
        counts[LATE] = 1  # B is a statement about the order of the decisions
    below[0] = 0.0
    for j in range(d):
        below[j + 1] = X[k, b * d + j]
    below[d + 1] = y
    ridge.push(rows, weight, below[:columns])
    counts[ROTATIONS] += 1
    if times > 1 or counts[ROTATIONS] >= max(REFRESH_EVERY, d):
        ridge.refresh(rows)
        counts[ROTATIONS] = 0
    factor = sets.factor[b]
    for j in range(factor.shape[1]):
        below[j] = X[k, b * d + j] if j < d else 0.0
    triangle.push(factor, weight, below)
    s[LOGDET] = triangle.log_determinant(factor, s[SCALE])
    most = largest_log_determinant(d, rules.log_share)
    while s[LOGDET] > most:
        triangle.add_identity(factor, 3.0 * s[SCALE], below)
        s[SCALE] *= 4.0
        counts[STEP] += 1
        s[LOGDET] = triangle.log_determinant(factor, s[SCALE])
    renew(sets, rules, b)


@jit
def largest_log_determinant(d: int, log_share: float) -> float:
    """The log determinant above which the next scale is better: d log(1 + b*), b* = 4 (1 + 2 (log(1/δ) + 1)/d)."""
    return d * math.log1p(4.0 * (1.0 + 2.0 * (log_share + 1.0) / d))


@jit
def covers(sets: Sets, rules: Rules, truth: Array, work: Work) -> bool:
    """Whether the truth is in the sets of every block; for A, whether the noise is within its bound."""
    m, d, columns = sets.rows.shape
    zeta = rules.zetas[sets.status[0]]
    inside = True
    noise = work.below
    for b in range(m):
        rows, s = sets.rows[b], sets.sums[b]
        e = s[MIX]
        total = 0.0
        for i in range(d):
            residual = rows[i, d + 1] - (e * rows[i, d + 2] if columns > d + 2 else 0.0)
            residual /= 1.0 - e
            for j in range(i, d):
                residual -= rows[i, j + 1] * truth[b * d + j]
            total += residual * residual
        inside &= math.sqrt(total) <= s[RADIUS_B]
        # Σ x (y − ⟨θ*, x⟩) = Rᵀ(z − Rθ*) + λθ*, in the norm of (V + ℓI)⁻¹
        for j in range(d):
            noise[j] = rules.regularization * truth[b * d + j]
        for i in range(d):
            residual = rows[i, d + 1]
            for j in range(i, d):
                residual -= rows[i, j + 1] * truth[b * d + j]
            for j in range(i, d):
                noise[j] += rows[i, j + 1] * residual
        inside &= triangle.inverse_norm(sets.factor[b], noise) <= s[RADIUS_A] + zeta * math.sqrt(s[COUNT])
        if sets.weighted.shape[0] > 0:
            own = truth[b * d : (b + 1) * d]
            inside &= ridge.distance(sets.weighted[b], own) <= sets.weighted_sums[b, WEIGHTED_RADIUS]
    return inside
