"""The most promising action: argmax over actions of the least upper bound over levels (Alg. 1 line 8).

    ucb(x) = min_l [ mean_l(x) + β_l width_l(x) ]        lcb(x) = max_l [ mean_l(x) − β_l width_l(x) ]

An action needs all levels only if it may win. So the outermost level, as a rule the tightest, first bounds
every action at once; then the action with the largest bound is evaluated, level by level, until a value
tops all bounds that are left. The bounds of a large problem come from a product of matrices and are raised
by more than their rounding error. Hence the winner is always the first maximiser of the ucb that
``evaluate.evaluate_all`` gives, whichever way the bounds were computed.

The product is a kernel of our own. That of BLAS is as fast on one core, but wakes threads, which costs
more than a choice takes, and more yet where other processes want the cores.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined, jit, reassociated
from unipac.linalg import ridge
from unipac.linalg.fast import simd
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels

PRODUCT_FROM = 100_000
"""From about this n d² on, a product beats a loop over actions."""

PANEL = 8
"""So many actions go into a product side by side: two vectors of four for each of four rows of M."""

PIECE = 16
"""So many values are compared at a time."""

TRIALS = 16
"""So many evaluations one by one cost about as much as a product for another level."""

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
    """(n,): squared norms of the actions; for products only, as all that follow but ``exact``."""
    panels: Array
    """(``panels_of(n)``, d, 8): the actions still in the race, as ``product`` takes them."""
    exact: NDArray[np.int8]
    """(n,): 1 where the bound is ucb itself, or below that of another action."""
    remaining: NDArray[np.int64]
    """(1,): how many actions are in ``panels``."""
    left: NDArray[np.int64]
    """(n,): which these are."""
    position: NDArray[np.int64]
    """(n,): where they were before."""


@jit
def workspace(n: int, d: int, capacity: int) -> Workspace:
    """Scratch memory for n actions in d dimensions and a stack with room for ``capacity`` levels.

    It is cut from two arrays, as each takes its time to be made.
    """
    m = n if is_large(n, d) else 0
    norm2 = 3 * n + 2 * capacity
    panels = norm2 + m
    floats = np.empty(panels + panels_of(m) * d * PANEL)
    flags = (n + 7) // 8
    counts = np.empty(flags + 1 + 2 * m, dtype=np.int64)
    return Workspace(
        floats[:n],
        floats[n : 2 * n],
        floats[2 * n : 3 * n],
        floats[3 * n : 3 * n + capacity],
        floats[3 * n + capacity : norm2],
        floats[norm2:panels],
        floats[panels:].reshape((panels_of(m), d, PANEL)),
        counts[:flags].view(np.int8)[:n],
        counts[flags : flags + 1],
        counts[flags + 1 : flags + 1 + m],
        counts[flags + 1 + m :],
    )


@jit
def is_large(n: int, d: int) -> bool:
    """Whether the bounds of n actions come from a product, which does not pay for half a panel."""
    return n > PANEL // 2 and n * d * d >= PRODUCT_FROM


@jit
def panels_of(n: int) -> int:
    """How many panels hold n actions."""
    return (n + PANEL - 1) // PANEL


@inlined
def select(levels: Levels, S: int, X: Array, work: Workspace, means: Array, width2: Array) -> int:
    """The index of the first action with the largest ucb; its means and squared widths by level."""
    n, d = X.shape
    large = is_large(n, d)
    if large:
        bound_by_product(levels, S, X, work)
    else:
        evaluate_all(levels.rows, S, S, X, int(np.int64(0)), n, work.mean, work.width2)
        beta = levels.beta[S - 1]
        for k in range(n):
            work.bound[k] = work.mean[k] + beta * math.sqrt(work.width2[k])
    reopen(work)
    products = S - 1 if large else 0
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
    n = X.shape[0]
    fill_panels(X, work.panels)
    work.remaining[0] = n
    for k in range(n):
        work.norm2[k] = ridge.squared_norm(X[k])
        work.left[k] = k
        work.bound[k] = math.inf
    _lower_by_product(levels, level, n, work)


@jit
def fill_panels(X: Array, panels: Array) -> None:
    """Eight actions side by side in each panel, column by column; zeros where there are no more."""
    n, d = X.shape
    for p in range(panels.shape[0]):
        panel, first = panels[p], p * PANEL
        if first + PANEL <= n:
            x0, x1, x2, x3 = X[first], X[first + 1], X[first + 2], X[first + 3]
            x4, x5, x6, x7 = X[first + 4], X[first + 5], X[first + 6], X[first + 7]
            for j in range(d):
                c = panel[j]
                c[0], c[1], c[2], c[3] = x0[j], x1[j], x2[j], x3[j]
                c[4], c[5], c[6], c[7] = x4[j], x5[j], x6[j], x7[j]
        else:
            for j in range(d):
                for k in range(PANEL):
                    panel[j, k] = X[first + k, j] if first + k < n else 0.0


@jit
def _lower_by_product(levels: Levels, level: int, m: int, work: Workspace) -> None:
    """Lower the bounds of the first m actions of ``panels`` to their ucb in a level.

    It is raised by more than its rounding error.
    """
    rows = levels.rows[level - 1]
    product(rows, work.panels, m, work.mean, work.width2)
    beta = levels.beta[level - 1]
    slack = rounding(rows.shape[0], squared_factor(rows), abs(beta) + outcome_norm(rows))
    for p in range(m):
        k = work.left[p]
        ucb = work.mean[p] + beta * math.sqrt(work.width2[p] + TINY)
        work.bound[k] = min(work.bound[k], ucb + slack * math.sqrt(work.norm2[k] + TINY))


@jit
def _tighten(levels: Levels, level: int, work: Workspace) -> None:
    """Lower the bounds of the actions in the race to those of another level.

    The others leave ``panels``.
    """
    m = work.remaining[0]
    panels, index, position = work.panels, work.left, work.position
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
    for p in range(count):  # in place: nothing is written before it was read
        source, target = panels[position[p] // PANEL], panels[p // PANEL]
        for j in range(levels.rows.shape[1]):
            target[j, p % PANEL] = source[j, position[p] % PANEL]
    _lower_by_product(levels, level, count, work)


@jit
def product(rows: Array, panels: Array, m: int, mean: Array, width2: Array) -> None:
    """Means u·z and squared widths u·u with u = Mx of the first m actions in ``panels``.

    Of each panel four rows of M at a time, whose products with the eight actions stay in registers.
    """
    d = rows.shape[0]
    out = np.empty(2 * PANEL)
    for p in range(panels_of(m)):
        panel = p * d * PANEL
        q, Q, w, W = simd.zero(), simd.zero(), simd.zero(), simd.zero()
        i = int(np.int64(0))
        while i + 3 < d:
            a, A, b, B = simd.zero(), simd.zero(), simd.zero(), simd.zero()
            c, C, e, E = simd.zero(), simd.zero(), simd.zero(), simd.zero()
            for j in range(i + 1):
                x, X = simd.load(panels, panel + PANEL * j), simd.load(panels, panel + PANEL * j + 4)
                a, A = simd.add_product(a, rows[i, j], x), simd.add_product(A, rows[i, j], X)
                b, B = simd.add_product(b, rows[i + 1, j], x), simd.add_product(B, rows[i + 1, j], X)
                c, C = simd.add_product(c, rows[i + 2, j], x), simd.add_product(C, rows[i + 2, j], X)
                e, E = simd.add_product(e, rows[i + 3, j], x), simd.add_product(E, rows[i + 3, j], X)
            # M is triangular: what is left are three, two and one of its entries.
            j = i + 1
            x, X = simd.load(panels, panel + PANEL * j), simd.load(panels, panel + PANEL * j + 4)
            b, B = simd.add_product(b, rows[i + 1, j], x), simd.add_product(B, rows[i + 1, j], X)
            c, C = simd.add_product(c, rows[i + 2, j], x), simd.add_product(C, rows[i + 2, j], X)
            e, E = simd.add_product(e, rows[i + 3, j], x), simd.add_product(E, rows[i + 3, j], X)
            j += 1
            x, X = simd.load(panels, panel + PANEL * j), simd.load(panels, panel + PANEL * j + 4)
            c, C = simd.add_product(c, rows[i + 2, j], x), simd.add_product(C, rows[i + 2, j], X)
            e, E = simd.add_product(e, rows[i + 3, j], x), simd.add_product(E, rows[i + 3, j], X)
            j += 1
            x, X = simd.load(panels, panel + PANEL * j), simd.load(panels, panel + PANEL * j + 4)
            e, E = simd.add_product(e, rows[i + 3, j], x), simd.add_product(E, rows[i + 3, j], X)
            q += (a * a + b * b) + (c * c + e * e)
            Q += (A * A + B * B) + (C * C + E * E)
            w, W = simd.add_product(w, rows[i, d + 1], a), simd.add_product(W, rows[i, d + 1], A)
            w, W = simd.add_product(w, rows[i + 1, d + 1], b), simd.add_product(W, rows[i + 1, d + 1], B)
            w, W = simd.add_product(w, rows[i + 2, d + 1], c), simd.add_product(W, rows[i + 2, d + 1], C)
            w, W = simd.add_product(w, rows[i + 3, d + 1], e), simd.add_product(W, rows[i + 3, d + 1], E)
            i += 4
        while i < d:  # the rows that are left
            a, A = simd.zero(), simd.zero()
            for j in range(i + 1):
                a = simd.add_product(a, rows[i, j], simd.load(panels, panel + PANEL * j))
                A = simd.add_product(A, rows[i, j], simd.load(panels, panel + PANEL * j + 4))
            q += a * a
            Q += A * A
            w, W = simd.add_product(w, rows[i, d + 1], a), simd.add_product(W, rows[i, d + 1], A)
            i += 1
        simd.store(out, int(np.int64(0)), q)
        simd.store(out, int(np.int64(4)), Q)
        simd.store(out, int(np.int64(8)), w)
        simd.store(out, int(np.int64(12)), W)
        for k in range(p * PANEL, min((p + 1) * PANEL, m)):
            width2[k] = out[k - p * PANEL]
            mean[k] = out[PANEL + k - p * PANEL]
