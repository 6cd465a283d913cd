"""Regressions over blocks of columns: every action has entries in one block alone.

Then Σ is block diagonal, and so are R and M. The factors of a level, an array (d, w + 2) for blocks of w columns, are
those of the blocks, one below the other, each laid out as in ``ridge``. With one block w = d: that of ``ridge`` itself.

block_of       the block in which an action has entries
first_across   an action with entries in two
part           the factors of one block; ``part_of`` outside of kernels
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import inlined, jit, reassociated
from unipac.linalg import ridge


@jit
def block_of(X: Array, k: int, width: int) -> int:
    """The block in which row k of X has entries; 0 if it is zero. Where it often is, block k, is tried first."""
    m = X.shape[1] // width
    for step in range(m):
        b = (k + step) % m
        for j in range(b * width, (b + 1) * width):
            if X[k, j] != 0.0:
                return int(b)
    return int(np.int64(0))


@jit
def first_across(X: Array, width: int) -> int:
    """The first row of X with entries in two blocks; -1 if none has."""
    n, d = X.shape
    for k in range(n):
        b = block_of(X, k, width)
        if _size(X, k, int(np.int64(0)), b * width) + _size(X, k, (b + 1) * width, d) > 0.0:
            return k
    return int(np.int64(-1))


@reassociated
def _size(X: Array, k: int, begin: int, end: int) -> float:
    """The sum of the absolute values of some entries of row k, many at a time."""
    total = 0.0
    for j in range(begin, end):
        total += abs(X[k, j])
    return total


def part_of(rows: Array, block: int) -> Array:
    """The factors (w, w + 2) of one block."""
    width = rows.shape[1] - 2
    return rows[block * width : (block + 1) * width]


part = inlined(part_of)


def reset(rows: Array, regularization: float) -> None:
    """No data yet, in every block."""
    for b in range(len(rows) // (rows.shape[1] - 2)):
        ridge.reset(part_of(rows, b), regularization)


@inlined
def refresh(rows: Array) -> None:
    """Recompute M from R, in every block."""
    for b in range(rows.shape[0] // (rows.shape[1] - 2)):
        ridge.refresh(part(rows, b))


@jit
def log_determinant(rows: Array, regularization: float) -> float:
    """Log det(Σ/λ), the sum over blocks."""
    total = 0.0
    for b in range(rows.shape[0] // (rows.shape[1] - 2)):
        total += ridge.log_determinant(part(rows, b), regularization)
    return total


@jit
def distance(rows: Array, theta: Array) -> float:
    """‖w − θ‖_Σ for the estimate w of all blocks."""
    width = rows.shape[1] - 2
    if width == theta.size:
        return ridge.distance(rows, theta)
    total = 0.0
    for b in range(theta.size // width):
        total += ridge.distance(part(rows, b), theta[b * width : (b + 1) * width]) ** 2
    return math.sqrt(total)
