"""Arrays of the instances: their types, and the forms in which they are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array, Integers


def read_only(array: NDArray[Any]) -> Array:
    """A C-contiguous copy of `array` that nobody can write to."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def integers(name: str, values: ArrayLike) -> Integers:
    """An int64 array in C order."""
    if type(values) is np.ndarray and values.dtype == np.int64 and values.flags.carray:
        return values
    array = np.asarray(values)
    check.require(array.dtype.kind in "iu", name, "an array of integers", array.dtype)
    return np.array(array, dtype=np.int64, order="C")
