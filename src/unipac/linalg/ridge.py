"""One ridge regression, stored as a triangular factor that is updated by rotations.

For rounds (x_i, y_i) and regularization λ let Σ = λI + Σ x_i x_iᵀ and b = Σ y_i x_i. The state holds

    R   upper triangular, RᵀR = Σ        authoritative
    z   with Rᵀz = b                     authoritative
    M   lower triangular, M = R⁻ᵀ        derived from R, updated along with it, recomputed now and then

so that for any x, with u = Mx,

    width²  ‖x‖²_{Σ⁻¹} = u·u             mean  ⟨Σ⁻¹b, x⟩ = u·z

There is no cancellation, so both stay accurate for directions that were seen a million times, where xᵀΣ⁻¹x with
an explicit inverse loses all digits of 1/λ. A round (x, y) is one more row (xᵀ, y) below (R, z). d Givens
rotations merge it into (R, z), and the same rotations turn (M over a zero row) into the new M:

    G [R  z] = [R' z']      G [M] = [M']
      [xᵀ y]   [0   ·]        [0]   [· ]

m equal rounds are the single row √m (xᵀ, y). Row i of M ends where row i of R begins, hence the packed
layout: one array ``rows`` of shape (d, d + 2), whose row i is

    M_i0 ... M_ii | R_ii ... R_i,d-1 | z_i

and one rotation is one pass over two rows. Further outcomes of the same rounds may follow z as columns of their own.
After all rotations the row below is (m, ·, ρ). It determines how the width and the mean of any other vector v change,
since rotations keep lengths and angles:

    width²  falls by ⟨m, v⟩²             mean  falls by ⟨m, v⟩ ρ
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import inlined, jit


@jit
def reset(rows: Array, regularization: float) -> None:
    """No data yet: R = √λ I, M = I/√λ, z = 0."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] = 0.0
        rows[i, i] = 1.0 / math.sqrt(regularization)
        rows[i, i + 1] = math.sqrt(regularization)


@inlined
def copy(source: Array, target: Array) -> None:
    """Copy entry by entry, since Numba takes seconds to compile an assignment of arrays."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@jit
def squared_norm(x: Array) -> float:
    """‖x‖²; a loop, because Numba takes seconds to compile a call of BLAS."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * x[j]
    return total


@jit
def evaluate(rows: Array, x: Array) -> tuple[float, float]:
    """The mean ⟨Σ⁻¹b, x⟩ and the squared width ‖x‖²_{Σ⁻¹}."""
    d = x.size
    mean = 0.0
    width2 = 0.0
    for i in range(d):
        u = 0.0
        for j in range(i + 1):
            u += rows[i, j] * x[j]
        width2 += u * u
        mean += u * rows[i, d + 1]
    return mean, width2


@jit
def solve(rows: Array, b: Array, w: Array) -> None:
    """Write Σ⁻¹b = Mᵀ(Mb) into w."""
    d = b.size
    for j in range(d):
        w[j] = 0.0
    i = int(np.int64(0))
    while i + 3 < d:  # four rows at a time, each summed in the order of its entries
        u0, u1, u2, u3 = 0.0, 0.0, 0.0, 0.0
        for j in range(i + 1):
            u0 += rows[i, j] * b[j]
            u1 += rows[i + 1, j] * b[j]
            u2 += rows[i + 2, j] * b[j]
            u3 += rows[i + 3, j] * b[j]
        u1 += rows[i + 1, i + 1] * b[i + 1]
        u2 = (u2 + rows[i + 2, i + 1] * b[i + 1]) + rows[i + 2, i + 2] * b[i + 2]
        u3 = (u3 + rows[i + 3, i + 1] * b[i + 1]) + rows[i + 3, i + 2] * b[i + 2]
        u3 += rows[i + 3, i + 3] * b[i + 3]
        _add_row(rows, i, u0, w)
        _add_row(rows, i + 1, u1, w)
        _add_row(rows, i + 2, u2, w)
        _add_row(rows, i + 3, u3, w)
        i += 4
    while i < d:
        u0 = 0.0
        for j in range(i + 1):
            u0 += rows[i, j] * b[j]
        _add_row(rows, i, u0, w)
        i += 1


@jit
def _add_row(rows: Array, i: int, u: float, w: Array) -> None:
    """Add u times row i of M to w."""
    if u != 0.0:  # one-hot features leave most of Mb at zero
        for j in range(i + 1):
            w[j] += rows[i, j] * u


@inlined
def add(rows: Array, x: Array, y: float, times: float, below: Array) -> None:
    """Add ``times`` equal rounds (x, y); ``below``, of size d + 2, receives the remainder of the row below."""
    d = x.size
    below[0] = 0.0
    for j in range(d):
        below[j + 1] = x[j]
    below[d + 1] = y
    push(rows, times, below)


