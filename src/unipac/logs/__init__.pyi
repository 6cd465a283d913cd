# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.logs.checking import Problem, check
from unipac.logs.events import from_events
from unipac.logs.linearity import Misfit, misfit
from unipac.logs.log import Log, uniform
from unipac.logs.reading import from_frame, read
from unipac.logs.replaying import Replay, replay
from unipac.logs.values import Comparison, Interval, compare, value

__all__ = [
    "Comparison", "Interval", "Log", "Misfit", "Problem", "Replay", "check", "compare", "from_events",
    "from_frame", "misfit", "read", "replay", "uniform", "value"
]
