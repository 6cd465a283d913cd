"""Compiled sets: bounds for any direction from the rounds of one block.

With Σ = λI + V over the rounds of a block and, for a direction v, w² = vᵀΣ⁻¹v and g² = ‖Σ⁻¹v‖², these bounds hold all
at once with probability 1 − δ (Theorems A and B of ``docs/theory/sets.md``):

    A   |⟨θ̂ − θ*, v⟩| ≤ a √(w² + (ℓ − λ) g²) + λ S g + ζ √(n (w² − λ g²))      a = theory.radii.scaled
    B   |⟨θ̃ − θ*, v⟩| ≤ b w,   θ̃ = (θ̂ − e θ̂_q)/(1 − e)                        b² = theory.radii.forecast

and, if all rewards lie in a known range, B once more for a regression whose rounds have weights 1/v.

ℓ is the prior scale in use, θ̂_q the regression of the forecasts q, and e = 0 unless ζ > 0.

set_radii   a, b and e of a block from its sums
look        Mx and what follows from it, for all actions
assume      put another ζ in force
half_a      the half-width of a direction by A, from its image Mv
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.sets.memory import (
    COUNT,
    CROSS,
    EXCESS,
    LATE,
    LOGDET,
    MEAN,
    MIX,
    MIXED,
    RADIUS_A,
    RADIUS_B,
    SCALE,
    SQUARES,
    STEP,
    WEIGHTED_EXCESS,
    WEIGHTED_RADIUS,
    WIDTH2,
    Rules,
    Sets,
    Work,
)
from unipac.linalg.blocks import block_of
from unipac.linalg.fast import simd
from unipac.linalg.fast.evaluate import _FIRST, four
from unipac.theory.kernels import forecast as _forecast, scaled as _scaled

NOWHERE = 1e200
"""The radius of B where it has ended: finite, so that the bound of the zero vector stays 0."""
TOLERANCE = 1e-9
"""Relative margin below which a negative b² is rounding."""


# -- radii -------------------------------------------------------------------------------------


@jit
def set_radii(sets: Sets, rules: Rules, b: int) -> bool:
    """Renew the radii of a block; returns whether its data refute the assumptions."""
    s = sets.sums[b]
    zeta = rules.zetas[sets.status[0]]
    s[RADIUS_A] = _scaled(s[LOGDET], sets.counts[b, STEP], rules.log_share, rules.noise)
    s[MIX] = 0.0
    spread = 2.0 * rules.noise**2 * rules.forecast_share
    plain = rules.regularization * rules.norm**2 + spread + s[EXCESS]
    if zeta > 0.0 and s[COUNT] > 0.0:
        most = max(plain, spread)
        s[MIX] = min(0.5, zeta * math.sqrt(s[COUNT] / most)) if most > 0.0 else 0.5
    squared = _forecast(
        s[EXCESS], s[CROSS], s[SQUARES], s[COUNT], s[MIX], zeta, rules.forecast_share, rules.noise, rules.norm,
        rules.regularization,
    )  # fmt: skip
    ended = sets.counts[b, LATE] != 0
    refuted = False
    if sets.weighted.shape[0] > 0:
        refuted = _set_weighted_radius(sets, rules, b, ended)
    if ended:
        s[RADIUS_B] = NOWHERE
        return False
    s[RADIUS_B] = math.sqrt(max(squared, 0.0))
    return refuted or bool(squared < -TOLERANCE * (plain - s[EXCESS] + abs(s[EXCESS])))


@jit
def _set_weighted_radius(sets: Sets, rules: Rules, b: int, ended: bool) -> bool:
    """The same for weighted B; its noise has scale 1, since its weights are 1/v."""
    s = sets.weighted_sums[b]
    excess, none = s[WEIGHTED_EXCESS], 0.0
    squared = _forecast(
        excess, none, none, none, none, none, rules.forecast_share, 1.0, rules.norm,
        rules.weighted_regularization,
    )  # fmt: skip
    s[WEIGHTED_RADIUS] = NOWHERE if ended else math.sqrt(max(squared, 0.0))
    return bool(squared < -TOLERANCE * (squared - excess + abs(excess))) and not ended


@jit
def assume(sets: Sets, rules: Rules, index: int) -> bool:
    """Put the ζ of this index in force; returns whether the sums of some block refute it."""
    sets.status[0] = index
    refuted = False
    for b in range(sets.counts.shape[0]):
        refuted |= set_radii(sets, rules, b)
    return refuted


@jit
def assume_next(sets: Sets, rules: Rules) -> bool:
    """Put the next ζ in force that the sums do not refute; if there is none, the last one, and return False."""
    while sets.status[0] + 1 < rules.zetas.size:
        if not assume(sets, rules, sets.status[0] + 1):
            return True
    return False


@jit
def renew(sets: Sets, rules: Rules, b: int) -> None:
    """Renew the radii of a block; if it is refuted, move all blocks on to the next ζ, or note that none is left."""
    if set_radii(sets, rules, b) and not assume_next(sets, rules):
        sets.status[1] = 1


@jit
def answered(sets: Sets, rules: Rules, first: int) -> None:
    """Note the ζ of an answer, and put the earlier one back in force: asking for bounds changes nothing."""
    sets.status[2] = sets.status[0]
    if sets.status[0] != first:
        assume(sets, rules, first)


# -- directions --------------------------------------------------------------------------------


@inlined
def _write_image(rows: Array, b: int, X: Array, k: int, images: Array, row: int) -> None:
    """Write Mx into a row of ``images``, for the entries of row k of X in block b."""
    _, d, columns = rows.shape
    start = b * d
    at, to, x = start * columns, row * images.shape[1], k * X.shape[1] + start
    i = int(np.int64(0))
    while i + 3 < d:
        simd.store(images, to + i, four(rows, at, columns, X, x, i))
        i += 4
        at += 4 * columns
    while i < d:
        u = 0.0
        for j in range(i + 1):
            u += rows[b, i, j] * X[k, start + j]
        images[row, i] = u
        i += 1


@inlined
def length(X: Array, k: int) -> float:
    """‖x‖ of row k."""
    total = 0.0
    for j in range(X.shape[1]):
        total += X[k, j] * X[k, j]
    return math.sqrt(total)


@inlined
def _products(work: Work, row: int, b: int) -> tuple[float, float, float]:
    """For the image u in a row: u·z for the rewards, u·z for the forecasts, and u·u."""
    _, m, D = work.outcome.shape
    y, q, w = simd.zero(), simd.zero(), simd.zero()
    for j in range(0, D, 4):
        u = simd.load(work.images, row * D + j)
        y += u * simd.load(work.outcome, b * D + j)
        q += u * simd.load(work.outcome, (m + b) * D + j)
        w += u * u
    return simd.total(y), simd.total(q), simd.total(w)


@jit
def _solved2(rows: Array, b: int, images: Array, row: int) -> float:
    """g² = ‖Mᵀu‖² for the image u in a row, four columns of M at a time."""
    _, d, columns = rows.shape
    first = b * d * columns
    squares = simd.zero()
    j = int(np.int64(0))
    while j + 3 < d:
        # M is triangular: its next three rows have one, two and three entries in these columns, later ones all four.
        at = first + j * columns + j
        total = simd.load(rows, at) * simd.load(_FIRST, 0) * images[row, j]
        other = simd.load(rows, at + columns) * simd.load(_FIRST, 4) * images[row, j + 1]
        third = simd.load(rows, at + 2 * columns) * simd.load(_FIRST, 8) * images[row, j + 2]
        fourth = simd.load(rows, at + 3 * columns) * images[row, j + 3]
        at += 4 * columns
        i = j + 4
        while i + 3 < d:  # four independent sums, so that none waits for another
            total = simd.add_product(total, images[row, i], simd.load(rows, at))
            other = simd.add_product(other, images[row, i + 1], simd.load(rows, at + columns))
            third = simd.add_product(third, images[row, i + 2], simd.load(rows, at + 2 * columns))
            fourth = simd.add_product(fourth, images[row, i + 3], simd.load(rows, at + 3 * columns))
            at += 4 * columns
            i += 4
        while i < d:
            total = simd.add_product(total, images[row, i], simd.load(rows, at))
            at += columns
            i += 1
        total = (total + other) + (third + fourth)
        squares += total * total
        j += 4
    found = simd.total(squares)
    while j < d:
        s = 0.0
        for i in range(j, d):
            s += images[row, i] * rows[b, i, j]
        found += s * s
        j += 1
    return found


@inlined
def half_a(sets: Sets, rules: Rules, b: int, images: Array, row: int, width2: float) -> float:
    """The half-width by A of the direction whose image is in a row."""
    lam = rules.regularization
    solved2 = _solved2(sets.rows, b, images, row)
    half = sets.sums[b, RADIUS_A] * math.sqrt(width2 + (sets.sums[b, SCALE] - lam) * solved2)
    half += lam * rules.norm * math.sqrt(solved2)
    zeta = rules.zetas[sets.status[0]]
    if zeta > 0.0:
        half += zeta * math.sqrt(sets.sums[b, COUNT] * max(width2 - lam * solved2, 0.0))
    return float(half)


@inlined
def look(sets: Sets, X: Array, work: Work) -> None:
    """Evaluate all actions in their blocks."""
    look_at(sets, X, int(np.int64(0)), X.shape[0], int(np.int64(0)), work)


@inlined
def look_at(sets: Sets, X: Array, begin: int, end: int, row: int, work: Work) -> None:
    """Evaluate some rows of X, into the rows of the scratch memory from ``row`` on."""
    m, d, columns = sets.rows.shape
    for b in range(m):
        for i in range(d):
            work.outcome[0, b, i] = sets.rows[b, i, d + 1]
            if columns > d + 2:
                work.outcome[1, b, i] = sets.rows[b, i, d + 2]
    for k in range(begin, end):
        b = int(np.int64(0)) if m == 1 else block_of(X, k, d)
        at = row + k - begin
        work.block[at] = b
        _write_image(sets.rows, b, X, k, work.images, at)
        mean, forecast, width2 = _products(work, at, b)
        work.values[at, MEAN], work.values[at, MIXED], work.values[at, WIDTH2] = mean, mean, width2
        if columns > d + 2:
            e = sets.sums[b, MIX]
            work.values[at, MIXED] = (mean - e * forecast) / (1.0 - e)
    if sets.weighted.shape[0] > 0:
        _look_weighted(sets, X, begin, end, row, work)


@inlined
def _look_weighted(sets: Sets, X: Array, begin: int, end: int, row: int, work: Work) -> None:
    """The same in the regression with weights; ``work.block`` is set already."""
    m, d, _ = sets.weighted.shape
    D = work.weighted_images.shape[1]
    for b in range(m):
        for i in range(d):
            work.weighted_outcome[b, i] = sets.weighted[b, i, d + 1]
    for k in range(begin, end):
        at = row + k - begin
        b = work.block[at]
        _write_image(sets.weighted, b, X, k, work.weighted_images, at)
        y, w = simd.zero(), simd.zero()
        for j in range(0, D, 4):
            u = simd.load(work.weighted_images, at * D + j)
            y += u * simd.load(work.weighted_outcome, b * D + j)
            w += u * u
        work.weighted_values[0, at], work.weighted_values[1, at] = simd.total(y), simd.total(w)
