"""The triangular factor of a Gram matrix alone: for who needs its determinant and nothing else.

As in ``ridge``, RᵀR = ℓI + Σ x_i x_iᵀ, and a row √m xᵀ is rotated in from below. Neither R⁻¹ nor outcomes are kept, so
a round costs half of what it costs there. ``factor`` is (d, d); its lower triangle is not used.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unipac._jit import jit

Array = NDArray[np.float64]


@jit
def reset(factor: Array, scale: float) -> None:
    """No data yet: R = √ℓ I."""
    d = factor.shape[0]
    for i in range(d):
        for j in range(d):
            factor[i, j] = 0.0
        factor[i, i] = math.sqrt(scale)


@jit
def add(factor: Array, x: Array, times: float, below: Array) -> None:
    """Add ``times`` equal rows x; ``below`` is scratch space of size d."""
    d = x.size
    root = math.sqrt(times)
    for j in range(d):
        below[j] = root * x[j]
    for i in range(d):
        if below[i] != 0.0:
            length = math.hypot(factor[i, i], below[i])
            cos, sin = factor[i, i] / length, below[i] / length
            factor[i, i] = length
            for j in range(i + 1, d):
                upper, lower = factor[i, j], below[j]
                factor[i, j] = cos * upper + sin * lower
                below[j] = cos * lower - sin * upper


@jit
def add_identity(factor: Array, scale: float, x: Array, below: Array) -> None:
    """Add ``scale`` times the identity, as d rows; ``x`` and ``below`` are scratch space of size d."""
    for i in range(x.size):
        for j in range(x.size):
            x[j] = 1.0 if i == j else 0.0
        add(factor, x, scale, below)


@jit
def log_determinant(factor: Array, scale: float) -> float:
    """Log det(RᵀR/ℓ) = Σ_i log(R_ii²/ℓ)."""
    d = factor.shape[0]
    inverse = 1.0 / math.sqrt(scale)
    product, total = 1.0, 0.0
    for i in range(d):
        product *= factor[i, i] * inverse
        if product > 1e150:  # a logarithm takes as long as a dozen products
            total += math.log(product)
            product = 1.0
    return max(2.0 * (total + math.log(product)), 0.0)
