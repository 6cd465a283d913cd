"""Encoders, of which maps are made: they turn a row into a vector of norm at most 1."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import floats
from unipac.features.adding import OfParts, Summand, checked_dim
from unipac.features.tables import Row


class Encoder(Summand):
    """The base class of encoders, which turn a row of columns, or an array, into a vector (dim,) of norm at most 1.

    >>> Numbers(2).names, Numbers(2).dim
    (('[0]', '[1]', 'constant'), 3)
    >>> isinstance(Constant() + Constant(), Encoder)
    True
    """

    by_position: ClassVar[bool] = False
    """Whether it takes an array instead of columns."""

    @property
    def columns(self) -> frozenset[str]:
        """The columns that a row must have."""
        return frozenset()

    def encode(self, row: Any) -> Array:
        """The vector of a row that has the columns ``columns``; other columns are ignored."""
        raise NotImplementedError

    def fit(self, frame: Any) -> Encoder:
        """Learn ranges and categories from a table; by default there is nothing to learn."""
        return self

    def __add__(self, other: Encoder) -> Joined:
        if not isinstance(other, Encoder):
            return NotImplemented
        return Joined(*self._summands(), *other._summands())


class Constant(Encoder):
    """One feature that is always 1.

    >>> Constant().encode({})
    array([1.])
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return ("constant",)

    def encode(self, row: Row) -> Array:
        """The vector of a row."""
        return np.ones(1)

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        return {"kind": "Constant"}


class Numbers(Encoder):
    """The entries of an array of fixed length, mapped from [low, high] to [−1, 1], and a constant.

    >>> Numbers(3).encode([0.5, -0.5, 7.0])
    array([ 0.25, -0.25,  0.5 ,  0.5 ])

    Args:
        length: length of the array.
        low: least value of an entry; smaller ones are clipped.
        high: largest value of an entry; larger ones are clipped.
        constant: whether to add a feature that is always 1.
    """

    by_position = True

    def __init__(self, length: int, low: float = -1.0, high: float = 1.0, *, constant: bool = True) -> None:
        self.length = check.count("length", length, most=2**16)
        self.low, self.high = check.value_range("low, high", (low, high))
        self.constant = check.flag("constant", constant)
        self._bound = math.sqrt(self.length + self.constant)

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.length + self.constant

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return (*(f"[{k}]" for k in range(self.length)), *(("constant",) if self.constant else ()))

    def encode(self, row: Any) -> Array:
        """The vector of an array."""
        values = floats("context", row)
        if values.shape != (self.length,):
            raise ValueError(f"context must be an array of shape ({self.length},), got {values.shape}")
        if not math.isfinite(values.sum()) and not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"context must be finite, got context[{bad}] = {values[bad]}")
        made = np.ones(self.length + self.constant)
        middle, half = (self.low + self.high) / 2.0, (self.high - self.low) / 2.0
        made[: self.length] = np.minimum(np.maximum((values - middle) / half, -1.0), 1.0)
        made /= self._bound
        return made

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        arguments = {"length": self.length, "low": self.low, "high": self.high, "constant": self.constant}
        return {"kind": "Numbers", **arguments}


class Joined(OfParts, Encoder):
    """The features of several encoders side by side, divided by √m for m of them.

    >>> from unipac.features import Columns
    >>> (Constant() + Columns(ranges={"tokens": (0, 100)}, constant=False)).encode({"tokens": 100})
    array([0.70710678, 0.70710678, 0.        ])

    Attributes:
        parts: the encoders.
    """

    def __init__(self, *parts: Encoder) -> None:
        check.require(len(parts) > 0, "parts", "at least one encoder", parts)
        for part in parts:
            check.require(isinstance(part, Encoder), "parts", "encoders", part)
            check.require(not part.by_position, "parts", "encoders of columns, not of arrays", part)
        self.parts = parts
        checked_dim(self)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that a row must have."""
        return frozenset().union(*(part.columns for part in self.parts))

    def fit(self, frame: Any) -> Encoder:
        """Let every part learn its ranges and categories."""
        for part in self.parts:
            part.fit(frame)
        return self

    def encode(self, row: Row) -> Array:
        """The vector of a row."""
        made: Array = np.concatenate([part.encode(row) for part in self.parts]) / math.sqrt(len(self.parts))
        return made

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        return {"kind": "Joined", "parts": [part.described() for part in self.parts]}
