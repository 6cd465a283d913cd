"""How logs are begun, opened, trimmed and shut; snapshots make opening fast."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from unipac import _checks as check, _storage as storage
from unipac._actions import Label
from unipac._warnings import warn
from unipac.bandits.protocol.agent import BanditAgent
from unipac.deployment import calls, replaying, snapshots
from unipac.deployment.contents import Maker
from unipac.deployment.entries import slices
from unipac.deployment.folder import Folder
from unipac.deployment.records import Blanked, Decoder, Encoder, spec_of
from unipac.deployment.store import Position, Store

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment

SYNCS = ("always", "second", "never")


def seconds(name: str, value: float | timedelta | None) -> float | None:
    """A length of time, in seconds."""
    given = value.total_seconds() if isinstance(value, timedelta) else value
    return None if given is None else check.positive(name, given)


def _store(given: Any, sync: str) -> Any:
    check.require(sync in SYNCS, "sync", f"one of {', '.join(SYNCS)}", sync)
    if isinstance(given, (str, os.PathLike)):
        return Folder(given, sync)
    check.require(isinstance(given, Store), "log", "a folder or a store", given)
    return given


# -- a new log -------------------------------------------------------------------------------------


def begin(d: Deployment, given: Any, sync: str) -> None:
    """Let a new deployment write its events to a store that has none."""
    store = _store(given, sync)
    try:
        if next(store.read(-1), None) is not None:
            raise ValueError(
                f"log must be new, got {given!r}, which has events; Deployment.open goes on with it"
            )
        d._encoder = Encoder()
        store.ready()
        store.append(d._encoder.records(d._events[0], store.segment))
        store.sync()
    except BaseException:
        store.shut()
        raise
    d._store = store
    if d._events[0]["start"] is not None:  # type: ignore[call-overload]
        checkpoint(d)  # what it had learned is not in the log


# -- snapshots ---------------------------------------------------------------------------------------


def checkpoint(d: Deployment) -> None:
    """Write a snapshot; the lock is held while it is copied, not while it is written."""
    store = _of(d)
    with d._files.lock:
        with d._lock:
            found = _now(d)
            store.ready()
            store.flush()
            places = store.places()
            position = store.position()
        header, arrays = found.told()
        header |= {
            "places": [places[e.decision.id] for part in slices(found.contents.pending) for e in part],
            "position": [*position[:3], position.chain.hex()],
        }
        store.keep(storage.content(header, arrays), position)
    if d._retention is not None:
        trim(d, time.time() - d._retention)


def digest(d: Deployment) -> str:
    """As ``Deployment.digest``; the lock is held while the deployment is copied, not while it is described."""
    with d._lock:
        found = _now(d)
    return snapshots.digest(found)


def _now(d: Deployment) -> snapshots.Snapshot:
    """The deployment as it is now, with its log up to date; its lock is held."""
    calls.begin(d)
    calls.write_out(d)
    return snapshots.Snapshot.of(d)


def _sound(maker: Maker, store: Any) -> tuple[Any, Position] | None:
    """The deployment of the last sound snapshot, and where the log was; None if there is none."""
    for seq, content in store.snapshots():
        try:
            header, arrays, _ = storage.read_bytes(content, f"snapshot {seq}")
            d = snapshots.restored(maker, header, arrays)
            last, segment, offset, chain = header["position"]
            numbers = [check.count("position", one, least=0) for one in (last, segment, offset)]
            position = Position(numbers[0], numbers[1], numbers[2], bytes.fromhex(chain))
            check.require(position.seq == d._seq == seq, "seq", str(seq), d._seq)
            places = [check.count("place", one, least=0) for one in header["places"]]
            store.restore(list(d._entries), places, position)
            return d, position
        except storage.UNREADABLE as error:
            warn(
                f"log: the snapshot at event {seq:,} is left out, as it cannot be read ({error})",
                RuntimeWarning,
            )
    return None


def opened(maker: Maker, given: Any, sync: str, start: BanditAgent | None) -> Any:
    """As ``Deployment.open``."""
    if isinstance(given, (str, os.PathLike)) and not os.path.isdir(given):
        raise FileNotFoundError(f"log must be a folder with a log, got {os.fspath(given)!r}")
    store = _store(given, sync)
    try:
        return _opened(maker, store, start)
    except BaseException:
        store.shut()
        raise


def _opened(maker: Maker, store: Any, start: BanditAgent | None) -> Any:
    found = _sound(maker, store)
    if found is None:
        records = store.read(-1)
        first = next(records, None)
        if first is None:
            raise ValueError("log must have events, got an empty one; Deployment(..., log=) begins one")
        d = replaying.begun(maker, spec_of(first), start)
        store.index_anew()
    else:
        d, position = found
        records = store.read(position.seq, position)
    d._store, d._encoder = store, Encoder()
    try:
        for row in Decoder(d._agent.dim).events(records):
            calls.apply(d, row, logs=False)
    except Blanked as error:
        raise ValueError(f"log must be whole from its last snapshot on, got one in which {error}") from None
    if found is not None and not position.seq <= store.indexed() <= d._seq:
        _index(d, store)
    return d


# -- the index -------------------------------------------------------------------------------------------


class _Told(msgspec.Struct):
    """The fields of an event that say which decisions are closed, and with which reward."""

    seq: int
    kind: str
    id: str | int | None = None
    value: float | None = None
    through: int = -1


_told = msgspec.json.Decoder(_Told).decode


def _index(d: Deployment, store: Any) -> None:
    """Make the index anew from the log: this is slow, but needed only after a crash of the machine."""
    store.index_anew()
    waiting: OrderedDict[Label, tuple[int, float | None]] = OrderedDict()
    for record in store.read(-1):
        event = _told(record.rest)
        key: Any = event.id
        if event.kind == "decide":
            waiting[key] = event.seq, None
        elif event.kind == "reward" and d.window is not None:
            waiting[key] = waiting[key][0], event.value
        elif event.kind in ("reward", "forget"):
            waiting.pop(key)
            store.closing[key] = event.value
        elif event.kind == "release":
            while waiting and next(iter(waiting.values()))[0] <= event.through:
                closed, (_, value) = waiting.popitem(last=False)
                store.closing[closed] = value
    store.flush()


# -- the end -----------------------------------------------------------------------------------------------


def trim(d: Deployment, before: float | datetime) -> int:
    """As ``Deployment.trim``: vectors up to the older snapshot."""
    moment = before.timestamp() if isinstance(before, datetime) else check.real("before", before)
    store = _of(d)
    kept = [seq for seq, _ in store.snapshots()]
    with d._lock:
        calls.begin(d)
        count: int = store.trim(moment, min(kept, default=-1))
    return count


def shut(d: Deployment) -> None:
    """As ``Deployment.shut``."""
    with d._lock:
        if d._store is not None:
            calls.begin(d)
            calls.write_out(d)
            d._store.shut()


def _of(d: Deployment) -> Any:
    if d._store is None:
        raise ValueError("log must be given to the constructor for this, got None")
    return d._store
