"""The log in PostgreSQL: several machines, of which one writes a deployment at a time.

Each deployment has a lease, which has an epoch and expires by the clock of the database. An instance that takes the
lease over raises the epoch, and a commit inserts rows only if the epoch is still the writer's. An advisory lock would
not do: a writer that hangs would hold it as long as its connection lasts.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from unipac.serve import tables
from unipac.serve.database import SNAPSHOTS, VERSION, Lease, Listed, Lost, Row, Unreachable

TYPES = {
    "integer": "bigint", "identity": "bigint generated always as identity primary key",
    "real": "double precision", "bytes": "bytea", "clustered": "",
}  # fmt: skip
LEASES = """create table if not exists lease(
    deployment bigint primary key, epoch bigint not null, expires timestamptz not null, address text not null)"""
KEY = 7_310_528_881
"""The key of a lock held while tables are made: two `create table if not exists` at once are not safe."""

TAKE = """insert into lease values(%s, 1, clock_timestamp() + %s * interval '1 s', %s)
on conflict(deployment) do update set epoch = lease.epoch + 1, expires = excluded.expires, address = excluded.address
where lease.expires < clock_timestamp() returning epoch"""
COMMIT = """with given as (select * from unnest(%s::bigint[], %s::bigint[]) as given(deployment, epoch)),
held as (select lease.deployment from lease join given using (deployment, epoch) for share of lease)
insert into event select * from unnest(%b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::float8[],
                                       %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[])
