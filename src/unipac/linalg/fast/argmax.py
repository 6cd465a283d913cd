"""The optimistic choice: the argmax over actions of the smallest upper bound over levels (Alg. 1 line 8).

    ucb(x) = min_l [ mean_l(x) + β_l width_l(x) ]        lcb(x) = max_l [ mean_l(x) − β_l width_l(x) ]

An action is evaluated in all levels only if it may win. First the outermost level, usually the tightest, bounds
all actions at once. Then the action with the largest bound is evaluated in all levels, again and again, until
some value exceeds all remaining bounds. If that takes long, one pass evaluates all actions that may still win.
In large problems the bounds come from a matrix product and are raised by more than their rounding error. Hence
the winner is always the first maximiser of the ucb that ``evaluate.evaluate_all`` computes, however the bounds
were computed.

The product is a kernel of this library. BLAS is as fast on one core, but it wakes threads, which takes longer
than a choice, and even longer if other processes use the cores.
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
"""From about this n d² on, a product is faster than a loop over actions."""

PANEL = 8
"""Number of actions side by side in a product: two vectors of four for each of four rows of M."""

PIECE = 16
"""Number of values compared at a time."""

TRIALS = 16
"""Number of single evaluations that cost about as much as a product for another level."""

SCAN = 4
"""Number of products of an evaluation that take as long as a scan takes for one action."""

EPSILON = float(np.finfo(np.float64).eps)

TINY = 1e-300
"""More than any error by underflow: squares of numbers near 1e-162 or below are rounded or vanish."""


class Workspace(NamedTuple):
    """Scratch memory of the search for n actions; reused between rounds."""

    bound: Array
    """(n,): upper bounds on ucb."""
    mean: Array
    """(n,): means of all actions in one level."""
    width2: Array
    """(n,): squared widths of all actions in one level."""
    trial_mean: Array
    """(C,): means of the action under evaluation, by level."""
    trial_width2: Array
    """(C,): squared widths of the action under evaluation, by level."""
    norm2: Array
    """(n,): squared norms of the actions. This and all later fields except ``exact`` are for products only."""
    panels: Array
    """(``panels_of(n)``, d, 8): the actions still in the race, in the layout of ``product``."""
    exact: NDArray[np.int8]
    """(n,): 1 if the action was evaluated, so that its bound is the ucb itself."""
    remaining: NDArray[np.int64]
    """(1,): how many actions are in ``panels``."""
    left: NDArray[np.int64]
    """(n,): indices of the actions in ``panels``."""
    position: NDArray[np.int64]
    """(n,): their places in ``panels`` before it was last compacted."""


@jit
def workspace(n: int, d: int, capacity: int) -> Workspace:
    """Scratch memory for n actions in d dimensions and a stack with room for ``capacity`` levels.

    Its fields are parts of two arrays, since each allocation takes time.
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
    """Whether the bounds of n actions come from a product, which does not pay for half a panel or less."""
    return n > PANEL // 2 and n * d * d >= PRODUCT_FROM


@jit
def panels_of(n: int) -> int:
    """How many panels hold n actions."""
    return (n + PANEL - 1) // PANEL


@inlined
def select(levels: Levels, S: int, X: Array, work: Workspace, means: Array, width2: Array) -> int:
    """The index of the first action with the largest ucb; writes its means and squared widths by level."""
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
    """Mark all actions as not yet evaluated, before a race."""
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
    """The winner, from upper bounds on every ucb in ``work.bound``.

    Returns -1 if ``patience`` actions were evaluated and more remain in the race: the caller then tightens the
    bounds and calls again.

    Each of the first trials takes the largest bound, which costs a scan of all bounds. If many actions tie, that
    would be quadratic. So after as many scans as cost about what all evaluations would, one pass in the order of
    the actions evaluates all that may still win. The winner is the same: the first maximiser of the ucb.
    """
    n, d = X.shape
    lowest = int(np.int64(1))
    best = -math.inf
    leader = -1
    trials = 0
    scans = TRIALS + S * d * d // SCAN
    at = 0
    while True:
        if trials < scans or at == n:
            k = first_largest(work.bound)
            if work.exact[k]:
                if k != leader:  # evaluated before the bounds were tightened
                    evaluate_all(levels.rows, lowest, S, X, k, k + 1, means, width2)
                return k
        else:
            while at < n and (
                work.exact[at] or work.bound[at] < best or (work.bound[at] == best and at > leader)
            ):
                at += 1
            if at == n:
                continue
            k = at
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
    while k + PIECE <= n:  # four independent maxima, so that none waits for another
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
    """The largest difference between the ucb from ``product`` and that from ``evaluate``, for ‖x‖ = 1.

    In either of them each entry of Mx is off by at most d ε ‖row of M‖ ‖x‖. ``m2`` is the ``squared_factor``,
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
    """The sum of the squares of all entries of M: the trace of Σ⁻¹, which decreases with every round."""
    m2 = 0.0
    for i in range(rows.shape[0]):
        for j in range(i + 1):
            m2 += rows[i, j] * rows[i, j]
    return m2


@jit
def bound_by_product(levels: Levels, level: int, X: Array, work: Workspace) -> None:
    """Begin a race of all actions, with upper bounds from the product for one level."""
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
    """Write eight actions side by side into each panel, column by column, and fill the last one with zeros."""
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

    This ucb is raised by more than its rounding error.
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

    Actions that are no longer in the race leave ``panels``.
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
    for p in range(count):  # in place: every entry is read before it is overwritten
        source, target = panels[position[p] // PANEL], panels[p // PANEL]
        for j in range(levels.rows.shape[1]):
            target[j, p % PANEL] = source[j, position[p] % PANEL]
    _lower_by_product(levels, level, count, work)


@jit
def product(rows: Array, panels: Array, m: int, mean: Array, width2: Array) -> None:
    """Means u·z and squared widths u·u with u = Mx of the first m actions in ``panels``.

    For each panel, four rows of M are processed at a time; their products with eight actions stay in registers.
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
            # M is triangular: three, two and one of its entries remain in the next columns.
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
        while i < d:  # the remaining rows
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
