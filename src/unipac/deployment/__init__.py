"""Decisions in production: late, lost and repeated rewards, verdicts, an alarm, a log whose fold is the agent.

>>> from unipac import OFUL, deployment
>>> deployment.Deployment(OFUL(2)).decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a").index
0
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "deployment.deployment": "Deployment",
        "deployment.drift": "Drift",
        "deployment.errors": "Closed Conflict Full Unknown",
        "deployment.log": "fold",
        "deployment.settling": "Settled",
    },
)
