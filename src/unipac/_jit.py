"""Compile kernels, and cache them on disk; all kernels of this library are compiled here.

A cached kernel is valid as long as the *contents* of its module are unchanged, and those of all modules of this
package that its module imports, directly or not (`stamp`). The imports matter because a compiled kernel contains
the kernels that it calls. The times of files do not matter, nor do files that no kernel imports.

Numba chooses the folder: the one in the variable ``NUMBA_CACHE_DIR``, ``__pycache__`` beside the module, or one
in the home directory. Where none of them can be written, this process still reads kernels that were compiled
beside the module before, such as when an image was built. It compiles the others for itself alone.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import pickle
import sys
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import llvmlite
import numba
from numba import extending
from numba.core import caching, event

from unipac._linking import Kernel

P = ParamSpec("P")
T = TypeVar("T")

ROOT = "unipac"
PACKAGE = Path(__file__).parent


def jit(function: Callable[P, T]) -> Callable[P, T]:
    """Compile ``function`` with Numba, once per installation: the result is cached on disk.

    Division by zero gives an infinity as in NumPy. Kernels work on float64 and int64 arrays in C order. Arrays from
    users are converted first, so that no kernel is compiled twice. For the same reason a kernel does not pass a
    literal number such as 1 to another kernel; it passes ``int(np.int64(1))``.
    """
    return _compiled(function)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Like ``jit``, but always inlined into the kernels that call it: passing many arrays takes time."""
    return _compiled(function, forceinline=True)


def reassociated(function: Callable[P, T]) -> Callable[P, T]:
    """Like ``jit``, but sums may be taken in any order, several terms at once.

    Use it for sums whose last bits do not matter: those that only enter a bound with room for rounding.
    """
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"})


_forms: dict[Any, dict[Any, Any]] = {}


def forms(*kind: Hashable) -> dict[Any, Any]:
    """The forms of kernels for one kind of agents, by kernel; agents share them, so types are looked at only once."""
    return _forms.setdefault(kind, {})


def form(kernel: Any, *examples: Any) -> Any:
    """A kernel for arguments of exactly these types, which Python calls faster; see ``Kernel.form``."""
    return kernel.form(*examples) if isinstance(kernel, Kernel) else kernel


def _compiled(function: Callable[P, T], **options: Any) -> Callable[P, T]:
    if numba.config.DISABLE_JIT:
        return function
    compiled = Kernel(
        function, {"nopython": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    )
    with contextlib.suppress(RuntimeError):  # without a folder for the cache, Numba compiles without one
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
    """The folder beside the module, with kernels that this process can read but not write."""

    def ensure_cache_path(self) -> None:
        """Do nothing: this folder is never written."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        locator = cls(py_func, py_file)
        return locator if Path(locator.get_cache_path()).is_dir() else None


class _Locations(caching.CompileResultCacheImpl):  # type: ignore[misc]  # Numba has no types
    """Numba's folders, and as a last resort one that can only be read."""

    _locator_classes = (*caching.CompileResultCacheImpl._locator_classes, _ReadOnly)


COMPILER = numba.__version__, llvmlite.__version__


class _Files(caching.IndexDataCacheFile):  # type: ignore[misc]  # Numba has no types
    """The files of one kernel: a list of its compiled forms, and a file for each of them.

    Two processes that compile at the same time can give two forms the same file, and a process that ends between
    writing the list and the form leaves an older form there. Numba would run such code on arguments it was not made
    for. So a form states its sources, types and compiler; a form that states others, or is incomplete, counts as not
    compiled.
    """

    def save(self, key: Any, data: Any) -> None:
        form = self._dump((COMPILER, self._source_stamp, key, data))
        super().save(key, (hashlib.sha256(form).digest(), form))

    def load(self, key: Any) -> Any:
        try:
            digest, form = super().load(key)
            if hashlib.sha256(form).digest() != digest:
                return None
            *made_as, data = pickle.loads(form)
        except Exception:  # unpickling may raise anything
            return None
        return data if made_as == [COMPILER, self._source_stamp, key] else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # the index may name types that the package no longer has
            return {}


class _Kept(caching.FunctionCache):  # type: ignore[misc]  # Numba has no types
    """Numba's cache of one kernel, valid while the contents of its sources are unchanged."""

    _impl_class = _Locations

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.writable = not isinstance(self._impl.locator, _ReadOnly)
        contents = stamp(function.__code__.co_filename)
        self._cache_file = _Files(
            cache_path=self.cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=contents or self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError:  # such as files of another user; then the kernel counts as not compiled
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self.writable:
            try:
                super().save_overload(sig, data)
            except OSError:  # the disk is full, or has become read-only
                pass
            except Exception:  # the list of forms is damaged: begin a new one
                with contextlib.suppress(Exception):
                    self.flush()
                    super().save_overload(sig, data)


# -- what a kernel depends on --------------------------------------------------------------------------


@functools.cache
def stamp(filename: str) -> str:
    """A digest of a source file and of all files of the package that it imports, directly or not.

    It is empty if the file does not exist.
    """
    own = Path(filename)
    if not own.is_file():
        return ""
    reached: set[Path] = set()
    waiting = {own}
    while waiting:
        path = waiting.pop()
        reached.add(path)
        waiting |= _imported(path) - reached
    digest = hashlib.sha256()
    for path in (own, *sorted(reached - {own})):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@functools.cache
def _imported(path: Path) -> frozenset[Path]:
    """The files of the package that a file imports, at its top or inside functions."""
    sources = set()
    stub = path.with_suffix(".pyi")  # a package imports its names on first use; its stub lists them
    files = [path, stub] if stub.is_file() else [path]
    for node in (node for file in files for node in ast.walk(ast.parse(file.read_bytes()))):
        if isinstance(node, ast.Import):
            sources |= {_source(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            sources |= {_source(f"{base}.{alias.name}") or _source(base) for alias in node.names}
    return frozenset(source for source in sources if source is not None)


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    """The absolute name of the module in ``from module import name``."""
    if node.level == 0 or PACKAGE not in path.parents:
        return node.module or ""
    here = (ROOT, *path.relative_to(PACKAGE).parts[:-1])
    return ".".join((*here[: len(here) - node.level + 1], *filter(None, [node.module])))


@functools.cache
def _source(module: str) -> Path | None:
    """The file of a module of this package; None for other modules, and for names inside a module."""
    root, *parts = module.split(".")
    if root != ROOT:
        return None
    path = PACKAGE.joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


# -- the notice that kernels are being compiled --------------------------------------------------------


class _CompileNotice(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Prints once per process that kernels are being compiled, and adds up the time; cache hits do not count."""

    def __init__(self) -> None:
        self.silent = False
        self.listener: Callable[[], None] | None = None
        self.seconds = 0.0
        self._depth = 0  # a kernel may compile those that it calls
        self._begin = 0.0

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._begin = time.perf_counter()
            if self.listener is not None:
                self.listener()
        self._depth += 1
        if self.listener is None:
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
    """How many seconds this process has spent on compiling kernels so far."""
    return _notice.seconds


def tell(listener: Callable[[], None]) -> None:
    """Call ``listener`` whenever kernels are compiled, and print nothing: for processes without a terminal."""
    _notice.listener = listener


@contextlib.contextmanager
def silently() -> Iterator[None]:
    """Switch off the notice that kernels are being compiled: for callers that show it in their own way."""
    before, _notice.silent = _notice.silent, True
    try:
        yield
    finally:
        _notice.silent = before
