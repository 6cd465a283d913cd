# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.logs.checking import check as check
from unipac.logs.checking import Finding as Finding
from unipac.logs.linearity import Misfit as Misfit
from unipac.logs.linearity import misfit as misfit
from unipac.logs.log import Log as Log
from unipac.logs.log import uniform as uniform
from unipac.logs.reading import from_events as from_events
from unipac.logs.reading import from_frame as from_frame
from unipac.logs.reading import read as read
from unipac.logs.replaying import Replay as Replay
from unipac.logs.replaying import replay as replay
from unipac.logs.values import compare as compare
from unipac.logs.values import Comparison as Comparison
from unipac.logs.values import Interval as Interval
from unipac.logs.values import value as value
