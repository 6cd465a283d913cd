# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.many.run import DeviceError, play_many
from unipac.many.runs import Estimate, Runs

__all__ = [
    "DeviceError", "Estimate", "Runs", "play_many"
]
