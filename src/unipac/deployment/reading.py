"""The log of a folder, without the deployment that writes it: its events, what is in it, whether it is whole."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unipac import _storage as storage
from unipac._versions import current_spec
from unipac.deployment import log
from unipac.deployment.deployment import Deployment
from unipac.deployment.records import Decoder, spec_of
from unipac.deployment.segments import Segments
from unipac.deployment.snapshots import digest_of
from unipac.features.maps import Features


def _held(path: str | os.PathLike[str]) -> Segments:
    folder = Path(path)
    if not folder.is_dir() or not (folder / "000000000000.log").is_file():
        raise ValueError(f"log must be a folder with a log, got {str(folder)!r}")
    return Segments(folder)


def _rows(path: str | os.PathLike[str], blanks: bool) -> Iterator[log.Event]:
    records = (record for record, _ in _held(path).read(-1))
    first = next(records, None)
    if first is None:
        return
    spec = spec_of(first)
    yield spec
    yield from Decoder(log.made(current_spec(spec)).dim, blanks).events(records)


def events(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """All events of a log, as JSON has them; what was blanked is None."""
    return (log.event_of(row) for row in _rows(path, blanks=True))


def described(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is in a log; all of it is read and checked."""
    held, kinds, spec, last = _held(path), Counter[str](), {}, None
    blanked = 0
    for record, _ in held.read(-1):
        if record.kind == "spec":
            spec = spec_of(record)
        kinds[record.kind] += 1
        blanked += record.context is None or record.vectors is None
        last = record.wall or last
    folder = held.folder
    return {
        "agent": spec.get("agent"),
        "window": spec.get("window"),
        "events": sum(kinds.values()) - kinds["actions"],
        "kinds": dict(kinds),
        "blanked": blanked,
        "last": last,
        "segments": len(held.numbers),
        "bytes": sum(held.path_of(number).stat().st_size for number in held.numbers),
        "snapshots": sorted(int(one.stem.removeprefix("snapshot-")) for one in folder.glob("snapshot-*.npz")),
        "chain": held.reached.chain.hex(),
    }


def replayed(path: str | os.PathLike[str], features: Features | None = None) -> tuple[Any, list[int]]:
    """The deployment that a log leads to from its first event on, in memory, and the snapshots that it passes.

    A snapshot that is not what the events before it lead to is a ``ValueError``.
    """
    folder, passed = Path(path), []
    kept = {int(one.stem.removeprefix("snapshot-")): one for one in folder.glob("snapshot-*.npz")}
    rows = events(path)
    made = Deployment.replay([next(rows)], features=features)
    for event in rows:
        made.apply(event)
        made._events[1:] = []  # they are on disk
        if made._seq in kept:
            header, arrays, _ = storage.read_all(kept[made._seq])
            if digest_of(header, arrays) != made.digest():
                raise ValueError(
                    f"the snapshot at event {made._seq} is not what the events before it lead to"
                )
            passed.append(made._seq)
    return made, passed
