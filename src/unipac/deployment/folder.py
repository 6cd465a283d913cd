"""A log in a folder: segments of lines, an index of closed decisions, snapshots; one process writes it at a time.

Everything before ``_tail`` was written and checked. A write begins at the tail, which moves only after the write is
complete. What a failed or interrupted write left after the tail is read if its records are whole, and cut off if not.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

from unipac import _storage as storage
from unipac._actions import Label
from unipac.deployment import disk, lines, trimming
from unipac.deployment.errors import LogClosed
from unipac.deployment.index import Index
from unipac.deployment.segments import SHIFT, Segments
from unipac.deployment.store import Found, Position, Record

SEGMENT = 2**26
"""A segment with this many bytes is full, and another one follows."""
INDEXED = 1000
"""The number of closed decisions that are put into the index at once."""
SNAPSHOTS = 2
"""The number of snapshots that are kept."""


class Folder:
    """The store of ``Deployment(log="folder")``."""

    def __init__(
        self, path: str | os.PathLike[str], sync: str = "second", segment_size: int = SEGMENT
    ) -> None:
        self.path, self.sync_when, self.segment_size = Path(path), sync, segment_size
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.closing: dict[Label, float | None] = {}
        self._places: dict[Label, int] = {}
        self._blank: set[int] = set()  # segments in which nothing is left to blank
        self._why = ""  # why it is closed
        self._dirty = False  # whether something was not synced
        self._mutex = threading.RLock()  # held by the thread that syncs, and by what changes files under it
        self._file = -1
        self._owner = disk.locked(self.path)
        try:
            self._held = Segments(self.path)
            self._tail: Position | None = None
            if not self._held.numbers:
                self._begin_segment(Position(-1, 0, 0, lines.BEGIN))
            self._index = Index.opened(self.path / "index.sqlite")
        except BaseException:
            os.close(self._owner)
            raise
        self._stop = threading.Event()
        if sync == "second":
            threading.Thread(
                target=disk.every_second, args=(weakref.ref(self), self._stop), daemon=True, name="unipac log"
            ).start()

    @property
    def segment(self) -> int:
        """The number of the segment that is written."""
        return self._held.numbers[-1]

    # -- writing -------------------------------------------------------------------------------------

    def ready(self) -> None:
        """Raise if the log is closed."""
        if self._why:
            raise LogClosed(f"log must be open, got {str(self.path)!r}, which is closed: {self._why}")
        self.position()

    def _begin_segment(self, tail: Position) -> None:
        number = len(self._held.numbers)
        first = lines.header(number, tail.seq, tail.chain)
        with self._mutex:
            storage.write_atomically(self._held.path_of(number), first)
            if self._file >= 0:
                os.close(self._file)
            self._file = os.open(self._held.path_of(number), os.O_RDWR)
            self._tail = tail._replace(segment=number, offset=len(first))
            self._held.numbers.append(number)

    def append(self, records: Sequence[Record]) -> None:
        """Write records in one piece."""
        if self._why:
            self.ready()
        tail = self._tail or self.position()
        data, chain, offset = b"", tail.chain, tail.offset
        for _, kind, key, _, rest, context, vectors in records:
            line, chain = lines.joined(rest, context or b"", vectors or b"", chain)
            if kind == "decide" and key is not None:
                self._places[key] = (tail.segment << SHIFT) + offset + len(data)
            data += line
        offset += len(data)
        try:
            done = os.pwrite(self._file, data, tail.offset)
            while done < len(data):  # short: the disk may be full
                done += os.pwrite(self._file, data[done:], tail.offset + done)
        except OSError as error:
            self._cut(tail)
            raise disk.told(
                error, "the log could not be written, and nothing has changed", self.path
            ) from None
        self._dirty = True
        self._tail = Position(records[-1].seq, tail.segment, offset, chain)
        if self.sync_when == "always":
            self.sync()
        if len(self.closing) >= INDEXED:
            self._put_in_index(tail.seq)
        if offset >= self.segment_size:
            self._roll()

    def _roll(self) -> None:
        """Begin a new segment; if that fails, the next call tries it again."""
        with contextlib.suppress(OSError):
            self.sync()
            self._begin_segment(self.position())

    def _cut(self, tail: Position) -> None:
        """Remove what a failed write left; if that fails, it is overwritten or cut later."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, tail.offset)

    def sync(self) -> None:
        """Bring what was appended to the disk itself."""
        with self._mutex:
            if not self._dirty or self._why:
                return
            self._dirty = False
            try:
                os.fdatasync(self._file)
            except OSError as error:
                self._why = f"the disk did not confirm what was written ({error.strerror})"
                words = "the disk did not confirm what was written; the log is closed, and Deployment.open reads it"
                raise disk.told(error, words, self.path) from None

    # -- reading ---------------------------------------------------------------------------------------

    def read(self, after: int, start: Position | None = None) -> Iterator[Record]:
        """All records after an event, checked; the first reading sets the tail, and cuts off an incomplete record."""
        notes = self._tail is None
        for record, place in self._held.read(after, start):
            if notes and place >= 0 and record.kind == "decide" and record.id is not None:
                self._places[record.id] = place
            if record.seq > after or record.kind == "actions":
                yield record
            if notes and len(self.closing) >= INDEXED:
                self._put_in_index(record.seq)
        if notes:
            self._tail = self._held.reached
            if self._file >= 0:
                os.close(self._file)
            self._file = os.open(self._held.path_of(self._tail.segment), os.O_RDWR)
            self._cut(self._tail)

    def reconcile(self) -> None:
        """After an interrupt: take whole records after the tail into the log, and cut off the rest."""
        tail = self.position()
        for record, place in self._held.lines(tail.segment, tail, True):
            if record.kind == "decide" and record.id is not None:
                self._places[record.id] = place
            self._tail, self._dirty = self._held.reached, True
        self._cut(self.position())

    def position(self) -> Position:
        """Where the log ends; it must have been read to the end."""
        if self._tail is None:
            raise RuntimeError("the log must be read before it is written")
        return self._tail

    # -- closed decisions ------------------------------------------------------------------------------

    def _put_in_index(self, through: int) -> None:
        held = list(self.closing.items())
        rows = [(id_, self._places[id_], value) for id_, value in held if id_ in self._places]
        with contextlib.suppress(sqlite3.Error):  # then they stay in memory until the next try
            self._index.add(rows, through)
            for id_, _ in held:
                self.closing.pop(id_, None)
                self._places.pop(id_, None)

    def indexed(self) -> int:
        """The last event up to which the index has all closed decisions."""
        return self._index.through()

    def index_anew(self) -> None:
        """Empty the index, so that reading the log again fills it with the closed decisions."""
        self._index = self._index.emptied()
        self._tail = None
        self.closing.clear()

    def flush(self) -> None:
        """Put everything that was closed into the index."""
        self._put_in_index(self.position().seq)

    def find(self, id: Label) -> Found | None:  # noqa: A002
        """The closed decision of this id, if there is one."""
        if id in self.closing and id in self._places:
            place, value = self._places[id], self.closing[id]
        else:
            try:
                found = self._index.find(id)
            except sqlite3.Error as error:
                words = f"the index cannot be read ({error}); without index.sqlite it is made anew by open"
                raise OSError(errno.EIO, words, str(self.path)) from None
            if found is None:
                return None
            place, value = found
        segment, offset = place >> SHIFT, place & ((1 << SHIFT) - 1)
        with self._mutex, open(self._held.path_of(segment), "rb") as file:
            file.seek(offset)
            record = _decision(file.readline())
            if record is None or record.id != id:  # it was moved by blanking, or is damaged
                file.seek(0)
                record = next((one for line in file if (one := _decision(line)) and one.id == id), None)
            if record is None:
                raise self._held.refused(segment, offset, f"it is not the decision {id!r}")
            return Found(record, value, self._offer_of(file, record))

    def _offer_of(self, file: object, record: Record) -> Record | None:
        named = re.search(rb'"offer":"([0-9a-f]+)"', record.rest)
        if named is None:
            return None
        file.seek(0)  # type: ignore[attr-defined]
        wanted = b'"kind":"actions","offer":"%b"' % named[1]
        for line in file:  # type: ignore[attr-defined]
            if wanted in line:
                return lines.record_of(lines.parts(line))
        return None

    def places(self) -> dict[Label, int]:
        """The places of pending decisions."""
        return self._places.copy()

    def restore(self, ids: Sequence[Label], places: Sequence[int], position: Position) -> None:
        """Note the places of decisions that wait."""
        self._places.update(zip(ids, places, strict=True))

    # -- snapshots ---------------------------------------------------------------------------------------

    def _kept(self) -> list[Path]:
        return sorted(self.path.glob("snapshot-*.npz"), reverse=True)

    def keep(self, snapshot: bytes, position: Position) -> None:
        """Keep a snapshot; the log reaches the disk before it."""
        self.sync()
        storage.write_atomically(self.path / f"snapshot-{position.seq:015}.npz", snapshot)
        for old in self._kept()[SNAPSHOTS:]:
            old.unlink(missing_ok=True)

    def snapshots(self) -> Iterator[tuple[int, bytes]]:
        """Newest first."""
        for path in self._kept():
            yield int(path.stem.removeprefix("snapshot-")), path.read_bytes()

    def trim(self, before: float, through: int) -> int:
        """Blank parts of decisions; if the last segment has some of them, a new segment is begun first."""
        self.ready()
        if trimming.has_older(self._held.path_of(self.segment), before):
            self.sync()
            self._begin_segment(self.position())
        count = 0
        for segment in self._held.numbers[:-1]:
            if segment in self._blank:
                continue
            with self._mutex:
                found, left, moved = trimming.trim(self._held.path_of(segment), before, through)
                if left == 0:
                    self._blank.add(segment)
                base, count = segment << SHIFT, count + found
                for id_, _, place in moved:
                    if id_ in self._places:
                        self._places[id_] = base + place
                self._index.move((id_, base + old, base + new) for id_, old, new in moved)
        return count

    # -- the end -------------------------------------------------------------------------------------------

    def leave(self, why: str) -> None:
        """Write nothing any more and close all files, as another process writes the log."""
        self._why, self._mutex = self._why or why, threading.RLock()
        self._let_go()

    def _let_go(self) -> None:
        for file in (self._file, self._owner):
            if file >= 0:
                os.close(file)
        self._file = self._owner = -1

    def shut(self) -> None:
        """Sync, and let another writer take over."""
        if self._owner < 0:
            return
        self._stop.set()
        try:
            if self._tail is not None:
                self.sync()
                if not self._why:
                    self.flush()
        finally:
            with self._mutex:
                self._why = self._why or "it was shut"
                self._index.close()
                self._let_go()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.shut()


def _decision(line: bytes) -> Record | None:
    """The decision of a line; None if the line is something else."""
    try:
        record = lines.record_of(lines.parts(line))
    except ValueError:
        return None
    return record if record.kind == "decide" else None
