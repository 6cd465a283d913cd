# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.bandits.anytime_sup_linucb import AnytimeSupLinUCB as AnytimeSupLinUCB
from unipac.bandits.ball_oful import BallOFUL as BallOFUL
from unipac.bandits.confidence_ball import ConfidenceBall as ConfidenceBall
from unipac.bandits.guarded.guarded import Guarded as Guarded
from unipac.bandits.lints import LinTS as LinTS
from unipac.bandits.linucb import LinUCB as LinUCB
from unipac.bandits.nested_oful import NestedOFUL as NestedOFUL
from unipac.bandits.oful import OFUL as OFUL
from unipac.bandits.phased_elimination.phased_elimination import PhasedElimination as PhasedElimination
from unipac.bandits.protocol.agent import BanditAgent as BanditAgent
from unipac.bandits.protocol.records import Bounds as Bounds
from unipac.bandits.protocol.records import Decision as Decision
from unipac.bandits.protocol.records import Level as Level
from unipac.bandits.protocol.records import Trace as Trace
from unipac.bandits.sup_linrel import SupLinRel as SupLinRel
from unipac.bandits.sup_linucb import SupLinUCB as SupLinUCB
from unipac.bandits.upac_oful import UPACOFUL as UPACOFUL
from unipac.bandits.vcl_sup_linucb import VCLSupLinUCB as VCLSupLinUCB
from unipac.bandits.voful import VOFUL as VOFUL
from unipac.bandits.weighted_oful import WeightedOFUL as WeightedOFUL
