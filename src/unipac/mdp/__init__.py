"""Agents for linear MDPs, one algorithm per file."""

from unipac.mdp.agent import EpisodicAgent
from unipac.mdp.flute import FLUTE
from unipac.mdp.lsvi_ucb import LSVIUCB
from unipac.mdp.nested_flute import NestedFLUTE
from unipac.mdp.records import EpisodeTrace, StageLevel

AGENTS: dict[str, type[EpisodicAgent]] = {
    "NestedFLUTE": NestedFLUTE,
    "FLUTE": FLUTE,
    "LSVIUCB": LSVIUCB,
}

__all__ = ["AGENTS", "FLUTE", "LSVIUCB", "EpisodeTrace", "EpisodicAgent", "NestedFLUTE", "StageLevel"]
