"""Names of a package that are imported when they are first asked for (PEP 562).

A package lists its names and their modules once; its agents come from the registry. So a package costs nothing
until a name is used, and a line in ``registry.py`` is enough to add an algorithm to it. For type checkers,
``docs/write_pages.py`` writes the same names into ``__init__.pyi``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from unipac import registry

TABLES: dict[str, Mapping[str, str]] = {}
"""For each imported package, the modules of its names, except those of agents."""


def names(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: its name.
        modules: from a module, relative to ``unipac``, to its names, separated by spaces; names listed under the
            package itself are submodules.
    """
    TABLES[package] = {
        name: f"unipac.{module}" if module else "unipac"
        for module, listed in modules.items()
        for name in listed.split()
    }

    def look_up(name: str) -> Any:
        home_of = homes(package)
        if name not in home_of:
            text = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=sys.modules[package])
        module = home_of[name]
        is_module = module == package
        imported = importlib.import_module(f"{module}.{name}" if is_module else module)
        value = imported if is_module else getattr(imported, name)
        setattr(sys.modules[package], name, value)  # so that it is looked up once
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes(package)})

    return sorted(homes(package)), look_up, listed


def homes(package: str) -> dict[str, str]:
    """The names of a package, each with the module that has it; nothing is imported."""
    return {**TABLES[package], **agents(package)}


def agents(package: str) -> dict[str, str]:
    """The agents below a package such as "unipac.bandits", each with its module."""
    below = f"{package}."
    return {name: module for name, module in registry._MODULES.items() if module.startswith(below)}
