"""Ids that have surely not been used before, so that most new decisions need no look at the database.

A Bloom filter that grows: with 10 bits per id, about 1 % of new ids are looked up needlessly. It is built from the
log at each start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

PER_ID = 10
PROBES = 7
FIRST = 2**16
"""Ids in the first filter; each later one takes twice as many."""


class _Filter:
    def __init__(self, room: int) -> None:
        self.room, self.count = room, 0
        self.bits = room * PER_ID
        self.bytes = bytearray(self.bits // 8 + 1)

    def add(self, first: int, step: int) -> None:
        bits, held = self.bits, self.bytes
        for _ in range(PROBES):
            place = first % bits
            held[place >> 3] |= 1 << (place & 7)
            first += step
        self.count += 1

    def has(self, first: int, step: int) -> bool:
        bits, held = self.bits, self.bytes
        for _ in range(PROBES):
            place = first % bits
            if not held[place >> 3] >> (place & 7) & 1:
                return False
            first += step
        return True

    def add_all(self, pairs: NDArray[np.uint64]) -> None:
        """Pairs (first, step) of many ids."""
        held = np.frombuffer(self.bytes, dtype=np.uint8)
        for k in range(PROBES):
            places = (pairs[:, 0].astype(np.uint64) + np.uint64(k) * pairs[:, 1]) % np.uint64(self.bits)
            np.bitwise_or.at(held, places >> np.uint64(3), (1 << (places & np.uint64(7))).astype(np.uint8))
        self.count += len(pairs)


class Seen:
    """Ids that may have been used before."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        digests = b"".join(_digest(one) for one in ids)
        pairs = np.frombuffer(digests, dtype="<u4").reshape(-1, 2).astype(np.uint64)
        pairs[:, 1] |= np.uint64(1)
        self._filters = [_Filter(max(FIRST, 2 * len(pairs)))]
        self._filters[0].add_all(pairs)
        self._last: tuple[str, tuple[int, int]] = "", _pair("")  # a new id is looked up, and then added

    def add(self, id: str) -> None:  # noqa: A002
        """Note that an id is used."""
        if self._filters[-1].count >= self._filters[-1].room:
            self._filters.append(_Filter(2 * self._filters[-1].room))
        self._filters[-1].add(*self._pair_of(id))

    def __contains__(self, id_: str) -> bool:
        pair = self._pair_of(id_)
        return any(one.has(*pair) for one in self._filters)

    def _pair_of(self, id_: str) -> tuple[int, int]:
        if self._last[0] != id_:
            self._last = id_, _pair(id_)
        return self._last[1]


def _digest(id_: str) -> bytes:
    return hashlib.blake2b(id_.encode(), digest_size=8).digest()


def _pair(id_: str) -> tuple[int, int]:
    both = int.from_bytes(_digest(id_), "little")
    return both & 0xFFFFFFFF, both >> 32 | 1
