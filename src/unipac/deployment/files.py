"""Deployments on disk: the agent as agents are saved, and around it what waits, what is remembered and the log."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _agents as agents, _checks as check, _storage as storage, _versions as versions
from unipac.deployment import entries, log
from unipac.deployment.past import check_past
from unipac.features.maps import Features
from unipac.features.reading import from_json

Arrays = dict[str, NDArray[Any]]
SETTINGS = ("window", "default", "holdout", "seed", "drift", "max_pending")


def features_text(features: Features | None) -> str | None:
    """As JSON; None if there are none, or if they have no JSON."""
    try:
        return None if features is None else features.to_json()
    except TypeError:
        return None


def _bytes(value: Any) -> NDArray[Any]:
    return np.frombuffer(json.dumps(value, allow_nan=False).encode(), dtype=np.uint8)


def _text(array: NDArray[Any]) -> Any:
    return json.loads(array.tobytes())


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


# -- writing ------------------------------------------------------------------------------------


class Snapshot(NamedTuple):
    """A deployment at one moment: lists of what never changes, and copies of the rest."""

    agent: tuple[dict[str, Any], Arrays]
    dim: int
    pending: list[entries.Entry]
    closed: list[entries.Entry]
    alarm: tuple[dict[str, Any], Arrays]
    settled: tuple[list[Any], Arrays]
    events: list[Any]
    numbers: dict[str, Any]
    features: Features | None

    @classmethod
    def of(cls, d: Any, now: float | None = None) -> Self:
        """The deployment as it is now, or at this time; others wait for a moment only."""
        with d._lock:
            numbers = {
                "time": d._uptime.now()[0] if now is None else now,
                "decided": d._decided,
                "seq": d._seq,
            }
            return cls(
                agents.described(d._agent), d._agent.dim, list(d._entries.values()), list(d._closed.values()),
                d._alarm.saved(), d._settling.saved(), d._events.copy(), numbers, d.features,
            )  # fmt: skip


def described(found: Snapshot) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file."""
    told, learned = found.agent
    arrays: Arrays = {f"agent.{name}": array for name, array in learned.items()}
    for name, held in (("pending", found.pending), ("closed", found.closed)):
        kept = entries.saved(held, found.dim)
        arrays |= {f"{name}.{key}": array for key, array in kept.arrays.items()}
        arrays[f"{name}.rows"] = _bytes(kept.rows)
    arrays |= {f"drift.{name}": array for name, array in found.alarm[1].items()}
    arrays |= {f"settled.{name}": array for name, array in found.settled[1].items()}
    arrays["events"] = _bytes([log.event_of(row) for row in found.events])
    header = {
        "kind": "deployment", "agent": told, **found.numbers, "drift": found.alarm[0],
        "settled": found.settled[0], "features": features_text(found.features),
        "has_features": found.features is not None,
    }  # fmt: skip
    return header, arrays


def save(d: Any, path: str | os.PathLike[str], replace: bool) -> None:
    """Write a deployment; its lock is held for a moment only."""
    found = Snapshot.of(d)

    def verify(header: Mapping[str, Any], arrays: Arrays) -> None:
        _loaded(type(d), header, arrays, type(d._agent), d.features, float)

    storage.write(path, *described(found), files=d._files, replace=replace, verify=verify)


# -- reading ------------------------------------------------------------------------------------


def load(
    cls: type[Any],
    path: str | os.PathLike[str],
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment of a file."""
    found, held, stated = storage.read_all(path)
    try:
        header, arrays = versions.current(found, held)
        made = _loaded(cls, header, arrays, agent, features, clock)
        made._files.note(path, stated)
        return made
    except (
        LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError
    ) as error:  # fmt: skip
        raise ValueError(
            f"path must name a file written by Deployment.save(), got {os.fspath(path)!r} ({error})"
        ) from None


def _loaded(
    cls: type[Any],
    header: Mapping[str, Any],
    arrays: Arrays,
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment, if it would write the same and its log leads to what waits and what is closed."""
    if header["kind"] != "deployment":
        raise ValueError(f"it holds a {header['agent']}; unipac.load reads it")
    if header["has_features"] and features is None:
        check.require(header["features"] is not None, "features", "given: they had no JSON", None)
        features = from_json(header["features"])
    found = made(cls, header, arrays, agent, features, clock)
    again = described(Snapshot.of(found, found._uptime.time))
    agents.check_as_written(again, {**header, "features": features_text(features)}, arrays)
    check_past(found)
    return found


def made(
    cls: type[Any],
    header: Mapping[str, Any],
    arrays: Arrays,
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment that was described."""
    learned = agents._from_file(header["agent"], _below("agent.", arrays), agent, {})
    events = _text(arrays["events"])
    settings = {name: events[0][name] for name in SETTINGS}
    new = cls(type(learned)(**learned.parameters), features, clock=clock, **settings)
    new._agent, new._events = learned, events
    new._uptime.time = check.nonnegative("time", header["time"])
    new._decided = check.count("decided", header["decided"], least=0)
    new._seq = check.count("seq", header["seq"], least=0)
    check.require(len(events) == new._seq + 1, "seq", "that of the last event", new._seq)
    for name, held in (("pending", new._entries), ("closed", new._closed)):
        rows = _text(arrays[f"{name}.rows"])
        held.update(entries.restored(rows, _below(f"{name}.", arrays), learned.dim))
    waiting = {entry.number for entry in new._entries.values()} - {None}
    check.require(waiting == set(learned.pending), "pending", "what the agent waits for", len(waiting))
    new._alarm.restore(header["drift"], _below("drift.", arrays))
    new._settling.restore(header["settled"], _below("settled.", arrays), learned.dim, new._seq)
    return new
