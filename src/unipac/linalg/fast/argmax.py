"""The most promising action: argmax over actions of the least upper bound over levels (Alg. 1 line 8).

    ucb(x) = min_l [ mean_l(x) + β_l width_l(x) ]        lcb(x) = max_l [ mean_l(x) − β_l width_l(x) ]

An action needs all levels only if it may win. So the outermost level, as a rule the tightest, first bounds
every action at once; then the action with the largest bound is evaluated, level by level, until a value
tops all bounds that are left. The bounds of a large problem come from BLAS and are raised by more than
their rounding error. Hence the winner is always the first maximiser of the ucb that ``values.evaluate_all``
gives, whichever way the bounds were computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import inlined, jit, reassociated
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels

Array = NDArray[np.float64]

BLAS_FROM = 100_000
"""From about this n d² on, a BLAS product beats a loop over actions."""

BLOCKS = 4
"""A product with a triangular matrix is done in so many parts, which leaves out 3/8 of it."""

PIECE = 16
"""So many values are compared at a time."""

TRIALS = 16
"""So many evaluations one by one cost about as much as a BLAS product for another level."""

EPSILON = float(np.finfo(np.float64).eps)

TINY = 1e-300
"""Squares of numbers below 1e-162 vanish, others near it are rounded; this is more."""


class Workspace(NamedTuple):
    """Scratch memory of the search for n actions; reused between rounds."""

    bound: Array
    """(n,): upper bounds on ucb."""
    mean: Array
    """(n,): of all actions in one level."""
    width2: Array
    """(n,): likewise."""
    trial_mean: Array
    """(C,): of the action under evaluation, by level."""
    trial_width2: Array
    """(C,): likewise."""
    norm2: Array
    """(n,): squared norms of the actions; with BLAS only, as all that follow but ``exact``."""
    columns: Array
    """(d n,): the d columns of the actions still in the race, one after the other."""
    room: Array
    """(block (n + d),): for ``product``."""
    exact: NDArray[np.int8]
    """(n,): 1 where the bound is ucb itself, or below that of another action."""
    remaining: NDArray[np.int64]
    """(1,): how many actions are in ``columns``."""
    left: NDArray[np.int64]
    """(n,): which these are."""
    position: NDArray[np.int64]
    """(n,): where they were before."""


@jit
def workspace(n: int, d: int, capacity: int) -> Workspace:
    """Scratch memory for n actions in d dimensions and a stack with room for ``capacity`` levels.

    It is cut from two arrays, as each takes its time to be made.
    """
    m = n if n * d * d >= BLAS_FROM else 0
    norm2 = 3 * n + 2 * capacity
    columns = norm2 + m
    room = columns + d * m
    floats = np.empty(room + block_of(d) * (m + d))
    flags = (n + 7) // 8
    counts = np.empty(flags + 1 + 2 * m, dtype=np.int64)
    return Workspace(
        floats[:n],
        floats[n : 2 * n],
        floats[2 * n : 3 * n],
        floats[3 * n : 3 * n + capacity],
        floats[3 * n + capacity : norm2],
        floats[norm2:columns],
        floats[columns:room],
        floats[room:],
        counts[:flags].view(np.int8)[:n],
        counts[flags : flags + 1],
        counts[flags + 1 : flags + 1 + m],
        counts[flags + 1 + m :],
    )


@jit
def block_of(d: int) -> int:
    """How many rows of M go into one product."""
    return (d + BLOCKS - 1) // BLOCKS


@inlined
def select(levels: Levels, S: int, X: Array, work: Workspace, means: Array, width2: Array) -> int:
    """The index of the first action with the largest ucb; its means and squared widths by level."""
    n, d = X.shape
    blas = n * d * d >= BLAS_FROM
    if blas:
        bound_by_product(levels, S, X, work)
    else:
        evaluate_all(levels.rows, S, S, X, int(np.int64(0)), n, work.mean, work.width2)
        beta = levels.beta[S - 1]
        for k in range(n):
            work.bound[k] = work.mean[k] + beta * math.sqrt(work.width2[k])
    reopen(work)
    products = S - 1 if blas else 0
    while True:
        k = race(levels, S, X, work, TRIALS if products > 0 else n, means, width2)
        if k >= 0:
            return k
        _tighten(levels, products, work)
        products -= 1


@inlined
def reopen(work: Workspace) -> None:
    """Before a race: no action was evaluated yet."""
    for k in range(work.exact.size):
        work.exact[k] = 0


@inlined
def race(
    levels: Levels,
    S: int,
    X: Array,
    work: Workspace,
    patience: int,
    means: Array,
    width2: Array,
) -> int:
    """The winner, given upper bounds on every ucb in ``work.bound``.

    If ``patience`` actions were evaluated and more are left in the race, -1: tighten the bounds and call
    again.
    """
    lowest = int(np.int64(1))
    best = -math.inf
    leader = -1
    trials = 0
    while True:
        k = first_largest(work.bound)
        if work.exact[k]:
            if k != leader:  # evaluated before the bounds were tightened
                evaluate_all(levels.rows, lowest, S, X, k, k + 1, means, width2)
            return k
        if trials == patience:
            return -1
        evaluate_all(levels.rows, lowest, S, X, k, k + 1, work.trial_mean, work.trial_width2)
        value = math.inf
        for i in range(S):
            ucb = work.trial_mean[i] + levels.beta[i] * math.sqrt(work.trial_width2[i])
            if ucb < value:
                value = ucb
        work.bound[k] = value
        work.exact[k] = 1
        if value > best or (value == best and k < leader):
            best = value
            leader = k
            for i in range(S):
                means[i] = work.trial_mean[i]
                width2[i] = work.trial_width2[i]
        trials += 1


@jit
def first_largest(values: Array) -> int:
    """The smallest index of a maximum."""
    n = values.size
    most = values[0]
    k = 1
    while k + PIECE <= n:  # the largest of a piece: maxima side by side depend on nothing
        m0, m1, m2, m3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        for i in range(k + 4, k + PIECE, 4):
            m0 = max(m0, values[i])
            m1 = max(m1, values[i + 1])
            m2 = max(m2, values[i + 2])
            m3 = max(m3, values[i + 3])
        most = max(most, max(max(m0, m1), max(m2, m3)))
        k += PIECE
    while k < n:
        most = max(most, values[k])
        k += 1
    k = 0
    while k < n - 1 and values[k] != most:
        k += 1
    return k


@jit
def rounding(d: int, m2: float, size: float) -> float:
    """By how much a ucb from ``product`` may differ from that of ``evaluate``, for ‖x‖ = 1.

    Each entry of Mx is off by at most d ε ‖row of M‖ ‖x‖ in either of them. ``m2`` is the ``squared_factor``,
    or more, and ``size`` is |β| + ‖z‖.
    """
    return 4.0 * d * EPSILON * math.sqrt(m2) * size


@jit
def outcome_norm(rows: Array) -> float:
    """‖z‖."""
    d = rows.shape[0]
    z2 = 0.0
    for i in range(d):
        z2 += rows[i, d + 1] ** 2
    return math.sqrt(z2)


@reassociated
def squared_factor(rows: Array) -> float:
    """The sum of the squares of all entries of M, which is the trace of Σ⁻¹: it falls with every round."""
    m2 = 0.0
    for i in range(rows.shape[0]):
        for j in range(i + 1):
            m2 += rows[i, j] * rows[i, j]
    return m2


@jit
def bound_by_product(levels: Levels, level: int, X: Array, work: Workspace) -> None:
    """Upper bounds of all actions by one level, from products; all are in the race."""
    n, d = X.shape
    columns, norm2, index = work.columns.reshape((d, n)), work.norm2, work.left
    begin = 0
    while begin + 8 <= n:  # eight actions at a time: one line of the cache in every column
        x0, x1, x2, x3 = X[begin], X[begin + 1], X[begin + 2], X[begin + 3]
        x4, x5, x6, x7 = X[begin + 4], X[begin + 5], X[begin + 6], X[begin + 7]
        for j in range(d):
            c = columns[j, begin : begin + 8]
            c[0], c[1], c[2], c[3] = x0[j], x1[j], x2[j], x3[j]
            c[4], c[5], c[6], c[7] = x4[j], x5[j], x6[j], x7[j]
        begin += 8
    for k in range(begin, n):
        for j in range(d):
            columns[j, k] = X[k, j]
    work.remaining[0] = n
    for k in range(n):
        norm2[k] = 0.0
        index[k] = k
        work.bound[k] = math.inf
    for j in range(d):
        for k in range(n):
            norm2[k] += columns[j, k] * columns[j, k]
    _lower_by_product(levels, level, n, work)


@jit
def _lower_by_product(levels: Levels, level: int, m: int, work: Workspace) -> None:
    """Lower the bounds of the first m actions of ``columns`` to their ucb in a level.

    It is raised by more than its rounding error.
    """
    rows = levels.rows[level - 1]
    product(rows, work.columns, m, work.room, work.mean, work.width2)
    beta = levels.beta[level - 1]
    slack = rounding(rows.shape[0], squared_factor(rows), abs(beta) + outcome_norm(rows))
    for p in range(m):
        k = work.left[p]
        ucb = work.mean[p] + beta * math.sqrt(work.width2[p] + TINY)
        work.bound[k] = min(work.bound[k], ucb + slack * math.sqrt(work.norm2[k] + TINY))


@jit
def _tighten(levels: Levels, level: int, work: Workspace) -> None:
    """Lower the bounds of the actions in the race to those of another level.

    The others leave ``columns``.
    """
    m = work.remaining[0]
    columns, index, position = work.columns, work.left, work.position
    best = -math.inf
    for k in range(work.exact.size):
        if work.exact[k]:
            best = max(best, work.bound[k])
    count = int(np.int64(0))
    for p in range(m):
        k = index[p]
        if not work.exact[k] and work.bound[k] >= best:
            index[count] = k
            position[count] = p
            count += 1
    work.remaining[0] = count
    if count == 0:
        return
    for j in range(levels.rows.shape[1]):  # in place: nothing is written before it was read
        for p in range(count):
            columns[j * count + p] = columns[j * m + position[p]]
    _lower_by_product(levels, level, count, work)


@jit
def product(rows: Array, columns: Array, m: int, room: Array, mean: Array, width2: Array) -> None:
    """Means and squared widths of m actions, from BLAS products with some rows of M each.

    ``columns`` begins with their d columns, one after the other; ``room`` is for the rows and the products.
    """
    d = rows.shape[0]
    block = block_of(d)
    for k in range(m):
        mean[k] = 0.0
        width2[k] = 0.0
    for begin in range(0, d, block):
        end = min(begin + block, d)
        count = end - begin
        M = room[: count * end].reshape((count, end))
        U = room[count * end : count * (end + m)].reshape((count, m))
        for i in range(count):
            for j in range(end):
                M[i, j] = rows[begin + i, j] if j <= begin + i else 0.0
        np.dot(M, columns[: end * m].reshape((end, m)), U)
        for i in range(count):
            z_i = rows[begin + i, d + 1]
            for k in range(m):
                width2[k] += U[i, k] * U[i, k]
                mean[k] += U[i, k] * z_i
