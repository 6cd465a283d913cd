"""Decisions that provably converge, with a bound on each of them.

>>> import unipac
>>> agent = unipac.NestedOFUL(dim=2, noise=0.1)
>>> decision = agent.choose([[1.0, 0.0], [0.6, 0.8]])
>>> agent.update(decision, reward=0.5)

Everything is imported when it is first asked for: ``import unipac`` alone loads neither NumPy nor Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy
from unipac.envs.gymnasium.ids import register_in_time

if TYPE_CHECKING:  # for type checkers and editors; an agent that is missing here works as well
    from unipac import bandits, data, deployment, envs, features, logs, mdp, metrics, pac, registry, theory
    from unipac._agents import load
    from unipac.bandits.ball_oful import BallOFUL
    from unipac.bandits.guarded.guarded import Guarded
    from unipac.bandits.linucb import LinUCB
    from unipac.bandits.nested_oful import NestedOFUL
    from unipac.bandits.oful import OFUL
    from unipac.bandits.phased_elimination.phased_elimination import PhasedElimination
    from unipac.bandits.protocol.records import Bounds, Decision, Level, Trace
    from unipac.bandits.upac_oful import UPACOFUL
    from unipac.deployment.deployment import Deployment
    from unipac.mdp.linear.flute import FLUTE
    from unipac.mdp.linear.lsvi_ucb import LSVIUCB
    from unipac.mdp.linear.nested_flute import NestedFLUTE
    from unipac.mdp.linear.upac_lsvi import UPACLSVI
    from unipac.mdp.mixture.nested_vtr import NestedVTR
    from unipac.mdp.protocol.records import EpisodeTrace
    from unipac.mdp.tabular.cert_vi.cert_vi import CertVI
    from unipac.pac.base import Answer, Batch
    from unipac.pac.certified_planning import CertifiedPlanning
    from unipac.pac.lingape import LinGapE
    from unipac.registry import AGENTS

__version__ = "0.1.0"

_HOMES = {
    "AGENTS": "unipac.registry",
    "Answer": "unipac.pac.base",
    "Batch": "unipac.pac.base",
    "Bounds": "unipac.bandits.protocol.records",
    "Decision": "unipac.bandits.protocol.records",
    "Deployment": "unipac.deployment.deployment",
    "EpisodeTrace": "unipac.mdp.protocol.records",
    "Level": "unipac.bandits.protocol.records",
    "Trace": "unipac.bandits.protocol.records",
    "bandits": "unipac.bandits",
    "data": "unipac.data",
    "deployment": "unipac.deployment",
    "envs": "unipac.envs",
    "features": "unipac.features",
    "load": "unipac._agents",
    "logs": "unipac.logs",
    "mdp": "unipac.mdp",
    "metrics": "unipac.metrics",
    "pac": "unipac.pac",
    "registry": "unipac.registry",
    "theory": "unipac.theory",
}

__all__ = [
    "AGENTS",
    "FLUTE",
    "LSVIUCB",
    "OFUL",
    "UPACLSVI",
    "UPACOFUL",
    "Answer",
    "BallOFUL",
    "Batch",
    "Bounds",
    "CertVI",
    "CertifiedPlanning",
    "Decision",
    "Deployment",
    "EpisodeTrace",
    "Guarded",
    "Level",
    "LinGapE",
    "LinUCB",
    "NestedFLUTE",
    "NestedOFUL",
    "NestedVTR",
    "PhasedElimination",
    "Trace",
    "bandits",
    "data",
    "deployment",
    "envs",
    "features",
    "load",
    "logs",
    "mdp",
    "metrics",
    "pac",
    "registry",
    "theory",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)


register_in_time()  # our environments, with Gymnasium
