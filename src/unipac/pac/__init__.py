"""Searches that stop: best arms, and planning with a simulator, each with a certificate of the answer.

>>> from unipac import pac
>>> pac.LinGapE([[1.0, 0.0], [0.0, 1.0]]).theorem
'PAC'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy

if TYPE_CHECKING:  # for type checkers and editors; an agent that is missing here works as well
    from unipac.pac.base import Answer, Batch, BestArm, Search
    from unipac.pac.certified_planning import CertifiedPlanning
    from unipac.pac.episodes import FunctionSearch
    from unipac.pac.lingape import LinGapE
    from unipac.pac.planning import Planner, Solution

_HOMES = {
    "Answer": "unipac.pac.base",
    "Batch": "unipac.pac.base",
    "BestArm": "unipac.pac.base",
    "FunctionSearch": "unipac.pac.episodes",
    "Planner": "unipac.pac.planning",
    "Search": "unipac.pac.base",
    "Solution": "unipac.pac.planning",
}

__all__ = [
    "Answer",
    "Batch",
    "BestArm",
    "CertifiedPlanning",
    "FunctionSearch",
    "LinGapE",
    "Planner",
    "Search",
    "Solution",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
