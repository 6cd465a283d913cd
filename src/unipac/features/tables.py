"""Rows from the formats that users have: mappings, frames of pandas, polars or arrow, and rows of frames."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unipac import _checks as check

Row = Mapping[str, Any]

DEEPEST = 50
"""No context may be nested deeper."""
LARGE = 1e300


def is_frame(value: Any) -> bool:
    """Whether a value is a table of pandas, polars or arrow; the test does not import them."""
    return hasattr(value, "shape") and (hasattr(value, "columns") or hasattr(value, "column_names"))


def frame_of(name: str, value: Any) -> Any:
    """The value as a narwhals frame; its columns have names that are text, each its own."""
    import narwhals as nw  # local, since only frames need it

    if is_frame(value):
        names = list(value.column_names if hasattr(value, "column_names") else value.columns)
        for column in names:
            check.require(isinstance(column, str), name, "a frame whose columns have text as names", column)
        _refuse_twice(name, names)
    try:
        return nw.from_native(value, eager_only=True)
    except TypeError:
        raise ValueError(
            f"{name} must be a frame of pandas, polars or arrow, got {type(value).__name__}"
        ) from None


class Column(NamedTuple):
    """A column of a table that is no frame."""

    values: list[Any]
    dtype: str = "list"

    def to_list(self) -> list[Any]:
        """The values."""
        return self.values


class Table:
    """A table from a dict of columns: as much of a frame as is asked of it here, for users who have none.

    Args:
        name: of the argument, for messages.
        columns: lists, tuples or arrays of the same length, by name.
    """

    def __init__(self, name: str, columns: Mapping[str, Any]) -> None:
        self._columns: dict[str, Column] = {}
        for column, values in columns.items():
            check.require(isinstance(column, str), name, "a dict whose keys are names of columns", column)
            sound = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.ndim == 1)
            check.require(sound, f"{name}[{column!r}]", "a list or an array of values", values)
            self._columns[column] = Column(list(values))
        lengths = {column: len(kept.values) for column, kept in self._columns.items()}
        check.require(len(set(lengths.values())) <= 1, name, "columns of the same length", lengths)

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return list(self._columns)

    def __getitem__(self, column: str) -> Column:
        return self._columns[column]


def table_of(name: str, value: Any) -> Any:
    """A dict of columns as a `Table`, and anything else as `frame_of` has it."""
    return Table(name, value) if isinstance(value, Mapping) else frame_of(name, value)


def rows_of(name: str, value: Any) -> list[dict[str, Any]]:
    """The rows of a frame, or of a sequence of mappings."""
    if is_frame(value):
        table = frame_of(name, value)
        if not table.columns:
            return [{} for _ in range(len(table))]
        columns = [table[column].to_list() for column in table.columns]  # each keeps its own type
        return [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]
    if isinstance(value, (list, tuple)):
        return [dict(row_of(name, row)) for row in value]
    raise ValueError(f"{name} must be a frame or a list of mappings, got {type(value).__name__}")


def row_of(name: str, value: Any) -> Row:
    """A mapping from columns to values: a dict, a row of a frame, or a frame of one row."""
    if isinstance(value, Mapping):
        return value
    if is_frame(value):
        rows = rows_of(name, value)
        if len(rows) != 1:
            raise ValueError(f"{name} must be one row, got a frame of {len(rows)}")
        return rows[0]
    if hasattr(value, "index") and hasattr(value, "items") and not isinstance(value, np.ndarray):
        entries = list(value.items())  # a pandas Series
        _refuse_twice(name, [column for column, _ in entries])
        return dict(entries)
    raise ValueError(f"{name} must be a mapping or a row of a frame, got {type(value).__name__}")


def _refuse_twice(name: str, columns: Sequence[Any]) -> None:
    if len(set(columns)) < len(columns):
        twice = next(column for k, column in enumerate(columns) if column in columns[:k])
        raise ValueError(f"{name} must have every column once, got {check.shown(twice)} twice")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or the equivalent in pandas."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return type(value).__name__ in ("NAType", "NaTType")


def plain(name: str, value: Any, depth: int = 0) -> Any:
    """A copy of the value in types of JSON; missing values become None, and types that JSON does not have become text.

    A ``ValueError`` that names the argument if there is none: integers must have 64 bits, nothing may contain itself.
    """
    kind = type(value)
    if kind is float:  # the usual cases first
        return value if math.isfinite(value) else None if value != value else str(value)
    if kind is str or kind is bool or value is None or (kind is int and -(2**63) <= value < 2**63):
        return value
    if kind is dict:
        return _plain_dict(name, value, depth)
    if kind is np.ndarray and value.dtype == np.float64 and value.ndim == 1:
        numbers = value.tolist()
        if math.isfinite(sum(numbers)):  # then all are
            return numbers
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        return None
    if isinstance(value, (bool, str)):
        return str.__str__(value) if isinstance(value, str) else value
    if isinstance(value, int):
        check.require(-(2**63) <= value < 2**64, name, "made of integers of 64 bits", value)
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if depth >= DEEPEST:
        check.require(False, name, f"nested at most {DEEPEST} deep", type(value))
    if isinstance(value, np.ndarray):
        return plain(name, value.tolist(), depth)
    if isinstance(value, Mapping):
        return _plain_dict(name, value, depth)
    if isinstance(value, (list, tuple)):
        return [plain(name, entry, depth + 1) for entry in value]
    return _text(name, value)


def _plain_dict(name: str, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    if depth >= DEEPEST:
        check.require(False, name, f"nested at most {DEEPEST} deep", type(value))
    made = {}
    for key, entry in value.items():
        usual = type(entry) is float and -LARGE < entry < LARGE  # not infinite, and not NaN
        text = key if type(key) is str else _text(name, key)
        made[text] = entry if usual else plain(name, entry, depth + 1)
    check.require(len(made) == len(value), name, "such that keys differ as text", made)
    return made


def _text(name: str, value: Any) -> str:
    """A value as text; whatever its own ``__str__`` raises is a ``ValueError``."""
    if isinstance(value, str):
        return str.__str__(value)
    try:
        return str.__str__(str(value))
    except Exception as error:
        words = f"{name} must be made of values that can be written as text"
        raise ValueError(f"{words}, got a {type(value).__name__} ({type(error).__name__})") from None
