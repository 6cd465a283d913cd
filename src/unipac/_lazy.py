"""Names of a package that are imported when they are first asked for (PEP 562).

A package says once where its names are written; its agents come from the registry. So a package costs nothing
until it is used, and an algorithm appears in it by its line in ``registry.py``. For type checkers
``docs/write_pages.py`` writes the same into ``__init__.pyi``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from unipac import registry

TABLES: dict[str, Mapping[str, str]] = {}
"""Of each package that was imported: the module of each of its names, without those of agents."""


def names(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: its name.
        modules: names, separated by spaces, by the module that has them, as it is seen from ``unipac``; the names
            of the package itself are modules.
    """
    TABLES[package] = {
        name: f"unipac.{module}" if module else "unipac"
        for module, listed in modules.items()
        for name in listed.split()
    }

    def look_up(name: str) -> Any:
        known = homes(package)
        if name not in known:
            text = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=sys.modules[package])
        module = known[name]
        is_module = module == package
        found = importlib.import_module(f"{module}.{name}" if is_module else module)
        value = found if is_module else getattr(found, name)
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
