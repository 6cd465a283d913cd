"""Upper bounds on the ucb of a fixed set of actions, kept up to date in O(n d) a round, in single precision.

A round leaves (m, ρ) below the factors of a level (see ``ridge``), and for every fixed action x_k

    g_k = ⟨m, x_k⟩        mean_k −= g_k ρ        width_k² −= g_k²

What takes time is g. It is computed in single precision, from actions of norm 1, and so known only up to an
error e_k. The table adds |ρ| e_k to the mean and subtracts only (|g_k| − e_k)², which keeps its means and
widths above the true ones. Its bounds enter the race of ``optimism`` like any others: the few actions that
may win are evaluated there, and no choice depends on single precision. A level is computed afresh when its M
was, and when its bounds leave many actions in the race.

Of nested levels the outermost, as a rule the tightest, follows every round; an inner one that changed is
computed when a race goes on for long without it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import jit, reassociated
from unipac.linalg import ridge
from unipac.linalg.fast import argmax, packing
from unipac.linalg.levels import NESTED, REFRESH_EVERY, Levels, top

PATIENCE = 16
"""So many actions are evaluated before another level is computed."""

WORTHWHILE = 32.0
"""After so many steps the outermost level is computed afresh if it leaves too many actions in the race."""

SINGLE_EPSILON = float(np.finfo(np.float32).eps)

Floats = NDArray[np.float32]


class Table(NamedTuple):
    """Values of n fixed actions in each of C levels; n = 0 where the actions are not fixed."""

    actions: Array
    """(n, d)."""
    panels: Array
    """(``argmax.panels_of(n)``, d, 8): the same, as ``argmax.product`` takes them."""
    directions: Floats
    """(d, n): those of the actions, of norm 1."""
    norms: Array
    """(n,): of the actions."""
    mean: Array
    """(C, n): the means, or more."""
    width2: Array
    """(C, n): the squared widths, or more."""
    bound: Array
    """(C, n): upper bounds on mean + β width."""
    level: Array
    """(C, 3): ``squared_factor`` when the level was last computed afresh; the number of steps since, negative
    if the level has changed and was not followed; the largest of ``argmax.rounding`` since then, for as
    many steps as there may be."""


def filled(actions: Array, levels: Levels) -> Table:
    """The table of these actions."""
    capacity, n = len(levels.size), len(actions)
    norms = np.sqrt((actions**2).sum(axis=1) + argmax.TINY)
    table = Table(
        actions=actions,
        panels=np.zeros((argmax.panels_of(n), actions.shape[1], argmax.PANEL)),
        directions=np.ascontiguousarray((actions / norms[:, None]).T, dtype=np.float32),
        norms=norms,
        mean=np.zeros((capacity, n)),
        width2=np.zeros((capacity, n)),
        bound=np.zeros((capacity, n)),
        level=np.zeros((capacity, 3)),
    )
    if n > 0:
        argmax.fill_panels(actions, table.panels)
        for level in range(1, top(levels) + 1):
            compute(table, levels, level)
            bound(table, levels, level)
    return table


def packed(table: Table) -> Array:
    """A table in one array of doubles, since Numba takes its time to receive each array."""
    n, d = table.actions.shape
    directions = np.zeros(d * n + d * n % 2, dtype=np.float32)
    directions[: d * n] = table.directions.reshape(-1)
    fields = (table.actions, table.panels, table.norms, table.mean, table.width2, table.bound, table.level)
    flat = [field.reshape(-1) for field in fields]
    return np.concatenate(([n, d, len(table.level)], *flat, directions.view(np.float64)))


def unpacked(fields: Array) -> Table:
    """The table that was packed; it shares the memory of ``fields``."""
    n, d, C = int(fields[0]), int(fields[1]), int(fields[2])
    panels = 3 + n * d
    norms = panels + argmax.panels_of(n) * d * argmax.PANEL
    mean = norms + n
    width2 = mean + C * n
    bound = width2 + C * n
    level = bound + C * n
    return Table(
        packing.doubles(fields, 3, (n, d)),
        packing.doubles(fields, panels, (argmax.panels_of(n), d, argmax.PANEL)),
        packing.singles(fields, level + 3 * C, (d, n)),
        packing.doubles(fields, norms, (n,)),
        packing.doubles(fields, mean, (C, n)),
        packing.doubles(fields, width2, (C, n)),
        packing.doubles(fields, bound, (C, n)),
        packing.doubles(fields, level, (C, 3)),
    )


@jit
def select(
    table: Table,
    levels: Levels,
    S: int,
    work: argmax.Workspace,
    means: Array,
    width2: Array,
) -> int:
    """As ``argmax.select``, from the bounds of the table."""
    argmax.reopen(work)
    unknown = 0
    for k in range(work.bound.size):
        work.bound[k] = table.bound[S - 1, k]  # the outermost level is always known
    for i in range(S - 1):
        if is_unknown(table, i + 1):
            unknown += 1
        else:
            _lower(work, table.bound[i])
    stale = int(table.level[S - 1, 1] >= WORTHWHILE)
    while True:
        patience = PATIENCE if stale + unknown > 0 else work.bound.size
        k = argmax.race(levels, S, table.actions, work, patience, means, width2)
        if k >= 0:
            return k
        level = S
        if stale == 0:
            while not is_unknown(table, level):
                level -= 1
            unknown -= 1
        stale = 0
        compute(table, levels, level)
        bound(table, levels, level)
        _lower(work, table.bound[level - 1])


@jit
def select_with(
    table: Table, levels: Levels, S: int, work: argmax.Workspace, means: Array, width2: Array
) -> int:
    """As ``select``, for radii other than those that the bounds of the table were made with."""
    argmax.reopen(work)
    slack = _slack(table, levels, S)
    for k in range(work.bound.size):
        mean, squared = table.mean[S - 1, k], table.width2[S - 1, k]
        work.bound[k] = _ucb(mean, squared, levels.beta[S - 1], slack * table.norms[k])
    return argmax.race(levels, S, table.actions, work, work.bound.size, means, width2)


@jit
def is_unknown(table: Table, level: int) -> bool:
    """Whether the values of a level are not those of its data."""
    return bool(table.level[level - 1, 1] < 0.0)


@jit
def _lower(work: argmax.Workspace, bound: Array) -> None:
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
    rounds: int,
    width2: Array,
    below: Array,
) -> None:
    """Follow the levels after a round, or several equal ones, that changed ``lowest`` and above.

    ``width2`` are the squared widths of its action before; ``below`` is what ``ridge.add`` left there, for
    the last level that changed.
    """
    for level in range(min(lowest, S_before), S + 1):
        i = level - 1
        changed = level == lowest or (level > lowest and (rule == NESTED or rounds > 1))
        if changed and rule == NESTED and level < S:
            table.level[i, 1] = -1.0
        elif changed and level <= S_before and rounds == 1 and _can_step(table, levels, level, width2[i]):
            _step(table, levels, level, below)
        elif changed or level > S_before:
            compute(table, levels, level)
            bound(table, levels, level)
        elif not is_unknown(table, level):
            bound(table, levels, level)


@jit
def _can_step(table: Table, levels: Levels, level: int, q: float) -> bool:
    """Whether a round whose squared width was q is followed by a step.

    Not if M was derived from R anew, which takes back the rounding of all rotations; and not if widths that
    were large, relative to single precision, may have become small at once. With q ≤ 1 all of the rotations
    were small.
    """
    return not is_unknown(table, level) and levels.rotations[level - 1] > 0 and q <= 1.0


@jit
def compute(table: Table, levels: Levels, level: int) -> None:
    """Means and squared widths of a level, from its factors."""
    i = level - 1
    n, d = table.actions.shape
    argmax.product(levels.rows[i], table.panels, n, table.mean[i], table.width2[i])
    m2 = argmax.squared_factor(levels.rows[i])
    slack = _drift(d, m2, 1.0)
    for k in range(n):
        width = math.sqrt(table.width2[i, k]) + slack * table.norms[k]
        table.width2[i, k] = width * width * (1.0 + 2.0 * steps(d) * argmax.EPSILON)
    table.level[i, 0] = m2
    table.level[i, 1] = 0.0
    table.level[i, 2] = 0.0


@jit
def steps(d: int) -> int:
    """So many may follow before a level is computed afresh."""
    return max(REFRESH_EVERY, d)


@jit
def _drift(d: int, m2: float, size: float) -> float:
    """By how much a followed mean + β width may differ from that of ``evaluate``, for an action of norm 1.

    Rotations keep the length of (u, ⟨m, x⟩) and its angle with (z, ρ). Rounded ones change the former by no
    more than some d ε ‖M‖ ‖x‖ each, and a mean by ‖z‖ times that, where ‖M‖ only falls: twice ``rounding`` a
    step.
    """
    return 2.0 * steps(d) * argmax.rounding(d, m2, size)


@jit
def bound(table: Table, levels: Levels, level: int) -> None:
    """The upper bounds of a level, from its means and squared widths."""
    i = level - 1
    beta = levels.beta[i]
    slack = _slack(table, levels, level)
    for k in range(table.norms.size):
        table.bound[i, k] = _ucb(table.mean[i, k], table.width2[i, k], beta, slack * table.norms[k])


@jit
def _ucb(mean: float, width2: float, beta: float, slack: float) -> float:
    """Mean + β width, and room for rounding."""
    return mean + beta * math.sqrt(width2 + argmax.TINY) + slack


@jit
def _slack(table: Table, levels: Levels, level: int) -> float:
    """For the rounding of a bound, for an action of norm 1."""
    i = level - 1
    rows = levels.rows[i]
    d = rows.shape[0]
    size = abs(levels.beta[i]) + argmax.outcome_norm(rows)
    slack: float = max(table.level[i, 2], _drift(d, table.level[i, 0], size))
    table.level[i, 2] = slack
    return slack


@jit
def _step(table: Table, levels: Levels, level: int, below: Array) -> None:
    """Add a round, given what it left in ``below``."""
    i = level - 1
    mean, width2, bound, norms = table.mean[i], table.width2[i], table.bound[i], table.norms
    d, n = table.directions.shape
    m, rho = below[:d], below[d + 1]
    largest = argmax.TINY
    for j in range(d):
        largest = max(largest, abs(m[j]))
    for j in range(d):
        m[j] /= largest
    g = np.empty(n, dtype=np.float32)
    _combine(table.directions, m, g)
    # Of a sum of d products whose factors were rounded.
    error = (d + 8.0) * SINGLE_EPSILON * largest * math.sqrt(ridge.squared_norm(m))
    rise = error * abs(rho)
    beta = levels.beta[i]
    slack = _slack(table, levels, level)
    for k in range(n):
        g_k = largest * g[k]
        least = max(abs(g_k) - error, 0.0) * norms[k]
        mean[k] += (rise - g_k * rho) * norms[k]
        width2[k] = max(width2[k] - least * least, 0.0)
        bound[k] = _ucb(mean[k], width2[k], beta, slack * norms[k])
    table.level[i, 1] += 1.0


@reassociated
def _combine(columns: Floats, weights: Array, total: Floats) -> None:
    """Σ_j weights_j columns_j, for all actions side by side."""
    n = total.size
    for k in range(n):
        total[k] = 0.0
    j = 0
    while j + 4 <= columns.shape[0]:  # four terms a pass
        w0, w1 = np.float32(weights[j]), np.float32(weights[j + 1])
        w2, w3 = np.float32(weights[j + 2]), np.float32(weights[j + 3])
        c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for k in range(n):
            total[k] += (w0 * c0[k] + w1 * c1[k]) + (w2 * c2[k] + w3 * c3[k])
        j += 4
    while j < columns.shape[0]:
        w0, c0 = np.float32(weights[j]), columns[j]
        for k in range(n):
            total[k] += w0 * c0[k]
        j += 1
