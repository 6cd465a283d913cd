"""The agents and feature maps of the library by name; a module is imported when one of its names is first used.

Outside its own file, an algorithm needs only a line here.

>>> from unipac import registry
>>> registry.AGENTS["NestedOFUL"].kind, len(registry.AGENTS) > 40
('bandit', True)
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

_MODULES = {
    "Guarded": "unipac.bandits.guarded.guarded",
    "PhasedElimination": "unipac.bandits.phased_elimination.phased_elimination",
    "AnytimeSupLinUCB": "unipac.bandits.anytime_sup_linucb",
    "NestedOFUL": "unipac.bandits.nested_oful",
    "UPACOFUL": "unipac.bandits.upac_oful",
    "OFUL": "unipac.bandits.oful",
    "BallOFUL": "unipac.bandits.ball_oful",
    "LinUCB": "unipac.bandits.linucb",
    "DisjointLinUCB": "unipac.bandits.disjoint_linucb",
    "WeightedOFUL": "unipac.bandits.weighted_oful",
    "LinTS": "unipac.bandits.lints",
    "ConfidenceBall": "unipac.bandits.confidence_ball",
    "SupLinUCB": "unipac.bandits.sup_linucb",
    "SupLinRel": "unipac.bandits.sup_linrel",
    "VCLSupLinUCB": "unipac.bandits.vcl_sup_linucb",
    "VOFUL": "unipac.bandits.voful",
    "NestedFLUTE": "unipac.mdp.linear.nested_flute",
    "FLUTE": "unipac.mdp.linear.flute",
    "LSVIUCB": "unipac.mdp.linear.lsvi_ucb",
    "UPACLSVI": "unipac.mdp.linear.upac_lsvi",
    "StarLSVI": "unipac.mdp.linear.star.star_lsvi",
    "MonotoneLSVI": "unipac.mdp.linear.monotone_lsvi",
    "CertLSVIUCB": "unipac.mdp.linear.cert_lsvi_ucb",
    "ELEANOR": "unipac.mdp.linear.eleanor",
    "UCMatrixRL": "unipac.mdp.linear.uc_matrix_rl",
    "CertVI": "unipac.mdp.tabular.cert_vi.cert_vi",
    "UBEV": "unipac.mdp.tabular.ubev",
    "UCBVI": "unipac.mdp.tabular.ucbvi",
    "UCBAdvantage": "unipac.mdp.tabular.ucb_advantage",
    "PSRL": "unipac.mdp.tabular.psrl",
    "RLSVI": "unipac.mdp.tabular.rlsvi",
    "QLearning": "unipac.mdp.tabular.q_learning",
    "NestedVTR": "unipac.mdp.mixture.nested_vtr",
    "UPACVTR": "unipac.mdp.mixture.upac_vtr",
    "UCRLVTR": "unipac.mdp.mixture.ucrl_vtr",
    "UCRLVTRPlus": "unipac.mdp.mixture.ucrl_vtr_plus",
    "LinGapE": "unipac.pac.lingape",
    "LazyTrackAndStop": "unipac.pac.lazy_track_and_stop",
    "RAGE": "unipac.pac.rage",
    "XYAdaptive": "unipac.pac.xy_adaptive",
    "ExploreVerify": "unipac.pac.explore_verify",
    "ALBA": "unipac.pac.alba",
    "XYStatic": "unipac.pac.xy_static",
    "GAllocation": "unipac.pac.g_allocation",
    "CertifiedPlanning": "unipac.pac.certified_planning",
    "PPQ": "unipac.pac.ppq",
    "OPPQ": "unipac.pac.oppq",
    "OLIVE": "unipac.pac.olive.olive",
}


class _Lazy(Mapping[str, type[Any]]):
    """Classes by name, imported on first use."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> type[Any]:
        cls: type[Any] = getattr(importlib.import_module(self._modules[name]), name)
        return cls

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules  # without importing it

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"


AGENTS: Mapping[str, type[Any]] = _Lazy(_MODULES)
"""Agents of all kinds; ``AGENTS[name].kind`` is "bandit", "mdp" or "search".

>>> AGENTS["NestedOFUL"].__module__
'unipac.bandits.nested_oful'
"""

FEATURE_MAPS: Mapping[str, type[Any]] = _Lazy(
    dict.fromkeys(
        ("Aggregation", "SoftAggregation", "TileCoding", "Fourier", "RandomFourier", "OneHot"),
        "unipac.features",
    )
)
"""Feature maps that a file may name."""


def ours(agent: object) -> bool:
    """Whether this agent is of a class of the library, and not of one that a user derived or wrote."""
    cls = type(agent)
    return AGENTS.get(cls.__name__) is cls
