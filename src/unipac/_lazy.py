"""Names of a package that are imported when they are first asked for (PEP 562).

A package says where its names are written; its agents it takes from the registry. So a package costs nothing
until it is used, and an algorithm appears in it by its line in ``registry.py``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any


def look_up(package: str, name: str, homes: Mapping[str, str]) -> Any:
    """A name of a package: one in ``homes``, which maps it to its module, or an agent below the package.

    It is kept in the package, so that it is looked up once.
    """
    if name in homes:
        value: Any = importlib.import_module(homes[name])
        if homes[name] != f"{package}.{name}":  # not a module itself
            value = getattr(value, name)
    elif name.startswith("_") or name not in (agents := _agents_below(package)):
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
        )
    else:
        value = agents[name]
    setattr(sys.modules[package], name, value)
    return value


def names(package: str, homes: Mapping[str, str]) -> list[str]:
    """All names of a package, for ``dir``; nothing is imported."""
    known: Iterable[str] = vars(sys.modules[package])
    return sorted({*known, *homes, *_agents_below(package)})


def _agents_below(package: str) -> Mapping[str, type[Any]]:
    from unipac import registry  # not before an agent is asked for

    return registry.below(package)
