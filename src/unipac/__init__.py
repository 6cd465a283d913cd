"""Decisions that provably converge, with a bound on each of them.

>>> import unipac
>>> agent = unipac.NestedOFUL(dim=2, noise=0.1)
>>> decision = agent.choose([[1.0, 0.0], [0.6, 0.8]])
>>> agent.update(decision, reward=0.5)
"""

import importlib
from typing import Any

from unipac.registry import AGENTS

__version__ = "0.1.0"

_PLACES = {
    "load": "_agents",
    "Bounds": "bandits",
    "Decision": "bandits",
    "Level": "bandits",
    "Trace": "bandits",
    "EpisodeTrace": "mdp",
    "envs": "",
    "metrics": "",
    "theory": "",
}


def __getattr__(name: str) -> Any:
    if name in AGENTS:
        return AGENTS[name]
    if name in _PLACES:
        place = _PLACES[name]
        if not place:
            return importlib.import_module(f"unipac.{name}")
        return getattr(importlib.import_module(f"unipac.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
