"""Convert arrays from users to the one form that the kernels accept, and check them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac._arrays import Array
from unipac._jit import jit, reassociated

Scalar = TypeVar("Scalar", bound=np.generic)

NORM_TOLERANCE = 1e-6
"""The relative amount by which ‖x‖ may exceed its bound, as this counts as rounding."""

LARGEST_REWARD = 1e100

_ndarray = np.ndarray
_float64 = np.dtype(np.float64)


def floats(name: str, values: ArrayLike) -> Array:
    """A writable float64 array in C order: with a single form each kernel is compiled only once."""
    if type(values) is _ndarray and values.dtype is _float64 and values.flags.carray:
        return values  # the usual case, kept fast
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub" or np.ma.is_masked(values):
            raise TypeError
        return np.require(array, np.float64, ["C", "W", "A"])
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, got {_describe(values)}") from None


def _describe(values: object) -> str:
    if isinstance(values, np.ma.MaskedArray):
        return "a masked array"
    if isinstance(values, np.ndarray):
        return f"an array of type {values.dtype}"
    text = repr(values)
    return f"{type(values).__name__} {text if len(text) < 60 else text[:56] + ' ...'}"


def action_array(name: str, actions: ArrayLike, dim: int, *, sequence: bool = False, least: int = 1) -> Array:
    """An (n, d) array with n >= ``least``; if ``sequence``, a (T, n, d) array of T such sets is also accepted."""
    X = floats(name, actions)
    shape = X.shape
    fits = len(shape) == 2 or (sequence and len(shape) == 3)
    if not fits or shape[-1] != dim or shape[-2] < least:
        shapes = f"(n, {dim}) or (T, n, {dim})" if sequence else f"(n, {dim})"
        raise ValueError(f"{name} must have shape {shapes} with n >= {least}, got {X.shape}")
    return X


def check_norms(name: str, X: Array, largest: float) -> None:
    """Refuse actions that are not finite or whose norm exceeds ``largest``."""
    rows = X if X.ndim == 2 else X.reshape(-1, X.shape[-1])
    bad = first_invalid(rows, largest_norm(largest))
    if bad < 0:
        return
    where = f"{name}[{bad}]" if X.ndim == 2 else f"{name}[{bad // X.shape[1]}, {bad % X.shape[1]}]"
    if not np.isfinite(rows[bad]).all():
        raise ValueError(f"{name} must be finite, got {where} = {rows[bad]}")
    with np.errstate(over="ignore"):
        norm = np.linalg.norm(rows[bad])
    raise ValueError(
        f"{name} must have norms of at most {largest:g} (the argument action_norm), "
        f"got {where} of norm {norm:.9g}"
    )


@jit
def largest_norm(bound: float) -> float:
    """The largest norm that is accepted under this bound, with room for rounding."""
    return bound * (1.0 + NORM_TOLERANCE)


@reassociated
def first_invalid(X: Array, largest_norm: float) -> int:
    """The index of the first row that is not finite or too long; -1 if there is none."""
    n, d = X.shape
    for k in range(n):
        norm2 = 0.0
        for j in range(d):
            norm2 += X[k, j] * X[k, j]
        if not norm2 <= largest_norm * largest_norm:  # also true for NaN
            return k
    return -1


def check_rewards(name: str, array: Array) -> None:
    """Refuse NaN, infinities, and numbers whose squares would become infinite."""
    if not within(array.reshape(-1), LARGEST_REWARD):
        bad = tuple(int(i) for i in np.argwhere(~(np.abs(array) <= LARGEST_REWARD))[0])
        raise ValueError(
            f"{name} must be finite and within ±{LARGEST_REWARD:g}, got {name}{list(bad)} = {array[bad]}"
        )


@jit
def within(values: Array, largest: float) -> bool:
    """Whether all values are finite and at most ``largest`` in absolute value."""
    bad = 0
    for k in range(values.size):
        bad += not abs(values[k]) <= largest  # also true for NaN
    return bad == 0


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """A view of the array that cannot be written."""
    view = array.view()
    view.setflags(write=False)
    return view
