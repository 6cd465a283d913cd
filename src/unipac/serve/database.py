"""What a database must do for the service; ``sqlite`` and ``postgres`` do it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

VERSION = 1
"""Of the tables."""
SNAPSHOTS = 2
"""So many snapshots of a deployment are kept."""


class Row(NamedTuple):
    """A record of a deployment's log, as a table has it."""

    deployment: int
    seq: int
    kind: str
    id: str | None
    """Of a decision, its reward or its end; of actions that are offered again and again, their hash."""
    wall: float | None
    """Seconds since 1970 at a decision."""
    body: bytes
    """JSON."""
    context: bytes
    """JSON, or what is left of it when it was blanked."""
    vectors: bytes
    chain: bytes
    """SHA-256 over the record and the chain before it, 16 bytes of it."""


class Listed(NamedTuple):
    """A deployment that the database has."""

    number: int
    name: str
    spec: str
    """JSON: the table that it was made of."""


class Lease(NamedTuple):
    """Who may write a deployment."""

    epoch: int | None
    """None if another instance writes it."""
    address: str | None
    """Of the one that writes; None if nobody is known to."""


class Lost(Exception):  # noqa: N818
    """Another instance writes a deployment that was ours."""


class Unreachable(Exception):  # noqa: N818
    """The database does not answer; nothing that was handed to it is lost by that."""


class Broken(ValueError):  # noqa: N818
    """The log is not as it was written."""


class Database(Protocol):
    """Tables of deployments, events, snapshots; one thread at a time may use it, which the database sees to."""

    lease: float | None
    """Seconds for which a deployment is ours after ``beat``; None if no other process can write."""

    def listed(self) -> list[Listed]:
        """All deployments."""

    def create(self, name: str, spec: str) -> Listed:
        """A new deployment, or the one that has this name."""

    def take(self, number: int) -> Lease:
        """Become the one that writes a deployment, if nobody is."""

    def beat(self) -> None:
        """Stay the one that writes; raise ``Lost`` or ``Unreachable``."""

    def give_back(self) -> None:
        """Let others write from now on."""

    def commit(self, rows: Sequence[Row]) -> None:
        """Write rows, all or none; when this returns, they are on the disk."""

    def read(self, number: int, after: int, limit: int) -> list[Row]:
        """The first records after an event, in their order."""

    def chain(self, number: int, seq: int) -> bytes | None:
        """The chain after an event; None if there is no such event."""

    def of_id(self, number: int, id: str) -> list[Row]:  # noqa: A002
        """All records of an id."""

    def ids(self, number: int) -> list[str]:
        """The ids of all decisions."""

    def add_piece(self, number: int, name: bytes, place: int, body: bytes) -> None:
        """Write a piece of a snapshot."""

    def keep(self, number: int, seq: int, name: bytes, pieces: int, series: bytes) -> bool:
        """From now on these pieces are the snapshot at an event, and all but the last two are none any more.

        It returns whether the pieces are all there: with PostgreSQL, one that has lost its lease may have deleted some.
        """

    def drop_piece(self, number: int) -> bool:
        """Delete a piece that is of no snapshot; whether there was one."""

    def snapshots(self, number: int) -> list[tuple[int, bytes]]:
        """Newest first."""

    def series(self, number: int) -> tuple[int, bytes] | None:
        """What the page draws, at the last snapshot."""

    def blank(self, number: int, before: float, through: int) -> int:
        """Blank contexts of decisions before a time, and vectors of those up to an event that are; how many."""

    def backup(self, path: Path) -> None:
        """Copy everything to a file, while it is in use."""

    def close(self) -> None:
        """Let go of it."""
