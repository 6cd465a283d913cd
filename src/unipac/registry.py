"""Every agent of the library, by name; a module is imported when one of its agents is asked for.

This is the one line that an algorithm needs outside its own file.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

_MODULES = {
    "NestedOFUL": "unipac.bandits.nested_oful",
    "UPACOFUL": "unipac.bandits.upac_oful",
    "OFUL": "unipac.bandits.oful",
    "BallOFUL": "unipac.bandits.ball_oful",
    "LinUCB": "unipac.bandits.linucb",
    "NestedFLUTE": "unipac.mdp.linear.nested_flute",
    "FLUTE": "unipac.mdp.linear.flute",
    "LSVIUCB": "unipac.mdp.linear.lsvi_ucb",
}


class _Agents(Mapping[str, type[Any]]):
    """Classes by name, imported at the first look."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> type[Any]:
        found: type[Any] = getattr(importlib.import_module(self._modules[name]), name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules  # without importing it

    def __repr__(self) -> str:
        return f"<{len(self)} agents: {', '.join(self)}>"


AGENTS: Mapping[str, type[Any]] = _Agents(_MODULES)
"""Agents of all kinds; ``AGENTS[name].kind`` is "bandit", "mdp" or "search".

>>> AGENTS["NestedOFUL"].__module__
'unipac.bandits.nested_oful'
"""


def below(package: str) -> Mapping[str, type[Any]]:
    """The agents whose modules lie below a package, such as "unipac.bandits"."""
    return _Agents({name: module for name, module in _MODULES.items() if module.startswith(f"{package}.")})
