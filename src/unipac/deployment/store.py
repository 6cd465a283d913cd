"""Where the events of a deployment go: one small interface, whatever lies beneath."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from unipac._actions import Label


class Record(NamedTuple):
    """An event for a store, in three parts; of the last two, what is personal can be blanked."""

    seq: int
    kind: str
    id: Label | None
    """That of a decision, in its ``decide`` event."""
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
    """What the next record follows on."""


@runtime_checkable
class Store(Protocol):
    """An append-only log of one writer; errors of the system are ``OSError`` and leave the log as it was."""

    closing: dict[Label, float | None]
    """Closed decisions with their rewards: a deployment writes them here, and ``find`` must know them."""
    segment: int
    """A number; when it changes, what is named by a hash is written anew."""

    def ready(self) -> None:
        """Raise if the log is closed."""

    def append(self, records: Sequence[Record]) -> None:
        """Write records, all or none; they are read again after a crash of the process. Raise if the log is closed."""

    def sync(self) -> None:
        """Bring what was appended to the disk itself; if that fails, the log is closed."""

    def read(self, after: int, start: Position | None = None) -> Iterator[Record]:
        """The records of all events after this one (−1: all), checked; perhaps from a position that lies before.

        The records of actions that these events name come as well. A new store is read to its end before it is written.
        """

    def reconcile(self) -> None:
        """After an interrupted ``append``: its records are there, all or none."""

    def find(self, id: Label) -> Found | None:  # noqa: A002
        """The closed decision of this id, if there is one."""

    def indexed(self) -> int:
        """The last event up to which ``find`` knows all closed decisions by itself."""

    def index_anew(self) -> None:
        """Forget what was closed: the log is read from its beginning, and ``closing`` filled again."""

    def flush(self) -> None:
        """Keep what is in ``closing``."""

    def position(self) -> Position:
        """Where the log ends."""

    def places(self) -> dict[Label, int]:
        """For all decisions that wait, and perhaps others, what the store needs to find them again."""

    def restore(self, ids: Sequence[Label], places: Sequence[int], position: Position) -> None:
        """These decisions wait, at this position; what is read from there on is noted by the store itself."""

    def keep(self, snapshot: bytes, position: Position) -> None:
        """Keep a snapshot of the deployment at a position, and perhaps drop older ones."""

    def snapshots(self) -> Iterator[tuple[int, bytes]]:
        """The snapshots that are kept, newest first, each with the number of its last event."""

    def trim(self, before: float, through: int) -> int:
        """Blank contexts and offered vectors of decisions before a time, and vectors taken up to an event; how many."""

    def leave(self, why: str) -> None:
        """Write nothing any more; whoever tries gets this reason."""

    def shut(self) -> None:
        """Sync, and let another writer take over."""
