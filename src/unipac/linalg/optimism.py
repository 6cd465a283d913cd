"""The most promising action: argmax over actions of the least upper bound over levels (Alg. 1 line 8).

    ucb(x) = min_l [ mean_l(x) + β_l width_l(x) ]        lcb(x) = max_l [ mean_l(x) − β_l width_l(x) ]

An action needs all levels only if it may win. So the outermost level, as a rule the tightest, first bounds
every action at once; then the action with the largest bound is evaluated, level by level, until a value
tops all bounds that are left. The bounds of a large problem come from BLAS and are raised by more than
their rounding error. Hence the winner is always the first maximiser of the ucb that ``ridge.evaluate``
gives, whichever way the bounds were computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import inlined, jit
from unipac.linalg.levels import Levels, evaluate

Array = NDArray[np.float64]

BLAS_FROM = 100_000
"""From this n d² on, a BLAS product beats a loop over actions."""

LANES = 16
"""Loops over actions run over a multiple of this length: no scalar remainder after the vector part."""

TRIALS = 16
"""So many evaluations one by one cost about as much as a BLAS product for another level."""

EPSILON = float(np.finfo(np.float64).eps)

TINY = 1e-300
"""Squares of norms below 1e-162 vanish; this takes their place."""


class Workspace(NamedTuple):
    """Scratch memory of the search for n actions, N of them with padding; reused between rounds."""

    bound: Array
    """(n,): upper bounds on ucb."""
    exact: NDArray[np.bool_]
    """(n,): where the bound is ucb itself, or below that of another action."""
    mean: Array
    """(N,): of all actions in one level."""
    width2: Array
    """(N,): likewise."""
    norm2: Array
    """(n,): squared norms of the actions; with BLAS only."""
    u: Array
    """(1, N): a row of M times all actions; with BLAS (n, d), the whole product."""
    columns: Array
    """(d, N): the actions, transposed; with BLAS (n, d) those still in the race."""
    factor: Array
    """(d, d): with BLAS, the transpose of M."""
    trial: Array
    """(2, C): means and squared widths of the action under evaluation, by level."""


@jit
def workspace(n: int, d: int, capacity: int) -> Workspace:
    """Scratch memory for n actions in d dimensions and a stack with room for ``capacity`` levels."""
    blas = n * d * d >= BLAS_FROM
    N = n if blas else (n + LANES - 1) // LANES * LANES
    return Workspace(
        np.empty(n),
        np.empty(n, dtype=np.bool_),
        np.empty(N),
        np.empty(N),
        np.empty(n if blas else 0),
        np.empty((N, d) if blas else (1, N)),
        np.zeros((N, d) if blas else (d, N)),
        np.zeros((d, d) if blas else (0, 0)),
        np.empty((2, capacity)),
    )


@inlined
def select(levels: Levels, S: int, X: Array, work: Workspace, means: Array, width2: Array) -> int:
    """The index of the first action with the largest ucb; its means and squared widths by level."""
    n, d = X.shape
    blas = n * d * d >= BLAS_FROM
    beta = levels.beta[S - 1]
    if blas:
        _by_product(levels, S, X, work)
        slack = rounding(levels, S)
        for k in range(n):
            work.bound[k] = _raised_ucb(work, k, beta, slack)
    else:
        _by_columns(levels, S, X, work)
        for k in range(n):
            work.bound[k] = work.mean[k] + beta * math.sqrt(work.width2[k])
    return race(levels, S, X, work, S - 1 if blas else 0, means, width2)


@inlined
def race(
    levels: Levels,
    S: int,
    X: Array,
    work: Workspace,
    products: int,
    means: Array,
    width2: Array,
) -> int:
    """The winner, given upper bounds on every ucb in ``work.bound``.

    While many actions stay in the race, their bounds are tightened by BLAS products with the levels
    ``products``, ``products - 1``, ..., 1.
    """
    for k in range(work.exact.size):
        work.exact[k] = False
    trial_means, trial_width2 = work.trial[0], work.trial[1]
    best = -math.inf
    leader = -1
    trials = 0
    while True:
        k = first_largest(work.bound)
        if work.exact[k]:
            return k
        evaluate(levels, S, X[k], trial_means, trial_width2)
        value = math.inf
        for i in range(S):
            ucb = trial_means[i] + levels.beta[i] * math.sqrt(trial_width2[i])
            if ucb < value:
                value = ucb
        work.bound[k] = value
        work.exact[k] = True
        if value > best or (value == best and k < leader):
            best = value
            leader = k
            for i in range(S):
                means[i] = trial_means[i]
                width2[i] = trial_width2[i]
        trials += 1
        if products > 0 and trials % TRIALS == 0:
            _tighten(levels, products, X, best, work)
            products -= 1


@inlined
def first_largest(values: Array) -> int:
    """The smallest index of a maximum."""
    k = 0
    for i in range(1, values.size):
        if values[i] > values[k]:
            k = i
    return k


@jit
def rounding(levels: Levels, level: int) -> float:
    """By how much a ucb from ``_by_product`` may differ from that of ``evaluate``, for ‖x‖ = 1.

    Each entry of Mx is off by at most d ε ‖row of M‖ ‖x‖ in either of them.
    """
    rows = levels.rows[level - 1]
    d = rows.shape[0]
    z2 = 0.0
    m2 = 0.0
    for i in range(d):
        z2 += rows[i, d + 1] ** 2
        for j in range(i + 1):
            m2 += rows[i, j] ** 2
    slack: float = 4.0 * d * EPSILON * math.sqrt(m2) * (abs(levels.beta[level - 1]) + math.sqrt(z2))
    return slack


@jit
def _raised_ucb(work: Workspace, k: int, beta: float, slack: float) -> float:
    """The ucb of the k-th action of a product, raised by more than its rounding error."""
    width = math.sqrt(work.width2[k])
    raised: float = work.mean[k] + beta * width + slack * math.sqrt(work.norm2[k] + TINY)
    return raised


@jit
def _tighten(levels: Levels, level: int, X: Array, best: float, work: Workspace) -> None:
    """Lower the bounds of the actions still in the race to those of another level."""
    n, d = X.shape
    left = 0
    for k in range(n):
        if not work.exact[k] and work.bound[k] >= best:
            for j in range(d):
                work.columns[left, j] = X[k, j]
            left += 1
    if left == 0:
        return
    _by_product(levels, level, work.columns[:left], work)
    beta = levels.beta[level - 1]
    slack = rounding(levels, level)
    left = 0
    for k in range(n):
        if not work.exact[k] and work.bound[k] >= best:
            work.bound[k] = min(work.bound[k], _raised_ucb(work, left, beta, slack))
            left += 1


@jit
def _by_product(levels: Levels, level: int, X: Array, work: Workspace) -> None:
    """Means, squared widths and squared norms of all actions in one level, from one BLAS product."""
    n, d = X.shape
    rows = levels.rows[level - 1]
    for i in range(d):
        for j in range(i + 1):
            work.factor[j, i] = rows[i, j]
    U = work.u[:n]
    np.dot(X, work.factor, U)
    for k in range(n):
        mean = 0.0
        width2 = 0.0
        norm2 = 0.0
        for i in range(d):
            width2 += U[k, i] * U[k, i]
            mean += U[k, i] * rows[i, d + 1]
            norm2 += X[k, i] * X[k, i]
        work.mean[k] = mean
        work.width2[k] = width2
        work.norm2[k] = norm2


@inlined
def _by_columns(levels: Levels, level: int, X: Array, work: Workspace) -> None:
    """Means and squared widths of all actions in one level, bit for bit those of ``evaluate``."""
    n, d = X.shape
    rows = levels.rows[level - 1]
    XT, u, mean, width2 = work.columns, work.u[0], work.mean, work.width2
    N = mean.size
    for k in range(n):
        for j in range(d):
            XT[j, k] = X[k, j]
    for k in range(N):
        mean[k] = 0.0
        width2[k] = 0.0
    for i in range(d):
        m0 = rows[i, 0]
        for k in range(N):
            u[k] = m0 * XT[0, k]
        j = 1
        while j + 3 <= i:  # four terms a pass, added in the same order as one by one
            m0, m1, m2, m3 = rows[i, j], rows[i, j + 1], rows[i, j + 2], rows[i, j + 3]
            for k in range(N):
                u[k] = (((u[k] + m0 * XT[j, k]) + m1 * XT[j + 1, k]) + m2 * XT[j + 2, k]) + m3 * XT[j + 3, k]
            j += 4
        while j <= i:
            m0 = rows[i, j]
            for k in range(N):
                u[k] += m0 * XT[j, k]
            j += 1
        z_i = rows[i, d + 1]
        for k in range(N):
            width2[k] += u[k] * u[k]
            mean[k] += u[k] * z_i
