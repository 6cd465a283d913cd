"""The one way in which this library compiles a kernel."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

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
    return _compiled(function)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """As ``jit``, but copied into the kernels that call it: passing many arrays takes time."""
    return _compiled(function, inline="always")


def reassociated(function: Callable[P, T]) -> Callable[P, T]:
    """As ``jit``, but sums may be taken in any order, several terms at once.

    For sums whose last bits do not matter: those that only enter a bound with room for rounding.
    """
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"})


def _compiled(function: Callable[P, T], **options: Any) -> Callable[P, T]:
    compiled = numba.njit(cache=True, error_model="numpy", **options)(function)
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cache_file is not None and _SOURCES:
        # Numba recompiles a kernel when its own file changes, but not when a kernel that it contains does.
        cache_file._source_stamp = _SOURCES
    return cast(Callable[P, T], compiled)


def _fingerprint() -> str:
    """Of all source files of the package, by size and time; empty if they are not files."""
    package = Path(__file__).parent
    sources = [(str(path.relative_to(package)), path.stat()) for path in sorted(package.rglob("*.py"))]
    text = "".join(f"{name} {stat.st_size} {stat.st_mtime_ns}\n" for name, stat in sources)
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


_SOURCES = _fingerprint()


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
