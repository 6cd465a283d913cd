"""Linear bandit agents, one algorithm per file."""

from __future__ import annotations

from typing import Any

from unipac.bandits.base.agent import BanditAgent
from unipac.bandits.base.records import Bounds, Decision, Level, Trace
from unipac.registry import AGENTS

__all__ = ["BanditAgent", "Bounds", "Decision", "Level", "Trace"]


def __getattr__(name: str) -> Any:
    if name in AGENTS:
        return AGENTS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
