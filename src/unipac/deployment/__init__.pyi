# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.deployment.comparing import Advantage
from unipac.deployment.deployment import Deployment
from unipac.deployment.drift import Drift
from unipac.deployment.errors import Closed, Conflict, Full, LogClosed, Unknown
from unipac.deployment.folding import fold
from unipac.deployment.linearity import Linearity
from unipac.deployment.watching import Settled

__all__ = [
    "Advantage", "Closed", "Conflict", "Deployment", "Drift", "Full", "Linearity", "LogClosed", "Settled",
    "Unknown", "fold"
]
