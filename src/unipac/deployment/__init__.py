"""Decisions in production: late, lost and repeated rewards, verdicts, an alarm, a log whose fold is the agent.

>>> from unipac import OFUL, deployment
>>> deployment.Deployment(OFUL(2)).decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a").index
0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment
    from unipac.deployment.drift import Drift
    from unipac.deployment.errors import Closed, Conflict, Full, Unknown
    from unipac.deployment.log import fold
    from unipac.deployment.settling import Settled

_HOMES = {
    "Closed": "unipac.deployment.errors",
    "Conflict": "unipac.deployment.errors",
    "Deployment": "unipac.deployment.deployment",
    "Drift": "unipac.deployment.drift",
    "Full": "unipac.deployment.errors",
    "Settled": "unipac.deployment.settling",
    "Unknown": "unipac.deployment.errors",
    "fold": "unipac.deployment.log",
}

__all__ = ["Closed", "Conflict", "Deployment", "Drift", "Full", "Settled", "Unknown", "fold"]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
