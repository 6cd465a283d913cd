"""Agents for MDPs: tabular, linear and mixture ones, one algorithm per file.

>>> from unipac import mdp
>>> mdp.CertVI(n_states=2, n_actions=2, horizon=3).guarantee
'uniform-PAC'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy

if TYPE_CHECKING:  # for type checkers and editors; an agent that is missing here works as well
    from unipac.mdp.linear.flute import FLUTE
    from unipac.mdp.linear.lsvi_ucb import LSVIUCB
    from unipac.mdp.linear.nested_flute import NestedFLUTE
    from unipac.mdp.protocol.agent import EpisodicAgent, FiniteAgent
    from unipac.mdp.protocol.plan import Episode, Plan
    from unipac.mdp.protocol.records import EpisodeTrace, StageLevel

_HOMES = {
    "Episode": "unipac.mdp.protocol.plan",
    "EpisodeTrace": "unipac.mdp.protocol.records",
    "EpisodicAgent": "unipac.mdp.protocol.agent",
    "FiniteAgent": "unipac.mdp.protocol.agent",
    "Plan": "unipac.mdp.protocol.plan",
    "StageLevel": "unipac.mdp.protocol.records",
}

__all__ = [
    "FLUTE",
    "LSVIUCB",
    "Episode",
    "EpisodeTrace",
    "EpisodicAgent",
    "FiniteAgent",
    "NestedFLUTE",
    "Plan",
    "StageLevel",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
