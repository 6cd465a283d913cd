"""Checks of arguments: a ``ValueError`` names the argument, what is expected and what came."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import SupportsFloat, SupportsIndex

LARGEST_COUNT = 2**62
"""More rounds than this do not fit the 64-bit counters."""


def require(holds: bool, name: str, expected: str, value: object) -> None:
    """Raise unless the condition holds."""
    if not holds:
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def real(name: str, value: SupportsFloat) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    require(math.isfinite(number), name, "a finite number", value)
    return number


def positive(name: str, value: SupportsFloat) -> float:
    """A finite number above zero."""
    number = real(name, value)
    require(number > 0, name, "> 0", value)
    return number


def nonnegative(name: str, value: SupportsFloat) -> float:
    """A finite number, zero or above."""
    number = real(name, value)
    require(number >= 0, name, ">= 0", value)
    return number


def probability(name: str, value: SupportsFloat) -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    require(0 < number < 1, name, "strictly between 0 and 1", value)
    return number


def count(name: str, value: SupportsIndex, *, least: int = 1, most: int | None = None) -> int:
    """An integer from ``least`` on, up to ``most``."""
    expected = f"an integer >= {least}" + ("" if most is None else f" and <= {most}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be {expected}, got {value!r}") from None
    fits = number >= least and (most is None or number <= most)
    require(fits and not isinstance(value, bool), name, expected, value)
    return number


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """One of some words."""
    require(value in allowed, name, f"one of {', '.join(map(repr, allowed))}", value)
    return value
