"""Decisions that provably converge, with a bound on each of them.

>>> import unipac
>>> agent = unipac.NestedOFUL(dim=2, noise=0.1)
>>> decision = agent.choose([[1.0, 0.0], [0.6, 0.8]])
>>> agent.update(decision, reward=0.5)
"""

from unipac import envs, metrics, theory
from unipac._load import load
from unipac.bandits import (
    AGENTS,
    OFUL,
    UPACOFUL,
    BallOFUL,
    Bounds,
    Decision,
    Level,
    LinUCB,
    NestedOFUL,
    Trace,
)
from unipac.mdp import FLUTE, LSVIUCB, EpisodeTrace, NestedFLUTE

__version__ = "0.1.0"

__all__ = [
    "AGENTS",
    "FLUTE",
    "LSVIUCB",
    "OFUL",
    "UPACOFUL",
    "BallOFUL",
    "Bounds",
    "Decision",
    "EpisodeTrace",
    "Level",
    "LinUCB",
    "NestedFLUTE",
    "NestedOFUL",
    "Trace",
    "envs",
    "load",
    "metrics",
    "theory",
]
