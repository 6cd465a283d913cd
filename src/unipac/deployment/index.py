"""An index of closed decisions by id: their places in the log, and rewards. It can always be rebuilt from the log."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from unipac._actions import Label

VERSION = 1
LARGEST = 2**63
BITS = 2**27
"""The size of the filter: 16 MB."""
WORD = 2**64 - 1
SHIFT = 64 - 27
MIX = 0x9E3779B97F4A7C15
MOST = 10_000_000
"""With more ids than this there is no filter: it would let too many pass, and take too long to fill."""


def _key(id_: Label) -> Any:
    """An id as SQLite accepts it: its integers have at most 63 bits, its text no halves of surrogate pairs."""
    if isinstance(id_, int):
        return id_ if id_ < LARGEST else f"{id_}".encode()
    return id_ if id_.isascii() else id_.encode(errors="surrogatepass")


class Index:
    """A table beside the segments; if a crash of the machine destroys it, it is rebuilt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open()
        self._filter: bytearray | None = bytearray(BITS // 8)
        """One bit is set for each id, so that most unknown ids need no look at the table."""
        if (
            self.db.execute("select count(*) from (select 1 from closed limit ?)", (MOST + 1,)).fetchone()[0]
            > MOST
        ):
            self._filter = None
        else:
            self._note(key for (key,) in self.db.execute("select id from closed"))

    def _note(self, keys: Iterable[Any]) -> None:
        if self._filter is not None:
            hashes = np.fromiter(map(hash, keys), dtype=np.int64).view(np.uint64)
            bits = (hashes * np.uint64(MIX)) >> np.uint64(SHIFT)
            held = np.frombuffer(self._filter, dtype=np.uint8)
            np.bitwise_or.at(
                held, bits >> np.uint64(3), np.uint8(1) << (bits & np.uint64(7)).astype(np.uint8)
            )

    def _open(self) -> None:
        self.db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        for line in (
            "journal_mode=truncate",
            "synchronous=off",
            "locking_mode=exclusive",
            "cache_size=-8000",
        ):
            self.db.execute(f"pragma {line}").fetchall()
        self.db.execute("create table if not exists closed(id primary key, place, value) without rowid")
        self.db.execute("create table if not exists about(name primary key, value)")

    @classmethod
    def opened(cls, path: Path) -> Index:
        """The index of a folder, or an empty one if it is damaged."""
        try:
            return cls(path)
        except sqlite3.Error:
            return cls._anew(path)

    @classmethod
    def _anew(cls, path: Path) -> Index:
        for name in (path, path.with_name(path.name + "-journal")):
            name.unlink(missing_ok=True)
        return cls(path)

    def emptied(self) -> Index:
        """A new empty index in its place."""
        self.close()
        return self._anew(self.path)

    def through(self) -> int:
        """The last event up to which the index has all closed decisions; −1 if unknown."""
        try:
            row = self.db.execute(
                "select value from about where name = ?", (f"through {VERSION}",)
            ).fetchone()
        except sqlite3.Error:
            return -1
        return -1 if row is None or not isinstance(row[0], int) else row[0]

    def add(self, rows: Iterable[tuple[Label, int, float | None]], through: int) -> None:
        """Add decisions that were closed up to an event."""
        keyed = [(_key(id_), place, value) for id_, place, value in rows]
        self._note(row[0] for row in keyed)
        with self._transaction():
            self.db.executemany("insert or replace into closed values(?, ?, ?)", keyed)
            self.db.execute("insert or replace into about values(?, ?)", (f"through {VERSION}", through))

    def move(self, moved: Iterable[tuple[Label, int, int]]) -> None:
        """Note that decisions have moved: (id, place before, place after)."""
        with self._transaction():
            rows = ((after, _key(id_), before) for id_, before, after in moved)
            self.db.executemany("update closed set place = ? where id = ? and place = ?", rows)

    @contextlib.contextmanager
    def _transaction(self) -> Any:
        try:
            self.db.execute("begin immediate")
            yield
            self.db.execute("commit")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("rollback")
            raise

    def find(self, id_: Label) -> tuple[int, float | None] | None:
        """The place and the reward of a closed decision."""
        bits = self._filter
        if bits is not None:
            bit = (hash(_key(id_)) * MIX & WORD) >> SHIFT
            if not bits[bit >> 3] >> (bit & 7) & 1:
                return None
        found = self.db.execute("select place, value from closed where id = ?", (_key(id_),)).fetchone()
        return None if found is None else (int(found[0]), found[1])

    def close(self) -> None:
        """Close the file."""
        self.db.close()
