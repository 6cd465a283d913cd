"""The results of every seed, and the running counts of one run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined

ROUNDING = 1e-12
"""A gap may exceed its certificate by this much, as in ``metrics.certificate_violations``."""


class Asked(NamedTuple):
    """Which results every seed must give."""

    rounds: int
    checkpoints: NDArray[np.int64]
    """(K,), increasing: the numbers of rounds after which the regret is recorded."""
    eps: Array
    """(E,), increasing."""


class Told(NamedTuple):
    """The results of N seeds; a seed is a column, so that the values of neighbouring seeds are adjacent in memory."""

    regret: Array
    """(K, N)."""
    mistakes: NDArray[np.int64]
    """(E, N): in how many rounds the gap exceeded ε."""
    last: NDArray[np.int64]
    """(N,): the last round, from 1, whose gap exceeded the smallest ε; 0 if none did."""
    level: NDArray[np.int64]
    """(N,): the largest level in use."""
    left: NDArray[np.uint8]
    """(N,): whether θ ever was outside of a set, at the beginning of a round."""
    undercut: NDArray[np.uint8]
    """(N,): whether a certificate ever was below the gap."""
    refuted: NDArray[np.uint8]
    """(N,): whether bounds ever refuted the assumptions."""


class Marks(NamedTuple):
    """What a run has seen so far."""

    regret: float
    last: int
    checkpoint: int
    """How many checkpoints the run has passed."""
    left: bool
    undercut: bool
    refuted: bool


@inlined
def fresh(counts: NDArray[np.int64]) -> Marks:
    """The marks of a run before its first round."""
    for j in range(counts.size):
        counts[j] = 0
    return Marks(0.0, int(np.int64(0)), int(np.int64(0)), False, False, False)


@inlined
def mark(
    marks: Marks,
    asked: Asked,
    told: Told,
    seed: int,
    t: int,
    gap: float,
    certificate: float,
    outside: bool,
    refuted: bool,
    counts: NDArray[np.int64],
) -> Marks:
    """Add round t with its gap and certificate; ``counts`` (E,) counts rounds by the largest ε that the gap exceeds."""
    total = marks.regret + gap
    j = int(np.int64(0))
    while j < asked.eps.size and gap > asked.eps[j]:
        j += 1
    if j > 0:
        counts[j - 1] += 1
    checkpoint = marks.checkpoint
    if checkpoint < asked.checkpoints.size and asked.checkpoints[checkpoint] == t + 1:
        told.regret[checkpoint, seed] = total
        checkpoint += 1
    refuted |= marks.refuted
    undercut = not refuted and gap > certificate + ROUNDING  # NaN claims nothing
    last = t + 1 if j > 0 else marks.last
    return Marks(total, last, checkpoint, marks.left | outside, marks.undercut | undercut, refuted)


@inlined
def tell(marks: Marks, told: Told, seed: int, level: int, counts: NDArray[np.int64]) -> None:
    """Write the results of a whole run."""
    total = int(np.int64(0))
    for j in range(counts.size - 1, -1, -1):
        total += counts[j]
        told.mistakes[j, seed] = total
    told.last[seed], told.level[seed] = marks.last, level
    told.left[seed], told.undercut[seed], told.refuted[seed] = marks.left, marks.undercut, marks.refuted


def room(asked: Asked, seeds: int) -> Told:
    """Arrays for so many seeds."""
    K, E = asked.checkpoints.size, asked.eps.size
    return Told(
        regret=np.zeros((K, seeds)),
        mistakes=np.zeros((E, seeds), dtype=np.int64),
        last=np.zeros(seeds, dtype=np.int64),
        level=np.zeros(seeds, dtype=np.int64),
        left=np.zeros(seeds, dtype=np.uint8),
        undercut=np.zeros(seeds, dtype=np.uint8),
        refuted=np.zeros(seeds, dtype=np.uint8),
    )
