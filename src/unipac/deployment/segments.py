"""Read the segments of a log, even while another process writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from unipac._warnings import warn
from unipac.deployment import disk, lines
from unipac.deployment.store import Position, Record

SHIFT = 40
"""A place is the number of a segment, shifted by this many bits, plus the offset in it."""
NOWHERE = -1


class Segments:
    """Files of lines in a folder; errors name the place of a line that does not fit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.numbers = disk.segments(folder)
        self.reached = Position(-1, 0, 0, lines.BEGIN)
        """The position that the last reading has reached."""

    def path_of(self, number: int) -> Path:
        """The file of a segment."""
        return self.folder / f"{number:012}.log"

    def refused(self, segment: int, offset: int, why: str) -> ValueError:
        """The error that names a place."""
        place = f"{self.path_of(segment).name}, byte {offset}"
        return ValueError(f"log must be as it was written, got {str(self.folder)!r} with {place}: {why}")

    def read(self, after: int, start: Position | None = None) -> Iterator[tuple[Record, int]]:
        """Records with their places, from a position or the segment of an event on.

        First come the records of actions that the segment has before the position; their place is ``NOWHERE``.
        """
        position = self._before(after) if start is None else self._found(start)
        for record in self._offers_before(position):
            yield record, NOWHERE
        for segment in range(position.segment, len(self.numbers)):
            last = segment == self.numbers[-1]
            yield from self.lines(segment, position, last)
            position = self.reached._replace(segment=segment + 1, offset=0)

    def _found(self, known: Position) -> Position:
        """The position of a snapshot in the present file: blanking may have moved it."""
        if known.segment not in self.numbers:
            raise self.refused(known.segment, known.offset, "it is not there")
        with open(self.path_of(known.segment), "rb") as file:
            file.seek(max(0, known.offset - 1))
            if file.read(1) == b"\n":
                line = file.readline()
                try:
                    if not line.endswith(b"\n") or lines.read(line, known.chain):
                        return known
                except ValueError:
                    pass  # the position has moved, or the log is damaged: the search below finds out
            file.seek(0)
            _, seq, chain = self._begun(known.segment, file.readline())
        begin = Position(seq, known.segment, 0, chain)
        if (seq, chain) == (known.seq, known.chain):
            return begin
        for _ in self.lines(known.segment, begin, known.segment == self.numbers[-1]):
            if (self.reached.seq, self.reached.chain) == (known.seq, known.chain):
                return self.reached
        raise self.refused(known.segment, known.offset, f"event {known.seq} is not the one of the snapshot")

    def _before(self, after: int) -> Position:
        """The beginning of the segment that has the event after this one."""
        for number in reversed(self.numbers):
            with open(self.path_of(number), "rb") as file:
                _, seq, chain = self._begun(number, file.readline())
            if seq <= after:
                return Position(seq, number, 0, chain)
        return Position(-1, 0, 0, lines.BEGIN)

    def _begun(self, number: int, line: bytes) -> tuple[int, int, bytes]:
        try:
            found = lines.begun(line)
        except ValueError as error:
            raise self.refused(number, 0, str(error)) from None
        if found[0] != number:
            raise self.refused(number, 0, f"it is segment {found[0]}")
        return found

    def _offers_before(self, position: Position) -> Iterator[Record]:
        with open(self.path_of(position.segment), "rb") as file:
            while file.tell() < position.offset:
                line = file.readline()
                if b'"kind":"actions","offer":' in line[:100]:
                    try:
                        yield lines.record_of(lines.parts(line))
                    except ValueError as error:
                        raise self.refused(position.segment, file.tell() - len(line), str(error)) from None

    def lines(self, segment: int, start: Position, last: bool) -> Iterator[tuple[Record, int]]:
        """The records of a segment from a position on, with their places; a last record that was cut is left out."""
        chain, offset, seq = start.chain, start.offset, start.seq
        with open(self.path_of(segment), "rb") as file:
            if offset == 0:
                line = file.readline()
                _, told, before = self._begun(segment, line)
                if (told, before) != (seq, chain):
                    raise self.refused(segment, 0, "it does not follow on the segment before it")
                offset = len(line)
            elif offset > os.fstat(file.fileno()).st_size:
                raise self.refused(segment, offset, "it ends before")
            file.seek(offset)
            self.reached = Position(seq, segment, offset, chain)
            for line in file:
                if last and not line.endswith(b"\n"):
                    warn(f"log {str(self.folder)!r}: the last record was cut and is left out", RuntimeWarning)
                    return
                try:
                    record, chain = lines.read(line, chain)
                    if record.seq != seq + 1:
                        raise ValueError(f"it is event {record.seq}, and {seq + 1} comes here")
                except ValueError as error:
                    raise self.refused(segment, offset, str(error)) from None
                place, offset = (segment << SHIFT) + offset, offset + len(line)
                seq = seq if record.kind == "actions" else record.seq
                self.reached = Position(seq, segment, offset, chain)
                yield record, place
