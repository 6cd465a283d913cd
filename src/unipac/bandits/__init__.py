"""Linear bandit agents, one algorithm per file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unipac import _lazy, registry

if TYPE_CHECKING:  # for type checkers and editors; an agent that is missing here works as well
    from unipac.bandits.ball_oful import BallOFUL
    from unipac.bandits.base.agent import LinearAgent
    from unipac.bandits.base.records import Bounds, Decision, Level, Trace
    from unipac.bandits.linucb import LinUCB
    from unipac.bandits.nested_oful import NestedOFUL
    from unipac.bandits.oful import OFUL
    from unipac.bandits.upac_oful import UPACOFUL

AGENTS: Mapping[str, type[LinearAgent]] = registry.below(__name__)
"""The agents of this package by name, imported when they are asked for."""

_HOMES = {
    "Bounds": "unipac.bandits.base.records",
    "Decision": "unipac.bandits.base.records",
    "Level": "unipac.bandits.base.records",
    "LinearAgent": "unipac.bandits.base.agent",
    "Trace": "unipac.bandits.base.records",
}

__all__ = [
    "AGENTS",
    "OFUL",
    "UPACOFUL",
    "BallOFUL",
    "Bounds",
    "Decision",
    "Level",
    "LinUCB",
    "LinearAgent",
    "NestedOFUL",
    "Trace",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
