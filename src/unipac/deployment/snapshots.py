"""Snapshots: a deployment at one event, without its log; and its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from unipac import _checks as check, _storage as storage, _versions as versions
from unipac.deployment import entries, holding
from unipac.deployment.contents import Arrays, Contents, Maker, below

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment

STORED = ("format", "version", "places", "position")
"""Entries that only a file has; the digest leaves them out."""
UNTAUGHT, TAUGHT = None, 0
"""What stands for the number of a decision in the agent, which differs between processes."""


class Snapshot(NamedTuple):
    """A deployment at one moment, whose agent waits for nothing."""

    contents: Contents
    number: int
    """The number of the agent's decisions so far."""
    place: Callable[[int], float]
    newest: float
    at: float
    spec: Any

    @classmethod
    def of(cls, d: Deployment) -> Self:
        """The deployment as it is now; its lock is held."""
        contents, ledger = Contents.of(d, holding.bare(d._agent)), d._agent._ledger
        return cls(contents, ledger.number(), ledger.place, ledger.newest, d._at, d._events[0])

    def _late(self) -> int:
        """How many decisions wait that are older than one whose reward was learned."""
        parts = entries.slices(self.contents.pending)
        taught = (entry.number for part in parts for entry in part if entry.number is not None)
        return sum(self.place(number) < self.newest for number in taught)

    def told(self) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays, without the numbers that differ between processes."""
        header, arrays = self.contents.told(lambda entry: UNTAUGHT if entry.number is None else TAUGHT)
        header |= {
            "kind": "snapshot", "number": self.number, "late": self._late(), "at": self.at, "spec": self.spec,
        }  # fmt: skip
        return header, arrays


def digest(found: Snapshot) -> str:
    """SHA-256 of what later answers depend on."""
    return digest_of(*found.told())


def digest_of(header: Mapping[str, Any], arrays: Arrays) -> str:
    """The digest of a snapshot that may come from a file."""
    header, arrays = _current(header, arrays)
    told = {name: value for name, value in header.items() if name not in STORED}
    return hashlib.sha256(storage.digest(told, arrays).encode()).hexdigest()


def _current(header: Mapping[str, Any], arrays: Arrays) -> tuple[Mapping[str, Any], Arrays]:
    """The snapshot as this version writes it; one that does not come from a file is unchanged."""
    return versions.current(header, arrays) if "version" in header else (header, arrays)


def restored(maker: Maker, header: Mapping[str, Any], arrays: Arrays) -> Any:
    """The deployment of a snapshot; a ``ValueError`` if no data could have led to it."""
    check.require(header["kind"] == "snapshot", "snapshot", "one of a deployment", header["kind"])
    header, arrays = _current(header, arrays)
    d = maker.filled(header["spec"], header, arrays)
    learned, held = d._agent, entries.restored(below("pending.", arrays), d._agent.dim)
    taught = [key for key, entry in held.items() if entry.number is not None]
    late = check.count("late", header["late"], least=0, most=len(taught))
    numbers = holding.fill(learned, (held[key].decision for key in taught), late)
    for key, number in zip(taught, numbers, strict=True):
        held[key] = held[key]._replace(number=number)
        check.require(learned._has_level(held[key].decision.level), "level", "one of the agent's", key)
    count = header["number"]
    check.require(learned._ledger.number() == count, "number", "that of the agent", count)
    d._entries = held
    d._at = d._uptime.time = check.nonnegative("at", header["at"])
    return d
