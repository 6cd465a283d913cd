"""Whether the logs of a database are as they were written, and where they lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from unipac import _storage as storage
from unipac.deployment.deployment import Deployment
from unipac.deployment.log import copied
from unipac.deployment.records import Decoder
from unipac.deployment.snapshots import digest_of
from unipac.serve import specs
from unipac.serve.config import Config
from unipac.serve.database import Database
from unipac.serve.log import Log
from unipac.serve.service import opened
from unipac.serve.writer import Writer


class Checked(NamedTuple):
    """What was found."""

    name: str
    events: int
    chain: str
    """The chain after the last event."""
    digest: str | None
    """The digest of the deployment that the events lead to; None if they were not replayed."""
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
    records = log.read(-1)
    made, passed = None, []
    if replay:
        spec = specs.made(specs.read(text), modules=True)
        kept = dict(log.snapshots())
        rows = Decoder(spec.agent.dim).events(records)
        first: Any = next(rows)
        made = Deployment.replay([first], agent=spec.own, features=spec.features)
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
    else:
        for _ in records:
            pass
    end = log.position()
    return Checked(name, end.seq + 1, end.chain.hex(), None if made is None else made.digest(), passed)
