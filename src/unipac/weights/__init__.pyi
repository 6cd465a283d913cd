# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.weights.running import RunningMean

__all__ = [
    "RunningMean"
]
