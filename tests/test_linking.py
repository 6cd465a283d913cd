"""Kernels and their parts: the same numbers as in Python, compiled once, linked once."""

from __future__ import annotations

import re
import sys

import numba
import numpy as np
import pytest

from unipac import _jit
from unipac._linking import Kernel
from unipac.weights import RunningMean, kernels as weights

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@_jit.jit
def _square(x):
    return x * x


@_jit.jit
def _left(x):
    return _square(x) + 1.0


@_jit.inlined
def _right(x):
    return _square(x) - 1.0


@_jit.jit
def _both(values, out):
    for i in range(values.size):
        out[i] = _left(values[i]) / _right(values[i])


def test_a_kernel_is_equal_to_python():
    values, out, expected = np.linspace(-2.0, 2.0, 9), np.empty(9), np.empty(9)
    _both(values, out)
    with np.errstate(divide="ignore"):
        for i, x in enumerate(values):
            expected[i] = np.float64(x * x + 1.0) / (x * x - 1.0)  # at ±1 by zero: an infinity, as in NumPy
    np.testing.assert_array_equal(out, expected)


def test_a_part_has_no_machine_code_of_its_own():
    _both(np.ones(2), np.empty(2))
    assert isinstance(_square, Kernel)
    assert not _square.overloads
    assert len(_square.part.overloads) <= 1  # one for two callers, none where these come from the cache
    _square.part.compile((numba.float64,))
    (made,) = _square.part.overloads.values()
    assert made.library._final_module is not None
    assert not made.library._codegen._engine.is_symbol_defined(made.fndesc.mangled_name)


OPTIONS = {"nopython": True, "error_model": "numpy"}
"""Of kernels that are not read from the disk: those cannot be inspected."""


def _halves_of(values):
    left = values[: values.size // 2].copy()
    return left, values[values.size // 2 :]


def _sums_of(values, times):
    total = 0.0
    kept = values
    for k in range(times):
        left, right = _halves(kept)
        total += left.sum() - right[0]
        if k % 3 == 0:
            kept = np.append(left, right)
    return total


_halves = Kernel(_halves_of, OPTIONS)
_sums = Kernel(_sums_of, OPTIONS)


@pytest.fixture
def _statistics():
    from numba.core.runtime import _nrt_python

    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.usefixtures("_statistics")
def test_references_are_counted_without_locks_and_nothing_is_lost_or_freed_too_soon():
    from numba.core.runtime import rtsys

    def has_locks(kernel):
        (signature,) = kernel.signatures
        return re.search(r"^\s+lock\s", kernel.inspect_asm(signature), re.MULTILINE) is not None

    values = np.arange(10.0)
    held, expected = sys.getrefcount(values), _sums.py_func(values, 50)
    assert _sums(values, 50) == expected
    before = rtsys.get_allocation_stats()
    for _ in range(100):
        assert _sums(values, 50) == expected
    after = rtsys.get_allocation_stats()
    made = after.mi_alloc - before.mi_alloc
    assert made > 100 * 50  # control: the kernel did make arrays
    assert after.mi_free - before.mi_free == made
    assert sys.getrefcount(values) == held
    assert not has_locks(_sums)

    @numba.njit
    def atomic(values):
        kept = values
        for k in range(5):
            kept = np.append(kept[:2], values) if k % 2 else values
        return kept[0]

    atomic(values)
    assert has_locks(atomic)  # control: Numba's own code has them, and they are found


def test_python_can_call_what_kernels_call():
    assert _square(3.0) == 9.0  # compiled on its own
    assert _left(3.0) == 10.0


def test_what_another_package_compiles_may_call_our_kernels():
    @numba.njit
    def outside(x):
        return _left(x) * 2.0

    assert outside(2.0) == 10.0


def test_kernels_that_python_called_before_do_not_disturb_those_outside():
    """Bounds by weights: two kernels of Python, then a function that calls what is inside of both."""
    mean = RunningMean(reward_range=(0.0, 1.0))
    mean.add(1.0, 0.5)
    mean.lower(0.1)
    bets, rooms, priors, (totals, products, logs) = mean._bets, mean._rooms, mean._log_priors, mean._state

    @numba.njit
    def outside(bets, rooms, priors, totals, products, logs):
        none = np.nan
        weights.add_one(
            1.0, 0.5, 0.0, 0.0, 0.0, none, False, False, np.inf, bets, rooms, totals, products, logs
        )
        return weights._log_mixture(bets, priors, products[0], logs[0], 1.0)

    found = outside(bets, rooms, priors, totals, products, logs)
    assert mean.rounds == 2
    assert found == weights._log_mixture.py_func(bets, priors, products[0], logs[0], 1.0)
