"""Means and widths of a fixed set of actions, kept up to date in O(n d) a round.

After a round (x, y), with g_i = ⟨x_i, Σ⁻¹x⟩ for the new Σ and the old mean m and width q of x,

    mean_i  += g_i (y − m)        width_i² −= g_i² (1 + q²)

This subtracts, so errors add up: g_i is off by some d ε ‖M‖² ‖x‖ ‖x_i‖, hence the mean by |y − m| times
that and the width by √(q²(1 + q²)) times that. Both are summed up and raise the upper bounds, which enter
the race of ``optimism`` like any others. A level is computed afresh after some hundred steps, when some width
has shrunk below a quarter since, and when a single step could do harm.

Of nested levels the outermost, as a rule the tightest, follows every round; an inner one that changed is
computed when a race goes on for long without it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import jit
from unipac.linalg import optimism, ridge
from unipac.linalg.levels import NESTED, Levels, grown_array

Array = NDArray[np.float64]

SHRUNK = 1.0 / 16.0
"""Of a squared width since it was computed afresh."""

HARM = 1e-9
"""The error of a width of an action of norm 1 that a single step may cause."""

STEPS = 256.0
"""So many steps may follow a fresh start; bounds the rounding of that many subtractions, each on widths at
most four times as large."""

PATIENCE = 16
"""So many actions are evaluated before an inner level is computed."""


class Table(NamedTuple):
    """Values of n fixed actions in each of C levels; n = 0 where the actions are not fixed."""

    actions: Array
    """(n, d)."""
    columns: Array
    """(d, n): the same, transposed."""
    norms: Array
    """(n,): of the actions."""
    mean: Array
    """(C, n)."""
    width2: Array
    """(C, n)."""
    bound: Array
    """(C, n): upper bounds on mean + β width."""
    fresh: Array
    """(C, n): the squared widths when they were last computed afresh."""
    error: Array
    """(C, 5): since then, bounds on the errors of means and widths, for actions of norm 1; ``squared_factor``
    then; the number of steps since, negative if the level has changed and was not followed; the largest of
    ``optimism.rounding`` since then, for as many steps as there may be."""


def empty(actions: Array, capacity: int) -> Table:
    """A table for these actions, to be filled by ``compute``."""
    n = len(actions)
    return Table(
        actions=actions,
        columns=np.ascontiguousarray(actions.T),
        norms=np.sqrt((actions**2).sum(axis=1) + optimism.TINY),
        mean=np.zeros((capacity, n)),
        width2=np.zeros((capacity, n)),
        bound=np.zeros((capacity, n)),
        fresh=np.zeros((capacity, n)),
        error=np.zeros((capacity, 5)),
    )


def grown(table: Table, capacity: int) -> Table:
    """The same table with room for ``capacity`` levels."""
    return table._replace(
        mean=grown_array(table.mean, capacity),
        width2=grown_array(table.width2, capacity),
        bound=grown_array(table.bound, capacity),
        fresh=grown_array(table.fresh, capacity),
        error=grown_array(table.error, capacity),
    )


Packed = tuple[Array, Array, Array, Array]
"""The fields of a Table: actions; columns and norms; means, widths, bounds and fresh widths; errors."""


def packed(table: Table) -> tuple[Packed, Table]:
    """A table in fewer arrays, since Numba takes its time to receive each, and the table that shares them."""
    columns = np.concatenate((table.columns, table.norms[None]))
    values = np.stack((table.mean, table.width2, table.bound, table.fresh))
    fields = (table.actions, columns, values, table.error)
    return fields, unpacked(fields)


@jit
def unpacked(fields: Packed) -> Table:
    """The table that was packed."""
    actions, columns, values, error = fields
    d = columns.shape[0] - 1
    return Table(actions, columns[:d], columns[d], values[0], values[1], values[2], values[3], error)


@jit
def select(
    table: Table,
    levels: Levels,
    S: int,
    work: optimism.Workspace,
    means: Array,
    width2: Array,
) -> int:
    """As ``optimism.select``, from the bounds of the table."""
    optimism.reopen(work)
    unknown = 0
    for k in range(work.bound.size):
        work.bound[k] = math.inf
    for i in range(S):
        if is_unknown(table, i + 1):
            unknown += 1
        else:
            _lower(work, table.bound[i])
    while True:
        patience = PATIENCE if unknown > 0 else work.bound.size
        k = optimism.race(levels, S, table.actions, work, patience, means, width2)
        if k >= 0:
            return k
        level = S
        while not is_unknown(table, level):
            level -= 1
        compute(table, levels, level)
        bound(table, levels, level)
        _lower(work, table.bound[level - 1])
        unknown -= 1


@jit
def is_unknown(table: Table, level: int) -> bool:
    """Whether the values of a level are not those of its data."""
    return bool(table.error[level - 1, 3] < 0.0)


@jit
def _lower(work: optimism.Workspace, bound: Array) -> None:
    """Take over other bounds where they are lower; what was evaluated stays."""
    for k in range(bound.size):
        lower = bound[k] if bound[k] < work.bound[k] else work.bound[k]
        work.bound[k] = work.bound[k] if work.exact[k] else lower


@jit
def learn(
    table: Table,
    levels: Levels,
    rule: int,
    lowest: int,
    S_before: int,
    S: int,
    x: Array,
    y: float,
    means: Array,
    width2: Array,
    rounds: int,
) -> None:
    """Follow the levels after a round, or several equal ones, that changed ``lowest`` and above.

    ``means`` and ``width2`` are those of x before it.
    """
    for level in range(min(lowest, S_before), S + 1):
        i = level - 1
        if level == lowest or (level > lowest and rule == NESTED):
            if rule == NESTED and level < S:
                table.error[i, 3] = -1.0
            elif (
                rounds > 1
                or level > S_before
                or is_unknown(table, level)
                or not _step(table, levels, level, x, y - means[i], width2[i])
            ):
                compute(table, levels, level)
        elif level > S_before:
            compute(table, levels, level)
        if not is_unknown(table, level):
            bound(table, levels, level)


@jit
def compute(table: Table, levels: Levels, level: int) -> None:
    """Means and squared widths of a level, from its factors."""
    i = level - 1
    d, n = table.columns.shape
    block = optimism.block_of(d)
    factor, u = np.empty((block, d)), np.empty((block, n))
    optimism.product(levels.rows[i], table.columns, n, factor, u, table.mean[i], table.width2[i])
    for k in range(n):
        table.fresh[i, k] = table.width2[i, k]
    table.error[i, 0] = 0.0
    table.error[i, 1] = 0.0
    table.error[i, 2] = optimism.squared_factor(levels.rows[i])
    table.error[i, 3] = 0.0
    table.error[i, 4] = 0.0


@jit
def _combine(columns: Array, weights: Array, total: Array) -> None:
    """Σ_j weights_j columns_j, for all actions side by side."""
    n = total.size
    for k in range(n):
        total[k] = 0.0
    j = 0
    while j + 4 <= weights.size:  # four terms a pass
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for k in range(n):
            total[k] += (w0 * c0[k] + w1 * c1[k]) + (w2 * c2[k] + w3 * c3[k])
        j += 4
    while j < weights.size:
        w0, c0 = weights[j], columns[j]
        for k in range(n):
            total[k] += w0 * c0[k]
        j += 1


@jit
def bound(table: Table, levels: Levels, level: int) -> None:
    """The upper bounds of a level, from its means and squared widths."""
    i = level - 1
    beta = levels.beta[i]
    slack = max(table.error[i, 4], STEPS * optimism.rounding(levels, level, table.error[i, 2]))
    table.error[i, 4] = slack
    slack += table.error[i, 0] + beta * table.error[i, 1]
    for k in range(table.norms.size):
        width = math.sqrt(table.width2[i, k])
        table.bound[i, k] = table.mean[i, k] + beta * width + slack * table.norms[k]


@jit
def _step(table: Table, levels: Levels, level: int, x: Array, residual: float, q: float) -> bool:
    """Add a round (x, y), where y − mean was ``residual`` and the squared width of x was ``q``.

    Returns False if there were too many steps, a width has shrunk too far or the step would do harm, so that
    all must be computed afresh.
    """
    i = level - 1
    rows = levels.rows[i]
    mean, width2, g = table.mean[i], table.width2[i], np.empty(table.norms.size)
    d = x.size
    v = np.empty(d)
    ridge.solve(rows, x, v)
    error = 4.0 * d * optimism.EPSILON * table.error[i, 2] * math.sqrt(ridge.squared_norm(x))
    harm = error * math.sqrt(q * (1.0 + q))
    if harm > HARM or table.error[i, 3] >= STEPS:
        return False
    table.error[i, 3] += 1.0
    table.error[i, 0] += error * abs(residual)
    table.error[i, 1] += harm
    _combine(table.columns, v, g)
    shrunk = 0
    for k in range(g.size):
        mean[k] += g[k] * residual
        width2[k] -= g[k] * g[k] * (1.0 + q)
        shrunk += width2[k] < SHRUNK * table.fresh[i, k]
    return shrunk == 0
