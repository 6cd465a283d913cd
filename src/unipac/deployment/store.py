"""The interface of a store, which keeps the events of a deployment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from unipac._actions import Label


class Record(NamedTuple):
    """An event for a store, in three parts; the last two can be blanked, as they may be personal."""

    seq: int
    kind: str
    id: Label | None
    """The id of the decision, only in its ``decide`` event."""
    wall: float | None
    """Seconds since 1970 at a decision."""
    rest: bytes
    """JSON: everything else."""
    context: bytes | None
    """JSON; empty if there is none, None if it was blanked."""
    vectors: bytes | None
    """Vectors as base64 of little-endian float64, separated by spaces; empty if there are none, None if blanked."""


class Found(NamedTuple):
    """A closed decision."""

    record: Record
    value: float | None
    """Its reward; None if none was recorded."""
    offer: Record | None
    """The record of its actions, if the decision names them."""


class Position(NamedTuple):
    """A place in the log, right after an event."""

    seq: int
    """The number of the event; −1 before the first."""
    segment: int
    offset: int
    chain: bytes
    """The chain that the next record continues."""


@runtime_checkable
class Store(Protocol):
    """An append-only log of one writer; errors of the system are ``OSError`` and leave the log as it was."""

    closing: dict[Label, float | None]
    """Closed decisions with their rewards: the deployment adds them here, and ``find`` must find them."""
    segment: int
    """A number; when it changes, the deployment writes the actions named by hashes again."""

    def ready(self) -> None:
        """Raise if the log is closed."""

    def append(self, records: Sequence[Record]) -> None:
        """Write records, all or none, so that they survive a crash of the process. Raise if the log is closed."""

    def sync(self) -> None:
        """Bring what was appended to the disk itself; if that fails, the log is closed."""

    def read(self, after: int, start: Position | None = None) -> Iterator[Record]:
        """The records of all events after this one (−1: all), checked; ``start`` may name a position to start from.

        The records of actions that these events name come as well. A new store is read to its end before it is written.
        """

    def reconcile(self) -> None:
        """After an interrupted ``append``, make sure that its records are there, all or none."""

    def find(self, id: Label) -> Found | None:  # noqa: A002
        """The closed decision of this id, if there is one."""

    def indexed(self) -> int:
        """The last event up to which ``find`` knows all closed decisions by itself."""

    def index_anew(self) -> None:
        """Forget all closed decisions: then the log is read from its beginning, and ``closing`` is filled again."""

    def flush(self) -> None:
        """Put all of ``closing`` into the index."""

    def position(self) -> Position:
        """Where the log ends."""

    def places(self) -> dict[Label, int]:
        """For all waiting decisions, and perhaps others, the places by which the store finds them again."""

    def restore(self, ids: Sequence[Label], places: Sequence[int], position: Position) -> None:
        """Take the places of the decisions that wait at this position; ``read`` notes those of later ones itself."""

    def keep(self, snapshot: bytes, position: Position) -> None:
        """Keep a snapshot of the deployment at a position, and perhaps drop older ones."""

    def snapshots(self) -> Iterator[tuple[int, bytes]]:
        """The snapshots that are kept, newest first, each with the number of its last event."""

    def trim(self, before: float, through: int) -> int:
        """Blank contexts of decisions before a time, and vectors of those up to an event; returns how many."""

    def leave(self, why: str) -> None:
        """Stop writing; later writes raise an error with this reason."""

    def shut(self) -> None:
        """Sync, and let another writer take over."""
