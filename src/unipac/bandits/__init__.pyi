# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.bandits.anytime_sup_linucb import AnytimeSupLinUCB
from unipac.bandits.ball_oful import BallOFUL
from unipac.bandits.confidence_ball import ConfidenceBall
from unipac.bandits.disjoint_linucb import DisjointLinUCB
from unipac.bandits.guarded.guarded import Guarded
from unipac.bandits.lints import LinTS
from unipac.bandits.linucb import LinUCB
from unipac.bandits.nested_oful import NestedOFUL
from unipac.bandits.oful import OFUL
from unipac.bandits.phased_elimination.phased_elimination import PhasedElimination
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Bounds, Decision, Level, Trace
from unipac.bandits.sup_linrel import SupLinRel
from unipac.bandits.sup_linucb import SupLinUCB
from unipac.bandits.upac_oful import UPACOFUL
from unipac.bandits.vcl_sup_linucb import VCLSupLinUCB
from unipac.bandits.voful import VOFUL
from unipac.bandits.weighted_oful import WeightedOFUL

__all__ = [
    "AnytimeSupLinUCB", "BallOFUL", "BanditAgent", "Bounds", "ConfidenceBall", "Decision", "DisjointLinUCB",
    "Guarded", "Level", "LinTS", "LinUCB", "NestedOFUL", "OFUL", "PhasedElimination", "SupLinRel",
    "SupLinUCB", "Trace", "UPACOFUL", "VCLSupLinUCB", "VOFUL", "WeightedOFUL"
]
