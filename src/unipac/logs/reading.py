"""Logs from files: the events of a deployment, Parquet, and frames of pandas, polars or arrow."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._warnings import warn
from unipac.logs.events import Features, if_complete, log_of, offered_vectors
from unipac.logs.log import Log

LINES = (".jsonl", ".ndjson")

COLUMNS = ("vectors", "index", "reward", "propensity", "id", "at", "holdout")
"""The columns of a table; the first three are required."""

_BEGUN = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_NUMBER_BEGUN = (".", "e", "E", "e-", "e+", "E-", "E+")


def read(path: str | os.PathLike[str], *, features: Features | None = None) -> Log:
    r"""The log in a file or folder: ``.jsonl`` or ``.ndjson`` with the events of a deployment, or ``.parquet``.

    A folder is the log that ``Deployment(log=)`` writes; the deployment may write it meanwhile.

    An incomplete last line, as after a crash, is left out with a ``RuntimeWarning``.

    Args:
        path: path of the file, or of the folder.
        features: for events without vectors, the map that made them: ``features(context, actions)`` returns an (n, d)
            array, or an object with ``vectors``. By default the map in the first event, if there is one.

    Raises:
        ValueError: if the file has an error; names the file, the line (from 1) or the row (from 0), and the error.

    Example:
        >>> import tempfile
        >>> from unipac import Deployment, OFUL
        >>> deployment = Deployment(OFUL(2))
        >>> decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a")
        >>> first = deployment.reward("a", 1.0)
        >>> path = Path(tempfile.mkdtemp()) / "events.jsonl"
        >>> size = path.write_text("".join(json.dumps(event) + "\n" for event in deployment.events()))
        >>> read(path).rewards
        array([1.])
    """
    check.require(isinstance(path, (str, os.PathLike)), "path", "a path", path)
    place = Path(path)
    if place.is_dir():
        reading = importlib.import_module("unipac.deployment.reading")  # a layer above this one
        found = reading.events(place)
        try:
            return log_of(((f"event {event['seq']}", event) for event in found), features)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    known = place.suffix in (*LINES, ".parquet")
    check.require(known, "path", f"one of {', '.join(LINES)} or .parquet", str(place))
    if place.suffix == ".parquet" and importlib.util.find_spec("polars") is None:
        raise ImportError('Parquet files need polars: pip install "unipac[experiments]"')
    try:
        return log_of(_events(place), features) if place.suffix in LINES else from_frame(_parquet(place))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def from_frame(frame: Any) -> Log:
    """The log in a table with one row per round: a frame of pandas, polars or arrow, or a mapping of columns.

    Required columns: ``vectors`` (the offered vectors, a list of lists), ``index`` and ``reward``. Optional columns:
    ``propensity``, ``id``, ``at`` and ``holdout``. `Log.to_dict` returns such columns.

    Raises:
        ValueError: if a column or a value is wrong; names the row, counted from 0.

    Example:
        >>> from_frame({"vectors": [[[1.0], [0.5]]], "index": [1], "reward": [0.3]})
        <Log: 1 rounds, 2 actions in dimension 1, mean reward 0.3>
    """
    names = _column_names(frame)
    columns: dict[str, list[Any]] = {}
    for name in COLUMNS:
        count = sum(isinstance(one, str) and one == name for one in names)
        check.require(count <= 1, "frame", f"a table with one column {name!r}", f"{count} of them")
        check.require(
            count == 1 or name not in COLUMNS[:3], "frame", f"a table with a column {name!r}", names
        )
        if count:
            columns[name] = _values(name, frame[name])
    rounds = len(columns["reward"])
    for name, values in columns.items():
        check.require(len(values) == rounds, name, f"a column of {rounds} rows, as reward", len(values))
    index = [check.count(f"row {t}: index", one, least=0) for t, one in enumerate(columns["index"])]
    sets = [_set(t, one, index[t]) for t, one in enumerate(columns["vectors"])]
    holdout = columns.get("holdout")
    if holdout is not None:
        holdout = [check.flag(f"row {t}: holdout", one) for t, one in enumerate(holdout)]
    return Log(
        sets,
        np.array(index, dtype=np.int64),
        np.array([check.real(f"row {t}: reward", one) for t, one in enumerate(columns["reward"])]),
        _numbers("propensity", columns.get("propensity")),
        ids=columns.get("id"),
        times=_numbers("at", columns.get("at")),
        holdout=None if holdout is None else np.array(holdout, dtype=np.bool_),
    )


# -- lines ---------------------------------------------------------------------------------------------


def _events(path: Path) -> Iterator[tuple[str, Any]]:
    """The events of a file, each with the number of its line."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                event = json.loads(line.decode())
            except (
                ValueError,
                RecursionError,
            ) as error:  # bad UTF-8 and integers too long are ValueErrors too
                if _is_cut(line, error):
                    warn(f"{path}: line {number}, the last one, was cut and is left out", RuntimeWarning)
                    return
                begin = check.shown(line[:60].decode(errors="replace"))
                why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
                raise ValueError(f"line {number} must be a JSON object, got {begin}: {why}") from None
            check.require(isinstance(event, dict), f"line {number}", "a JSON object", event)
            yield f"line {number}", event


def _is_cut(line: bytes, error: Exception) -> bool:
    """Whether a line is the beginning of a JSON object, without an end of line."""
    if line.endswith(b"\n") or not line.lstrip().startswith(b"{"):
        return False
    if isinstance(error, UnicodeDecodeError):  # in the middle of a character, and nothing else is wrong
        if error.reason != "unexpected end of data":
            return False
        try:
            json.loads(line[: error.start].decode())
        except json.JSONDecodeError as inner:
            error = inner
        except (ValueError, RecursionError):
            return False
    if not isinstance(error, json.JSONDecodeError):
        return False
    if error.msg.startswith("Unterminated string"):
        return True
    rest = error.doc[error.pos :].strip()
    if "escape" in error.msg:
        return len(rest) <= 5 and '"' not in rest  # less than \uXXXX
    return rest in _NUMBER_BEGUN or any(word.startswith(rest) for word in _BEGUN)


# -- tables --------------------------------------------------------------------------------------------


def _parquet(path: Path) -> Any:
    import polars

    try:
        return polars.read_parquet(path)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"the file must be a whole Parquet file, got {check.shown(why)}") from None


def _set(t: int, one: Any, index: int) -> Any:
    try:
        return offered_vectors([list(row) for row in one], index)
    except TypeError:
        raise ValueError(f"row {t}: vectors must be a list of lists, got {check.shown(one)}") from None
    except ValueError as error:
        raise ValueError(f"row {t}: {error}") from None


def _numbers(name: str, values: list[Any] | None) -> Any:
    """A column of numbers; None if there is none, or one value is missing."""
    if values is None:
        return None
    return if_complete(
        [None if one is None else check.real(f"row {t}: {name}", one) for t, one in enumerate(values)]
    )


def _column_names(frame: Any) -> list[Any]:
    if isinstance(frame, Mapping):
        return list(frame)
    names: Any = getattr(frame, "column_names", None)  # arrow
    names = getattr(frame, "columns", None) if names is None else names
    check.require(hasattr(names, "__iter__"), "frame", "a frame or a mapping of columns", type(frame))
    return list(names)


def _values(name: str, column: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    sound = hasattr(column, "__iter__") and not isinstance(column, (str, bytes, Mapping))
    check.require(sound, name, "a column of values", column)
    return list(column)
