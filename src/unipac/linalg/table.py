"""Means and widths of a fixed set of actions, kept up to date in O(n d) a round.

After a round (x, y), with g_i = ⟨x_i, Σ⁻¹x⟩ for the new Σ and the old mean m and width q of x,

    mean_i  += g_i (y − m)        width_i² −= g_i² (1 + q²)

This subtracts, so errors add up: g_i is off by some d ε ‖M‖² ‖x‖ ‖x_i‖, hence the mean by |y − m| times
that and the width by √(q²(1 + q²)) times that. Both are summed up and raise the upper bounds, which enter
the race of ``optimism`` like any others. A level is computed afresh when it derives M from R anew, when
some width has shrunk below a quarter since, and when a single step could do harm.
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
"""Bounds the rounding of so many subtractions, each on widths at most four times as large."""


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
    """(C, 2): bounds on the errors of means and widths since then, for actions of norm 1."""
    slack: Array
    """(C,): the largest of ``optimism.rounding`` since then, for as many steps as there may be."""


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
        error=np.zeros((capacity, 2)),
        slack=np.zeros(capacity),
    )


def grown(table: Table, capacity: int) -> Table:
    """The same table with room for ``capacity`` levels."""
    return table._replace(
        mean=grown_array(table.mean, capacity),
        width2=grown_array(table.width2, capacity),
        bound=grown_array(table.bound, capacity),
        fresh=grown_array(table.fresh, capacity),
        error=grown_array(table.error, capacity),
        slack=grown_array(table.slack, capacity),
    )


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
    for k in range(work.bound.size):
        work.bound[k] = table.bound[0, k]
    for i in range(1, S):
        for k in range(work.bound.size):
            work.bound[k] = min(work.bound[k], table.bound[i, k])
    return optimism.race(levels, S, table.actions, work, int(np.int64(0)), means, width2)


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
        if rounds > 1 or level > S_before:
            compute(table, levels, level)
        elif level == lowest or (level > lowest and rule == NESTED):
            fresh = levels.rotations[i] == 0
            if fresh or not _step(table, levels, level, x, y - means[i], width2[i]):
                compute(table, levels, level)
        bound(table, levels, level)


@jit
def compute(table: Table, levels: Levels, level: int) -> None:
    """Means and squared widths of a level, from its factors."""
    i = level - 1
    rows = levels.rows[i]
    mean, width2, u = table.mean[i], table.width2[i], np.empty(table.norms.size)
    d, n = table.columns.shape
    for k in range(n):
        mean[k] = 0.0
        width2[k] = 0.0
    for r in range(d):
        _combine(table.columns, rows[r, : r + 1], u)  # one entry of Mx for each action x
        z_r = rows[r, d + 1]
        for k in range(n):
            mean[k] += z_r * u[k]
            width2[k] += u[k] * u[k]
    for k in range(n):
        table.fresh[i, k] = width2[k]
    table.error[i, 0] = 0.0
    table.error[i, 1] = 0.0
    table.slack[i] = 0.0


@jit
def _combine(columns: Array, weights: Array, total: Array) -> None:
    """Σ_j weights_j columns_j, for all actions side by side."""
    n = total.size
    for k in range(n):
        total[k] = weights[0] * columns[0, k]
    for j in range(1, weights.size):
        w = weights[j]
        for k in range(n):
            total[k] += w * columns[j, k]


@jit
def bound(table: Table, levels: Levels, level: int) -> None:
    """The upper bounds of a level, from its means and squared widths."""
    i = level - 1
    beta = levels.beta[i]
    slack = max(table.slack[i], STEPS * optimism.rounding(levels, level))
    table.slack[i] = slack
    slack += table.error[i, 0] + beta * table.error[i, 1]
    for k in range(table.norms.size):
        width = math.sqrt(table.width2[i, k])
        table.bound[i, k] = table.mean[i, k] + beta * width + slack * table.norms[k]


@jit
def _step(table: Table, levels: Levels, level: int, x: Array, residual: float, q: float) -> bool:
    """Add a round (x, y), where y − mean was ``residual`` and the squared width of x was ``q``.

    Returns False if a width has shrunk too far or the step would do harm, so that all must be computed
    afresh.
    """
    i = level - 1
    rows = levels.rows[i]
    mean, width2, g = table.mean[i], table.width2[i], np.empty(table.norms.size)
    d = x.size
    v = np.empty(d)
    ridge.solve(rows, x, v)
    m2 = 0.0
    for r in range(d):
        m2 += ridge.squared_norm(rows[r, : r + 1])
    error = 4.0 * d * optimism.EPSILON * m2 * math.sqrt(ridge.squared_norm(x))
    harm = error * math.sqrt(q * (1.0 + q))
    if harm > HARM:
        return False
    table.error[i, 0] += error * abs(residual)
    table.error[i, 1] += harm
    _combine(table.columns, v, g)
    shrunk = 0
    for k in range(g.size):
        mean[k] += g[k] * residual
        width2[k] -= g[k] * g[k] * (1.0 + q)
        shrunk += width2[k] < SHRUNK * table.fresh[i, k]
    return shrunk == 0
