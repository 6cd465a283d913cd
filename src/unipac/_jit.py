"""The one way in which this library compiles a kernel, and keeps it.

A compiled kernel is kept on disk and found again as long as the *contents* of its module, and of all modules
of this package which that one imports, are the same (`stamp`): a kernel contains those that it calls,
wherever they are written. Times of files do not matter, nor do files that no kernel imports.

Numba chooses the folder: that of the variable ``NUMBA_CACHE_DIR``, ``__pycache__`` beside the module, or one
in the home directory. Where none of them can be written, kernels that somebody else compiled beside the
module are used, such as those that were compiled when an image was built, and others are compiled for the
process alone.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba import extending
from numba.core import caching, event

P = ParamSpec("P")
T = TypeVar("T")

ROOT = "unipac"
PACKAGE = Path(__file__).parent


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
    compiled = numba.njit(error_model="numpy", **options)(function)
    if hasattr(compiled, "_cache"):  # not so where compilation is switched off
        with contextlib.suppress(RuntimeError):  # no folder to keep it in: Numba compiles without
            compiled._cache = _Kept(function)
    return cast(Callable[P, T], compiled)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's decorator for functions that write LLVM code themselves."""
    return cast(Callable[..., Any], extending.intrinsic(function))


def cache_folder() -> str | None:
    """The folder in whose subfolders compiled kernels are kept; None if they are kept nowhere."""
    try:
        kept = _Kept(cache_folder)
    except RuntimeError:
        return None
    if not kept.writable:
        return None
    beside = isinstance(kept._impl.locator, caching.InTreeCacheLocator)
    return str(PACKAGE if beside else Path(kept.cache_path).parent)


# -- the cache on disk ---------------------------------------------------------------------------------


class _ReadOnly(caching.InTreeCacheLocator):  # type: ignore[misc]  # Numba has no types
    """The folder beside the module, where somebody else left kernels that we may only read."""

    def ensure_cache_path(self) -> None:
        """Nothing is written there."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        found = cls(py_func, py_file)
        return found if Path(found.get_cache_path()).is_dir() else None


class _Locations(caching.CompileResultCacheImpl):  # type: ignore[misc]  # Numba has no types
    """Numba's folders, and at last one that can only be read."""

    _locator_classes = (*caching.CompileResultCacheImpl._locator_classes, _ReadOnly)


class _Index(caching.IndexDataCacheFile):  # type: ignore[misc]  # Numba has no types
    """The list of a kernel's compiled forms; empty if it names types that the package no longer has."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # whatever unpickling may raise: as good as none
            return {}


class _Kept(caching.FunctionCache):  # type: ignore[misc]  # Numba has no types
    """Numba's cache of one kernel, valid while the contents of the sources are the same."""

    _impl_class = _Locations

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.writable = not isinstance(self._impl.locator, _ReadOnly)
        contents = stamp(function.__code__.co_filename)
        self._cache_file = _Index(
            cache_path=self.cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=contents or self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError:  # such as files of another user: as good as none
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self.writable:
            with contextlib.suppress(OSError):  # the disk is full, or was made read-only since
                super().save_overload(sig, data)


# -- what a kernel depends on --------------------------------------------------------------------------


@functools.cache
def stamp(filename: str) -> str:
    """A digest of a source file and of all files of the package that it imports, one through the other.

    Empty if there is no such file.
    """
    own = Path(filename)
    if not own.is_file():
        return ""
    found: set[Path] = set()
    waiting = {own}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= _imported(path) - found
    digest = hashlib.sha256()
    for path in (own, *sorted(found - {own})):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@functools.cache
def _imported(path: Path) -> frozenset[Path]:
    """The files of the package that a file imports, at its top or inside of functions."""
    found = set()
    stub = path.with_suffix(
        ".pyi"
    )  # a package imports its names when they are asked for; its stub lists them
    sources = [path, stub] if stub.is_file() else [path]
    for node in (node for source in sources for node in ast.walk(ast.parse(source.read_bytes()))):
        if isinstance(node, ast.Import):
            found |= {_source(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            found |= {_source(f"{base}.{alias.name}") or _source(base) for alias in node.names}
    return frozenset(source for source in found if source is not None)


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    """The name of the module from which names are imported."""
    if node.level == 0 or PACKAGE not in path.parents:
        return node.module or ""
    here = (ROOT, *path.relative_to(PACKAGE).parts[:-1])
    return ".".join((*here[: len(here) - node.level + 1], *filter(None, [node.module])))


@functools.cache
def _source(module: str) -> Path | None:
    """The file of a module of this package; None for other modules, and for names inside of a module."""
    root, *parts = module.split(".")
    if root != ROOT:
        return None
    path = PACKAGE.joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


# -- what is said about it -----------------------------------------------------------------------------


class _CompileNotice(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Says once per process that kernels are being compiled, and counts the time; a cache hit stays silent."""

    def __init__(self) -> None:
        self.silent = False
        self.told: Callable[[], None] | None = None
        self.seconds = 0.0
        self._depth = 0  # a kernel may compile those that it calls
        self._begin = 0.0

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._begin = time.perf_counter()
            if self.told is not None:
                self.told()
        self._depth += 1
        if self.told is None:
            self._say(event)

    def on_end(self, event: event.Event) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._begin

    def _say(self, event: event.Event) -> None:
        function = getattr(event.data["dispatcher"], "py_func", None)
        module = getattr(function, "__module__", None) or ""  # None for functions made by exec
        if self.silent or module.split(".")[0] != ROOT:
            return
        self.silent = True
        if cache_folder() is None:
            how = "in every process, as no folder to keep them can be written (NUMBA_CACHE_DIR can name one)"
        else:
            how = "once per installation; `unipac warm` compiles all of them"
        print(f"unipac: compiling kernels, {how} ...", file=sys.stderr)


_notice = _CompileNotice()
event.register("numba:compile", _notice)


def seconds() -> float:
    """How long this process has compiled kernels so far."""
    return _notice.seconds


def tell(listener: Callable[[], None]) -> None:
    """Call this whenever kernels are compiled, and print nothing: for a process that has no terminal of its own."""
    _notice.told = listener


@contextlib.contextmanager
def silently() -> Iterator[None]:
    """Without the notice that kernels are being compiled: for those who say it themselves."""
    before, _notice.silent = _notice.silent, True
    try:
        yield
    finally:
        _notice.silent = before
