"""Checks of arguments, with messages that name the argument, the wish and what came."""

import operator
from typing import SupportsIndex


def require(holds: bool, name: str, expected: str, value: object) -> None:
    """Raise ``ValueError`` unless `holds`."""
    if not holds:
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def integer(name: str, value: SupportsIndex, minimum: int) -> int:
    """`value` as an ``int`` which is at least `minimum`."""
    expected = f"an integer >= {minimum}"
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be {expected}, got {value!r}") from None
    require(number >= minimum, name, expected, value)
    return number
