"""Deployments on disk: the agent as agents are saved, and around it what waits, what is remembered and the log."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _agents as agents, _checks as check, _storage as storage, _versions as versions
from unipac._warnings import warn
from unipac.deployment import entries, holding, log, watching
from unipac.deployment.comparing import Comparisons
from unipac.deployment.past import check_past
from unipac.deployment.settings import Settings
from unipac.features.maps import Features
from unipac.features.reading import from_json

Arrays = dict[str, NDArray[Any]]
MANY = 100_000
"""Above so many decisions ``save`` says that there are logs."""


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


def below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


# -- writing ------------------------------------------------------------------------------------


def refuse_log(d: Any) -> None:
    """One that has a log is not copied into memory or one file."""
    if d._store is not None:
        raise ValueError(
            "a deployment with a log must be copied as its folder, got a copy in memory or one file; "
            "Deployment.replay(deployment.events()) is one"
        )


def copied(d: Any) -> Any:
    """A deployment of its own, which has decided and learned the same."""
    refuse_log(d)
    clone = object.__new__(type(d))
    clone.__dict__.update(d.__dict__, _lock=threading.RLock(), _files=storage.Files())
    for name in ("_alarm", "_closed", "_comparisons", "_line", "_entries", "_events", "_uptime"):
        setattr(clone, name, copy.copy(getattr(d, name)))
    clone._agent = copy.copy(holding.full(d._agent))
    holding.share(clone._agent, clone._entries)
    return clone


class Whole(NamedTuple):
    """A deployment with its log at one moment: lists of what never changes, and copies of the rest."""

    agent: tuple[dict[str, Any], Arrays]
    dim: int
    pending: list[entries.Entry]
    closed: list[entries.Entry]
    alarm: tuple[dict[str, Any], Arrays]
    line: Arrays
    watches: watching.Watches
    comparisons: tuple[dict[str, Any], Arrays]
    events: list[Any]
    numbers: dict[str, Any]
    features: Features | None

    @classmethod
    def of(cls, d: Any, now: float | None = None) -> Self:
        """The deployment as it is now, or at this time; others wait for a moment only."""
        refuse_log(d)
        with d._lock:
            numbers = {
                "time": d._uptime.now()[0] if now is None else now,
                "decided": d._decided,
                "seq": d._seq,
                "asked": d._asked,
                "history": d._history.hex(),
            }
            return cls(
                agents.described(holding.full(d._agent)), d._agent.dim,
                list(d._entries.values()), list(d._closed.values()),
                d._alarm.saved(), d._line.saved(), d._watches, d._comparisons.saved(), d._events.copy(),
                numbers, d.features,
            )  # fmt: skip


def described(found: Whole) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file."""
    told, learned = found.agent
    arrays: Arrays = {f"agent.{name}": array for name, array in learned.items()}
    for name, held in (("pending", found.pending), ("closed", found.closed)):
        kept = entries.saved(held, found.dim)
        arrays |= {f"{name}.{key}": array for key, array in kept.arrays.items()}
        arrays[f"{name}.rows"] = _bytes(kept.rows)
    arrays |= {f"drift.{name}": array for name, array in found.alarm[1].items()}
    arrays |= {f"line.{name}": array for name, array in found.line.items()}
    rows, sets = watching.saved(found.watches)
    arrays |= {f"watch.{name}": array for name, array in sets.items()}
    arrays |= {f"compare.{name}": array for name, array in found.comparisons[1].items()}
    arrays["events"] = _bytes([log.event_of(row) for row in found.events])
    header = {
        "kind": "deployment", "agent": told, **found.numbers, "drift": found.alarm[0],
        "watches": rows, "comparisons": found.comparisons[0], "features": features_text(found.features),
        "has_features": found.features is not None,
    }  # fmt: skip
    return header, arrays


def save(d: Any, path: str | os.PathLike[str], replace: bool) -> None:
    """Write a deployment; its lock is held for a moment only."""
    if d._decided > MANY:
        words = f"save writes all of {d._decided:,} decisions again; Deployment(log=) appends each once"
        warn(words, UserWarning)
    found = Whole.of(d)

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
    told: Mapping[str, Any],
    held: Arrays,
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment, if it would write the same and its log leads to what waits and what is closed."""
    header, arrays = with_watches(told, held)
    if header["kind"] != "deployment":
        raise ValueError(f"it holds a {header['agent']}; unipac.load reads it")
    if header["has_features"] and features is None:
        check.require(header["features"] is not None, "features", "given: they had no JSON", None)
        features = from_json(header["features"])
    found = made(cls, header, arrays, agent, features, clock)
    again = described(Whole.of(found, found._uptime.time))
    agents.check_as_written(again, {**header, "features": features_text(features)}, arrays)
    check_past(found)
    return found


def with_watches(header: Mapping[str, Any], arrays: Arrays) -> tuple[Mapping[str, Any], Arrays]:
    """As this version writes it: before sets were watched by name, there were questions, which are left out."""
    if "settled" not in header:
        return {"comparisons": Comparisons().saved()[0], **header}, arrays
    new = {name: value for name, value in header.items() if name != "settled"}
    history, closed = b"", below("closed.", arrays)
    for entry in entries.restored(_text(closed["rows"]), closed, closed["actions"].shape[-1]).values():
        history = entries.chained(history, entry)
    new |= {"watches": [], "asked": 0, "history": history.hex(), "comparisons": Comparisons().saved()[0]}
    return new, {name: array for name, array in arrays.items() if not name.startswith("settled.")}


def made(
    cls: type[Any],
    header: Mapping[str, Any],
    arrays: Arrays,
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment that was described."""
    learned = agents._from_file(header["agent"], below("agent.", arrays), agent, {})
    events = _text(arrays["events"])
    settings = Settings.told(events[0])
    new = cls(type(learned)(**learned.parameters), features, clock=clock, **settings)
    new._agent, new._events = learned, events
    new._uptime.time = check.nonnegative("time", header["time"])
    new._decided = check.count("decided", header["decided"], least=0)
    new._seq = check.count("seq", header["seq"], least=0)
    check.require(len(events) == new._seq + 1, "seq", "that of the last event", new._seq)
    for name, held in (("pending", new._entries), ("closed", new._closed)):
        rows = _text(arrays[f"{name}.rows"])
        held.update(entries.restored(rows, below(f"{name}.", arrays), learned.dim))
    waiting = {entry.number for entry in new._entries.values()} - {None}
    check.require(waiting == set(learned.pending), "pending", "what the agent waits for", len(waiting))
    new._alarm.restore(header["drift"], below("drift.", arrays))
    new._line.restore(below("line.", arrays))
    new._watches = watching.restored(header["watches"], below("watch.", arrays), learned.dim, new._seq)
    new._comparisons = Comparisons.restored(header["comparisons"], below("compare.", arrays))
    new._asked = check.count("asked", header["asked"], least=0)
    new._history = bytes.fromhex(header["history"])
    new._at = max((event["at"] for event in reversed(events) if "at" in event), default=0.0)
    holding.share(learned, new._entries)
    return new
