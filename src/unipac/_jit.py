"""The one way in which this library compiles a kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba
from numba.core import event

P = ParamSpec("P")
T = TypeVar("T")


def jit(function: Callable[P, T]) -> Callable[P, T]:
    """Compile ``function`` with Numba, once per installation: the result is cached on disk.

    Division by zero gives an infinity as in NumPy. Kernels work on float64 and int64 arrays in C
    order; what users pass is converted before, so that no kernel is compiled a second time. For the same
    reason a kernel does not pass a literal number to another one, but ``int(np.int64(1))``.
    """
    compiled = numba.njit(cache=True, error_model="numpy")(function)
    return cast(Callable[P, T], compiled)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """As ``jit``, but copied into the kernels that call it: passing many arrays takes time."""
    return cast(Callable[P, T], numba.njit(cache=True, error_model="numpy", inline="always")(function))


def reassociated(function: Callable[P, T]) -> Callable[P, T]:
    """As ``jit``, but sums may be taken in any order, several terms at once.

    For sums whose last bits do not matter: those that only enter a bound with room for rounding.
    """
    flags = {"reassoc", "contract", "nsz"}
    compiled = numba.njit(cache=True, error_model="numpy", fastmath=flags)(function)
    return cast(Callable[P, T], compiled)


class _CompileNotice(event.Listener):  # type: ignore[misc]
    """Says once per process that kernels are being compiled; a cache hit stays silent."""

    said = False

    def on_start(self, event: event.Event) -> None:
        function = getattr(event.data["dispatcher"], "py_func", None)
        module = getattr(function, "__module__", None) or ""  # None for functions made by exec
        if not self.said and module.startswith("unipac"):
            self.said = True
            print("unipac: compiling its kernels, once per installation ...", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _CompileNotice())
