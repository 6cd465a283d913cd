"""Agents for Markov decision processes, one algorithm per file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unipac import _lazy, registry

if TYPE_CHECKING:  # for type checkers and editors; an agent that is missing here works as well
    from unipac.mdp import feature_maps
    from unipac.mdp.base.agent import EpisodicAgent
    from unipac.mdp.base.records import EpisodeTrace, StageLevel
    from unipac.mdp.linear.flute import FLUTE
    from unipac.mdp.linear.lsvi_ucb import LSVIUCB
    from unipac.mdp.linear.nested_flute import NestedFLUTE

AGENTS: Mapping[str, type[EpisodicAgent]] = registry.below(__name__)
"""The agents of this package by name, imported when they are asked for."""

_HOMES = {
    "EpisodeTrace": "unipac.mdp.base.records",
    "EpisodicAgent": "unipac.mdp.base.agent",
    "StageLevel": "unipac.mdp.base.records",
    "feature_maps": "unipac.mdp.feature_maps",
}

__all__ = [
    "AGENTS",
    "FLUTE",
    "LSVIUCB",
    "EpisodeTrace",
    "EpisodicAgent",
    "NestedFLUTE",
    "StageLevel",
    "feature_maps",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
