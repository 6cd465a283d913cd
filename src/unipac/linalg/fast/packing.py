"""Many arrays packed into one: a kernel receives a state as a single array and splits it into its fields.

Numba is slow to receive an array from Python, and slower to slice and reshape one, since it counts references
to the memory. Parts of an argument need no such count, because the caller keeps the whole array alive. So a
part must not outlive the call. Outside of compiled kernels parts are ordinary views.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import intrinsic
from unipac.linalg.levels import Levels


def doubles(array: Array, start: int, shape: tuple[int, ...]) -> Array:
    """The float64 numbers from entry ``start`` on, in this shape."""
    return array[start : start + math.prod(shape)].reshape(shape)


def singles(array: Array, start: int, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The float32 numbers stored in the entries from ``start`` on."""
    return array[start:].view(np.float32)[: math.prod(shape)].reshape(shape)


def integers(array: Array, start: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The int64 numbers stored in the entries from ``start`` on."""
    return array[start : start + math.prod(shape)].view(np.int64).reshape(shape)


def packed_levels(levels: Levels) -> Array:
    """A stack of levels in one array of floats, since Numba takes time to receive each array."""
    capacity, d, columns = levels.rows.shape
    counts = np.concatenate((levels.size, levels.rotations)).view(np.float64)  # the same bits
    return np.concatenate(
        ([capacity, d, columns], levels.logdet, levels.beta, counts, levels.rows.reshape(-1))
    )


def unpacked_levels(fields: Array, start: int) -> Levels:
    """The stack of levels packed from entry ``start`` on; it shares the memory of ``fields``."""
    C, d, columns = int(fields[start]), int(fields[start + 1]), int(fields[start + 2])
    first = start + 3
    return Levels(
        doubles(fields, first + 4 * C, (C, d, columns)),
        doubles(fields, first, (C,)),
        doubles(fields, first + C, (C,)),
        integers(fields, first + 2 * C, (C,)),
        integers(fields, first + 3 * C, (C,)),
    )


def _pointer_to(kind: Any) -> Any:
    @intrinsic
    def pointer(typing: Any, array: Any, start: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            entry = builder.gep(data, [args[1]])
            return builder.bitcast(entry, context.get_value_type(sig.return_type))

        return types.CPointer(kind)(array, types.intp), emit

    return pointer


_to_doubles = _pointer_to(types.float64)
_to_singles = _pointer_to(types.float32)
_to_integers = _pointer_to(types.int64)

overload(doubles)(
    lambda array, start, shape: lambda array, start, shape: numba.carray(_to_doubles(array, start), shape)
)
overload(singles)(
    lambda array, start, shape: lambda array, start, shape: numba.carray(_to_singles(array, start), shape)
)
overload(integers)(
    lambda array, start, shape: lambda array, start, shape: numba.carray(_to_integers(array, start), shape)
)
