# Written by `make pages` from the names in __init__.py and the agents in registry.py.

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
from unipac.mdp.protocol.agent import EpisodicAgent as EpisodicAgent
from unipac.mdp.protocol.agent import FiniteAgent as FiniteAgent
from unipac.mdp.protocol.plan import Episode as Episode
from unipac.mdp.protocol.plan import Plan as Plan
from unipac.mdp.protocol.records import EpisodeTrace as EpisodeTrace
from unipac.mdp.protocol.records import StageLevel as StageLevel
from unipac.mdp.tabular.cert_vi.cert_vi import CertVI as CertVI
from unipac.mdp.tabular.counting.agent import TabularAgent as TabularAgent
from unipac.mdp.tabular.psrl import PSRL as PSRL
from unipac.mdp.tabular.q_learning import QLearning as QLearning
from unipac.mdp.tabular.ubev import UBEV as UBEV
from unipac.mdp.tabular.ucb_advantage import UCBAdvantage as UCBAdvantage
from unipac.mdp.tabular.ucbvi import UCBVI as UCBVI
