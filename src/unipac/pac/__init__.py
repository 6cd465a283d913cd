"""Searches that stop: best arms, and planning with a simulator, each with a certificate of the answer."""

from __future__ import annotations

from typing import Any

from unipac.pac.base import Answer, Batch, BestArm, Search
from unipac.registry import AGENTS

__all__ = ["Answer", "Batch", "BestArm", "Search"]


def __getattr__(name: str) -> Any:
    if name in AGENTS:
        return AGENTS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
