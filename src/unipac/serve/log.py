"""The store of one deployment: appended records wait for the writer; committed ones are in the database."""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from unipac._actions import Label
from unipac.deployment import lines
from unipac.deployment.errors import LogClosed
from unipac.deployment.store import Found, Position, Record
from unipac.serve.database import Broken, Database, Row, Unreachable
from unipac.serve.seen import Seen
from unipac.serve.tables import NAME
from unipac.serve.writer import Writer

CHUNK = 2000
"""How many rows are read at once."""
PIECE = 2**20
"""The size of a piece of a snapshot."""
_OFFER = re.compile(rb'"offer":"([0-9a-f]+)"')
_VALUE = re.compile(rb'"value":([^,}]+)')


class Log:
    """Satisfies ``unipac.deployment.store.Store``.

    Args:
        database: where the rows are.
        writer: who writes them.
        number: of the deployment, in the database.
        listener: is shown every record that is written, or read while a deployment is opened.
    """

    segment = 0

    def __init__(
        self,
        database: Database,
        writer: Writer,
        number: int,
        listener: Callable[[Record], None] | None = None,
    ) -> None:
        self.closing: dict[Label, float | None] = {}
        self._database, self._writer, self._number, self._listener = database, writer, number, listener
        self._end: Position | None = None
        self._why = ""
        self._blanked = -1  # up to this event nothing is left to blank
        self._seen = Seen(database.ids(number))
        self._offers: set[str] = set()  # names of offers that are in the log
        # Rows that may not be in the database yet, by id and kind, and when they will be.
        self._recent: dict[str, dict[str, Row]] = {}
        self._order: deque[tuple[int, str, str]] = deque()
        self.extra: Callable[[], bytes] = bytes
        """What is kept beside a snapshot."""

    # -- writing -------------------------------------------------------------------------------------------

    def ready(self) -> None:
        """Raise if the log is closed."""
        if self._why:
            raise LogClosed(f"log must be open, got one that is closed: {self._why}")

    def append(self, records: Sequence[Record]) -> None:
        """Queue records for the writer; whoever answers a request waits until they are on the disk."""
        self.ready()
        chain, rows = self.position().chain, []
        for record in records:
            id_ = self._id_of(record)
            if record.kind == "actions":
                if self._has_offer(str(id_)):
                    continue
                self._offers.add(str(id_))
            context, vectors = record.context or b"", record.vectors or b""
            chain = lines.chained(record.rest, context, vectors, chain)
            row = tuple.__new__(Row, (
                self._number, record.seq, record.kind, id_, record.wall, record.rest, context, vectors, chain,
            ))  # fmt: skip
            rows.append(row)
            if self._listener is not None:
                self._listener(record)
        self.closing.clear()  # the rows hold the same
        self._forget_written()
        self._writer.put(rows)
        queued = self._writer.queued
        for row in rows:
            if row.id is not None:
                self._recent.setdefault(row.id, {})[row.kind] = row
                self._order.append((queued, row.id, row.kind))
                if row.kind == "decide":
                    self._seen.add(row.id)
        self._end = Position(records[-1].seq, 0, 0, chain)

    def _has_offer(self, name: str) -> bool:
        """Whether an offer is in the log: after a restart, only the database knows."""
        return name in self._offers or self._offer(name) is not None

    def _id_of(self, record: Record) -> str | None:
        if record.kind == "decide":
            return str(record.id)
        if record.kind in ("reward", "forget"):
            return str(lines.head(record.rest).id)
        if record.kind == "actions":
            named = _OFFER.search(record.rest)
            return named[1].decode() if named else None
        return None

    def _forget_written(self) -> None:
        order, durable = self._order, self._writer.durable
        while order and order[0][0] <= durable:
            _, id_, kind = order.popleft()
            left = self._recent.get(id_, {})
            left.pop(kind, None)
            if not left:
                self._recent.pop(id_, None)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self._writer.wait()

    # -- reading -------------------------------------------------------------------------------------------

    def read(self, after: int, start: Position | None = None, chunk: int = CHUNK) -> Iterator[Record]:
        """All records after an event, each of which must follow on the one before it; ``chunk`` rows at once."""
        if self._end is not None:
            self.sync()
        opens, chain, seq, named = self._end is None, self._chain(after, start), after, set[str]()
        while rows := self._database.read(self._number, seq, chunk):
            if len(rows) == chunk:  # the rows of the last event may not all be there
                rows = [row for row in rows if row.seq < rows[-1].seq] or rows
            for row in rows:
                expected = lines.chained(row.body, row.context, row.vectors, chain)
                if row.chain != expected:
                    raise Broken(f"log must be as it was written, got event {row.seq}, which does not fit")
                chain = expected
                record = record_of(row)
                if row.kind == "actions" and row.id is not None:
                    named.add(row.id)
                    self._offers.add(row.id)
                elif row.kind == "decide" and b'"offer"' in row.body:
                    offer = self._offer_of(record)
                    if offer is not None and offer[0] not in named:
                        named.add(offer[0])
                        yield record_of(offer[1])
                if opens and self._listener is not None:
                    self._listener(record)
                yield record
            seq = rows[-1].seq
        if self._end is None:
            self._end = Position(seq, 0, 0, chain)

    def _chain(self, after: int, start: Position | None) -> bytes:
        if after < 0:
            return lines.BEGIN
        known = self._database.chain(self._number, after)
        if known is None or (start is not None and start.seq == after and known != start.chain):
            raise Broken(f"log must be as it was written, got none with the event {after} of the snapshot")
        return known

    def _offer_of(self, record: Record) -> tuple[str, Row] | None:
        named = _OFFER.search(record.rest)
        if named is None:
            return None
        name = named[1].decode()
        row = self._offer(name)
        return None if row is None else (name, row)

    def _offer(self, name: str) -> Row | None:
        recent = self._recent.get(name, {}).get("actions")
        if recent is not None:
            return recent
        return next((row for row in self._database.of_id(self._number, name) if row.kind == "actions"), None)

    def reconcile(self) -> None:
        """Do nothing: records are queued all or none."""

    def position(self) -> Position:
        """Where the log ends; it must have been read to the end."""
        if self._end is None:
            raise RuntimeError("the log must be read before it is written")
        return self._end

    # -- closed decisions --------------------------------------------------------------------------------------

    def find(self, id: Label) -> Found | None:  # noqa: A002
        """The closed decision of this id; callers do not ask for decisions that wait."""
        key = str(id)
        if key not in self._seen:
            return None
        rows = {row.kind: row for row in self._database.of_id(self._number, key)} | self._recent.get(key, {})
        if "decide" not in rows:
            return None
        value = None
        if "reward" in rows and "forget" not in rows:
            told = _VALUE.search(rows["reward"].body)
            value = float(told[1]) if told else None
        record = record_of(rows["decide"])
        offer = self._offer_of(record)
        return Found(record, value, None if offer is None else record_of(offer[1]))

    def seq_of(self, id: str, kind: str) -> int:  # noqa: A002
        """The number of the event of this kind."""
        row = self._recent.get(id, {}).get(kind)
        if row is None:
            row = next(row for row in self._database.of_id(self._number, id) if row.kind == kind)
        return row.seq

    def indexed(self) -> int:
        """The database knows all."""
        return self.position().seq

    def index_anew(self) -> None:
        """The rows themselves are the index."""

    def flush(self) -> None:
        """The rows themselves are the index."""

    def places(self) -> dict[Label, int]:
        """Rows are found by their id."""
        return defaultdict(int)

    def restore(self, ids: Sequence[Label], places: Sequence[int], position: Position) -> None:
        """Do nothing: rows are found by their id."""

    # -- snapshots -------------------------------------------------------------------------------------------

    def keep(self, snapshot: bytes, position: Position) -> None:
        """Keep a snapshot, after all rows before it; between two pieces the writer commits waiting rows."""
        extra, name, number, database = self.extra(), os.urandom(NAME), self._number, self._database
        self._drop_pieces()
        starts = range(0, len(snapshot), PIECE)
        for place, start in enumerate(starts):
            piece = snapshot[start : start + PIECE]
            self._writer.do(partial(database.add_piece, number, name, place, piece))
        if not self._writer.do(partial(database.keep, number, position.seq, name, len(starts), extra)):
            raise Unreachable("pieces of the snapshot are gone")
        self._drop_pieces()

    def _drop_pieces(self) -> None:
        """Delete what is left of older snapshots, or of one that a crash cut short."""
        while self._writer.do(partial(self._database.drop_piece, self._number)):
            pass

    def snapshots(self) -> Iterator[tuple[int, bytes]]:
        """Newest first."""
        yield from self._database.snapshots(self._number)

    def trim(self, before: float, through: int) -> int:
        """Blank contexts and vectors; others may append meanwhile."""
        self.ready()
        self.sync()
        count, self._blanked = self._database.blank(self._number, before, through, self._blanked)
        return count

    # -- the end -----------------------------------------------------------------------------------------------

    def leave(self, why: str) -> None:
        """Write nothing any more."""
        self._why = self._why or why

    def shut(self) -> None:
        """Wait for the disk, and write nothing any more."""
        if not self._why:
            self.sync()
            self._why = "it was shut"


def record_of(row: Row) -> Record:
    """The record of a row."""
    parts = [None if part.startswith(lines.BLANK) else part for part in (row.context, row.vectors)]
    key = row.id if row.kind == "decide" else None
    return Record(row.seq, row.kind, key, row.wall, row.body, *parts)
