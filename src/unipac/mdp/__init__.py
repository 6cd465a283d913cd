"""Agents for MDPs: linear, tabular and mixture ones, one algorithm per file."""

from __future__ import annotations

from typing import Any

from unipac.mdp.base.agent import EpisodicAgent
from unipac.mdp.base.plan import Episode, Plan
from unipac.mdp.base.records import EpisodeTrace, StageLevel
from unipac.registry import AGENTS

__all__ = ["Episode", "EpisodeTrace", "EpisodicAgent", "Plan", "StageLevel"]


def __getattr__(name: str) -> Any:
    if name in AGENTS:
        return AGENTS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
