"""Whether the logs of a database are as they were written, and where they lead."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from unipac import _storage as storage
from unipac.deployment.contents import Maker
from unipac.deployment.deployment import Deployment
from unipac.deployment.log import copied
from unipac.deployment.records import Blanked, Decoder
from unipac.deployment.snapshots import digest_of, restored
from unipac.serve import specs
from unipac.serve.config import Config
from unipac.serve.database import Database
from unipac.serve.log import Log
from unipac.serve.service import opened
from unipac.serve.specs import Spec
from unipac.serve.writer import Writer


class Checked(NamedTuple):
    """What was found."""

    name: str
    events: int
    chain: str
    """The chain after the last event."""
    digest: str | None
    """The digest of the deployment that the events lead to, or those after the older snapshot if vectors before it are
    blanked; None if they were not replayed."""
    passed: list[int]
    """The events at which a snapshot agrees with the replay."""


def checked(store: str, replay: bool = False) -> list[Checked]:
    """Read every log of a store from its first event on; raise a ``ValueError`` if something does not fit."""
    kind, _, path = store.partition(":")
    if kind == "sqlite" and not Path(path).is_file():
        raise ValueError(f"store must be a file that exists, got {path!r}")
    database = opened(Config("", 0, store, None, "", 1.0, 0, 0, 0.0, {}))
    try:
        return [_one(database, *listed, replay) for listed in database.listed()]
    finally:
        database.close()


def _one(database: Database, number: int, name: str, text: str, replay: bool) -> Checked:
    log = Log(database, Writer(database), number)
    for _ in log.read(-1):
        pass
    digest, passed = None, list[int]()
    if replay:
        spec = specs.made(specs.read(text), modules=True)
        kept = dict(log.snapshots())
        try:
            digest, passed = _replayed(name, spec, log, kept, -1)
        except Blanked:
            digest, passed = _replayed(name, spec, log, kept, min(kept))
    end = log.position()
    return Checked(name, end.seq + 1, end.chain.hex(), digest, passed)


def _replayed(
    name: str, spec: Spec, log: Log, kept: Mapping[int, bytes], after: int
) -> tuple[str, list[int]]:
    """The digest that the events lead to, from the first one on or from a snapshot; and the snapshots that agree."""
    rows, passed = Decoder(spec.agent.dim).events(log.read(after)), []
    if after < 0:
        first: Any = next(rows)
        made = Deployment.replay([first], agent=spec.own, features=spec.features)
    else:
        header, arrays, _ = storage.read_bytes(kept[after], f"snapshot {after}")
        made = restored(Maker(Deployment, spec.own, spec.features, time.monotonic), header, arrays)
    for row in rows:
        made.apply(copied(row))
        made._events[1:] = []  # they are in the database
        if made._seq in kept:
            header, arrays, _ = storage.read_bytes(kept[made._seq], f"snapshot {made._seq}")
            if digest_of(header, arrays) != made.digest():
                raise ValueError(
                    f"deployment {name}: the snapshot at event {made._seq} is not what the events before it lead to"
                )
            passed.append(made._seq)
    return made.digest(), passed
