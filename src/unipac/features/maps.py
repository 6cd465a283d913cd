"""Maps φ(context, action) of norm at most 1: blocks, interactions, sums."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._actions import Actions, Label, unlike
from unipac._arrays import Array
from unipac.features.adding import MOST, OfParts, Summand, checked_dim
from unipac.features.encoders import Constant, Encoder
from unipac.features.ids import excluded_ids, refuse_set
from unipac.features.tables import Row, is_frame, row_of, rows_of


class Features(Summand):
    """A fixed map φ(context, action); a call with a context and actions returns ``Actions``.

    >>> from unipac.features import Constant
    >>> phi = Blocks(["small", "large"], Constant())
    >>> isinstance(phi, Features), phi.dim, phi.names
    (True, 2, ('small: constant', 'large: constant'))
    >>> phi({}, ["small", "large"]).vectors
    array([[1., 0.],
           [0., 1.]])
    """

    needs_ids_alone: bool
    """Whether context and ids determine the vectors, without features of the actions."""

    @property
    def _context_columns(self) -> frozenset[str] | None:
        """The columns of a context; None if it is an array."""
        raise NotImplementedError

    def _vectors(self, context: Any, offered: tuple[Label, ...], rows: Sequence[Row | None]) -> Array:
        """φ of a checked context with each of the actions, (n, d)."""
        raise NotImplementedError

    def __call__(self, context: Any, actions: Any, exclude: Iterable[Label] = ()) -> Actions:
        """The vectors of some actions in a context.

        Args:
            context: a mapping, a row of a frame, or an array for ``Numbers``; None if there are no columns.
            actions: a list of ids; or a mapping from ids to mappings of features, or a frame with a column ``id``.
            exclude: a list of ids among them to leave out.
        """
        offered, rows = self._offered(actions)
        left_out = excluded_ids(exclude, offered)
        if left_out:
            kept = [k for k, key in enumerate(offered) if key not in left_out]
            offered, rows = tuple(offered[k] for k in kept), [rows[k] for k in kept]
        return Actions._of(self._vectors(self._checked(context), offered, rows), offered)

    def many(self, frame: Any, actions: Any) -> list[Actions]:
        """The ``Actions`` for every row of a table of contexts, or of an (m, k) array."""
        offered, rows = self._offered(actions)
        contexts = frame if isinstance(frame, np.ndarray) else rows_of("frame", frame)
        return [Actions._of(self._vectors(self._checked(row), offered, rows), offered) for row in contexts]

    def _offered(self, actions: Any) -> tuple[tuple[Label, ...], Sequence[Row | None]]:
        """The ids of the actions, and the features of each or None."""
        return _offered(actions)

    def _checked(self, context: Any) -> Any:
        columns = self._context_columns
        if columns is None:
            return context
        if context is None and not columns:
            return {}
        row = row_of("context", context)
        if len(row) != len(columns) or row.keys() != columns:
            _refuse_columns("context", row, columns)
        return row

    def to_json(self) -> str:
        """A text from which ``from_json`` makes the same map."""
        return json.dumps(self.described(), allow_nan=False)

    def __add__(self, other: Features) -> Sum:
        if not isinstance(other, Features):
            return NotImplemented
        return Sum(*self._summands(), *other._summands())


class Blocks(Features):
    """One block of features per action: the vector of an action is zero outside its block, so each has its own model.

    >>> from unipac.features import Columns
    >>> features = Blocks(["small", "large"], Columns(ranges={"length": (0, 100)}, missing="error"))
    >>> features.names
    ('small: length', 'small: constant', 'large: length', 'large: constant')
    >>> features({"length": 100}, ["large", "small"]).vectors * 2**0.5
    array([[0., 0., 1., 1.],
           [1., 1., 0., 0.]])

    Args:
        ids: the ids of all possible actions, or their number n for the ids 0, ..., n − 1; at most 131,072 features in
            all.
        of: the encoder of the context; by default a constant, so that each action has one feature.
    """

    needs_ids_alone = True

    def __init__(self, ids: int | Sequence[Label], of: Encoder | None = None) -> None:
        many = range(check.count("ids", ids, most=MOST)) if isinstance(ids, (int, np.integer)) else ids
        refuse_set("ids", many)
        sound = not isinstance(many, (str, Mapping)) and hasattr(many, "__iter__")
        check.require(sound, "ids", "a number, or a list of ids", ids)
        self.ids = unlike("ids", list(many))
        self.of = _encoder("of", Constant() if of is None else of)
        checked_dim(self)
        self._position = {key: k for k, key in enumerate(self.ids)}
        self._everything = np.arange(len(self.ids))
        self._alone = [None] * len(self.ids)
        self._text = all(isinstance(key, str) for key in self.ids)  # 1 == True, but text is unambiguous

    @property
    def blocks(self) -> int:
        """The number of blocks, for the parameter ``blocks`` of agents."""
        return len(self.ids)

    def _offered(self, actions: Any) -> tuple[tuple[Label, ...], Sequence[Row | None]]:
        if self._text and type(actions) in (list, tuple) and tuple(actions) == self.ids:
            return self.ids, self._alone  # a shortcut for the usual case
        return _offered(actions)

    @property
    def dim(self) -> int:
        """The number of features."""
        return len(self.ids) * self.of.dim

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{key}: {name}" for key in self.ids for name in self.of.names)

    @property
    def _context_columns(self) -> frozenset[str] | None:
        return None if self.of.by_position else self.of.columns

    def _vectors(self, context: Any, offered: tuple[Label, ...], rows: Sequence[Row | None]) -> Array:
        vector = self.of.encode(context)
        n, m = len(offered), len(self.ids)
        if offered == self.ids:
            places = self._everything
        else:
            for key in offered:
                check.require(key in self._position, "actions", f"among the ids {list(self.ids)}", key)
            places = np.array([self._position[key] for key in offered])
        made = np.zeros((n, m, len(vector)))
        made[self._everything[:n], places] = vector
        return made.reshape(n, m * len(vector))

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        return {"kind": "Blocks", "ids": list(self.ids), "of": self.of.described()}


class Interactions(Features):
    """All products of a feature of the context and one of the action; all actions share one parameter.

    >>> from unipac.features import Columns, Constant
    >>> features = Interactions(Constant(), Columns(ranges={"price": (0, 10)}, missing="error"))
    >>> features(None, {"tea": {"price": 10}, "milk": {"price": 5}}).vectors * 2**0.5
    array([[1., 1.],
           [0., 1.]])

    Args:
        context: the encoder of the context.
        action: the encoder of the features of an action.
    """

    needs_ids_alone = False

    def __init__(self, context: Encoder, action: Encoder) -> None:
        self.context, self.action = _encoder("context", context), _encoder("action", action)
        check.require(not action.by_position, "action", "an encoder of columns", action)
        checked_dim(self)

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.context.dim * self.action.dim

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{a} × {b}" for a in self.context.names for b in self.action.names)

    @property
    def _context_columns(self) -> frozenset[str] | None:
        return None if self.context.by_position else self.context.columns

    def _vectors(self, context: Any, offered: tuple[Label, ...], rows: Sequence[Row | None]) -> Array:
        vector = self.context.encode(context)
        made = np.empty((len(offered), len(vector) * self.action.dim))
        for k, (key, row) in enumerate(zip(offered, rows, strict=True)):
            if row is None:
                raise ValueError(f"actions must map ids to features, got the id {key!r} alone")
            if row.keys() != self.action.columns:
                _refuse_columns(f"action {key!r}", row, self.action.columns)
            made[k] = np.outer(vector, self.action.encode(row)).reshape(-1)
        return made

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        encoders = {"context": self.context.described(), "action": self.action.described()}
        return {"kind": "Interactions", **encoders}


class Sum(OfParts, Features):
    """The features of m maps side by side, divided by √m: the rewards of the maps add up.

    >>> from unipac.features import Constant
    >>> phi = Blocks(["a", "b"], Constant()) + Blocks(["a", "b"], Constant())
    >>> isinstance(phi, Sum), phi.dim
    (True, 4)

    Attributes:
        parts: the maps.
        needs_ids_alone: whether context and ids determine the vectors of all of them.
    """

    def __init__(self, *parts: Features) -> None:
        check.require(len(parts) > 0, "parts", "at least one map", parts)
        for part in parts:
            check.require(isinstance(part, Features), "parts", "maps of this package", part)
        self.parts = parts
        self.needs_ids_alone = all(part.needs_ids_alone for part in parts)
        arrays = {part._context_columns is None for part in parts if part._context_columns != frozenset()}
        check.require(len(arrays) <= 1, "parts", "all of columns, or all of arrays", parts)
        checked_dim(self)

    @property
    def _context_columns(self) -> frozenset[str] | None:
        every = [part._context_columns for part in self.parts]
        return None if None in every else frozenset().union(*(columns or () for columns in every))

    def _vectors(self, context: Any, offered: tuple[Label, ...], rows: Sequence[Row | None]) -> Array:
        made = [part._vectors(context, offered, rows) for part in self.parts]
        return np.ascontiguousarray(np.concatenate(made, axis=1) / math.sqrt(len(made)))

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        return {"kind": "Sum", "parts": [part.described() for part in self.parts]}


def _encoder(name: str, value: Any) -> Encoder:
    check.require(isinstance(value, Encoder), name, "an encoder such as Columns(...)", value)
    encoder: Encoder = value
    return encoder


def _offered(actions: Any) -> tuple[tuple[Label, ...], Sequence[Row | None]]:
    """The ids of the actions, and the features of each or None."""
    refuse_set("actions", actions)
    if isinstance(actions, Mapping):
        offered = unlike("actions", list(actions))
        return offered, [row_of(f"action {key!r}", row) for key, row in actions.items()]
    if is_frame(actions):
        rows = rows_of("actions", actions)
        for row in rows:
            check.require("id" in row, "actions", "a frame with a column 'id'", list(row))
        return unlike("actions", [row["id"] for row in rows]), [
            {name: value for name, value in row.items() if name != "id"} for row in rows
        ]
    if isinstance(actions, (str, bytes)) or not hasattr(actions, "__iter__"):
        raise ValueError(f"actions must be ids, a mapping or a frame, got {check.shown(actions)}")
    if getattr(actions, "ndim", 1) != 1:
        raise ValueError(f"actions must be ids, a mapping or a frame, got an array of shape {actions.shape}")
    offered = unlike("actions", list(actions))
    return offered, [None] * len(offered)


def _refuse_columns(what: str, row: Row, columns: frozenset[str]) -> None:
    for name in sorted(columns):
        if name not in row:
            raise ValueError(f"{what} must have the column {name!r}, got columns {check.shown(list(row))}")
    surplus = next(name for name in row if name not in columns)
    allowed = check.shown(sorted(columns))
    raise ValueError(
        f"{what} must have no column but {allowed}, got {surplus!r} = {check.shown(row[surplus])} as well"
    )
