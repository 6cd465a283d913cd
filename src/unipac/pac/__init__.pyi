# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.pac.alba import ALBA as ALBA
from unipac.pac.base import Answer as Answer
from unipac.pac.base import Batch as Batch
from unipac.pac.base import BestArm as BestArm
from unipac.pac.base import Search as Search
from unipac.pac.certified_planning import CertifiedPlanning as CertifiedPlanning
from unipac.pac.episodes import FunctionSearch as FunctionSearch
from unipac.pac.explore_verify import ExploreVerify as ExploreVerify
from unipac.pac.g_allocation import GAllocation as GAllocation
from unipac.pac.lazy_track_and_stop import LazyTrackAndStop as LazyTrackAndStop
from unipac.pac.lingape import LinGapE as LinGapE
from unipac.pac.olive import OLIVE as OLIVE
from unipac.pac.oppq import OPPQ as OPPQ
from unipac.pac.planning import Planner as Planner
from unipac.pac.planning import Solution as Solution
from unipac.pac.ppq import PPQ as PPQ
from unipac.pac.rage import RAGE as RAGE
from unipac.pac.xy_adaptive import XYAdaptive as XYAdaptive
from unipac.pac.xy_static import XYStatic as XYStatic
