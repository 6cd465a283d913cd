"""Which compiled kernels the package has, and which of them this process has reached."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

import unipac

NOT_REACHED: dict[str, str] = {}
"""Kernels that the bounds-checked pass need not reach, each with the reason."""


def kernels() -> dict[str, Any]:
    """Every kernel below ``unipac``, by its dotted name."""
    for module in pkgutil.walk_packages(unipac.__path__, "unipac."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {
        name_of(thing): thing
        for name, module in sorted(sys.modules.items())
        if name.startswith("unipac.")
        for thing in vars(module).values()
        if isinstance(thing, Dispatcher)
    }


def reached() -> set[str]:
    """Kernels that were run or compiled in this process, and those that they contain."""
    every = kernels()
    found = {name for name, kernel in every.items() if kernel.overloads}
    waiting = sorted(found)
    while waiting:
        inside = {name_of(kernel) for kernel in called(every[waiting.pop()].py_func)} - found
        found |= inside
        waiting += sorted(inside)
    return found


def name_of(kernel: Any) -> str:
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"


def called(function: Any, seen: set[Any] | None = None) -> Iterator[Any]:
    """The kernels that a function names, also through modules and through functions that are no kernels."""
    seen = set() if seen is None else seen
    names = set(_names(function.__code__))
    things = [function.__globals__.get(name) for name in names]
    for module in [thing for thing in things if isinstance(thing, ModuleType)]:
        if module.__name__.startswith("unipac"):
            things += [getattr(module, name, None) for name in names]
    for thing in things:
        if isinstance(thing, Dispatcher):
            if thing.py_func.__module__.startswith("unipac"):
                yield thing
        elif isinstance(thing, FunctionType) and thing.__module__.startswith("unipac") and thing not in seen:
            seen.add(thing)
            yield from called(thing, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
