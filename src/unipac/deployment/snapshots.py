"""Snapshots: all of a deployment but its log, at one event; and the digest of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _agents as agents, _checks as check, _storage as storage
from unipac.deployment import entries, files, holding, watching
from unipac.deployment.comparing import Comparisons
from unipac.deployment.settings import Settings
from unipac.features.maps import Features
from unipac.features.reading import from_json

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment

Arrays = dict[str, NDArray[Any]]
STORED = ("format", "version", "places", "position")
"""What only a file has."""
UNTAUGHT, TAUGHT = None, 0
"""In the place of the agent's number of a decision, which is its own affair."""


class Snapshot(NamedTuple):
    """A deployment at one moment: what never changes is shared, the rest copied."""

    agent: tuple[dict[str, Any], Arrays]
    """The agent, which waits for nothing."""
    number: int
    """Decisions of the agent so far."""
    place: Callable[[int], float]
    newest: float
    dim: int
    pending: list[entries.Entry]
    alarm: tuple[dict[str, Any], Arrays]
    line: Arrays
    watches: watching.Watches
    comparisons: tuple[dict[str, Any], Arrays]
    numbers: dict[str, Any]
    history: bytes
    spec: Any

    @classmethod
    def of(cls, d: Deployment) -> Self:
        """The deployment as it is now; its lock is held."""
        ledger = d._agent._ledger
        numbers = {"at": d._at, "decided": d._decided, "seq": d._seq, "asked": d._asked}
        return cls(
            agents.described(holding.bare(d._agent)), ledger.number(), ledger.place, ledger.newest,
            d._agent.dim, list(d._entries.values()), d._alarm.saved(), d._line.saved(),
            d._watches, d._comparisons.saved(), numbers, d._history, d._events[0],
        )  # fmt: skip

    def _late(self) -> int:
        """How many decisions wait that are older than one whose reward was learned."""
        taught = (entry.number for entry in self.pending if entry.number is not None)
        return sum(self.place(number) < self.newest for number in taught)

    def told(self) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays, without what is drawn anew in every process."""
        told, learned = self.agent
        arrays: Arrays = {f"agent.{name}": array for name, array in learned.items()}
        kept = entries.saved(self.pending, self.dim)
        for row, entry in zip(kept.rows, self.pending, strict=True):
            row[-2] = UNTAUGHT if entry.number is None else TAUGHT
        arrays |= {f"pending.{key}": array for key, array in kept.arrays.items()}
        arrays["pending.rows"] = np.frombuffer(json.dumps(kept.rows).encode(), dtype=np.uint8)
        arrays |= {f"drift.{name}": array for name, array in self.alarm[1].items()}
        arrays |= {f"line.{name}": array for name, array in self.line.items()}
        rows, sets = watching.saved(self.watches)
        arrays |= {f"watch.{name}": array for name, array in sets.items()}
        arrays |= {f"compare.{name}": array for name, array in self.comparisons[1].items()}
        header = {
            "kind": "snapshot", "agent": told, "number": self.number, "late": self._late(), **self.numbers,
            "drift": self.alarm[0], "watches": rows, "comparisons": self.comparisons[0],
            "history": self.history.hex(), "spec": self.spec,
        }  # fmt: skip
        return header, arrays


def digest(found: Snapshot) -> str:
    """SHA-256 of what later answers depend on."""
    return digest_of(*found.told())


def digest_of(header: Mapping[str, Any], arrays: Arrays) -> str:
    """The same, of a snapshot that may come from a file."""
    told = {name: value for name, value in header.items() if name not in STORED}
    return hashlib.sha256(storage.digest(told, arrays).encode()).hexdigest()


def restored(
    cls: type[Any],
    header: Mapping[str, Any],
    arrays: Arrays,
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment of a snapshot; a ``ValueError`` if no data could have led to it."""
    check.require(header["kind"] == "snapshot", "snapshot", "one of a deployment", header["kind"])
    spec = header["spec"]
    if features is None and spec["features"] is not None:
        features = from_json(spec["features"])
    learned = agents._from_file(header["agent"], files.below("agent.", arrays), agent, {})
    empty = type(learned)(**learned.parameters)
    d = cls(empty, features, clock=clock, **Settings.told(spec))
    d._events = [spec]
    rows = json.loads(arrays["pending.rows"].tobytes())
    held = entries.restored(rows, files.below("pending.", arrays), learned.dim)
    taught = [key for key, entry in held.items() if entry.number is not None]
    late = check.count("late", header["late"], least=0, most=len(taught))
    numbers = holding.fill(learned, (held[key].decision for key in taught), late)
    for key, number in zip(taught, numbers, strict=True):
        held[key] = held[key]._replace(number=number)
        check.require(learned._has_level(held[key].decision.level), "level", "one of the agent's", key)
    check.require(
        learned._ledger.number() == header["number"], "number", "that of the agent", header["number"]
    )
    d._agent, d._entries = learned, held
    d._at = d._uptime.time = check.nonnegative("at", header["at"])
    d._decided = check.count("decided", header["decided"], least=0)
    d._seq = check.count("seq", header["seq"], least=0)
    d._asked = check.count("asked", header["asked"], least=0)
    d._history = bytes.fromhex(header["history"])
    d._alarm.restore(header["drift"], files.below("drift.", arrays))
    d._line.restore(files.below("line.", arrays))
    d._watches = watching.restored(header["watches"], files.below("watch.", arrays), learned.dim, d._seq)
    d._comparisons = Comparisons.restored(header["comparisons"], files.below("compare.", arrays))
    return d
