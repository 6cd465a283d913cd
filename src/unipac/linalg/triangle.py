"""The triangular factor of a Gram matrix alone: for those who need its determinant and nothing else.

As in ``ridge``, RᵀR = ℓI + Σ x_i x_iᵀ, and a row √m xᵀ is rotated in from below. Neither R⁻¹ nor outcomes are kept, so
a round costs a third of what it costs there. ``factor`` is (d, d); its lower triangle is not used.
"""

from __future__ import annotations

import math

from unipac._arrays import Array
from unipac._jit import jit


@jit
def reset(factor: Array, scale: float) -> None:
    """No data yet: R = √ℓ I."""
    d = factor.shape[0]
    for i in range(d):
        for j in range(d):
            factor[i, j] = 0.0
        factor[i, i] = math.sqrt(scale)


@jit
def push(factor: Array, times: float, below: Array) -> None:
    """Add ``times`` equal rows, whose d entries ``below`` holds; they are lost."""
    d = factor.shape[0]
    root = math.sqrt(times)
    for j in range(d):
        below[j] *= root
    for i in range(d):
        if below[i] != 0.0:
            length = math.sqrt(factor[i, i] * factor[i, i] + below[i] * below[i])
            inverse = 1.0 / length
            cos, sin = factor[i, i] * inverse, below[i] * inverse
            factor[i, i] = length
            for j in range(i + 1, d):
                upper, lower = factor[i, j], below[j]
                factor[i, j] = cos * upper + sin * lower
                below[j] = cos * lower - sin * upper


@jit
def add_identity(factor: Array, scale: float, below: Array) -> None:
    """Add ``scale`` times the identity, as d rows; ``below`` is scratch space for d numbers."""
    d = factor.shape[0]
    for i in range(d):
        for j in range(d):
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
