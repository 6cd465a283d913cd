"""Checks of arguments: each raises a ``ValueError`` that names the argument and what came."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import SupportsFloat, SupportsIndex

LARGEST_COUNT = 2**62
"""More rounds than this do not fit the 64-bit counters."""


def real(name: str, value: SupportsFloat) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def positive(name: str, value: SupportsFloat) -> float:
    """A finite number above zero."""
    number = real(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be > 0, got {number}")
    return number


def nonnegative(name: str, value: SupportsFloat) -> float:
    """A finite number, zero or above."""
    number = real(name, value)
    if number < 0:
        raise ValueError(f"{name} must be >= 0, got {number}")
    return number


def probability(name: str, value: SupportsFloat) -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {number}")
    return number


def count(name: str, value: SupportsIndex, *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """An integer between ``least`` and ``most``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, got {value!r}") from None
    if isinstance(value, bool) or not least <= number <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value}")
    return number


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """One of some words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value
