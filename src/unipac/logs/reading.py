"""Logs from files: the events of a deployment, Parquet, and frames of pandas, polars or arrow."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unipac import _checks as check
from unipac.logs.log import Log

Features = Callable[[Any, Any], Any]

LINES = (".jsonl", ".ndjson")


def from_file(path: str | Path, *, features: Features | None = None) -> Log:
    r"""The log in a file: ``.jsonl`` or ``.ndjson`` with the events of a deployment, or ``.parquet``.

    Args:
        path: of the file.
        features: for events without vectors, the map that made them: ``features(context, actions)`` gives an (n, d)
            array, or an object with ``vectors``. By default the one that the first event tells, if it tells one.

    Raises:
        ValueError: if something in the file is not as it should be; says in which line.

    Example:
        >>> import tempfile
        >>> from unipac import Deployment, OFUL
        >>> deployment = Deployment(OFUL(2))
        >>> decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a")
        >>> first = deployment.reward("a", 1.0)
        >>> path = Path(tempfile.mkdtemp()) / "events.jsonl"
        >>> size = path.write_text("".join(json.dumps(event) + "\n" for event in deployment.events()))
        >>> from_file(path).rewards
        array([1.])
    """
    place = Path(path)
    if place.suffix in LINES:
        with place.open(encoding="utf-8") as lines:
            return from_events(_events(lines), features=features)
    check.require(place.suffix == ".parquet", "path", f"one of {', '.join(LINES)} or .parquet", str(place))
    if importlib.util.find_spec("polars") is None:
        raise ImportError('Parquet files need polars: pip install "unipac[experiments]"')
    import polars

    return from_frame(polars.read_parquet(place))


def from_events(events: Iterable[Mapping[str, Any]], *, features: Features | None = None) -> Log:
    """The log that the events of a deployment tell, the decisions in their order.

    A decision is part of it once its reward is final: with a window, when it was released (its reward, else the
    default; without a default it is left out), since rewards that come early would be kept because of what they are.
    Without a window, when its reward has come. What was forgotten is left out, what the holdout chose is kept
    and marked.

    Args:
        events: as dicts, from the first one on, which is the specification.
        features: as in `from_file`.

    Example:
        >>> decide = {"kind": "decide", "at": 0.0, "vectors": [[1.0], [0.5]], "propensity": 1.0, "holdout": False}
        >>> events = [
        ...     {"seq": 0, "kind": "spec", "window": 5.0, "default": 0.0, "holdout": 0.0},
        ...     {"seq": 1, "id": "a", "index": 0, **decide},
        ...     {"seq": 2, "id": "b", "index": 1, **decide},
        ...     {"seq": 3, "kind": "reward", "id": "b", "value": 1.0},
        ...     {"seq": 4, "kind": "release", "through": 2},
        ... ]
        >>> log = from_events(events)
        >>> log.ids, log.rewards.tolist()
        (('a', 'b'), [0.0, 1.0])
    """
    rows = iter(events)
    spec = next(rows, None)
    first = None if spec is None else spec.get("kind")
    if spec is None or first != "spec":
        raise ValueError(f"events must begin with the specification, got {first!r}")
    decisions: dict[Any, Mapping[str, Any]] = {}
    rewards: dict[Any, float] = {}
    open_: dict[Any, int] = {}
    final: dict[Any, float] = {}
    windowed = spec.get("window") is not None
    for number, event in enumerate(rows, start=2):
        try:
            kind = event["kind"]
            if kind == "decide":
                check.require(event["id"] not in decisions, "id", "new", event["id"])
                decisions[event["id"]] = event
                open_[event["id"]] = event["seq"]
            elif kind == "reward":
                check.require(event["id"] in open_, "id", "that of a decision that waits", event["id"])
                rewards[event["id"]] = event["value"]
                if not windowed:
                    final[event["id"]] = event["value"]
                    del open_[event["id"]]
            elif kind == "release":
                while open_ and next(iter(open_.values())) <= event["through"]:  # they are in their order
                    id_ = next(iter(open_))
                    del open_[id_]
                    reward = rewards.get(id_, spec.get("default"))
                    if reward is not None:
                        final[id_] = reward
            elif kind == "forget":
                open_.pop(event["id"], None)
                final.pop(event["id"], None)
            elif kind not in ("restart", "spec"):
                raise ValueError(f"kind must be one of those of a deployment, got {kind!r}")
        except (KeyError, TypeError, ValueError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"event {number}: {why}") from None
    told = features if features is not None else _told(spec)
    kept = [event for id_, event in decisions.items() if id_ in final]
    return Log(
        [_vectors(event, told) for event in kept],
        np.array([event["index"] for event in kept], dtype=np.int64),
        np.array([final[event["id"]] for event in kept], dtype=np.float64),
        _known([event.get("propensity") for event in kept]),
        ids=[event["id"] for event in kept],
        times=_known([event.get("at") for event in kept]),
        holdout=np.array([bool(event.get("holdout")) for event in kept], dtype=np.bool_),
        holdout_share=spec.get("holdout"),
    )


def from_frame(frame: Any) -> Log:
    """The log in a table with one row per round: a frame of pandas, polars or arrow, or a mapping of columns.

    Columns: ``vectors`` (the offered vectors, a list of lists), ``index``, ``reward``; and if they are there
    ``propensity``, ``id``, ``at`` and ``holdout``. `Log.to_dict` gives such columns.

    Example:
        >>> from_frame({"vectors": [[[1.0], [0.5]]], "index": [1], "reward": [0.3]})
        <Log: 1 rounds, 2 actions in dimension 1, mean reward 0.3>
    """
    columns = {str(name): _values(frame[name]) for name in _column_names(frame)}
    for name in ("vectors", "index", "reward"):
        check.require(name in columns, "frame", f"a table with a column {name!r}", sorted(columns))
    holdout = columns.get("holdout")
    return Log(
        [np.array([list(row) for row in one], dtype=np.float64) for one in columns["vectors"]],
        np.array(columns["index"]),
        np.array(columns["reward"], dtype=np.float64),
        _known(columns.get("propensity", [])) if "propensity" in columns else None,
        ids=columns.get("id"),
        times=_known(columns["at"]) if "at" in columns else None,
        holdout=None if holdout is None else np.array(holdout, dtype=np.bool_),
    )


def _events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"line {number} must be a JSON object, got {check.shown(line[:60])}: {error}"
            ) from None
        check.require(isinstance(event, dict), f"line {number}", "a JSON object", event)
        yield event


def _vectors(event: Mapping[str, Any], features: Features | None) -> Any:
    """What was offered, (n, d)."""
    told = event.get("vectors")
    if told is not None:
        return np.array(told, dtype=np.float64)
    if features is None:
        raise ValueError(
            f"features must be given, as decision {event['id']!r} tells context and ids but no vectors, got None"
        )
    made = features(event["context"], event["actions"])
    return np.array(getattr(made, "vectors", made), dtype=np.float64)


def _told(spec: Mapping[str, Any]) -> Features | None:
    """The features that a specification tells, where this version knows them."""
    if spec.get("features") is None or importlib.util.find_spec("unipac.features") is None:
        return None
    maker: Features = importlib.import_module("unipac.features").from_json(spec["features"])
    return maker


def _known(values: list[Any]) -> Any:
    """Numbers; None if one is missing."""
    return None if any(one is None for one in values) else np.array(values, dtype=np.float64)


def _column_names(frame: Any) -> list[Any]:
    if isinstance(frame, Mapping):
        return list(frame)
    names: Any = getattr(frame, "column_names", None)  # arrow
    names = getattr(frame, "columns", None) if names is None else names
    check.require(names is not None, "frame", "a frame or a mapping of columns", type(frame))
    return list(names)


def _values(column: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)
