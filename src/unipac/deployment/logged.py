"""A deployment and its store: events become records and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unipac._actions import Label
from unipac.deployment import log
from unipac.deployment.entries import Entry
from unipac.deployment.errors import LogClosed
from unipac.deployment.log import Event
from unipac.deployment.records import Decoder

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment


def append(d: Deployment, *events: Event) -> None:
    """Write unwritten events, then these.

    If an interrupt comes after ``_behind`` is set, the next call finds out whether they are in the log.
    """
    store: Any = d._store
    encoded, segment = d._encoder.records, store.segment
    records: list[Any] = []
    for event in d._unwritten:
        records += encoded(event, segment)
    for event in events:
        records += encoded(event, segment)
    d._behind = True
    try:
        store.append(records)
    except (OSError, LogClosed):
        d._behind = False  # nothing was written, or the log is closed
        raise
    if len(records) > 1:
        d._encoder.written(records)


def unread(d: Deployment) -> Iterator[Event]:
    """What the store has after the last event of the memory."""
    store: Any = d._store
    store.ready()
    store.reconcile()
    end = store.position().seq
    d._unwritten = [event for event in d._unwritten if event["seq"] > end]
    return iter(list(Decoder(d._agent.dim).events(store.read(d._seq))))


def events(d: Deployment, after: int) -> list[dict[str, Any]]:
    """The log from an event on, as JSON has it; what was blanked is None."""
    store: Any = d._store
    decoder = Decoder(d._agent.dim, blanks=True)
    rows = decoder.events(store.read(after if after else -1))
    return [log.copied(row) for row in rows]


def find(d: Deployment, key: Label) -> Entry | None:
    """A closed decision; the vector taken is NaN if it was blanked."""
    store: Any = d._store
    found = store.find(key)
    if found is None:
        return None
    decoder = Decoder(d._agent.dim, blanks=True)
    if found.offer is not None:
        decoder.event(found.offer)
    row: Any = decoder.event(found.record)
    return Entry(row.decision, row.hash or b"", None, None, found.value)
