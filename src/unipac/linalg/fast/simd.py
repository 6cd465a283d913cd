"""Four float64 side by side, for kernels that keep their sums in the vector registers of the processor.

Numba leaves it to the compiler to find loops that can be done four numbers at a time. The short triangular
ones of this library are not among those that it finds, so their kernels say it themselves:

    total = simd.zero()
    for j in range(0, d, 4):
        total += simd.load(rows, i * d + j) * simd.load(x, j)

Outside of compiled kernels four lanes are an array of size four, and the functions here do what they say.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, overload, register_model

from unipac._arrays import Array
from unipac._jit import intrinsic

Lanes = Array

WIDTH = 4


# -- what they do --------------------------------------------------------------------------------------


def zero() -> Lanes:
    """Four zeros."""
    return np.zeros(WIDTH)


def load(array: Array, start: int) -> Lanes:
    """Four entries of an array in C order, counted over all its axes; nobody checks that they exist."""
    return array.reshape(-1)[start : start + WIDTH].copy()


def gather(array: Array, start: int, stride: int) -> Lanes:
    """Four entries of an array, ``stride`` apart."""
    return array.reshape(-1)[start : start + WIDTH * stride : stride].copy()


def store(array: Array, start: int, a: Lanes) -> None:
    """Write four entries of an array in C order, counted over all its axes."""
    array.reshape(-1)[start : start + WIDTH] = a


def add_product(a: Lanes, number: float, b: Lanes) -> Lanes:
    """A + number b, rounded once or twice, as the processor does it faster."""
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
    """The address of an entry, counted in C order."""
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


@intrinsic
def _zero(typing: Any) -> Any:
    return _lanes(), lambda context, builder, sig, args: ir.Constant(_VECTOR, [0.0] * WIDTH)


@intrinsic
def _load(typing: Any, array: Any, start: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        entry = _entry(context, builder, sig.args[0], args[0], args[1])
        return builder.load(builder.bitcast(entry, _VECTOR.as_pointer()), align=8)

    return _lanes(array, types.intp), emit


@intrinsic
def _gather(typing: Any, array: Any, start: Any, stride: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector, index = _UNDEFINED, args[1]
        for lane in range(WIDTH):
            number = builder.load(_entry(context, builder, sig.args[0], args[0], index))
            vector = _with(builder, vector, number, lane)
            index = builder.add(index, args[2])
        return vector

    return _lanes(array, types.intp, types.intp), emit


@intrinsic
def _store(typing: Any, array: Any, start: Any, a: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        entry = _entry(context, builder, sig.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(entry, _VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes), emit


@intrinsic
def _add_product(typing: Any, a: Any, number: Any, b: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f64")
        return builder.call(function, [_spread(builder, args[1]), args[2], args[0]])

    return _lanes(_lanes, types.float64, _lanes), emit


@intrinsic
def _sums(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ab = _pairs(builder, args[0], args[1], [0, 4, 2, 6], [1, 5, 3, 7])
        cd = _pairs(builder, args[2], args[3], [0, 4, 2, 6], [1, 5, 3, 7])
        return _pairs(builder, ab, cd, [0, 1, 4, 5], [2, 3, 6, 7])

    return _lanes(_lanes, _lanes, _lanes, _lanes), emit


@intrinsic
def _total(typing: Any, a: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lane = [builder.extract_element(args[0], ir.Constant(_int32, k)) for k in range(WIDTH)]
        return builder.fadd(builder.fadd(lane[0], lane[1]), builder.fadd(lane[2], lane[3]))

    return types.float64(_lanes), emit


overload(zero)(lambda: lambda: _zero())
overload(load)(lambda array, start: lambda array, start: _load(array, start))
overload(gather)(lambda array, start, stride: lambda array, start, stride: _gather(array, start, stride))
overload(store)(lambda array, start, a: lambda array, start, a: _store(array, start, a))
overload(add_product)(lambda a, number, b: lambda a, number, b: _add_product(a, number, b))
overload(sums)(lambda a, b, c, d: lambda a, b, c, d: _sums(a, b, c, d))
overload(total)(lambda a: lambda a: _total(a))


def _define(operation: Callable[..., Any], instruction: str) -> None:
    """Lanes with lanes, or with one number for all of them."""

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
