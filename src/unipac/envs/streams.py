"""Random numbers that depend only on a seed and on the number of a block of rounds or a batch of pulls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unipac import _checks as check


class Stream(NamedTuple):
    """A seed in a form that can be compared."""

    entropy: tuple[int, ...]
    spawn_key: tuple[int, ...]

    def generator(self, *number: int) -> np.random.Generator:
        """The random generator that belongs to this seed and these numbers."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(*self.spawn_key, *number))
        return np.random.default_rng(sequence)


def stream_of(seed: int | np.random.SeedSequence) -> Stream:
    """The stream of a seed."""
    if not isinstance(seed, np.random.SeedSequence):
        return Stream((check.seed("seed", seed),), ())
    entropy = np.asarray(seed.entropy, dtype=np.object_).ravel()
    return Stream(tuple(int(word) for word in entropy), seed.spawn_key)


def is_same(seed: object, other: object) -> bool:
    """Whether two seeds are surely the same, by a cheap test; False may also mean undecided."""
    return seed is other or (type(seed) is int and type(other) is int and seed == other)
