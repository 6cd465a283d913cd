"""Agents for MDPs: tabular, linear and mixture ones, one algorithm per file.

>>> from unipac import mdp
>>> mdp.CertVI(n_states=2, n_actions=2, horizon=3).guarantee
'uniform-PAC'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy

if TYPE_CHECKING:  # for type checkers and editors; an agent that is missing here works as well
    from unipac.mdp import feature_maps
    from unipac.mdp.base.agent import EpisodicAgent, FiniteAgent
    from unipac.mdp.base.plan import Episode, Plan
    from unipac.mdp.base.records import EpisodeTrace, StageLevel
    from unipac.mdp.linear.flute import FLUTE
    from unipac.mdp.linear.lsvi_ucb import LSVIUCB
    from unipac.mdp.linear.nested_flute import NestedFLUTE

_HOMES = {
    "Episode": "unipac.mdp.base.plan",
    "EpisodeTrace": "unipac.mdp.base.records",
    "EpisodicAgent": "unipac.mdp.base.agent",
    "FiniteAgent": "unipac.mdp.base.agent",
    "Plan": "unipac.mdp.base.plan",
    "StageLevel": "unipac.mdp.base.records",
    "feature_maps": "unipac.mdp.feature_maps",
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
    "feature_maps",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
