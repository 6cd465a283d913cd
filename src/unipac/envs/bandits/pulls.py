"""Noise of many pulls of fixed arms at once: the sums are drawn from their exact distribution."""

from __future__ import annotations

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs.streams import is_same, stream_of

_BATCHES = 1024  # batches of pulls whose noise is drawn at once
_EARLY_ARMS = 8  # arms of a batch whose noise comes from there; that of later ones is drawn for the batch
_PULLS = 0x70756C6C  # tells the streams of pulls from those of rounds


class Normals:
    """Standard normal numbers for batches of pulls; those of some batches are drawn at once and kept."""

    def __init__(self) -> None:
        self._latest: tuple[int, int | np.random.SeedSequence, Array] | None = None

    def of(self, count: int, batch: int, seed: int | np.random.SeedSequence) -> tuple[Array, int]:
        """An array with the standard normal numbers of this batch, and the row where they are."""
        block, row = divmod(batch, _BATCHES)
        latest = self._latest
        if latest is None or latest[0] != block or not is_same(seed, latest[1]):
            drawn = stream_of(seed).generator(block, _PULLS).standard_normal((_BATCHES, _EARLY_ARMS))
            latest = self._latest = (block, seed, drawn)
        if count <= _EARLY_ARMS:
            return latest[2], row
        later = stream_of(seed).generator(batch, _PULLS, 1).standard_normal(count - _EARLY_ARMS)
        return np.concatenate([latest[2][row], later])[None], 0


def signs(times: Integers, batch: int, seed: int | np.random.SeedSequence) -> Array:
    """Sums of so many signs, (1, m)."""
    heads = stream_of(seed).generator(batch, _PULLS).binomial(np.maximum(times, 0), 0.5)
    return np.asarray(2 * heads - times, dtype=np.float64)[None]


@jit
def sum_pulls(
    means: Array,
    arms: Integers,
    counts: Integers,
    drawn: Array,
    row: int,
    noise: float,
    gaussian: bool,
    sums: Array,
) -> int:
    """Write the sums; a row of ``drawn`` has standard normal numbers, or else sums of signs.

    Returns the first place with a bad arm or count, -1 if there is none.
    """
    for i in range(sums.size):
        if arms[i] < 0 or arms[i] >= means.size or counts[i] < 0 or counts[i] > check.LARGEST_COUNT:
            return i
        scale = noise * np.sqrt(float(counts[i])) if gaussian else noise
        sums[i] = counts[i] * means[arms[i]] + scale * drawn[row, i]
    return -1
