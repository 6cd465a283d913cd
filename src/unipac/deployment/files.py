"""Deployments on disk: the agent as agents are saved, and around it what waits, what is remembered and the log."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check, _storage as storage, _versions as versions
from unipac._agents import _from_file, check_as_written, described
from unipac.deployment import entries
from unipac.features.maps import Features
from unipac.features.reading import from_json

Arrays = dict[str, NDArray[Any]]


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


def save(deployment: Any, path: str | os.PathLike[str]) -> None:
    """Write a deployment whose lock is held."""
    storage.write(path, *_described(deployment))


def _described(d: Any) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file."""
    told, learned = described(d._agent)
    arrays: Arrays = {f"agent.{name}": array for name, array in learned.items()}
    for name, held in (("pending", d._entries), ("closed", d._closed)):
        kept = entries.saved(list(held.values()), d._agent.dim)
        arrays |= {f"{name}.{key}": array for key, array in kept.arrays.items()}
        arrays[f"{name}.rows"] = _bytes(kept.rows)
    alarm, sums = d._alarm.saved()
    verdicts, sets = d._settling.saved()
    arrays |= {f"drift.{name}": array for name, array in sums.items()}
    arrays |= {f"settled.{name}": array for name, array in sets.items()}
    arrays["events"] = _bytes(d.events())
    header = {
        "kind": "deployment", "agent": told, "time": d._time, "decided": d._decided, "seq": d._seq,
        "drift": alarm, "settled": verdicts, "features": features_text(d.features),
        "has_features": d.features is not None,
    }  # fmt: skip
    return header, arrays


def load(
    cls: type[Any],
    path: str | os.PathLike[str],
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment of a file."""
    found, held = storage.read(path)
    try:
        header, arrays = versions.current(found, held)
        if header["kind"] != "deployment":
            raise ValueError(f"it holds a {header['agent']}; unipac.load reads it")
        if header["has_features"] and features is None:
            check.require(header["features"] is not None, "features", "given: they had no JSON", None)
            features = from_json(header["features"])
        learned = _from_file(header["agent"], _below("agent.", arrays), agent, {})
        made = _made(cls, header, arrays, learned, features, clock)
        check_as_written(_described(made), {**header, "features": features_text(features)}, arrays)
        return made
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(
            f"path must name a file written by Deployment.save(), got {os.fspath(path)!r} ({error})"
        ) from None


def _made(
    cls: type[Any],
    header: Mapping[str, Any],
    arrays: Arrays,
    learned: Any,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    events = _text(arrays["events"])
    spec = events[0]
    words = ("window", "default", "holdout", "seed", "drift", "max_pending")
    made = cls(
        type(learned)(**learned.parameters), features, clock=clock, **{name: spec[name] for name in words}
    )
    made._agent, made._events = learned, events
    made._time = check.real("time", header["time"])
    made._decided = check.count("decided", header["decided"], least=0)
    made._seq = check.count("seq", header["seq"], least=0)
    check.require(len(events) == made._seq + 1, "seq", "that of the last event", made._seq)
    for name, held in (("pending", made._entries), ("closed", made._closed)):
        rows = _text(arrays[f"{name}.rows"])
        held.update(entries.restored(rows, _below(f"{name}.", arrays), learned.dim))
    waiting = {entry.number for entry in made._entries.values()} - {None}
    check.require(waiting == set(learned.pending), "pending", "what the agent waits for", len(waiting))
    made._alarm.restore(header["drift"], _below("drift.", arrays))
    made._settling.restore(header["settled"], _below("settled.", arrays), learned.dim)
    return made