where (select count(*) from held) = (select count(*) from given)"""
BEAT = """update lease set expires = clock_timestamp() + %s * interval '1 s'
from unnest(%s::bigint[], %s::bigint[]) as given(deployment, epoch)
where lease.deployment = given.deployment and lease.epoch = given.epoch"""


class Postgres:
    """``postgresql://...``."""

    def __init__(self, url: str, address: str, lease: float) -> None:
        self.url, self.address = url, address
        self.lease: float | None = lease
        self._epochs: dict[int, int] = {}
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._writer, self._reader = self._connected(), self._connected()
        with self._reader.transaction():
            self._reader.execute("select pg_advisory_xact_lock(%s)", (KEY,))
            for statement in (*tables.TABLES.format(**TYPES).split(";"), LEASES):
                if statement.strip():
                    self._reader.execute(statement)
            sql = "insert into format select %s where not exists (select * from format)"
            self._reader.execute(sql, (VERSION,))
        found = self._all("select version from format")[0][0]
        if found != VERSION:
            raise ValueError(f"store must have version {VERSION}, got tables of version {found}")

    def _connected(self) -> psycopg.Connection[Any]:
        try:
            return psycopg.connect(
                self.url, autocommit=True, connect_timeout=5, application_name="unipac serve",
                keepalives_idle=5, keepalives_interval=2, keepalives_count=3, tcp_user_timeout=10_000,
            )  # fmt: skip
        except psycopg.OperationalError as error:
            raise Unreachable(_plain(error)) from None
        except psycopg.Error as error:
            raise ValueError(f"store must be a URL of PostgreSQL ({_plain(error)})") from None

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[psycopg.Cursor[Any]]:
        """A cursor on the connection for reading, which is opened again if it broke."""
        with self._reading:
            if self._reader.closed:
                self._reader = self._connected()
            try:
                with self._reader.cursor(binary=True) as cursor:
                    yield cursor
            except psycopg.OperationalError as error:
                self._reader.close()
                raise Unreachable(_plain(error)) from None

    def _all(self, sql: Any, *values: Any) -> list[Any]:
        with self._cursor() as cursor:
            return cursor.execute(sql, values).fetchall()

    def _do(self, sql: str, *values: Any) -> int:
        """Run a shared statement; returns how many rows it changed."""
        with self._cursor() as cursor:
            return cursor.execute(_in_psycopg(sql), values).rowcount

    # -- deployments -----------------------------------------------------------------------------------

    def listed(self) -> list[Listed]:
        """All deployments."""
        return [Listed(*row) for row in self._all("select number, name, spec from deployment order by name")]

    def create(self, name: str, spec: str) -> Listed:
        """A new deployment, or the one that has this name."""
        sql = "insert into deployment(name, spec) values(%s, %s) on conflict do nothing returning number"
        self._all(sql, name, spec)
        return Listed(*self._all("select number, name, spec from deployment where name = %s", name)[0])

    def take(self, number: int) -> Lease:
        """Become the writer if the lease has expired; else say whose it is."""
        won = self._all(TAKE, number, self.lease, self.address)
        if won:
            with self._writing:
                self._epochs[number] = won[0][0]
            return Lease(won[0][0], self.address)
        sql = "select address from lease where deployment = %s and expires >= clock_timestamp()"
        held = self._all(sql, number)
        return Lease(None, held[0][0] if held else None)

    def beat(self) -> None:
        """Renew all leases, on a new connection if the old one broke."""
        with self._writing:
            if not self._epochs:
                return
            if self._writer.closed:
                self._writer = self._connected()
            self._renew(self.lease)

    def _renew(self, seconds: float | None) -> None:
        numbers, epochs = list(self._epochs), list(self._epochs.values())
        try:
            done = self._writer.execute(BEAT, (seconds, numbers, epochs)).rowcount
        except psycopg.OperationalError as error:
            self._writer.close()
            raise Unreachable(_plain(error)) from None
        if done != len(numbers):
            raise Lost("another instance writes a deployment that was ours")

    def give_back(self) -> None:
        """Let the leases expire now."""
        with self._writing, contextlib.suppress(Unreachable, Lost):
            if self._epochs and not self._writer.closed:
                self._renew(-1.0)
            self._epochs.clear()

    # -- events ------------------------------------------------------------------------------------------

    def commit(self, rows: Sequence[Row]) -> None:
        """Write rows in one statement, if all their deployments are still ours."""
        numbers = list({row.deployment for row in rows})
        columns = [list(column) for column in zip(*rows, strict=True)]
        with self._writing:
            epochs = [self._epochs[number] for number in numbers]
            done = self._writer.execute(COMMIT, (numbers, epochs, *columns)).rowcount
        if done != len(rows):
            raise Lost("another instance writes a deployment that was ours")

    def read(self, number: int, after: int, limit: int) -> list[Row]:
        """The first records after an event."""
        sql = """select * from event where deployment = %s and seq > %s order by seq, kind collate "C" limit %s"""
        return list(map(Row._make, self._all(sql, number, after, limit)))

    def chain(self, number: int, seq: int) -> bytes | None:
        """The chain after an event."""
        sql = """select chain from event where deployment = %s and seq = %s
                 order by kind collate "C" desc limit 1"""
        found = self._all(sql, number, seq)
        return found[0][0] if found else None

    def of_id(self, number: int, id: str) -> list[Row]:  # noqa: A002
        """All records of an id."""
        sql = "select * from event where deployment = %s and id = %s"
        return list(map(Row._make, self._all(sql, number, id)))

    def ids(self, number: int) -> list[str]:
        """The ids of all decisions."""
        sql = "select id from event where deployment = %s and id is not null and kind = 'decide'"
        return [row[0] for row in self._all(sql, number)]

    # -- snapshots and personal data -----------------------------------------------------------------------

    def add_piece(self, number: int, name: bytes, place: int, body: bytes) -> None:
        """Write a piece of a snapshot."""
        self._do(tables.ADD_PIECE, number, name, place, body)

    def keep(self, number: int, seq: int, name: bytes, pieces: int, series: bytes) -> bool:
        """From now on these pieces are the snapshot at an event."""
        values = number, seq, name, series, number, name, pieces
        with self._cursor() as cursor, self._reader.transaction():
            done = cursor.execute(_in_psycopg(tables.KEEP), values).rowcount > 0
            cursor.execute(_in_psycopg(tables.DROP_OLD), (number, number, SNAPSHOTS))
        return done

    def drop_piece(self, number: int) -> bool:
        """Delete a piece that belongs to no snapshot."""
        return self._do(tables.DROP_PIECE, number, number, number) > 0

    def snapshots(self, number: int) -> list[tuple[int, bytes]]:
        """Newest first, all as they are at one moment, since the writer may drop some meanwhile."""
        with self._cursor() as cursor, self._reader.transaction():
            cursor.execute("set transaction isolation level repeatable read")

            def pieces_of(name: bytes) -> list[Any]:
                return cursor.execute(_in_psycopg(tables.PIECES_OF), (number, name)).fetchall()

            found = cursor.execute(_in_psycopg(tables.SNAPSHOTS_OF), (number,)).fetchall()
            return [(seq, tables.whole(body, pieces_of)) for seq, body in found]

    def series(self, number: int) -> tuple[int, bytes] | None:
        """What the page draws."""
        found = self._all(_in_psycopg(tables.LAST_SERIES), number)
        return found[0] if found else None

    def kept(self, number: int) -> list[int]:
        """The events of the snapshots, newest first."""
        return [seq for (seq,) in self._all(_in_psycopg(tables.KEPT), number)]

    def blank(self, number: int, before: float, through: int, after: int) -> tuple[int, int]:
        """Blank parts of decisions, a thousand at a time."""

        def write(changed: list[tuple[bytes, bytes, int]]) -> None:
            with self._cursor() as cursor:
                rows = [(*parts, number, seq) for *parts, seq in changed]
                cursor.executemany(_in_psycopg(tables.BLANK), rows)

        return tables.blank(
            lambda last: self._all(_in_psycopg(tables.TO_BLANK), number, last), write, before, through, after
        )

    # -- the end -----------------------------------------------------------------------------------------

    def backup(self, path: Path) -> None:
        """Refuse: PostgreSQL has ``pg_dump`` for this."""
        raise ValueError("store must be a file of SQLite for this, got PostgreSQL, whose pg_dump does it")

    def close(self) -> None:
        """Let go of both connections."""
        for connection in (self._writer, self._reader):
            connection.close()


def _in_psycopg(sql: str) -> Any:
    """A shared statement with the placeholders of psycopg."""
    return sql.replace("?", "%s")


def _plain(error: Exception) -> str:
    """The first line of a message, which names no password."""
    return str(error).strip().partition("\n")[0]
