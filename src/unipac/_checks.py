"""Checks of arguments: each ``ValueError`` names the argument, what was expected and what was passed."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import SupportsFloat, SupportsIndex, cast

import numpy as np

LARGEST = 1e50
"""Scales beyond this, or below its inverse, are refused: squares and products must not overflow."""

MOST_VALUES = 64
"""The most values of a parameter that takes several."""

LARGEST_COUNT = 2**62
"""Larger counts are refused, so that 64-bit counters do not overflow."""


def require(holds: bool, name: str, expected: str, value: object) -> None:
    """Raise a ``ValueError`` unless the condition holds."""
    if not holds:
        raise ValueError(f"{name} must be {expected}, got {shown(value)}")


def shown(value: object) -> str:
    """A value as text for a message, cut to two lines; Python refuses to write very long integers."""
    try:
        text = repr(value)
    except ValueError:
        text = f"a {type(value).__name__} of too many digits"
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:160]} ... {text[-30:]}"


def real(name: str, value: SupportsFloat) -> float:
    """A finite number; text, complex numbers and arrays with axes are refused."""
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    number = math.nan
    scalar = not isinstance(value, np.ndarray) or (value.ndim == 0 and value is not np.ma.masked)
    if scalar and not isinstance(value, (str, bytes, bytearray, complex, np.complexfloating)):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            number = float(value)
    require(math.isfinite(number), name, "a finite number", value)
    return number


def positive(name: str, value: SupportsFloat) -> float:
    """A number above zero, of a size at which squares and products stay finite."""
    number = real(name, value)
    require(number > 0, name, "> 0", value)
    require(1 / LARGEST <= number <= LARGEST, name, f"from {1 / LARGEST:g} to {LARGEST:g}", value)
    return number


def nonnegative(name: str, value: SupportsFloat) -> float:
    """A number of at least zero, small enough to be squared."""
    number = real(name, value)
    require(number >= 0, name, ">= 0", value)
    require(number <= LARGEST, name, f"at most {LARGEST:g}", value)
    return number


def scale(name: str, value: SupportsFloat) -> float:
    """Zero, or a number of a size at which squares, products and quotients stay finite."""
    return positive(name, value) if nonnegative(name, value) > 0 else 0.0


def probability(name: str, value: SupportsFloat) -> float:
    """A number strictly between 0 and 1, large enough to be divided among levels."""
    number = share(name, value)
    require(number >= 1e-280, name, "at least 1e-280", value)
    return number


def share(name: str, value: SupportsFloat) -> float:
    """A part of a probability, strictly between 0 and 1; it may be smaller than `probability` allows."""
    number = real(name, value)
    require(0 < number < 1, name, "strictly between 0 and 1", value)
    require(number >= 1e-300, name, "at least 1e-300", value)
    return number


def flag(name: str, value: object) -> bool:
    """True or False."""
    require(isinstance(value, (bool, np.bool_)), name, "True or False", value)
    return bool(value)


def count(name: str, value: SupportsIndex, *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """An integer from ``least`` to ``most``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        unsaid = most >= LARGEST_COUNT and (number is None or number <= most)
        limit = "" if unsaid else f" and <= {most}"
        raise ValueError(f"{name} must be an integer >= {least}{limit}, got {shown(value)}")
    return number


def seed(name: str, value: SupportsIndex) -> int:
    """A seed: an integer from 0 on, of at most 128 bits, as the system draws them."""
    return count(name, value, least=0, most=2**128 - 1)


def identity(name: str, value: SupportsIndex) -> int:
    """The id of an agent's decision: they begin anywhere below 2^62, and are counted on from there."""
    return count(name, value, least=0, most=2**63)


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """One of the allowed words."""
    require(
        isinstance(value, str) and value in allowed, name, f"one of {', '.join(map(repr, allowed))}", value
    )
    return value


def at_least_one(name: str, value: SupportsFloat) -> float:
    """A number of at least 1."""
    number = real(name, value)
    require(1.0 <= number <= LARGEST, name, f"from 1 to {LARGEST:g}", value)
    return number


def choice(*allowed: str) -> Callable[[str, str], str]:
    """Make a check that accepts only these words."""
    return lambda name, value: one_of(name, value, allowed)


def optional_choice(*allowed: str) -> Callable[[str, str | None], str | None]:
    """Make a check that accepts only these words and None."""
    return lambda name, value: None if value is None else one_of(name, value, allowed)


def increasing(name: str, value: SupportsFloat | Sequence[SupportsFloat]) -> float | tuple[float, ...]:
    """A number of at least zero, or several increasing ones; a sequence of one number counts as that number."""
    several = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if not several or not isinstance(value, (Sequence, np.ndarray)):
        return nonnegative(name, cast(SupportsFloat, value))
    words = f"a number, or from 1 to {MOST_VALUES} numbers that increase"
    require(1 <= len(value) <= MOST_VALUES, name, words, value)
    numbers = tuple(nonnegative(name, number) for number in value)
    require(all(a < b for a, b in itertools.pairwise(numbers)), name, words, value)
    return numbers if len(numbers) > 1 else numbers[0]


def optional_range(name: str, value: Sequence[SupportsFloat] | None) -> tuple[float, float] | None:
    """Two finite numbers (low, high) with low < high, or None."""
    return None if value is None else value_range(name, value)


def value_range(name: str, value: Sequence[SupportsFloat]) -> tuple[float, float]:
    """Two finite numbers (low, high) with low < high."""
    pair = isinstance(value, (tuple, list, np.ndarray)) and len(value) == 2
    require(pair, name, "(low, high) with low < high", value)
    low, high = (real(name, number) for number in value)
    sound = low < high and max(abs(low), abs(high)) <= LARGEST
    require(sound, name, f"(low, high) with low < high, within ±{LARGEST:g}", value)
    return low, high
