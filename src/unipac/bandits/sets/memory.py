"""The memory of the sets behind certificates: one array, split by name when a kernel begins.

unpacked    the state and the constants by name
opened      the same, with scratch memory
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import jit
from unipac.linalg.fast import packing

Integers = NDArray[np.int64]

EXCESS, CROSS, SQUARES, COUNT, LOGDET, SCALE, RADIUS_A, RADIUS_B, MIX = range(9)
"""Columns of ``Sets.sums``: E, M₁, M₂, n, log det((V + ℓI)/ℓ), ℓ, a, b, e."""
STEP, ROTATIONS, LATE = range(3)
"""Columns of ``Sets.counts``: j with ℓ = λ 4^j; rotations since M was last computed afresh; whether B has ended."""
WEIGHTED_EXCESS, WEIGHTED_RADIUS = range(2)
"""Columns of ``Sets.weighted_sums``: E and the radius of the regression with weights."""
MEAN, MIXED, WIDTH2, MOST = range(4)
"""Columns of ``Work.values``: ⟨θ̂, x⟩, ⟨θ̃, x⟩, w², and a first bound on how much better the action can be."""
HEAD = 15
"""Numbers before the values of ζ in the packed state."""


class Rules(NamedTuple):
    """The constants of the sets."""

    noise: float
    norm: float
    action_norm: float
    regularization: float
    """λ of the blocks."""
    log_share: float
    """log(1/δ) of A in one block."""
    low: float
    high: float
    """The range of the expected rewards."""
    forecast_share: float
    """log(1/δ) of B, and of weighted B, in one block."""
    least: float
    span: float
    """Every reward lies between ``least`` and ``least + span``; 0 if no range is known, then without weighted B."""
    weighted_regularization: float
    """λ of weighted B, whose rounds have weight 1/v."""
    zetas: Array
    """The values of ζ, increasing; the sets move on to the next when the data refute one."""


class Sets(NamedTuple):
    """The state of m blocks of d columns."""

    rows: Array
    """(m, d, d + 2) as in ``linalg.ridge``, or (m, d, d + 3) with the forecasts as a second outcome."""
    factor: Array
    """(m, d, D + 1): of V + ℓI, as in ``linalg.triangle``."""
    sums: Array
    """(m, 9)."""
    counts: Integers
    """(m, 3)."""
    status: Integers
    """(3,): which ζ is in force; 1 if the last one was refuted; under which ζ the last answer was given."""
    weighted: Array
    """(m, d, d + 2): the regression with weights, as in ``linalg.ridge``; (0, d, d + 2) if there is none."""
    weighted_sums: Array
    """(m, 2), or (0, 2)."""


def unpacked(memory: Array) -> tuple[Sets, Rules]:
    """Sets and constants, which share the memory of one array: Numba is slow to receive many."""
    m, d, columns, k = int(memory[0]), int(memory[1]), int(memory[2]), int(memory[3])
    zetas = HEAD
    sums = zetas + k
    counts = sums + 9 * m
    index = counts + 3 * m
    rows = index + 3
    factor = rows + m * d * columns
    D = (d + 3) // 4 * 4
    weighted = factor + m * d * (D + 1)
    p = m if memory[13] > 0.0 else int(np.int64(0))
    sets = Sets(
        packing.doubles(memory, rows, (m, d, columns)),
        packing.doubles(memory, factor, (m, d, D + 1)),
        packing.doubles(memory, sums, (m, 9)),
        packing.integers(memory, counts, (m, 3)),
        packing.integers(memory, index, (3,)),
        packing.doubles(memory, weighted, (p, d, d + 2)),
        packing.doubles(memory, weighted + p * d * (d + 2), (p, int(np.int64(2)))),
    )
    constants = memory[4], memory[5], memory[6], memory[7], memory[8], memory[9], memory[10]
    further = memory[11], memory[12], memory[13], memory[14]
    return sets, Rules(*constants, *further, packing.doubles(memory, zetas, (k,)))


unpack = jit(unpacked)


def is_weighted(memory: Array) -> bool:
    """Whether there is weighted B."""
    return bool(memory[13] > 0.0)


class Work(NamedTuple):
    """Scratch memory for n actions in blocks of d columns; D is d rounded up to a multiple of four."""

    block: Integers
    """(n,): the block of each action."""
    images: Array
    """(n + 1, D): Mx of each action in its block; the last row is for a direction. The padding is zero."""
    outcome: Array
    """(2, m, D): z of the rewards and of the forecasts, by block; likewise."""
    values: Array
    """(n, 4)."""
    outer: Array
    """(2, n): means and squared widths of all actions in the regression of C."""
    below: Array
    """(D + 4,)."""
    difference: Array
    """(1, m d): y − x."""
    one: Array
    """(2, 1): the mean and the squared width of one action or difference."""
    weighted_images: Array
    """(n, D): Mx of each action in the regression with weights; without it, this and what follows is empty."""
    weighted_outcome: Array
    """(m, D)."""
    weighted_values: Array
    """(2, n): means and squared widths of all actions in the regression with weights."""


def room(n: int, m: int, d: int, weighted: bool = False) -> int:
    """The number of entries of scratch memory for n actions; they must be zero."""
    D = (d + 3) // 4 * 4
    plain = 7 * n + (n + 1) * D + 2 * m * D + D + 4 + m * d + 2
    return plain + (n * D + m * D + 2 * n if weighted else 0)


def unpacked_work(spare: Array, n: int, sets: Sets) -> Work:
    """Scratch memory for n actions, in one array that is passed to the kernel: counting references takes time."""
    m, d, _ = sets.rows.shape
    D = (d + 3) // 4 * 4
    images = n
    outcome = images + (n + 1) * D
    values = outcome + 2 * m * D
    outer = values + 4 * n
    below = outer + 2 * n
    difference = below + D + 4
    one = difference + m * d
    p = sets.weighted.shape[0]
    rows = n if p > 0 else int(np.int64(0))
    weighted = one + 2
    return Work(
        packing.integers(spare, int(np.int64(0)), (n,)),
        packing.doubles(spare, images, (n + 1, D)),
        packing.doubles(spare, outcome, (int(np.int64(2)), m, D)),
        packing.doubles(spare, values, (n, int(np.int64(4)))),
        packing.doubles(spare, outer, (int(np.int64(2)), n)),
        packing.doubles(spare, below, (D + 4,)),
        packing.doubles(spare, difference, (int(np.int64(1)), m * d)),
        packing.doubles(spare, one, (int(np.int64(2)), int(np.int64(1)))),
        packing.doubles(spare, weighted, (rows, D)),
        packing.doubles(spare, weighted + rows * D, (p, D)),
        packing.doubles(spare, weighted + (rows + p) * D, (int(np.int64(2)), rows)),
    )


workspace = jit(unpacked_work)


class Open(NamedTuple):
    """Sets, constants and scratch memory, while a kernel runs."""

    sets: Sets
    rules: Rules
    work: Work


@jit
def opened(memory: Array, spare: Array, n: int) -> Open:
    """The sets by name, with scratch memory for n actions."""
    sets, rules = unpack(memory)
    return Open(sets, rules, workspace(spare, n, sets))


def known(memory: Array | None, spare: Array, n: int) -> Any:  # Open | None
    """The same, or None if there are no sets; kernels know which when they are compiled, from the types."""
    return None if memory is None else opened(memory, spare, n)


overload(known)(
    lambda memory, spare, n: (
        (lambda memory, spare, n: None)
        if isinstance(memory, types.NoneType)
        else (lambda memory, spare, n: opened(memory, spare, n))
    )
)
