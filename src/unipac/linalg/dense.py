"""Small symmetric matrices in plain loops: no threaded library is called for them."""

from __future__ import annotations

import math
from typing import Any

from unipac._arrays import Array
from unipac._jit import jit


@jit
def dot(x: Array, y: Array) -> float:
    """The inner product."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@jit
def cholesky(A: Array, L: Array) -> bool:
    """Fill the lower triangle of L with the factor of A = LL'; False if A is not positive definite."""
    d = A.shape[0]
    for i in range(d):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@jit
def invert(A: Array, result: Array, L: Array) -> float:
    """Write A⁻¹ of a positive definite A; returns log det A."""
    d = A.shape[0]
    cholesky(A, L)
    logdet = 0.0
    for j in range(d):
        logdet += 2.0 * math.log(L[j, j])
        for i in range(j, d):  # column j of L⁻¹, kept in the upper triangle of the result
            total = 1.0 if i == j else 0.0
            for k in range(j, i):
                total -= L[i, k] * result[j, k]
            result[j, i] = total / L[i, i]
    for i in range(d):
        for j in range(i, d):  # (L⁻¹)'L⁻¹; entries above row i are not needed any more
            total = 0.0
            for k in range(j, d):
                total += result[i, k] * result[j, k]
            L[i, j] = total
    for i in range(d):
        for j in range(i, d):
            result[i, j], result[j, i] = L[i, j], L[i, j]
    return logdet


@jit
def copy_all(source: Any, target: Any) -> None:
    """Copy a vector entry by entry: Numba takes seconds to compile an assignment of arrays."""
    for i in range(source.size):
        target[i] = source[i]


@jit
def fill_all(target: Any, value: Any) -> None:
    """Set every entry of a vector."""
    for i in range(target.size):
        target[i] = value
