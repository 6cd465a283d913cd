"""Linear bandit agents, one algorithm per file.

>>> from unipac import bandits
>>> bandits.NestedOFUL(dim=2, noise=0.1).guarantee
'uniform-PAC'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy

if TYPE_CHECKING:  # for type checkers and editors; an agent that is missing here works as well
    from unipac.bandits.ball_oful import BallOFUL
    from unipac.bandits.linucb import LinUCB
    from unipac.bandits.nested_oful import NestedOFUL
    from unipac.bandits.oful import OFUL
    from unipac.bandits.protocol.agent import BanditAgent
    from unipac.bandits.protocol.records import Bounds, Decision, Level, Trace
    from unipac.bandits.upac_oful import UPACOFUL

_HOMES = {
    "BanditAgent": "unipac.bandits.protocol.agent",
    "Bounds": "unipac.bandits.protocol.records",
    "Decision": "unipac.bandits.protocol.records",
    "Level": "unipac.bandits.protocol.records",
    "Trace": "unipac.bandits.protocol.records",
}

__all__ = [
    "OFUL",
    "UPACOFUL",
    "BallOFUL",
    "BanditAgent",
    "Bounds",
    "Decision",
    "Level",
    "LinUCB",
    "NestedOFUL",
    "Trace",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
