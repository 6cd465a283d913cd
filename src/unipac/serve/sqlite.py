"""The log in a file of SQLite: one process, one connection.

The connection keeps the file locked, and backups go through it: in SQLite before 3.51.3, two connections that reset
the write-ahead log at the same moment can damage it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unipac.serve import tables
from unipac.serve.database import SNAPSHOTS, VERSION, Lease, Listed, Row

TYPES = {
    "integer": "integer", "identity": "integer primary key", "real": "real", "bytes": "blob",
    "clustered": " without rowid",
}  # fmt: skip
OF_ID = "select * from event indexed by event_of_id where deployment = ? and id = ? and id is not null"
"""Without ``indexed by``, SQLite would read all events of the deployment."""
PAGES = 500
"""How many pages a backup copies at once; in between the writer may commit."""


class Sqlite:
    """``sqlite:decisions.sqlite``."""

    lease: float | None = None

    def __init__(self, path: str | os.PathLike[str], synchronous: str = "full") -> None:
        self.path, self._lock = Path(path), threading.Lock()
        try:
            _for_its_owner(self.path)
            self._db = sqlite3.connect(self.path, timeout=0.5, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise ValueError(
                f"store must be a file that can be opened, got {str(path)!r} ({error})"
            ) from None
        try:
            for pragma in ("locking_mode=exclusive", "journal_mode=wal", f"synchronous={synchronous}",
                           "wal_autocheckpoint=4000"):  # fmt: skip
                self._db.execute(f"pragma {pragma}")
            self._db.execute("begin immediate")
            for statement in tables.TABLES.format(**TYPES).split(";"):
                self._db.execute(statement)
            self._db.execute(
                "insert into format select ? where not exists (select * from format)", (VERSION,)
            )
            self._db.execute("commit")
            found = self._all("select version from format")[0][0]
        except sqlite3.DatabaseError as error:
            self._db.close()
            if "locked" in str(error):
                what, why = "used by one process alone", "which another has locked"
            else:
                what, why = "a file of SQLite that unipac made", str(error)
            raise ValueError(f"store must be {what}, got {str(self.path)!r} ({why})") from None
        if found != VERSION:
            self._db.close()
            raise ValueError(f"store must have version {VERSION}, got {str(self.path)!r} of version {found}")

    def _all(self, sql: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    # -- deployments -----------------------------------------------------------------------------------

    def listed(self) -> list[Listed]:
        """All deployments."""
        return [Listed(*row) for row in self._all("select number, name, spec from deployment order by name")]

    def create(self, name: str, spec: str) -> Listed:
        """A new deployment, or the one that has this name."""
        self._all("insert into deployment(name, spec) values(?, ?) on conflict do nothing", name, spec)
        return Listed(*self._all("select number, name, spec from deployment where name = ?", name)[0])

    def take(self, number: int) -> Lease:
        """The file is locked, so everything is ours."""
        return Lease(1, None)

    def beat(self) -> None:
        """Nobody else can write."""

    def give_back(self) -> None:
        """Do nothing: ``close`` unlocks the file."""

    # -- events ------------------------------------------------------------------------------------------

    def commit(self, rows: Sequence[Row]) -> None:
        """Write rows; when this returns, SQLite has synced its log."""
        with self._lock:
            self._db.execute("begin immediate")
            self._db.executemany("insert into event values(?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.execute("commit")

    def read(self, number: int, after: int, limit: int) -> list[Row]:
        """The first records after an event."""
        sql = "select * from event where deployment = ? and seq > ? order by seq, kind limit ?"
        return list(map(Row._make, self._all(sql, number, after, limit)))

    def chain(self, number: int, seq: int) -> bytes | None:
        """The chain after an event."""
        sql = "select chain from event where deployment = ? and seq = ? order by kind desc limit 1"
        found = self._all(sql, number, seq)
        return found[0][0] if found else None

    def of_id(self, number: int, id: str) -> list[Row]:  # noqa: A002
        """All records of an id."""
        return list(map(Row._make, self._all(OF_ID, number, id)))

    def ids(self, number: int) -> list[str]:
        """The ids of all decisions."""
        sql = "select id from event where deployment = ? and id is not null and kind = 'decide'"
        return [row[0] for row in self._all(sql, number)]

    # -- snapshots and personal data -----------------------------------------------------------------------

    def add_piece(self, number: int, name: bytes, place: int, body: bytes) -> None:
        """Write a piece of a snapshot."""
        self._all(tables.ADD_PIECE, number, name, place, body)

    def keep(self, number: int, seq: int, name: bytes, pieces: int, series: bytes) -> bool:
        """From now on these pieces are the snapshot at an event."""
        with self._lock:
            self._db.execute("begin immediate")
            values = number, seq, name, series, number, name, pieces
            done = self._db.execute(tables.KEEP, values).rowcount > 0
            self._db.execute(tables.DROP_OLD, (number, number, SNAPSHOTS))
            self._db.execute("commit")
        return done

    def drop_piece(self, number: int) -> bool:
        """Delete a piece that belongs to no snapshot."""
        with self._lock:
            return self._db.execute(tables.DROP_PIECE, (number, number, number)).rowcount > 0

    def snapshots(self, number: int) -> list[tuple[int, bytes]]:
        """Newest first."""
        found = self._all(tables.SNAPSHOTS_OF, number)
        return [
            (seq, tables.whole(body, lambda name: self._all(tables.PIECES_OF, number, name)))
            for seq, body in found
        ]

    def series(self, number: int) -> tuple[int, bytes] | None:
        """What the page draws."""
        found = self._all(tables.LAST_SERIES, number)
        return found[0] if found else None

    def kept(self, number: int) -> list[int]:
        """The events of the snapshots, newest first."""
        return [seq for (seq,) in self._all(tables.KEPT, number)]

    def blank(self, number: int, before: float, through: int, after: int) -> tuple[int, int]:
        """Blank parts of decisions, a thousand at a time."""

        def write(changed: list[tuple[bytes, bytes, int]]) -> None:
            with self._lock:
                self._db.execute("begin immediate")
                self._db.executemany(tables.BLANK, [(*parts, number, seq) for *parts, seq in changed])
                self._db.execute("commit")

        return tables.blank(
            lambda last: self._all(tables.TO_BLANK, number, last), write, before, through, after
        )

    # -- the end -----------------------------------------------------------------------------------------

    def backup(self, path: Path) -> None:
        """Copy everything to a file; between steps the writer may commit, and the copy has what it wrote."""

        def let_in(*_: int) -> None:
            self._lock.release()
            self._lock.acquire()

        _for_its_owner(path)
        target = sqlite3.connect(path)
        try:
            with self._lock:
                self._db.backup(target, pages=PAGES, progress=let_in)
            target.execute("pragma journal_mode=delete")  # then the copy is a single file
        finally:
            target.close()

    def close(self) -> None:
        """Write the write-ahead log into the file, and unlock it."""
        with self._lock:
            self._db.close()


def _for_its_owner(path: Path) -> None:
    """Make the file, unless it exists, so that only its owner can read it."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
