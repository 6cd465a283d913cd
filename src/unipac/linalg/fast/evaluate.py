"""Means and squared widths of many actions in many levels: the sums of ``ridge.evaluate``, four at a time.

The result for an action and a level is the same, bit for bit, whichever others are evaluated with it. So a
choice does not depend on the order of the search (see ``argmax``). In ``evaluate_sparse`` zeros before the first and
after the last other entry of an action take no time: one with entries in one block of columns is evaluated there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.linalg.blocks import block_of
from unipac.linalg.fast import simd
from unipac.linalg.levels import Levels

_FIRST = np.tril(np.ones((simd.WIDTH, simd.WIDTH)))
"""Row r keeps the first r + 1 of four lanes."""


@inlined
def four(rows: Array, at: int, row: int, X: Array, x: int, i: int) -> Any:
    """Entries i, ..., i + 3 of Mx: four rows of M, from ``at`` on and ``row`` apart, times the vector at ``x``."""
    u0, u1, u2, u3 = simd.zero(), simd.zero(), simd.zero(), simd.zero()
    for j in range(0, i, 4):
        x_j = simd.load(X, x + j)
        u0 += simd.load(rows, at + j) * x_j
        u1 += simd.load(rows, at + row + j) * x_j
        u2 += simd.load(rows, at + 2 * row + j) * x_j
        u3 += simd.load(rows, at + 3 * row + j) * x_j
    x_i = simd.load(X, x + i)  # M is triangular: its diagonal block ends with entries of R
    u0 += simd.load(rows, at + i) * (x_i * simd.load(_FIRST, 0))
    u1 += simd.load(rows, at + row + i) * (x_i * simd.load(_FIRST, 4))
    u2 += simd.load(rows, at + 2 * row + i) * (x_i * simd.load(_FIRST, 8))
    u3 += simd.load(rows, at + 3 * row + i) * x_i
    return simd.sums(u0, u1, u2, u3)


@jit
def _evaluate_within(rows: Array, level: int, X: Array, k: int) -> tuple[float, float]:
    """Mean and squared width of row k of X, which begins or ends with zeros, in a level from 0 on.

    The same sums as in ``evaluate_all``, without the zeros.
    """
    _, d, row = rows.shape
    begin, end = int(np.int64(0)), d
    while begin < d and X[k, begin] == 0.0:
        begin += 1
    while end > begin and X[k, end - 1] == 0.0:
        end -= 1
    begin = begin // 4 * 4
    q, m = simd.zero(), simd.zero()
    x = k * d
    i = begin
    while i + 3 < d:
        at = (level * d + i) * row
        u0, u1, u2, u3 = simd.zero(), simd.zero(), simd.zero(), simd.zero()
        for j in range(begin, min(i, end), 4):
            x_j = simd.load(X, x + j)
            u0 += simd.load(rows, at + j) * x_j
            u1 += simd.load(rows, at + row + j) * x_j
            u2 += simd.load(rows, at + 2 * row + j) * x_j
            u3 += simd.load(rows, at + 3 * row + j) * x_j
        if i < end:
            x_i = simd.load(X, x + i)
            u0 += simd.load(rows, at + i) * (x_i * simd.load(_FIRST, 0))
            u1 += simd.load(rows, at + row + i) * (x_i * simd.load(_FIRST, 4))
            u2 += simd.load(rows, at + 2 * row + i) * (x_i * simd.load(_FIRST, 8))
            u3 += simd.load(rows, at + 3 * row + i) * x_i
        u = simd.sums(u0, u1, u2, u3)
        q += u * u
        m += u * simd.gather(rows, at + d + 1, row)
        i += 4
    mean, squares = simd.total(m), simd.total(q)
    while i < d:
        at = (level * d + i) * row
        u0 = simd.zero()
        j = begin
        while j + 3 <= i:
            u0 += simd.load(rows, at + j) * simd.load(X, x + j)
            j += 4
        u_i = simd.total(u0)
        while j <= i:
            u_i += rows[level, i, j] * X[k, j]
            j += 1
        squares += u_i * u_i
        mean += u_i * rows[level, i, d + 1]
        i += 1
    return mean, squares


@jit
def evaluate_all(
    rows: Array, low: int, high: int, X: Array, first: int, last: int, means: Array, width2: Array
) -> None:
    """Means u·z and squared widths u·u with u = Mx of X[first], ..., X[last - 1], each in levels low to high.

    The results fill the first entries of ``means`` and ``width2``, action by action, level by level. If the factors
    are those of blocks (see ``blocks``), an action is evaluated in its own.
    """
    if rows.shape[2] == rows.shape[1] + 2:
        _evaluate(rows, low, high, X, first, last, int(np.int64(0)), means, width2)
    else:
        _evaluate_in_blocks(rows, low, high, X, first, last, means, width2)


@jit
def _evaluate_in_blocks(
    rows: Array, low: int, high: int, X: Array, first: int, last: int, means: Array, width2: Array
) -> None:
    """The same for factors of blocks: those of all levels are one long stack, and an action is one row for each."""
    C, d, row = rows.shape
    w = row - 2
    m = d // w
    cut, parts = rows.reshape((C * m, w, row)), X.reshape((X.shape[0] * m, w))
    entry = int(np.int64(0))
    for k in range(first, last):
        b = block_of(X, k, w)
        part = k * m + b
        for level in range(low - 1, high):
            own = level * m + b + 1
            _evaluate(cut, own, own, parts, part, part + 1, entry, means, width2)
            entry += 1


@inlined
def _evaluate(
    rows: Array, low: int, high: int, X: Array, first: int, last: int, entry: int, means: Array, width2: Array
) -> None:
    """As ``evaluate_all`` for factors without blocks; the results begin at ``entry``."""
    _, d, row = rows.shape
    for k in range(first, last):
        x = k * d
        for level in range(low - 1, high):
            q, m = simd.zero(), simd.zero()
            at = level * d * row
            i = int(np.int64(0))
            while i + 3 < d:
                u = four(rows, at, row, X, x, i)
                q += u * u
                m += u * simd.gather(rows, at + d + 1, row)
                i += 4
                at += 4 * row
            mean, squares = simd.total(m), simd.total(q)
            while i < d:  # the remaining rows
                u0 = simd.zero()
                j = int(np.int64(0))
                while j + 3 <= i:
                    u0 += simd.load(rows, at + j) * simd.load(X, x + j)
                    j += 4
                u_i = simd.total(u0)
                while j <= i:
                    u_i += rows[level, i, j] * X[k, j]
                    j += 1
                squares += u_i * u_i
                mean += u_i * rows[level, i, d + 1]
                i += 1
                at += row
            means[entry] = mean
            width2[entry] = squares
            entry += 1


@jit
def evaluate_sparse(
    rows: Array, low: int, high: int, X: Array, first: int, last: int, means: Array, width2: Array
) -> None:
    """As ``evaluate_all``, bit for bit; faster where actions begin or end with zeros, else slower."""
    entry = 0
    for k in range(first, last):
        for level in range(low - 1, high):
            means[entry], width2[entry] = _evaluate_within(rows, level, X, k)
            entry += 1


@jit
def evaluate_one(levels: Levels, S: int, x: Array, means: Array, width2: Array) -> None:
    """Mean and squared width of x in each level, equal to those of ``ridge.evaluate`` up to rounding."""
    first, once = int(np.int64(0)), int(np.int64(1))
    evaluate_all(levels.rows, once, S, x.reshape((1, x.size)), first, once, means, width2)
