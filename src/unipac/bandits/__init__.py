"""Linear bandit agents, one algorithm per file."""

from unipac.bandits.ball_oful import BallOFUL
from unipac.bandits.base.agent import LinearAgent
from unipac.bandits.base.records import Bounds, Decision, Level, Trace
from unipac.bandits.linucb import LinUCB
from unipac.bandits.nested_oful import NestedOFUL
from unipac.bandits.oful import OFUL
from unipac.bandits.upac_oful import UPACOFUL

AGENTS: dict[str, type[LinearAgent]] = {
    "NestedOFUL": NestedOFUL,
    "UPACOFUL": UPACOFUL,
    "OFUL": OFUL,
    "BallOFUL": BallOFUL,
    "LinUCB": LinUCB,
}

__all__ = [
    "AGENTS",
    "OFUL",
    "UPACOFUL",
    "BallOFUL",
    "Bounds",
    "Decision",
    "Level",
    "LinUCB",
    "LinearAgent",
    "NestedOFUL",
    "Trace",
]
