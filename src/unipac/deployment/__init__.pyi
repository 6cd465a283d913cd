# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.deployment.deployment import Deployment
from unipac.deployment.drift import Drift
from unipac.deployment.errors import Closed, Conflict, Full, Unknown
from unipac.deployment.log import fold
from unipac.deployment.settling import Settled

__all__ = [
    "Closed", "Conflict", "Deployment", "Drift", "Full", "Settled", "Unknown", "fold"
]
