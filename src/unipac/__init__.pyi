# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac import (
    bandits, data, deployment, envs, features, logs, many, mdp, metrics, pac, registry, theory, weights
)
from unipac._agents import load
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
from unipac.bandits.protocol.records import Bounds, Decision, Level, Trace
from unipac.bandits.sup_linrel import SupLinRel
from unipac.bandits.sup_linucb import SupLinUCB
from unipac.bandits.upac_oful import UPACOFUL
from unipac.bandits.vcl_sup_linucb import VCLSupLinUCB
from unipac.bandits.voful import VOFUL
from unipac.bandits.weighted_oful import WeightedOFUL
from unipac.deployment.deployment import Deployment
from unipac.many.run import play_many
from unipac.mdp.linear.cert_lsvi_ucb import CertLSVIUCB
from unipac.mdp.linear.eleanor import ELEANOR
from unipac.mdp.linear.flute import FLUTE
from unipac.mdp.linear.lsvi_ucb import LSVIUCB
from unipac.mdp.linear.monotone_lsvi import MonotoneLSVI
from unipac.mdp.linear.nested_flute import NestedFLUTE
from unipac.mdp.linear.star.star_lsvi import StarLSVI
from unipac.mdp.linear.uc_matrix_rl import UCMatrixRL
from unipac.mdp.linear.upac_lsvi import UPACLSVI
from unipac.mdp.mixture.nested_vtr import NestedVTR
from unipac.mdp.mixture.ucrl_vtr import UCRLVTR
from unipac.mdp.mixture.ucrl_vtr_plus import UCRLVTRPlus
from unipac.mdp.mixture.upac_vtr import UPACVTR
from unipac.mdp.protocol.records import EpisodeTrace
from unipac.mdp.tabular.cert_vi.cert_vi import CertVI
from unipac.mdp.tabular.psrl import PSRL
from unipac.mdp.tabular.q_learning import QLearning
from unipac.mdp.tabular.rlsvi import RLSVI
from unipac.mdp.tabular.ubev import UBEV
from unipac.mdp.tabular.ucb_advantage import UCBAdvantage
from unipac.mdp.tabular.ucbvi import UCBVI
from unipac.pac.alba import ALBA
from unipac.pac.certified_planning import CertifiedPlanning
from unipac.pac.explore_verify import ExploreVerify
from unipac.pac.g_allocation import GAllocation
from unipac.pac.lazy_track_and_stop import LazyTrackAndStop
from unipac.pac.lingape import LinGapE
from unipac.pac.olive.olive import OLIVE
from unipac.pac.oppq import OPPQ
from unipac.pac.ppq import PPQ
from unipac.pac.protocol.records import Answer, Batch
from unipac.pac.rage import RAGE
from unipac.pac.xy_adaptive import XYAdaptive
from unipac.pac.xy_static import XYStatic
from unipac.registry import AGENTS

__version__: str
__all__ = [
    "AGENTS", "ALBA", "Answer", "AnytimeSupLinUCB", "BallOFUL", "Batch", "Bounds", "CertLSVIUCB", "CertVI",
    "CertifiedPlanning", "ConfidenceBall", "Decision", "Deployment", "DisjointLinUCB", "ELEANOR",
    "EpisodeTrace", "ExploreVerify", "FLUTE", "GAllocation", "Guarded", "LSVIUCB", "LazyTrackAndStop",
    "Level", "LinGapE", "LinTS", "LinUCB", "MonotoneLSVI", "NestedFLUTE", "NestedOFUL", "NestedVTR", "OFUL",
    "OLIVE", "OPPQ", "PPQ", "PSRL", "PhasedElimination", "QLearning", "RAGE", "RLSVI", "StarLSVI",
    "SupLinRel", "SupLinUCB", "Trace", "UBEV", "UCBAdvantage", "UCBVI", "UCMatrixRL", "UCRLVTR",
    "UCRLVTRPlus", "UPACLSVI", "UPACOFUL", "UPACVTR", "VCLSupLinUCB", "VOFUL", "WeightedOFUL", "XYAdaptive",
    "XYStatic", "bandits", "data", "deployment", "envs", "features", "load", "logs", "many", "mdp", "metrics",
    "pac", "play_many", "registry", "theory", "weights"
]
