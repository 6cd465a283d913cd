# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.pac.alba import ALBA
from unipac.pac.best_arm import BestArm
from unipac.pac.certified_planning import CertifiedPlanning
from unipac.pac.explore_verify import ExploreVerify
from unipac.pac.g_allocation import GAllocation
from unipac.pac.lazy_track_and_stop import LazyTrackAndStop
from unipac.pac.lingape import LinGapE
from unipac.pac.olive.olive import OLIVE
from unipac.pac.oppq import OPPQ
from unipac.pac.planning import Planner, Solution
from unipac.pac.ppq import PPQ
from unipac.pac.protocol.records import Answer, Batch, Request
from unipac.pac.protocol.search import Search
from unipac.pac.rage import RAGE
from unipac.pac.xy_adaptive import XYAdaptive
from unipac.pac.xy_static import XYStatic

__all__ = [
    "ALBA", "Answer", "Batch", "BestArm", "CertifiedPlanning", "ExploreVerify", "GAllocation",
    "LazyTrackAndStop", "LinGapE", "OLIVE", "OPPQ", "PPQ", "Planner", "RAGE", "Request", "Search", "Solution",
    "XYAdaptive", "XYStatic"
]
