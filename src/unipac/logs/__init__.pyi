# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.logs.checking import Problem, check
from unipac.logs.events import from_events
from unipac.logs.intervals import Comparison, Interval, WeightedInterval
from unipac.logs.linearity import Misfit, misfit
from unipac.logs.log import Log, uniform
from unipac.logs.reading import from_frame, read
from unipac.logs.replaying import Replay, replay
from unipac.logs.values import compare, value

__all__ = [
    "Comparison", "Interval", "Log", "Misfit", "Problem", "Replay", "WeightedInterval", "check", "compare",
    "from_events", "from_frame", "misfit", "read", "replay", "uniform", "value"
]
