"""Arrays from users, with errors that name them."""

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array

LARGEST = 1e100
"""Gaps, bounds and rewards beyond this are refused: their sums must not overflow."""


def numbers(name: str, values: ArrayLike) -> Array:
    """An array of real numbers; infinities and NaN are left to the caller."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub" and array.size > 0:
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of real numbers, got {check.shown(values)}") from None


def moderate(name: str, values: Array) -> Array:
    """The same, if no number is too large to be added up; NaN is left to the caller."""
    if values.size > 0 and np.abs(values).max(initial=0.0, where=~np.isnan(values)) > LARGEST:
        raise ValueError(f"{name} must be within ±{LARGEST:g}, got {check.shown(values)}")
    return values
