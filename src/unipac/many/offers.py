"""The actions of a round, four at a time, and their evaluation by one regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined
from unipac.many.worlds import GROUP, World, draw_group

CLOSE = 1e-12
"""Upper bounds that differ by this relative amount count as equal, and the first action wins.

In the first round all actions of equal length tie, and rounding, which differs between processors, must not decide.
"""

SMALL = 8
"""Up to this dimension a factor is copied before it is used for all actions: a GPU keeps it in registers."""


class Room(NamedTuple):
    """Scratch memory of one seed."""

    actions: Array
    """(n, d); or (1, d) if actions are drawn again instead of kept."""
    group: Array
    """(4, d)."""
    factor: Array
    """(d, d + 2), or (1, 3) if d is large."""
    bound: Array
    """(n,): upper bounds."""
    x: Array
    """(d,): the action chosen."""
    counts: NDArray[np.int64]
    """(E,)."""


@inlined
def offer(world: World, seed: np.uint64, t: int, which: int, first: int, n: int, group: Array) -> None:
    """Bring four of the n actions of a round into ``group``."""
    if world.drawn:
        draw_group(world, seed, np.uint64(t), first, group)
    else:
        for a in range(GROUP):
            k = min(first + a, n - 1)
            for j in range(group.shape[1]):
                group[a, j] = world.sets[which, k, j]


@inlined
def hold(rows: Array, level: int, room: Room) -> None:
    """Copy M and z of a level, counted from 0, if they are small."""
    d = rows.shape[1]
    if d <= SMALL:
        for i in range(d):
            for j in range(i + 1):
                room.factor[i, j] = rows[level, i, j]
            room.factor[i, d + 1] = rows[level, i, d + 1]


@inlined
def evaluate_group(
    stack: Array, level: int, room: Room
) -> tuple[float, float, float, float, float, float, float, float]:
    """Means and squared widths of four actions in a level, after ``hold``: each entry of M is read once.

    The sums are those of ``ridge.evaluate``.
    """
    rows, X = stack[level], room.group
    if stack.shape[1] <= SMALL:
        rows = room.factor
    d = X.shape[1]
    m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
    q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
    for i in range(d):
        u0, u1, u2, u3 = 0.0, 0.0, 0.0, 0.0
        for j in range(i + 1):
            r = rows[i, j]
            u0, u1, u2, u3 = u0 + r * X[0, j], u1 + r * X[1, j], u2 + r * X[2, j], u3 + r * X[3, j]
        z = rows[i, d + 1]
        q0, q1, q2, q3 = q0 + u0 * u0, q1 + u1 * u1, q2 + u2 * u2, q3 + u3 * u3
        m0, m1, m2, m3 = m0 + u0 * z, m1 + u1 * z, m2 + u2 * z, m3 + u3 * z
    return m0, m1, m2, m3, q0, q1, q2, q3
