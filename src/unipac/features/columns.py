"""Columns of a table: numbers, categories, booleans, with missing values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.features.encoders import Encoder
from unipac.features.ids import refuse_set
from unipac.features.tables import Column, Row, is_missing, table_of

MISSING = "missing"
"""Suffix of the name of the feature that marks a missing value."""
UNKNOWN = "unknown"
NUMBERS = (int, float, np.integer, np.floating)
EXACT = 2.0**53
"""From here on a float stands for several integers."""


class Columns(Encoder):
    """Features of columns: numbers in [−1, 1], booleans as ±1, an indicator for each category, and a constant.

    Numbers are clipped to their range, which is mapped to [−1, 1]. A missing value is 0, with an indicator of its own.
    A missing category counts as one more category, and so do all unknown categories together. ``fit(frame)`` takes
    ranges and categories that were not passed from a table.

    >>> columns = Columns(ranges={"age": (18, 90)}, categories={"plan": ["free", "paid"]}, missing="error")
    >>> columns.names
    ('age', 'plan=free', 'plan=paid', 'plan unknown', 'constant')
    >>> columns.encode({"age": 90, "plan": "free"}) * 3**0.5         # norms are at most 1
    array([1., 1., 0., 0., 1.])
    >>> columns.encode({"age": "old", "plan": "free"})
    Traceback (most recent call last):
    ValueError: column 'age' must be a finite number, got 'old'

    Args:
        numbers: names of the columns with numbers; those in ``ranges`` need not be repeated.
        categories: names, or a mapping from names to the categories.
        booleans: names of columns that are True or False.
        ranges: a mapping from the names of numbers to (low, high).
        missing: "column", or "error" to refuse missing values.
        unknown: "column", or "error" to refuse categories that are not listed.
        scale: "bound" divides by the largest possible norm; "row" divides rows longer than 1 by their norm.
        constant: whether to add a feature that is always 1.
    """

    def __init__(
        self,
        numbers: Iterable[str] = (),
        categories: Iterable[str] | Mapping[str, Sequence[Any]] = (),
        booleans: Iterable[str] = (),
        *,
        ranges: Mapping[str, Sequence[float]] | None = None,
        missing: str = "column",
        unknown: str = "column",
        scale: str = "bound",
        constant: bool = True,
    ) -> None:
        check.require(ranges is None or isinstance(ranges, Mapping), "ranges", "a mapping", ranges)
        limits = {} if ranges is None else dict(ranges)
        named = list(dict.fromkeys([*_names("numbers", numbers), *_names("ranges", limits)]))
        kinds = _names("categories", categories)
        flags = _names("booleans", booleans)
        every = [*named, *kinds, *flags]
        for name, count in Counter(every).items():
            check.require(count == 1, "columns", "of one kind each", name)
        self.missing = check.one_of("missing", missing, ("column", "error"))
        self.unknown = check.one_of("unknown", unknown, ("column", "error"))
        self.scale = check.one_of("scale", scale, ("bound", "row"))
        self.constant = check.flag("constant", constant)
        listed = dict(categories) if isinstance(categories, Mapping) else {}
        self._ranges: dict[str, tuple[float, float] | None] = {
            name: check.value_range(f"ranges[{name!r}]", limits[name]) if name in limits else None
            for name in named
        }
        self._categories: dict[str, tuple[Any, ...] | None] = {
            name: _checked_categories(name, listed[name]) if name in listed else None for name in kinds
        }
        self._booleans = tuple(flags)
        self._frozen = False
        self._prepare()

    # -- ranges and categories -----------------------------------------------------------------

    def fit(self, frame: Any) -> Self:
        """Take missing ranges and categories from a table; if no column was named, use all of its columns.

        A table is a frame of pandas, polars or arrow, or a dict of columns.

        >>> Columns().fit({"tokens": [120, 4000], "kind": ["chat", None]}).columns == {"tokens", "kind"}
        True

        This is refused once a row was encoded: a change of the map would invalidate what was learned with it.
        """
        if self._frozen:
            raise ValueError("fit must come before the first row is encoded, got a table after it")
        table = table_of("frame", frame)
        ranges, categories, booleans = dict(self._ranges), dict(self._categories), self._booleans
        if not (ranges or categories or booleans):
            kinds = {name: _kind(name, table[name]) for name in table.columns}
            ranges = {name: None for name, kind in kinds.items() if kind == "number"}
            categories = {name: None for name, kind in kinds.items() if kind == "category"}
            booleans = tuple(name for name, kind in kinds.items() if kind == "boolean")
        for name in (*ranges, *categories, *booleans):
            if name not in table.columns:
                raise ValueError(f"column {name!r} must be in the table, got columns {list(table.columns)}")
        for name, limits in ranges.items():
            if limits is None:
                numbers = [_number(name, value) for value in table[name].to_list() if not is_missing(value)]
                if not numbers:
                    raise ValueError(f"column {name!r} must have numbers to fit to, got none")
                for value in (min(numbers), max(numbers)):
                    check.require(abs(value) <= check.LARGEST, f"column {name!r}", "within ±1e50", value)
                ranges[name] = min(numbers), max(numbers)
        for name, listed in categories.items():
            if listed is None:
                values = [value for value in table[name].to_list() if not is_missing(value)]
                categories[name] = _checked_categories(name, list(dict.fromkeys(_hashable(name, values))))
        self._ranges, self._categories, self._booleans = ranges, categories, booleans
        self._prepare()
        return self

    def _prepare(self) -> None:
        """Assign places in the vector to the columns."""
        absent = self.missing == "column"
        names: list[str] = []
        self._numbers: list[tuple[str, int, float, float, float, float]] = []
        self._flags: list[tuple[str, int]] = []
        self._kinds: list[tuple[str, int, dict[Any, int]]] = []
        for name, limits in self._ranges.items():
            if limits is not None:
                low, high = limits
                factor = 2.0 / (high - low) if high > low else 0.0
                self._numbers.append((name, len(names), low, high, (low + high) / 2.0, factor))
            names += [name, f"{name} {MISSING}"] if absent else [name]
        for name in self._booleans:
            self._flags.append((name, len(names)))
            names += [name, f"{name} {MISSING}"] if absent else [name]
        for name, listed in self._categories.items():
            first, values = len(names), listed or ()
            self._kinds.append((name, first, {value: first + k for k, value in enumerate(values)}))
            names += [f"{name}={value}" for value in values]
            names += [f"{name} {MISSING}"] if absent else []
            names += [f"{name} {UNKNOWN}"] if self.unknown == "column" else []
        if self.constant:
            names.append("constant")
        self._names, self._columns = tuple(names), frozenset(self._all())
        self._unfitted = [
            n for n, fitted in (*self._ranges.items(), *self._categories.items()) if fitted is None
        ]
        self._bound = math.sqrt(max(1, len(self._columns) + self.constant))

    def _all(self) -> tuple[str, ...]:
        return (*self._ranges, *self._booleans, *self._categories)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self._names

    @property
    def columns(self) -> frozenset[str]:
        """The columns that a row must have."""
        return self._columns

    # -- rows ----------------------------------------------------------------------------------

    def encode(self, row: Row) -> Array:
        """The vector of a row that has these columns; other columns are ignored."""
        if self._unfitted or not self._names:
            left = self._unfitted or "none at all"
            raise ValueError(f"columns must be fitted first, or be given ranges and categories, got {left}")
        made = [0.0] * len(self._names)
        for name, k, low, high, middle, factor in self._numbers:
            value = row[name] if name in row else _of(row, name)
            usual = type(value) is float or type(value) is int
            if not usual or not low <= value <= high:  # the usual case skips these checks
                if is_missing(value):
                    made[self._absent(name, value, k + 1)] = 1.0
                    continue
                value = min(max(_number(name, value), low), high)
            mapped = (value - middle) * factor
            made[k] = mapped if -1.0 <= mapped <= 1.0 else math.copysign(1.0, mapped)  # rounding
        for name, k in self._flags:
            value = _of(row, name)
            if type(value) is not bool and is_missing(value):
                made[self._absent(name, value, k + 1)] = 1.0
            else:
                made[k] = 1.0 if _boolean(name, value) else -1.0
        for name, first, places in self._kinds:
            value = _of(row, name)
            known = places.get(value) if type(value) is str else None
            made[self._place(name, value, first, places) if known is None else known] = 1.0
        if self.constant:
            made[-1] = 1.0
        self._frozen = True
        vector = np.array(made)
        if self.scale == "bound":
            vector /= self._bound
        else:
            vector /= max(1.0, math.sqrt(math.fsum(entry * entry for entry in made)))
        return vector

    def _absent(self, name: str, value: Any, place: int) -> int:
        if self.missing == "error":
            raise ValueError(f"column {name!r} must not be missing, got {value!r}")
        return place

    def _place(self, name: str, value: Any, first: int, places: dict[Any, int]) -> int:
        if is_missing(value):
            return self._absent(name, value, first + len(places))
        (value,) = _hashable(name, [value])
        if value in places:
            return places[value]
        if self.unknown == "error":
            raise ValueError(f"column {name!r} must be one of {list(places)}, got {check.shown(value)}")
        return first + len(places) + (self.missing == "column")

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        check.require(not self._unfitted, "columns", "fitted before they are written", self._unfitted)
        return {
            "kind": "Columns",
            "ranges": {name: list(limits or ()) for name, limits in self._ranges.items()},
            "booleans": list(self._booleans),
            "categories": {name: list(listed or ()) for name, listed in self._categories.items()},
            "missing": self.missing,
            "unknown": self.unknown,
            "scale": self.scale,
            "constant": self.constant,
        }

    @classmethod
    def from_description(cls, told: Mapping[str, Any]) -> Columns:
        """Rebuild the columns from the dict that ``described`` returned."""
        flat = {name: pair for name, pair in told["ranges"].items() if pair[0] == pair[1]}
        words = {name: told[name] for name in ("missing", "unknown", "scale", "constant")}
        ranges = {name: pair for name, pair in told["ranges"].items() if name not in flat}
        made = cls(list(told["ranges"]), told["categories"], told["booleans"], ranges=ranges, **words)
        for name, (value, _) in flat.items():  # a column that was constant when it was fitted
            made._ranges[name] = (check.real(name, value),) * 2
        made._prepare()
        return made


def _names(argument: str, names: Iterable[str]) -> list[str]:
    sound = hasattr(names, "__iter__") and not isinstance(names, (str, bytes))
    check.require(sound, argument, "a list of names", names)
    refuse_set(argument, names)
    listed = list(names)
    for name in listed:
        check.require(isinstance(name, str), argument, "names of columns", name)
    return listed


def _checked_categories(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    sound = isinstance(values, (list, tuple, np.ndarray)) and len(values) > 0
    check.require(sound, f"categories[{name!r}]", "a list of at least one category", values)
    listed = tuple(_hashable(name, values))
    check.require(len(set(listed)) == len(listed), f"categories[{name!r}]", "different categories", values)
    return listed


def _hashable(name: str, values: Iterable[Any]) -> list[Any]:
    """Categories in the types of JSON: text, integers, booleans; floats with integer values become integers."""
    plain: list[Any] = []
    for value in values:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and value.is_integer():
            if abs(value) >= EXACT:
                raise ValueError(
                    f"column {name!r} must be below 2^53 if it was a float, which stands for several integers "
                    f"beyond, got {value!r}: pass the integer, in a dict or a frame"
                )
            value = int(value)
        if not isinstance(value, (str, int)):
            raise ValueError(
                f"column {name!r} must be text, an integer or a boolean, got {check.shown(value)}"
            )
        plain.append(str(value) if isinstance(value, str) else value)
    return plain


def _of(row: Row, name: str) -> Any:
    try:
        return row[name]
    except KeyError:
        raise ValueError(
            f"column {name!r} must be in the row, got columns {check.shown(list(row))}"
        ) from None


def _number(name: str, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"column {name!r} must be a finite number, got {value!r}")
    return check.real(f"column {name!r}", value)


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, NUMBERS) and value in (0, 1)):
        return bool(value)
    raise ValueError(f"column {name!r} must be True or False, got {check.shown(value)}")


def _kind(name: str, series: Any) -> str:
    """The kind of a column of a table, by its type, or by its values if the type does not decide."""
    listed = isinstance(series, Column)
    if not listed and series.dtype.is_numeric():
        return "number"
    words = str(series.dtype)
    if words == "Boolean":
        return "boolean"
    if words.startswith(("String", "Categorical", "Enum")):
        return "category"
    values = [value for value in series.to_list() if not is_missing(value)]
    if values and all(isinstance(value, (bool, np.bool_)) for value in values):
        return "boolean"
    if values and all(isinstance(value, str) for value in values):
        return "category"
    if listed and values and all(isinstance(value, NUMBERS) for value in values):
        return "number"
    raise ValueError(f"column {name!r} must hold numbers, text or booleans, got type {words}")
