"""Reading arrays of numbers by stage, state and action, and the errors for wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.arrays import read_only

SUM_TOLERANCE = 1e-9
"""Largest difference between the sum of a distribution and 1."""

MOST_ENTRIES = 2**25
"""How many numbers the tables of one MDP may have: a quarter of a gigabyte."""

Shape = Sequence[int | str]


def numbers(name: str, value: ArrayLike, expected: str) -> NDArray[np.generic]:
    """An array of real numbers of any shape, not copied."""
    try:
        raw = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of shape {expected}, got a ragged one") from error
    check.require(raw.dtype.kind in "biuf", name, "an array of real numbers", raw.dtype)
    return raw


def array(name: str, value: ArrayLike, shape: Shape) -> Array:
    """A read-only copy of finite numbers; a letter in the shape stands for any positive number."""
    expected = words(shape)
    raw = numbers(name, value, expected)
    size = ", not empty" if any(isinstance(number, str) for number in shape) else ""
    require_shape(fits(raw.shape, shape), name, f"{expected}{size}", raw)
    return finite(name, raw)


def require_shape(holds: bool, name: str, expected: str, raw: NDArray[np.generic]) -> None:
    """Raise a ``ValueError`` unless the shape is right; transitions that begin with actions get a hint."""
    if holds:
        return
    shape, hint = raw.shape, ""
    if name == "transitions" and raw.ndim in (3, 4) and shape[-1] == shape[-2] != shape[-3]:
        axes = "1, 0, 2" if raw.ndim == 3 else "0, 2, 1, 3"
        first = "(A, S, S)" if raw.ndim == 3 else "(H, A, S, S)"
        hint = f"; if this is {first}, pass numpy.transpose(transitions, ({axes}))"
    raise ValueError(f"{name} must be of shape {expected}, got {shape}{hint}")


def finite(name: str, raw: NDArray[np.generic]) -> Array:
    """A read-only copy; numbers that are not finite are refused."""
    copy = read_only(raw)
    wrong = np.argwhere(~np.isfinite(copy))
    if len(wrong):
        index = tuple(int(number) for number in wrong[0])
        raise ValueError(f"{name} must be finite, got {copy[index]} at index {index}")
    return copy


def fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    """Whether a shape matches the wanted one, in which equal letters stand for equal numbers."""
    meaning: dict[str, int] = {}
    return len(shape) == len(wanted) and all(
        size > 0 and size == (meaning.setdefault(number, size) if isinstance(number, str) else number)
        for size, number in zip(shape, wanted, strict=True)
    )


def words(shape: Shape) -> str:
    """A shape as text."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def check_distributions(name: str, array: Array, places: Sequence[str | None]) -> None:
    """Refuse rows, along the last axis, that are not distributions."""
    refuse(name, array < 0, "non-negative", array, (*places, "next state" if places else "state"))
    sums = array.sum(axis=-1)
    refuse(name, np.abs(sums - 1) > SUM_TOLERANCE, "a distribution with sum 1", sums, places, "the sum ")


def refuse(
    name: str,
    wrong: ArrayLike,
    expected: str,
    values: Array,
    places: Sequence[str | None],
    kind: str = "",
) -> None:
    """Raise if an entry is wrong, and name its place. ``places`` names the axes; axes named None are left out."""
    indices = np.argwhere(np.atleast_1d(wrong))
    if len(indices) == 0:
        return
    index = [int(number) for number in indices[0]]
    value = float(np.atleast_1d(values)[tuple(index)])
    where = ", ".join(
        f"{place} {number + (place == 'stage')}"
        for place, number in zip(places, index, strict=False)
        if place is not None
    )
    where = f" at {where}" if where else ""
    raise ValueError(f"{name}{where} must be {expected}, got {kind}{value:.10g}")


def check_size(entries: int, what: str) -> None:
    """Refuse tables that would not fit into memory, before they are allocated."""
    if entries > MOST_ENTRIES:
        raise ValueError(
            f"{what} must need at most {MOST_ENTRIES} table entries ({_memory(MOST_ENTRIES)}), "
            f"got {entries} ({_memory(entries)})"
        )


def _memory(entries: int) -> str:
    mebibytes = entries / 2**17
    return f"{mebibytes:.0f} MiB" if mebibytes < 1024 else f"{mebibytes / 1024:.1f} GiB"
