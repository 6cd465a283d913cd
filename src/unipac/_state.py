"""The state of an agent, named tuples of arrays, as arrays by name; copies and checks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

LARGEST_SUM = 1e120
"""Larger sums of rewards are refused; the square of this number does not overflow."""


def flatten(name: str, value: Any, arrays: Arrays, random: dict[str, Any]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
    elif isinstance(value, np.random.Generator):
        random[name] = value.bit_generator.state
    else:
        for field, part in zip(value._fields, value, strict=True):
            flatten(f"{name}.{field}", part, arrays, random)


def unflattened(name: str, model: Any, arrays: Mapping[str, NDArray[Any]], random: Mapping[str, Any]) -> Any:
    """The value of this name in the form of ``model``, whose types and numbers of axes the arrays must have."""
    if isinstance(model, np.ndarray):
        array = arrays[name]
        if array.dtype != model.dtype or array.ndim != model.ndim:
            raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}")
        return np.array(array, order="C")
    if isinstance(model, np.random.Generator):
        generator = np.random.default_rng()
        generator.bit_generator.state = random[name]
        return generator
    parts = zip(model._fields, model, strict=True)
    return type(model)(*(unflattened(f"{name}.{field}", part, arrays, random) for field, part in parts))


def copied(value: Any) -> Any:
    """A state with arrays of its own."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return type(value)(*map(copied, value))


def check_like(value: Any, model: Any, name: str = "state") -> None:
    """Refuse a state unless its arrays have the shapes of ``model`` and none of their numbers is too large."""
    if isinstance(model, np.ndarray):
        if value.shape != model.shape or not (np.abs(value) <= LARGEST_SUM).all():
            raise ValueError(f"{name} has shape {value.shape}, or numbers that are too large")
    elif not isinstance(model, np.random.Generator):
        for field, part, other in zip(model._fields, value, model, strict=True):
            check_like(part, other, f"{name}.{field}")
