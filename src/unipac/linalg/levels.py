"""A stack of ridge regressions, one per level, and the rules by which rounds enter it.

Level l (1, 2, ...) holds the rounds whose width in that level exceeded 2^-l when they came. It stays
finite: each of them raises log det Σ_l by more than log(1 + 4^-l), which m bounded actions can raise by d
log(m) or so at most. Three rules say who learns from a round that belongs to level l:

    DISJOINT  level l alone                      C^l of Algorithm 1 (He, Zhou, Gu 2021)
    NESTED    every level j ≥ l                  D^l = C^1 ∪ ... ∪ C^l
    SINGLE    there is one level, of all data    OFUL

S, the number of levels in use, is the largest index of a non-empty level (1 at the start), not the number of
non-empty ones. Level l is entry l − 1 of each array.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._constants import TIE
from unipac._jit import inlined, jit
from unipac.linalg import blocks, ridge

SINGLE, DISJOINT, NESTED = 0, 1, 2

MOST_LEVELS = 500
"""4^-500 is near the smallest float64; 2^62 rounds with norms from 1e-12 to 1 open fewer than 80."""

_THRESHOLDS = np.array([math.ldexp(1.0 + TIE, -2 * level) for level in range(MOST_LEVELS + 1)])

REFRESH_EVERY = 256
"""So many rotations, or d if that is more, may pass before M is derived from R again."""

REFRESH_OFTEN = 64
"""The same for linear MDPs, where widths are kept too."""


class Levels(NamedTuple):
    """The state of a stack with room for C levels; kernels write into these arrays in place."""

    rows: Array
    """(C, d, d + 2): the factors of each level, laid out as in ``ridge``; (C, d, w + 2) as in ``blocks``."""
    logdet: Array
    """(C,): log det(Σ_l/λ), a function of R alone: whoever has ``rows`` can compute it to the last bit."""
    beta: Array
    """(C,): the radius of each level; written by the agent whose radius it is."""
    size: NDArray[np.int64]
    """(C,): |C^l|, the rounds that belong to level l."""
    rotations: NDArray[np.int64]
    """(C,): rotations since M was last derived from R."""


def empty(capacity: int, dim: int, regularization: float, parts: int = 1) -> Levels:
    """A stack without data, whose factors are those of so many blocks."""
    levels = Levels(
        rows=np.zeros((capacity, dim, dim // parts + 2)),
        logdet=np.zeros(capacity),
        beta=np.zeros(capacity),
        size=np.zeros(capacity, dtype=np.int64),
        rotations=np.zeros(capacity, dtype=np.int64),
    )
    blocks.reset(levels.rows[0], regularization)
    return levels


def grown(levels: Levels, capacity: int) -> Levels:
    """The same stack with room for ``capacity`` levels."""
    return Levels(*(grown_array(array, capacity) for array in levels))


def grown_array(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """An array with room for ``capacity`` levels along its first axis."""
    larger = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@jit
def top(levels: Levels) -> int:
    """S: the largest index of a non-empty level, at least 1."""
    for level in range(levels.size.size, 1, -1):
        if levels.size[level - 1] > 0:
            return level
    return 1


@inlined
def threshold(level: int) -> float:
    """4^-l, and a hair: a squared width up to here passes the test of level l (Alg. 1 line 10)."""
    return float(_THRESHOLDS[level])


@jit
def level_of(width2: Array, S: int) -> int:
    """The first level whose test x fails, S + 1 if it passes all (Alg. 1 lines 9-12)."""
    level = 1
    while level <= S and width2[level - 1] <= threshold(level):
        level += 1
    return level


@jit
def level_in(rows: Array, x: Array, S: int) -> int:
    """The same, with widths from the factors (levels, d, d + 2), computed one by one."""
    level = 1
    while level <= S and ridge.evaluate(rows[level - 1], x)[1] <= threshold(level):
        level += 1
    return level


@inlined
def share(width2: float, level: int, times: int) -> int:
    """How many of ``times`` equal rounds belong to a level in which their width² is ``width2``.

    After j of them 1/width² has grown by j, so the test fails while 1/width² + j < 1/threshold.
    """
    if width2 <= threshold(level):
        return 0
    rounds = 1.0 / threshold(level) - 1.0 / width2
    if rounds >= times:  # as floats: the left side may exceed all integers
        return times
    return max(1, math.ceil(rounds))


@jit
def add(
    levels: Levels,
    S: int,
    rule: int,
    x: Array,
    y: float,
    times: int,
    width2: Array,
    regularization: float,
    below: Array,
) -> tuple[int, int]:
    """Add ``times`` equal rounds (x, y), level by level as if one after the other.

    Returns the lowest level that changed, and the new S. ``width2`` holds the squared widths of x in the
    levels in use and is kept up to date; ``below`` is scratch space of size d + 2. There must be room for the
    levels that open. With ``times`` = 1 this is Alg. 1 lines 9-14.
    """
    if rule == SINGLE:
        levels.size[0] += times
        _learn(levels, int(np.int64(1)), x, y, times, width2, regularization, below)
        return 1, 1
    lowest = 0
    level = int(np.int64(1))
    while times > 0:
        opens = level > S
        if opens:
            open_level(levels.rows, levels.logdet, levels.rotations, level, rule, regularization)
            new = level - 1
            width2[new] = width2[new - 1] if rule == NESTED else ridge.squared_norm(x) / regularization
            S = level
        rounds = share(width2[level - 1], level, times)
        if opens:
            rounds = max(1, rounds)  # the first member of a level is not tested
        if rounds > 0:
            last = S if rule == NESTED else level
            for j in range(level, last + 1):
                _learn(levels, j, x, y, rounds, width2, regularization, below)
            levels.size[level - 1] += rounds
            times -= rounds
            if lowest == 0:
                lowest = level
        level += 1
    return lowest, S


@jit
def _learn(
    levels: Levels,
    level: int,
    x: Array,
    y: float,
    times: int,
    width2: Array,
    regularization: float,
    below: Array,
) -> None:
    i = level - 1
    rows = levels.rows[i]
    gain = times * width2[i]
    width2[i] /= 1.0 + gain
    width = rows.shape[1] - 2
    if width == x.size:
        learn_whole(levels, i, x, y, float(times), regularization, below)
    else:
        b = blocks.block_of(x.reshape((1, x.size)), int(np.int64(0)), width)
        ridge.add(blocks.part(rows, b), x[b * width : (b + 1) * width], y, float(times), below)
        levels.rotations[i] += 1
        if times > 1 or levels.rotations[i] >= max(REFRESH_EVERY, x.size):
            blocks.refresh(rows)
            levels.rotations[i] = 0
        levels.logdet[i] = blocks.log_determinant(rows, regularization)


@inlined
def learn_whole(
    levels: Levels, i: int, x: Array, y: float, times: float, regularization: float, below: Array
) -> None:
    """Let entry i of a stack without blocks learn equal rounds."""
    levels.rotations[i], levels.logdet[i] = rotate(
        levels.rows[i], levels.rotations[i], x, y, times, regularization, REFRESH_EVERY, below
    )


@jit
def open_level(
    rows: Array,
    logdet: Array,
    rotations: NDArray[np.int64],
    level: int,
    rule: int,
    regularization: float,
) -> None:
    """Prepare level S + 1 of a stack: empty, or, if levels are nested, equal to level S, which holds all data."""
    new = level - 1
    if rule == NESTED:
        ridge.copy(rows[new - 1], rows[new])
        logdet[new] = logdet[new - 1]
        rotations[new] = rotations[new - 1]
    else:
        ridge.reset(rows[new], regularization)


@inlined
def rotate(
    rows: Array,
    rotations: int,
    x: Array,
    y: float,
    times: float,
    regularization: float,
    every: int,
    below: Array,
) -> tuple[int, float]:
    """Add equal rounds (x, y) to a level; returns its rotations since M was derived from R, and log det(Σ/λ).

    Args:
        rows: (d, d + 2), the factors of the level.
        rotations: how many there were.
        x: (d,).
        y: the reward of each round.
        times: how many rounds.
        regularization: λ.
        every: so many rotations, or d if that is more, may pass before M is derived anew.
        below: scratch, (d + 2,); afterwards what ``ridge.add`` leaves there.
    """
    ridge.add(rows, x, y, times, below)
    made = rotations + 1
    if times > 1.0 or made >= max(every, x.size):
        ridge.refresh(rows)
        made = 0
    return made, ridge.log_determinant(rows, regularization)
