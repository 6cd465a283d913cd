"""Agents for linear MDPs, one algorithm per file."""

from unipac.mdp.base.agent import EpisodicAgent
from unipac.mdp.base.records import EpisodeTrace, StageLevel
from unipac.mdp.linear.flute import FLUTE
from unipac.mdp.linear.lsvi_ucb import LSVIUCB
from unipac.mdp.linear.nested_flute import NestedFLUTE

AGENTS: dict[str, type[EpisodicAgent]] = {
    "NestedFLUTE": NestedFLUTE,
    "FLUTE": FLUTE,
    "LSVIUCB": LSVIUCB,
}

__all__ = ["AGENTS", "FLUTE", "LSVIUCB", "EpisodeTrace", "EpisodicAgent", "NestedFLUTE", "StageLevel"]
