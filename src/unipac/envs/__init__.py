"""Instances which know their optimum: stochastic linear bandits and finite MDPs, linear or not.

Every bandit instance yields its rounds as pure functions of a seed and the number of the round, see
`BanditInstance`. `INSTANCES` maps names to the factories that need no argument. `MDPS` does so for the
factories of `LinearMDP` and `MixtureMDP`, which are Gymnasium environments as well, see ``unipac.envs.gymnasium.env``,
`SEARCHED` for what searches for a policy are run on.
Any other MDP with finitely many states is a `FiniteMDP`, one without end a `DiscountedMDP`.

Names are imported when they are first used.

>>> from unipac import envs
>>> float(envs.river_swim(n_states=3, horizon=3).optimal_value()[0])
0.2515
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unipac.envs.gymnasium.ids import register_in_time

if TYPE_CHECKING:
    from unipac.envs.bandits.almost_linear import misspecified
    from unipac.envs.bandits.arms import end_of_optimism, fixed_arms, soare
    from unipac.envs.bandits.contexts import filling, sphere, uneven_noise
    from unipac.envs.bandits.instance import BanditInstance, NoiseKind
    from unipac.envs.bandits.killers import Killer, SwitchingArms, appendix_a, killer, killer_phases
    from unipac.envs.bandits.rounds import Rounds
    from unipac.envs.catalogue import INSTANCES, MDPS, SEARCHED
    from unipac.envs.gymnasium.env import LinearMDPEnv
    from unipac.envs.mdps.candidates import CandidateMDP, random_candidates
    from unipac.envs.mdps.discounted import DiscountedMDP, Simulator, random_anchors
    from unipac.envs.mdps.factories import (
        LSVIKiller,
        deep_sea,
        frozen_lake,
        grid_world,
        lsvi_killer,
        random_simplex,
        river_swim,
    )
    from unipac.envs.mdps.finite_mdp import FiniteMDP, optimal, policy_value
    from unipac.envs.mdps.hypercubes import hypercube, hypercube_mixture
    from unipac.envs.mdps.linear_mdp import LinearMDP
    from unipac.envs.mdps.mixture_mdp import MixtureMDP, model_ensemble
    from unipac.envs.mdps.mixtures import (
        VTRKiller,
        mixture_swim,
        random_mixture,
        vtr_killer,
    )
    from unipac.envs.mdps.planning import Optimum, level_policy_value
    from unipac.envs.mdps.published import from_gymnasium

__all__ = [
    "INSTANCES",
    "MDPS",
    "SEARCHED",
    "BanditInstance",
    "CandidateMDP",
    "DiscountedMDP",
    "FiniteMDP",
    "Killer",
    "LSVIKiller",
    "LinearMDP",
    "LinearMDPEnv",
    "MixtureMDP",
    "NoiseKind",
    "Optimum",
    "Rounds",
    "Simulator",
    "SwitchingArms",
    "VTRKiller",
    "appendix_a",
    "deep_sea",
    "end_of_optimism",
    "filling",
    "fixed_arms",
    "from_gymnasium",
    "frozen_lake",
    "grid_world",
    "hypercube",
    "hypercube_mixture",
    "killer",
    "killer_phases",
    "level_policy_value",
    "lsvi_killer",
    "misspecified",
    "mixture_swim",
    "model_ensemble",
    "optimal",
    "policy_value",
    "random_anchors",
    "random_candidates",
    "random_mixture",
    "random_simplex",
    "river_swim",
    "soare",
    "sphere",
    "uneven_noise",
    "vtr_killer",
]

_NAMES = {
    "bandits.almost_linear": ("misspecified",),
    "bandits.arms": ("end_of_optimism", "fixed_arms", "soare"),
    "mdps.candidates": ("CandidateMDP", "random_candidates"),
    "catalogue": ("INSTANCES", "MDPS", "SEARCHED"),
    "bandits.contexts": ("filling", "sphere", "uneven_noise"),
    "mdps.discounted": ("DiscountedMDP", "Simulator", "random_anchors"),
    "mdps.finite_mdp": ("FiniteMDP", "optimal", "policy_value"),
    "gymnasium.env": ("LinearMDPEnv",),
    "mdps.hypercubes": ("hypercube", "hypercube_mixture"),
    "bandits.instance": ("BanditInstance", "NoiseKind"),
    "bandits.killers": ("Killer", "SwitchingArms", "appendix_a", "killer", "killer_phases"),
    "mdps.linear_mdp": ("LinearMDP",),
    "mdps.factories": (
        "LSVIKiller",
        "deep_sea",
        "frozen_lake",
        "grid_world",
        "lsvi_killer",
        "random_simplex",
        "river_swim",
    ),
    "mdps.mixture_mdp": ("MixtureMDP", "model_ensemble"),
    "mdps.mixtures": ("VTRKiller", "mixture_swim", "random_mixture", "vtr_killer"),
    "mdps.planning": ("Optimum", "level_policy_value"),
    "mdps.published": ("from_gymnasium",),
    "bandits.rounds": ("Rounds",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_in_time()
