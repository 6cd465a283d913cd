"""Agents for MDPs: tabular, linear and mixture ones, one algorithm per file.

>>> from unipac import mdp
>>> mdp.CertVI(n_states=2, n_actions=2, horizon=3).guarantee
'uniform-PAC'
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "mdp.protocol.agent": "EpisodicAgent",
        "mdp.protocol.finite": "FiniteAgent",
        "mdp.protocol.plan": "Episode Plan",
        "mdp.protocol.records": "EpisodeTrace LearningTrace StageLevel",
        "mdp.tabular.counting.agent": "TabularAgent",
    },
)
