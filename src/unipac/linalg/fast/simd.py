"""Four float64 side by side, for kernels that keep their sums in the vector registers of the processor.

Numba relies on the compiler to vectorise loops. The compiler does not vectorise the short triangular loops of
this library, so their kernels do it explicitly:

    total = simd.zero()
    for j in range(0, d, 4):
        total += simd.load(rows, i * d + j) * simd.load(x, j)

Outside of compiled kernels four lanes are an array of size four, and these are ordinary Python functions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from unipac._arrays import Array

Lanes = Array

WIDTH = 4


# -- what they do --------------------------------------------------------------------------------------


def zero() -> Lanes:
    """Four zeros."""
    return np.zeros(WIDTH)


def load(array: Array, start: int) -> Lanes:
    """Four entries of an array in C order, from the flat index ``start``; the index is not checked."""
    return array.reshape(-1)[start : start + WIDTH].copy()


def gather(array: Array, start: int, stride: int) -> Lanes:
    """Four entries of an array, ``stride`` apart from the flat index ``start``."""
    return array.reshape(-1)[start : start + WIDTH * stride : stride].copy()


def store(array: Array, start: int, a: Lanes) -> None:
    """Write four entries of an array in C order, from the flat index ``start``."""
    array.reshape(-1)[start : start + WIDTH] = a


def add_product(a: Lanes, number: float, b: Lanes) -> Lanes:
    """A + number b, rounded once or twice, whichever is faster on the processor."""
    return np.asarray(a + number * b)


def sums(a: Lanes, b: Lanes, c: Lanes, d: Lanes) -> Lanes:
    """The sums of the lanes of a, of b, of c and of d."""
    return np.array([total(a), total(b), total(c), total(d)])


def total(a: Lanes) -> float:
    """The sum of four lanes."""
    return float((a[0] + a[1]) + (a[2] + a[3]))


# -- how they are compiled -----------------------------------------------------------------------------

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_UNDEFINED = ir.Constant(_VECTOR, ir.Undefined)
_int32 = ir.IntType(32)


class _LanesType(types.Type):  # type: ignore[misc]  # Numba has no types
    def __init__(self) -> None:
        super().__init__(name="unipac.lanes")


_lanes = _LanesType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]  # Numba has no types
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _VECTOR)


def _entry(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """The address of the entry with this flat index, in C order."""
    assert array_type.layout == "C", array_type
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def _shuffled(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_int32, WIDTH), lanes))


def _spread(builder: Any, number: Any) -> Any:
    """The same number in all lanes."""
    return _shuffled(builder, _with(builder, _UNDEFINED, number, 0), _UNDEFINED, [0] * WIDTH)


def _with(builder: Any, vector: Any, number: Any, lane: int) -> Any:
    return builder.insert_element(vector, number, ir.Constant(_int32, lane))


def _pairs(builder: Any, a: Any, b: Any, even: list[int], odd: list[int]) -> Any:
    return builder.fadd(_shuffled(builder, a, b, even), _shuffled(builder, a, b, odd))


Emit = Callable[[Any, Any, Any, Any], Any]


def _compiled_to(function: Callable[..., Any], result: Any, *kinds: Any) -> Callable[[Emit], Emit]:
    """Compile calls of a function to what the decorated one emits; arguments are of these types, or arrays.

    An ``overload`` would do the same, but each would be one more function for Numba to compile.
    """

    @infer_global(function)
    class Signature(AbstractTemplate):  # type: ignore[misc]  # Numba has no types
        def generic(self, args: Any, kws: Any) -> Any:
            taken = [arg if kind is types.Array else kind for arg, kind in zip(args, kinds, strict=True)]
            return signature(result, *taken)

    return cast(Callable[[Emit], Emit], lower_builtin(function, *kinds))


@_compiled_to(zero, _lanes)
def _zero(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return ir.Constant(_VECTOR, [0.0] * WIDTH)


@_compiled_to(load, _lanes, types.Array, types.intp)
def _load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    entry = _entry(context, builder, sig.args[0], args[0], args[1])
    return builder.load(builder.bitcast(entry, _VECTOR.as_pointer()), align=8)


@_compiled_to(gather, _lanes, types.Array, types.intp, types.intp)
def _gather(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vector, index = _UNDEFINED, args[1]
    for lane in range(WIDTH):
        number = builder.load(_entry(context, builder, sig.args[0], args[0], index))
        vector = _with(builder, vector, number, lane)
        index = builder.add(index, args[2])
    return vector


@_compiled_to(store, types.void, types.Array, types.intp, _lanes)
def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    entry = _entry(context, builder, sig.args[0], args[0], args[1])
    builder.store(args[2], builder.bitcast(entry, _VECTOR.as_pointer()), align=8)
    return context.get_dummy_value()


@_compiled_to(add_product, _lanes, _lanes, types.float64, _lanes)
def _add_product(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f64")
    return builder.call(function, [_spread(builder, args[1]), args[2], args[0]])


@_compiled_to(sums, _lanes, _lanes, _lanes, _lanes, _lanes)
def _sums(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    ab = _pairs(builder, args[0], args[1], [0, 4, 2, 6], [1, 5, 3, 7])
    cd = _pairs(builder, args[2], args[3], [0, 4, 2, 6], [1, 5, 3, 7])
    return _pairs(builder, ab, cd, [0, 1, 4, 5], [2, 3, 6, 7])


@_compiled_to(total, types.float64, _lanes)
def _total(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    lane = [builder.extract_element(args[0], ir.Constant(_int32, k)) for k in range(WIDTH)]
    return builder.fadd(builder.fadd(lane[0], lane[1]), builder.fadd(lane[2], lane[3]))


def _define(operation: Callable[..., Any], instruction: str) -> None:
    """Define an operation between lanes and lanes, or lanes and one number for all of them."""

    @infer_global(operation)
    class Signature(AbstractTemplate):  # type: ignore[misc]  # Numba has no types
        def generic(self, args: Any, kws: Any) -> Any:
            fits = len(args) == 2 and _lanes in args and all(a in (_lanes, types.float64) for a in args)
            return signature(_lanes, *args) if fits else None

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        operands = [
            _spread(builder, value) if kind == types.float64 else value
            for kind, value in zip(sig.args, args, strict=True)
        ]
        return getattr(builder, instruction)(*operands)

    for kinds in ((_lanes, _lanes), (_lanes, types.float64), (types.float64, _lanes)):
        lower_builtin(operation, *kinds)(emit)


_define(operator.add, "fadd")
_define(operator.iadd, "fadd")
_define(operator.mul, "fmul")
