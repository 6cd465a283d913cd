# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac import bandits as bandits
from unipac import data as data
from unipac import deployment as deployment
from unipac import envs as envs
from unipac import features as features
from unipac import logs as logs
from unipac import mdp as mdp
from unipac import metrics as metrics
from unipac import pac as pac
from unipac import registry as registry
from unipac import theory as theory
from unipac._agents import load as load
from unipac.bandits.anytime_sup_linucb import AnytimeSupLinUCB as AnytimeSupLinUCB
from unipac.bandits.ball_oful import BallOFUL as BallOFUL
from unipac.bandits.confidence_ball import ConfidenceBall as ConfidenceBall
from unipac.bandits.guarded.guarded import Guarded as Guarded
from unipac.bandits.lints import LinTS as LinTS
from unipac.bandits.linucb import LinUCB as LinUCB
from unipac.bandits.nested_oful import NestedOFUL as NestedOFUL
from unipac.bandits.oful import OFUL as OFUL
from unipac.bandits.phased_elimination.phased_elimination import PhasedElimination as PhasedElimination
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
from unipac.deployment.deployment import Deployment as Deployment
from unipac.mdp.linear.cert_lsvi_ucb import CertLSVIUCB as CertLSVIUCB
from unipac.mdp.linear.eleanor import ELEANOR as ELEANOR
from unipac.mdp.linear.flute import FLUTE as FLUTE
from unipac.mdp.linear.lsvi_ucb import LSVIUCB as LSVIUCB
from unipac.mdp.linear.monotone_lsvi import MonotoneLSVI as MonotoneLSVI
from unipac.mdp.linear.nested_flute import NestedFLUTE as NestedFLUTE
from unipac.mdp.linear.uc_matrix_rl import UCMatrixRL as UCMatrixRL
from unipac.mdp.linear.upac_lsvi import UPACLSVI as UPACLSVI
from unipac.mdp.mixture.nested_vtr import NestedVTR as NestedVTR
from unipac.mdp.mixture.ucrl_vtr import UCRLVTR as UCRLVTR
from unipac.mdp.mixture.ucrl_vtr_plus import UCRLVTRPlus as UCRLVTRPlus
from unipac.mdp.mixture.upac_vtr import UPACVTR as UPACVTR
from unipac.mdp.protocol.records import EpisodeTrace as EpisodeTrace
from unipac.mdp.tabular.cert_vi.cert_vi import CertVI as CertVI
from unipac.mdp.tabular.psrl import PSRL as PSRL
from unipac.mdp.tabular.q_learning import QLearning as QLearning
from unipac.mdp.tabular.ubev import UBEV as UBEV
from unipac.mdp.tabular.ucb_advantage import UCBAdvantage as UCBAdvantage
from unipac.mdp.tabular.ucbvi import UCBVI as UCBVI
from unipac.pac.alba import ALBA as ALBA
from unipac.pac.certified_planning import CertifiedPlanning as CertifiedPlanning
from unipac.pac.explore_verify import ExploreVerify as ExploreVerify
from unipac.pac.g_allocation import GAllocation as GAllocation
from unipac.pac.lazy_track_and_stop import LazyTrackAndStop as LazyTrackAndStop
from unipac.pac.lingape import LinGapE as LinGapE
from unipac.pac.olive.olive import OLIVE as OLIVE
from unipac.pac.oppq import OPPQ as OPPQ
from unipac.pac.ppq import PPQ as PPQ
from unipac.pac.protocol.records import Answer as Answer
from unipac.pac.protocol.records import Batch as Batch
from unipac.pac.rage import RAGE as RAGE
from unipac.pac.xy_adaptive import XYAdaptive as XYAdaptive
from unipac.pac.xy_static import XYStatic as XYStatic
from unipac.registry import AGENTS as AGENTS

__version__: str
__all__ = [
    "AGENTS", "ALBA", "Answer", "AnytimeSupLinUCB", "BallOFUL", "Batch", "Bounds", "CertLSVIUCB", "CertVI",
    "CertifiedPlanning", "ConfidenceBall", "Decision", "Deployment", "ELEANOR", "EpisodeTrace",
    "ExploreVerify", "FLUTE", "GAllocation", "Guarded", "LSVIUCB", "LazyTrackAndStop", "Level", "LinGapE",
    "LinTS", "LinUCB", "NestedFLUTE", "NestedOFUL", "NestedVTR", "OFUL", "OLIVE", "OPPQ", "PPQ", "PSRL",
    "PhasedElimination", "QLearning", "RAGE", "SupLinRel", "SupLinUCB", "Trace", "UBEV", "UCBAdvantage",
    "UCBVI", "UCMatrixRL", "UCRLVTR", "UCRLVTRPlus", "UPACLSVI", "UPACOFUL", "UPACVTR", "VCLSupLinUCB",
    "VOFUL", "WeightedOFUL", "XYAdaptive", "XYStatic", "bandits", "data", "deployment", "envs", "features",
    "load", "logs", "mdp", "metrics", "pac", "registry", "theory"
]
