# Written by `make pages` from the names in __init__.py and the agents in registry.py.

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
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.finite import FiniteAgent
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.mdp.protocol.records import EpisodeTrace, LearningTrace, StageLevel
from unipac.mdp.tabular.cert_vi.cert_vi import CertVI
from unipac.mdp.tabular.counting.agent import TabularAgent
from unipac.mdp.tabular.psrl import PSRL
from unipac.mdp.tabular.q_learning import QLearning
from unipac.mdp.tabular.rlsvi import RLSVI
from unipac.mdp.tabular.ubev import UBEV
from unipac.mdp.tabular.ucb_advantage import UCBAdvantage
from unipac.mdp.tabular.ucbvi import UCBVI

__all__ = [
    "CertLSVIUCB", "CertVI", "ELEANOR", "Episode", "EpisodeTrace", "EpisodicAgent", "FLUTE", "FiniteAgent",
    "LSVIUCB", "LearningTrace", "MonotoneLSVI", "NestedFLUTE", "NestedVTR", "PSRL", "Plan", "QLearning",
    "RLSVI", "StageLevel", "StarLSVI", "TabularAgent", "UBEV", "UCBAdvantage", "UCBVI", "UCMatrixRL",
    "UCRLVTR", "UCRLVTRPlus", "UPACLSVI", "UPACVTR"
]
