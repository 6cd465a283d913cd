# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.envs.bandits.almost_linear import misspecified
from unipac.envs.bandits.arms import end_of_optimism, fixed_arms, soare
from unipac.envs.bandits.contexts import filling, sphere, uneven_noise
from unipac.envs.bandits.instance import BanditInstance
from unipac.envs.bandits.killers import Killer, SwitchingArms, appendix_a, killer, killer_phases
from unipac.envs.bandits.rounds import Rounds
from unipac.envs.catalogue import BANDITS, MDPS
from unipac.envs.gymnasium.continuous import ContinuousMDPEnv
from unipac.envs.gymnasium.env import LinearMDPEnv
from unipac.envs.gymnasium.numbering import Numbered, numbered
from unipac.envs.mdps.candidates import CandidateMDP, random_candidates
from unipac.envs.mdps.continuous import ContinuousMDP, continuous_swim, random_continuous
from unipac.envs.mdps.discounted import DiscountedMDP, Simulator, random_anchors
from unipac.envs.mdps.factories import (
    LSVIKiller, deep_sea, frozen_lake, grid_world, lsvi_killer, random_simplex, river_swim
)
from unipac.envs.mdps.finite_mdp import FiniteMDP, optimal, policy_value
from unipac.envs.mdps.hypercubes import hypercube, hypercube_mixture
from unipac.envs.mdps.linear_mdp import LinearMDP
from unipac.envs.mdps.mixture_mdp import MixtureMDP, model_ensemble
from unipac.envs.mdps.mixtures import VTRKiller, mixture_swim, random_mixture, vtr_killer
from unipac.envs.mdps.published import from_gymnasium

__all__ = [
    "BANDITS", "BanditInstance", "CandidateMDP", "ContinuousMDP", "ContinuousMDPEnv", "DiscountedMDP",
    "FiniteMDP", "Killer", "LSVIKiller", "LinearMDP", "LinearMDPEnv", "MDPS", "MixtureMDP", "Numbered",
    "Rounds", "Simulator", "SwitchingArms", "VTRKiller", "appendix_a", "continuous_swim", "deep_sea",
    "end_of_optimism", "filling", "fixed_arms", "from_gymnasium", "frozen_lake", "grid_world", "hypercube",
    "hypercube_mixture", "killer", "killer_phases", "lsvi_killer", "misspecified", "mixture_swim",
    "model_ensemble", "numbered", "optimal", "policy_value", "random_anchors", "random_candidates",
    "random_continuous", "random_mixture", "random_simplex", "river_swim", "soare", "sphere", "uneven_noise",
    "vtr_killer"
]
