"""Deployments in a file: the agent, as agents are saved; waiting and remembered decisions; and the log."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from unipac import _agents as agents, _checks as check, _storage as storage, _versions as versions
from unipac._warnings import warn
from unipac.deployment import entries, holding, log
from unipac.deployment.comparing import Comparisons
from unipac.deployment.contents import (
    Arrays,
    Contents,
    Maker,
    above,
    below,
    packed,
    unpacked,
)
from unipac.deployment.past import check_past
from unipac.features.maps import Features

MANY = 100_000
"""With more decisions than this, ``save`` warns that a log would be better."""


def features_text(features: Features | None) -> str | None:
    """As JSON; None if there are none, or if they have no JSON."""
    try:
        return None if features is None else features.to_json()
    except TypeError:
        return None


# -- writing ------------------------------------------------------------------------------------


def refuse_log(d: Any) -> None:
    """Refuse to copy a deployment that has a log into memory or into one file."""
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
    """A deployment with its log at one moment."""

    contents: Contents
    closed: list[entries.Entry]
    events: list[Any]
    time: float
    features: Features | None

    @classmethod
    def of(cls, d: Any, now: float | None = None) -> Self:
        """The deployment as it is now, or at this time; its lock is held only while it is copied."""
        refuse_log(d)
        with d._lock:
            contents = Contents.of(d, holding.full(d._agent))
            time = d._uptime.now()[0] if now is None else now
            return cls(contents, list(d._closed.values()), d._events.copy(), time, d.features)


def described(found: Whole) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file."""
    header, arrays = found.contents.told()
    arrays |= above("closed.", entries.saved(found.closed, found.contents.dim))
    arrays["events"] = packed([log.event_of(row) for row in found.events])
    header |= {
        "kind": "deployment", "time": found.time, "features": features_text(found.features),
        "has_features": found.features is not None,
    }  # fmt: skip
    return header, arrays


def save(d: Any, path: str | os.PathLike[str], replace: bool) -> None:
    """Write a deployment; its lock is held only while it is copied."""
    if d._decided > MANY:
        words = f"save writes all of {d._decided:,} decisions again; Deployment(log=) appends each once"
        warn(words, UserWarning)
    found = Whole.of(d)

    maker = Maker(type(d), type(d._agent), d.features, float)

    def verify(header: Mapping[str, Any], arrays: Arrays) -> None:
        _loaded(maker, header, arrays)

    storage.write(path, *described(found), files=d._files, replace=replace, verify=verify)


# -- reading ------------------------------------------------------------------------------------


def load(maker: Maker, path: str | os.PathLike[str]) -> Any:
    """The deployment of a file."""
    found, held, stated = storage.read_all(path)
    try:
        header, arrays = versions.current(found, held)
        made = _loaded(maker, header, arrays)
        made._files.note(path, stated)
        return made
    except storage.UNREADABLE as error:
        raise ValueError(
            f"path must name a file written by Deployment.save(), got {os.fspath(path)!r} ({error})"
        ) from None


def _loaded(maker: Maker, told: Mapping[str, Any], held: Arrays) -> Any:
    """The deployment, if it would write the same and its log leads to what waits and what is closed."""
    header, arrays = with_watches(told, held)
    if header["kind"] != "deployment":
        raise ValueError(f"it holds a {header['agent']}; unipac.load reads it")
    if maker.features is None and header["has_features"]:
        check.require(header["features"] is not None, "features", "given: they had no JSON", None)
    found = made(maker, header, arrays)
    again = described(Whole.of(found, found._uptime.time))
    agents.check_as_written(again, {**header, "features": features_text(found.features)}, arrays)
    check_past(found)
    return found


def with_watches(header: Mapping[str, Any], arrays: Arrays) -> tuple[Mapping[str, Any], Arrays]:
    """A file as this version writes it: older ones have questions instead of watched sets, which are left out."""
    if "settled" not in header:
        return {"comparisons": Comparisons().saved()[0], **header}, arrays
    new = {name: value for name, value in header.items() if name != "settled"}
    history, dim = b"", arrays["closed.actions"].shape[-1]
    for entry in entries.restored(below("closed.", arrays), dim).values():
        history = entries.chained(history, entry)
    new |= {"watches": [], "asked": 0, "history": history.hex(), "comparisons": Comparisons().saved()[0]}
    return new, {name: array for name, array in arrays.items() if not name.startswith("settled.")}


def made(maker: Maker, header: Mapping[str, Any], arrays: Arrays) -> Any:
    """The deployment that was described."""
    events = unpacked(arrays["events"])
    new = maker.filled({**events[0], "features": header["features"]}, header, arrays)
    new._events, learned = events, new._agent
    new._uptime.time = check.nonnegative("time", header["time"])
    check.require(len(events) == new._seq + 1, "seq", "that of the last event", new._seq)
    for name, held in (("pending.", new._entries), ("closed.", new._closed)):
        held.update(entries.restored(below(name, arrays), learned.dim))
    waiting = {entry.number for entry in new._entries.values()} - {None}
    check.require(waiting == set(learned.pending), "pending", "what the agent waits for", len(waiting))
    new._at = max((event["at"] for event in reversed(events) if "at" in event), default=0.0)
    holding.share(learned, new._entries)
    return new
