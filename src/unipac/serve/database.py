"""What the service needs of a database; ``sqlite`` and ``postgres`` implement it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

VERSION = 1
"""The version of the tables."""
SNAPSHOTS = 2
"""How many snapshots of a deployment are kept."""


class Row(NamedTuple):
    """A record of a deployment's log, as a table has it."""

    deployment: int
    seq: int
    kind: str
    id: str | None
    """The id of the decision that the record is about; for a record of offered actions, their hash."""
    wall: float | None
    """Seconds since 1970 at a decision."""
    body: bytes
    """JSON."""
    context: bytes
    """JSON; its digest if it was blanked."""
    vectors: bytes
    chain: bytes
    """16 bytes of the SHA-256 over the chain before it and the record."""


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
    """The address of the instance that writes it, if it is known."""


class Lost(Exception):  # noqa: N818
    """Another instance writes a deployment that was ours."""


class Unreachable(Exception):  # noqa: N818
    """The database does not answer; nothing is lost by that."""


class Broken(ValueError):  # noqa: N818
    """The log is not as it was written."""


class Database(Protocol):
    """Tables of deployments, events and snapshots; threads may share it, as it locks by itself."""

    lease: float | None
    """Seconds for which a deployment is ours after ``beat``; None if no other process can write."""

    def listed(self) -> list[Listed]:
        """All deployments."""

    def create(self, name: str, spec: str) -> Listed:
        """A new deployment, or the one that has this name."""

    def take(self, number: int) -> Lease:
        """Become the writer of a deployment, if it has none."""

    def beat(self) -> None:
        """Renew all leases; raise ``Lost`` if another instance has taken one, or ``Unreachable``."""

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
        """Make these pieces the snapshot at an event, and drop all snapshots but the last two.

        Returns whether all pieces are there: with PostgreSQL, an instance without its lease may have deleted some.
        """

    def drop_piece(self, number: int) -> bool:
        """Delete a piece that belongs to no snapshot; returns whether there was one."""

    def snapshots(self, number: int) -> list[tuple[int, bytes]]:
        """Newest first."""

    def series(self, number: int) -> tuple[int, bytes] | None:
        """What the page draws, at the last snapshot."""

    def kept(self, number: int) -> list[int]:
        """The events of the snapshots, newest first."""

    def blank(self, number: int, before: float, through: int, after: int) -> tuple[int, int]:
        """Blank the contexts of decisions before a time, and the vectors of those up to the event ``through``.

        The first decision that is not before this time ends it. Returns how many were changed, and the event from
        which on there may be more to blank: hand it over as ``after`` the next time.
        """

    def backup(self, path: Path) -> None:
        """Copy everything to a file, while it is in use."""

    def close(self) -> None:
        """Let go of it."""
