"""Compiled sets: what one block knows of any direction, and what all blocks know of a choice.

With Σ = λI + V over the rounds of a block and, for a direction v, w² = v'Σ⁻¹v and g² = ‖Σ⁻¹v‖², all at once with
probability 1 − δ (Theorems A and B of ``docs/theory/sets.md``):

    A   |⟨θ̂ − θ*, v⟩| ≤ a √(w² + (ℓ − λ) g²) + λ S g + ζ √(n (w² − λ g²))      a = theory.radii.scaled
    B   |⟨θ̃ − θ*, v⟩| ≤ b w,   θ̃ = (θ̂ − e θ̂_q)/(1 − e)                        b² = theory.radii.forecast

ℓ is the prior scale in use, θ̂_q the regression of the forecasts q, and e = 0 unless ζ > 0.

set_radii   a, b and e of a block from its sums
upper       the least upper bound of a direction
learn       a round enters the block of its action
bounds      least upper and greatest lower bound of every action
worst       how much better than the chosen action another can be
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import inlined, jit
from unipac.linalg import ridge, triangle
from unipac.linalg.levels import REFRESH_EVERY
from unipac.theory import radii

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_scaled = jit(radii._scaled)
_forecast = jit(radii._forecast)

EXCESS, CROSS, SQUARES, COUNT, LOGDET, SCALE, RADIUS_A, RADIUS_B, MIX = range(9)
"""Columns of ``Sets.sums``: E, M1, M2, n, log det((V + ℓI)/ℓ), ℓ, a, b, e."""
STEP, ROTATIONS, LAST, LATE = range(4)
"""Columns of ``Sets.counts``: j with ℓ = λ 4^j, rotations since M was derived anew, newest decision, late or not."""
TOLERANCE = 1e-9
"""Relative margin below which a negative b² is rounding."""


class Rules(NamedTuple):
    """The constants of the sets."""

    noise: float
    norm: float
    action_norm: float
    regularization: float
    """λ of the blocks."""
    log_share: float
    """log(1/δ) of A, and of B, in one block."""
    low: float
    high: float
    """The range of the expected rewards."""
    zetas: Array
    """The values of ζ, increasing; the sets move on to the next when the data refute one."""


class Sets(NamedTuple):
    """The state of m blocks of d columns; no blocks if there are no such sets."""

    rows: Array
    """(m, d, d + 2) as in ``linalg.ridge``, or (m, d, d + 3) with the forecasts as a second outcome."""
    factor: Array
    """(m, d, d): of V + ℓI, as in ``linalg.triangle``."""
    sums: Array
    """(m, 9)."""
    counts: Integers
    """(m, 4)."""
    index: Integers
    """(2,): which ζ is in force; 1 if the last one was refuted."""


class Work(NamedTuple):
    """Scratch memory for n actions in blocks of d columns."""

    block: Integers
    """(n,): the block of each action."""
    images: Array
    """(n, d): M x of each action, in its block."""
    mean: Array
    """(n, 3): ⟨θ̂, x⟩, ⟨θ̃, x⟩ and ‖x‖."""
    width2: Array
    """(n,): w²."""
    difference: Array
    """(d,)."""
    below: Array
    """(d + 3,)."""


@jit
def block_of(x: Array, m: int) -> int:
    """The block in which x has entries; 0 if it is zero, -1 if there are two."""
    d = x.size // m
    found = -1
    for j in range(x.size):
        if x[j] != 0.0:
            if found >= 0 and found != j // d:
                return -1
            found = j // d
    return max(found, 0)


# -- radii -----------------------------------------------------------------------------------------------


@jit
def set_radii(sets: Sets, rules: Rules, b: int) -> bool:
    """Renew the radii of a block; whether its data refute the assumptions."""
    s = sets.sums[b]
    zeta = rules.zetas[sets.index[0]]
    s[RADIUS_A] = _scaled(s[LOGDET], sets.counts[b, STEP], rules.log_share, rules.noise)
    s[MIX] = 0.0
    spread = 2.0 * rules.noise**2 * rules.log_share
    plain = rules.regularization * rules.norm**2 + spread + s[EXCESS]
    if zeta > 0.0 and s[COUNT] > 0.0:
        s[MIX] = min(0.5, zeta * math.sqrt(s[COUNT] / max(plain, spread)))
    squared = _forecast(
        s[EXCESS], s[CROSS], s[SQUARES], s[COUNT], s[MIX], zeta, rules.log_share, rules.noise, rules.norm,
        rules.regularization,
    )  # fmt: skip
    if sets.counts[b, LATE] != 0:
        s[RADIUS_B] = math.inf
        return False
    s[RADIUS_B] = math.sqrt(max(squared, 0.0))
    return squared < -TOLERANCE * (plain - s[EXCESS] + abs(s[EXCESS]))


@jit
def renew(sets: Sets, rules: Rules, b: int) -> None:
    """Renew the radii of a block; while they are refuted move on to the next ζ, for all blocks."""
    refuted = set_radii(sets, rules, b)
    while refuted:
        if not advance(sets, rules):
            return
        refuted = False
        for k in range(sets.counts.shape[0]):
            refuted |= set_radii(sets, rules, k)


@jit
def advance(sets: Sets, rules: Rules) -> bool:
    """Move on to the next ζ, if there is one; else nothing can be said any more."""
    if sets.index[0] + 1 < rules.zetas.size:
        sets.index[0] += 1
        return True
    sets.index[1] = 1
    return False


# -- directions ------------------------------------------------------------------------------------------


@inlined
def _image(rows: Array, b: int, v: Array, start: int, u: Array) -> None:
    """Write Mv into u, for the entries of v from ``start`` on."""
    for i in range(u.size):
        total = 0.0
        for j in range(i + 1):
            total += rows[b, i, j] * v[start + j]
        u[i] = total


@jit
def _solved2(rows: Array, b: int, u: Array, s: Array) -> float:
    """g² = ‖Mᵀu‖²; s is scratch space."""
    d = u.size
    for j in range(d):
        s[j] = 0.0
    for i in range(d):
        for j in range(i + 1):
            s[j] += rows[b, i, j] * u[i]
    total = 0.0
    for j in range(d):
        total += s[j] * s[j]
    return total


@jit
def half_a(sets: Sets, rules: Rules, b: int, width2: float, solved2: float) -> float:
    """The half-width of a direction by A."""
    s = sets.sums[b]
    zeta = rules.zetas[sets.index[0]]
    lam = rules.regularization
    half = s[RADIUS_A] * math.sqrt(width2 + (s[SCALE] - lam) * solved2) + lam * rules.norm * math.sqrt(
        solved2
    )
    if zeta > 0.0:
        half += zeta * math.sqrt(s[COUNT] * max(width2 - lam * solved2, 0.0))
    return half


@jit
def upper(
    sets: Sets,
    rules: Rules,
    b: int,
    u: Array,
    mean: float,
    mixed: float,
    length: float,
    enough: float,
    s: Array,
) -> float:
    """The least upper bound of ⟨θ*, v⟩ by A, B and S‖v‖, from u = Mv; not sought below ``enough``.

    ``mean`` is ⟨θ̂, v⟩, ``mixed`` ⟨θ̃, v⟩ and ``length`` ‖v‖.
    """
    width2 = 0.0
    for i in range(u.size):
        width2 += u[i] * u[i]
    bound = min(mixed + sets.sums[b, RADIUS_B] * math.sqrt(width2), rules.norm * length)
    if bound <= enough or sets.sums[b, COUNT] == 0.0:
        return bound
    return min(bound, mean + half_a(sets, rules, b, width2, _solved2(sets.rows, b, u, s)))


# -- learning --------------------------------------------------------------------------------------------


@jit
def learn(sets: Sets, rules: Rules, x: Array, y: float, times: int, number: int, work: Work) -> None:
    """A reward enters the block of its action, ``times`` times; ``number`` counts decisions, -1 if it has none.

    The forecast is made from what was learned before this reward.
    """
    m, d, columns = sets.rows.shape
    b = block_of(x, m)
    rows, s, counts = sets.rows[b], sets.sums[b], sets.counts[b]
    u, below = work.difference, work.below
    _image(sets.rows, b, x, b * d, u)
    mean, forecast, width2 = 0.0, 0.0, 0.0
    for i in range(d):
        width2 += u[i] * u[i]
        mean += u[i] * rows[i, d + 1]
        if columns > d + 2:
            forecast += u[i] * rows[i, d + 2]
    q = min(max(mean, rules.low), rules.high)
    r = y - mean
    weight = float(times)
    gain = weight * width2
    if rules.zetas[rules.zetas.size - 1] == 0.0 and (times > 1 or width2 > 1.0):
        # Averaged over forecasts from N(mean, R²w²): the same for many rounds at once as one after the other.
        s[EXCESS] += rules.noise**2 * math.log1p(gain)
    else:
        s[EXCESS] += weight * ((mean - q) * (2.0 * y - mean - q) + r * r * gain / (1.0 + gain))
    if columns > d + 2:
        rq = q - forecast
        s[CROSS] += weight * r * rq / (1.0 + gain)
        s[SQUARES] += weight * rq * rq / (1.0 + gain)
        below[d + 2] = q
    s[COUNT] += weight
    if number >= 0:
        if number < counts[LAST]:
            counts[LATE] = 1  # B is a statement about the order of the decisions
        counts[LAST] = max(counts[LAST], number)
    below[0] = 0.0
    for j in range(d):
        below[j + 1] = x[b * d + j]
    below[d + 1] = y
    ridge.push(rows, weight, below[:columns])
    counts[ROTATIONS] += 1
    if times > 1 or counts[ROTATIONS] >= max(REFRESH_EVERY, d):
        ridge.refresh(rows)
        counts[ROTATIONS] = 0
    factor = sets.factor[b]
    triangle.add(factor, x[b * d : (b + 1) * d], weight, below[:d])
    s[LOGDET] = triangle.log_determinant(factor, s[SCALE])
    most = d * math.log1p(4.0 * (1.0 + 2.0 * (rules.log_share + 1.0) / d))
    while s[LOGDET] > most:
        triangle.add_identity(factor, 3.0 * s[SCALE], u, below[:d])
        s[SCALE] *= 4.0
        counts[STEP] += 1
        s[LOGDET] = triangle.log_determinant(factor, s[SCALE])
    renew(sets, rules, b)


# -- actions ---------------------------------------------------------------------------------------------


@jit
def look(sets: Sets, X: Array, work: Work) -> int:
    """Evaluate all actions in their blocks; the first row with entries in two blocks, -1 if none has."""
    m, d, columns = sets.rows.shape
    for k in range(X.shape[0]):
        b = block_of(X[k], m)
        if b < 0:
            return k
        work.block[k] = b
        u = work.images[k]
        _image(sets.rows, b, X[k], b * d, u)
        mean, forecast, width2, length2 = 0.0, 0.0, 0.0, 0.0
        for i in range(d):
            mean += u[i] * sets.rows[b, i, d + 1]
            width2 += u[i] * u[i]
            length2 += X[k, b * d + i] ** 2
            if columns > d + 2:
                forecast += u[i] * sets.rows[b, i, d + 2]
        e = sets.sums[b, MIX]
        work.mean[k, 0], work.mean[k, 1] = mean, (mean - e * forecast) / (1.0 - e)
        work.mean[k, 2], work.width2[k] = math.sqrt(length2), width2
    return -1


@jit
def bound(sets: Sets, rules: Rules, k: int, sign: float, enough: float, work: Work) -> float:
    """The least upper bound of ``sign`` times the expected reward of action k; not sought below ``enough``."""
    b = work.block[k]
    mean, mixed, length = work.mean[k]
    zeta = rules.zetas[sets.index[0]]
    found = upper(
        sets, rules, b, work.images[k], sign * mean, sign * mixed, length, enough - zeta, work.below
    )
    return found + zeta


@jit
def pair(sets: Sets, rules: Rules, X: Array, i: int, k: int, enough: float, work: Work) -> float:
    """How much better action i can be than k, both of one block; not sought below ``enough``."""
    b, d = work.block[k], work.difference.size
    zeta = rules.zetas[sets.index[0]]
    length2 = 0.0
    for j in range(d):
        work.difference[j] = work.images[i, j] - work.images[k, j]
        length2 += (X[i, b * d + j] - X[k, b * d + j]) ** 2
    return (
        upper(
            sets, rules, b, work.difference, work.mean[i, 0] - work.mean[k, 0],
            work.mean[i, 1] - work.mean[k, 1], math.sqrt(length2), enough - 2.0 * zeta, work.below,
        )
        + 2.0 * zeta
    )  # fmt: skip
