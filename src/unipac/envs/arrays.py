"""Types of the instances' arrays, and the forms in which they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array, Integers


def read_only(array: NDArray[Any]) -> Array:
    """A read-only, C-contiguous float64 copy of `array`."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def integers(name: str, values: ArrayLike) -> Integers:
    """The values as an int64 array in C order; not copied if they are one already."""
    if type(values) is np.ndarray and values.dtype == np.int64 and values.flags.carray:
        return values
    array = np.asarray(values)
    check.require(array.dtype.kind in "iu", name, "an array of integers", array.dtype)
    return np.array(array, dtype=np.int64, order="C")
