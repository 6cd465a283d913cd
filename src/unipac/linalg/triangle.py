"""The triangular factor of a Gram matrix alone: for those who need its determinant and nothing else.

As in ``ridge``, RᵀR = ℓI + Σ x_i x_iᵀ, and a row √m xᵀ is rotated in from below. Neither R⁻¹ nor outcomes are kept, so
a round costs a third of what it costs there. ``factor`` is (d, ``columns(d)``): row i holds R_ii, ..., R_i,d-1 in their
columns and 1/R_ii in the last one. The rest is never used, but written to: rotations process four columns at a time.
"""

from __future__ import annotations

import math

from unipac._arrays import Array
from unipac._jit import jit
from unipac.linalg.fast import simd


@jit
def columns(d: int) -> int:
    """Columns of the array that holds a factor: d, rounded up to a multiple of four, and one."""
    return (d + 3) // 4 * 4 + 1


@jit
def reset(factor: Array, scale: float) -> None:
    """No data yet: R = √ℓ I."""
    d, last = factor.shape[0], factor.shape[1] - 1
    for i in range(d):
        for j in range(last):
            factor[i, j] = 0.0
        factor[i, i], factor[i, last] = math.sqrt(scale), 1.0 / math.sqrt(scale)


@jit
def push(factor: Array, times: float, below: Array) -> None:
    """Add ``times`` equal rows; ``below`` holds their d entries, then zeros, ``columns(d)`` in all; it is lost.

    As in ``ridge.push``: the row below is √weight ``below``, so that no rotation waits for a root or a quotient.
    """
    d, width = factor.shape
    last = width - 1
    weight, inverse_weight = times, 1.0 / times
    x = below[0]
    for i in range(d):
        following = below[i + 1]
        if x != 0.0:
            t = x * factor[i, last]
            if i + 1 < d:
                following -= t * factor[i, i + 1]
            sine = weight * t
            longer = inverse_weight + t * t
            lighter = 1.0 / longer
            stretch = math.sqrt(longer * weight)
            cosine = stretch * (lighter * inverse_weight)
            weight, inverse_weight = lighter, longer
            diagonal = factor[i, i] * stretch
            inverse = factor[i, last] * cosine
            for j in range(i // 4 * 4, last, 4):
                upper, lower = simd.load(factor, i * width + j), simd.load(below, j)
                simd.store(factor, i * width + j, simd.add_product(upper, sine, lower) * cosine)
                simd.store(below, j, simd.add_product(lower, -t, upper))
            factor[i, i] = diagonal
            factor[i, last] = inverse * (2.0 - diagonal * inverse)  # a step of Newton's
        x = following


@jit
def add_identity(factor: Array, scale: float, below: Array) -> None:
    """Add ``scale`` times the identity, as d rows; ``below`` is scratch space for ``columns(d)`` numbers."""
    d, width = factor.shape
    for i in range(d):
        for j in range(width):
            below[j] = 1.0 if i == j else 0.0
        push(factor, scale, below)


@jit
def log_determinant(factor: Array, scale: float) -> float:
    """Log det(RᵀR/ℓ) = Σ_i log(R_ii²/ℓ), never negative: RᵀR is at least ℓI."""
    d = factor.shape[0]
    inverse = 1.0 / math.sqrt(scale)
    product, total = 1.0, 0.0
    for i in range(d):
        product *= factor[i, i] * inverse
        if product > 1e150:  # a logarithm takes as long as a dozen products
            total += math.log(product)
            product = 1.0
    return max(2.0 * (total + math.log(product)), 0.0)


@jit
def inverse_norm(factor: Array, v: Array) -> float:
    """√(vᵀ(RᵀR)⁻¹v) = ‖R⁻ᵀv‖ of the first d entries of v, which are overwritten."""
    d = factor.shape[0]
    total = 0.0
    for i in range(d):
        v[i] /= factor[i, i]
        for j in range(i + 1, d):
            v[j] -= factor[i, j] * v[i]
        total += v[i] * v[i]
    return math.sqrt(total)
