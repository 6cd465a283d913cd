"""Arrays as parts of one: a kernel receives a state in a single array and cuts it into the fields it has.

Numba takes its time to receive an array from Python, and more to slice and reshape one: there it counts who
still needs the memory. A part of an argument needs no such care, as whoever called keeps the whole. So a part
must not outlive the call; outside of compiled kernels parts are ordinary views.
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
    """The float64 from entry ``start`` on, in this shape."""
    return array[start : start + math.prod(shape)].reshape(shape)


def singles(array: Array, start: int, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The float32 that are stored in the entries from ``start`` on."""
    return array[start:].view(np.float32)[: math.prod(shape)].reshape(shape)


def integers(array: Array, start: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The int64 that are stored in the entries from ``start`` on."""
    return array[start : start + math.prod(shape)].view(np.int64).reshape(shape)


def packed_levels(levels: Levels) -> Array:
    """A stack in one array of floats, since Numba takes its time to receive each array."""
    capacity, d, _ = levels.rows.shape
    counts = np.concatenate((levels.size, levels.rotations)).view(np.float64)  # the same bits
    return np.concatenate(([capacity, d], levels.logdet, levels.beta, counts, levels.rows.reshape(-1)))


def unpacked_levels(fields: Array, start: int) -> Levels:
    """The stack that was packed, from entry ``start`` on; it shares the memory of ``fields``."""
    C, d = int(fields[start]), int(fields[start + 1])
    first = start + 2
    return Levels(
        doubles(fields, first + 4 * C, (C, d, d + 2)),
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