@jit
def push(rows: Array, times: float, below: Array) -> None:
    """Rotate ``times`` equal rows (0, x, y, further outcomes), which ``below`` holds, into the factors.

    During the rotations that row is √weight ``below``, so that no rotation waits for a root or a quotient of the one
    before. With t = (entry of x)/R_ii, the tangent of its angle is √weight t and, with old values on the right,

        row ← cos (row + weight t below)     below ← below − t row     1/weight ← 1/weight + t²

    or, equivalently, below ← cos (below − t row) at the same weight.
    """
    d, columns = rows.shape
    weight = times
    inverse_weight = 1.0 / times
    x_i = below[1]
    for i in range(d):
        # The slot of x_i becomes zero; from then on it is the (i+1)-st entry of the row below M.
        next_x = below[i + 2]
        if x_i == 0.0:
            below[i + 1] = 0.0  # next_x and this slot hold the same number, but with different rounding
        else:
            t = x_i * rows[i, i]
            next_x -= t * rows[i, i + 2]
            tan2 = (weight * t) * t
            stretch = math.sqrt(1.0 + tan2)  # 1/cos
            length = rows[i, i + 1]
            if tan2 <= 1.0:
                # 1/cos = 1 + excess: small rotations, written as small corrections, round less.
                excess = tan2 / (1.0 + stretch)
                length += excess * length
                longer = inverse_weight + t * t
                lighter = 1.0 / longer
                sin = (weight * t) * stretch * (inverse_weight * lighter)
                weight, inverse_weight = lighter, longer
                for j in range(columns):
                    upper = rows[i, j]
                    lower = below[j] - t * upper
                    rows[i, j] = upper + (excess * upper + sin * lower)
                    below[j] = 0.0 if j == i + 1 else lower
            else:
                cos = 1.0 / stretch
                length *= stretch
                next_x *= cos
                for j in range(columns):
                    upper = cos * rows[i, j]
                    lower = cos * below[j]
                    rows[i, j] = upper + (weight * t) * lower
                    below[j] = 0.0 if j == i + 1 else lower - t * upper
            rows[i, i + 1] = length
        x_i = next_x
    root = math.sqrt(weight)
    for j in range(columns):
        below[j] *= root


@inlined
def refresh(rows: Array) -> None:
    """Recompute M from R.

    M Rᵀ = I is solved row by row. This order leaves a residual on the left, M̂ = (I + E) R⁻ᵀ with ‖E‖ of the
    order of machine precision times cond(R), so that every M̂x has this *relative* error.
    """
    d = rows.shape[0]
    for i in range(d):
        rows[i, i] = 1.0 / rows[i, i + 1]
    for i in range(d):
        for j in range(i - 1, -1, -1):
            total = 0.0
            for k in range(j + 1, i + 1):
                total += rows[i, k] * rows[j, k + 1]
            rows[i, j] = -total * rows[j, j]


@jit
def log_determinant(rows: Array, regularization: float) -> float:
    """Log det(Σ/λ) = Σ_i log(R_ii²/λ), exact to rounding and never negative: Σ is at least λI.

    A logarithm takes as long as a dozen products, so it is taken once, of the product of all R_ii/√λ, which are at
    least 1. If that product leaves the range of floats, logarithms are summed. Four partial products run in parallel.
    """
    d = rows.shape[0]
    inverse = 1.0 / math.sqrt(regularization)
    p0, p1, p2, p3 = 1.0, 1.0, 1.0, 1.0
    i = int(np.int64(0))
    while i + 3 < d:
        p0 *= rows[i, i + 1] * inverse
        p1 *= rows[i + 1, i + 2] * inverse
        p2 *= rows[i + 2, i + 3] * inverse
        p3 *= rows[i + 3, i + 4] * inverse
        i += 4
    while i < d:
        p0 *= rows[i, i + 1] * inverse
        i += 1
    product = (p0 * p1) * (p2 * p3)
    if 1e-150 < product < 1e150:
        return max(2.0 * math.log(product), 0.0)
    total = 0.0
    for i in range(d):
        total += math.log(rows[i, i + 1] * inverse)
    return max(2.0 * total, 0.0)


@jit
def distance(rows: Array, theta: Array) -> float:
    """‖w − θ‖_Σ = ‖z − Rθ‖ for the estimate w = Σ⁻¹b."""
    d = theta.size
    total = 0.0
    for i in range(d):
        residual = rows[i, d + 1]
        for j in range(i, d):
            residual -= rows[i, j + 1] * theta[j]
        total += residual * residual
    return math.sqrt(total)
