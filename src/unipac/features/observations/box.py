"""Maps of arrays within bounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import floats, read_only
from unipac.features.observations.map import MOST_FEATURES, FeatureMap, is_discrete, spaces

UNBOUNDED = 1e30
"""Bounds from here on are those of a space without bounds: some environments write 3.4e38 for infinity."""


class BoxMap(FeatureMap):
    """A map of arrays within bounds.

    Attributes:
        low: least value of each number of an observation, an array of the shape of observations.
        high: largest values.
    """

    low: Array
    high: Array

    def __init__(self, low: ArrayLike, high: ArrayLike, n_actions: int) -> None:
        super().__init__(n_actions)
        self.low, self.high = _bounds("low", low), _bounds("high", high)
        if self.low.shape != self.high.shape:
            raise ValueError(f"high must have the shape of low, {self.low.shape}, got {self.high.shape}")
        check.require(self.low.size > 0, "low", "an array of at least one number", low)
        empty = ~(self.low < self.high)
        if empty.any():
            at = where(empty)
            got = f"low{at} = {self.low[empty][0]} and high{at} = {self.high[empty][0]}"
            raise ValueError(f"low must be less than high, got {got}")
        self._flat_low = self.low.reshape(-1)
        self._flat_high = self.high.reshape(-1)
        self._width = self._flat_high - self._flat_low

    @classmethod
    def from_env(
        cls, env: Any, *, low: ArrayLike | None = None, high: ArrayLike | None = None, **settings: Any
    ) -> Self:
        """The map for a Gymnasium environment with ``Box`` observations and ``Discrete`` actions.

        Args:
            env: the environment.
            low: bounds in place of those of the observation space, which may be infinite.
            high: bounds in place of those of the observation space.
            **settings: further arguments of the map.

        Raises:
            ValueError: if the spaces are of another kind, or without bounds while none are passed.
        """
        space, n_actions = spaces(env)
        if not (hasattr(space, "low") and hasattr(space, "high")):
            hint = (
                "OneHot takes a Discrete one"
                if is_discrete(space)
                else "gymnasium.wrappers.FlattenObservation makes one of most other spaces"
            )
            raise ValueError(f"env.observation_space must be a Box ({hint}), got {space!r}")
        call = f"{cls.__name__}.from_env(env, low=..., high=...)"
        lowest = _of_space("low", space.low, call) if low is None else _in_place_of(space, "low", low)
        highest = _of_space("high", space.high, call) if high is None else _in_place_of(space, "high", high)
        return cls(lowest, highest, n_actions, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that build this map again, of types that JSON knows."""
        common = {"low": self.low.tolist(), "high": self.high.tolist(), "n_actions": self.n_actions}
        return common | self._settings()

    def __repr__(self) -> str:
        settings = {name: _shortest(value) for name, value in self._settings().items()}
        return (
            f"<{type(self).__name__}: observations {self.low.shape}, {self.n_actions} actions, "
            f"dimension {self.dim}, {', '.join(f'{name}={value}' for name, value in settings.items())}>"
        )

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """The parameters besides bounds and actions."""

    @abstractmethod
    def _of_unit(self, x: Array) -> Array:
        """ψ of points in the unit cube, (m, k) to (m, state_dim)."""

    def _states(self, name: str, observations: ArrayLike, *, one: bool) -> Array:
        values = floats(name, observations)
        shape = self.low.shape
        if (values.shape if one else values.shape[1:]) != shape or (not one and values.ndim == 0):
            expected = shape if one else f"({', '.join(['m', *map(str, shape)])}{'' if shape else ','})"
            raise ValueError(f"{name} must have shape {expected}, got {values.shape}")
        points = values.reshape(1 if one else len(values), self._width.size)
        finite = np.isfinite(points)
        if not finite.all():
            broken = ~finite.reshape(values.shape)
            raise ValueError(f"{name} must be finite, got {name}{where(broken)} = {values[broken][0]}")
        clipped = np.clip(points, self._flat_low, self._flat_high)
        return self._of_unit((clipped - self._flat_low) / self._width)


def _bounds(name: str, values: ArrayLike) -> Array:
    array = floats(name, values).copy()
    outside = ~(np.abs(array) < UNBOUNDED)  # also true for NaN
    if outside.any():
        got = f"{name}{where(outside)} = {array[outside][0]}"
        raise ValueError(f"{name} must be finite and within ±{UNBOUNDED:g}, got {got}")
    return read_only(array)


def where(marks: NDArray[np.bool_]) -> str:
    """The first place that is marked, as an index; nothing for a number alone."""
    return str([int(i) for i in np.argwhere(marks)[0]]) if marks.ndim else ""


def per_number(name: str, value: int | Sequence[int], k: int) -> tuple[int, ...]:
    """A count for each of k numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, SupportsIndex):
        return (check.count(name, value, most=MOST_FEATURES),) * k
    iterable = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    values = tuple(value) if iterable else ()
    check.require(len(values) == k, name, f"an integer or a sequence of {k} integers", value)
    return tuple(check.count(f"{name}[{i}]", one, most=MOST_FEATURES) for i, one in enumerate(values))


def _shortest(value: object) -> object:
    """One number for a list of equal ones."""
    return value[0] if isinstance(value, list) and len(set(value)) == 1 else value


def _of_space(name: str, bounds: ArrayLike, call: str) -> Array:
    """Bounds of a space, or what to do if it has none."""
    array = floats(name, bounds)
    unbounded = ~(np.abs(array) < UNBOUNDED)
    if unbounded.any():
        raise ValueError(
            f"{name} must be passed, as in {call}, since env.observation_space has no bounds of its own: "
            f"choose the range in which the observations of interest lie (others are clipped to it); "
            f"got {name}{where(unbounded)} = {array[unbounded][0]} from the environment"
        )
    return array


def _in_place_of(space: Any, name: str, bounds: ArrayLike) -> Array:
    """Bounds from the user, of the shape of the space."""
    array = floats(name, bounds)
    if array.shape != space.shape:
        raise ValueError(f"{name} must have the shape of observations, {space.shape}, got {array.shape}")
    return array
