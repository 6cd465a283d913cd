"""Instances which know their optimum: stochastic linear bandits and linear MDPs.

Every bandit instance yields its rounds as pure functions of a seed and the number of the round, see
`BanditInstance`. `INSTANCES` maps names to the factories that need no argument. `MDPS` does so for the
factories of `LinearMDP`, which are Gymnasium environments as well, see ``unipac.envs.gym``.
"""

from collections.abc import Callable

from unipac.envs.arms import end_of_optimism, fixed_arms, soare
from unipac.envs.classification import digits
from unipac.envs.contexts import filling, sphere
from unipac.envs.gym import LinearMDPEnv
from unipac.envs.instance import BanditInstance, NoiseKind, Rounds
from unipac.envs.killers import Killer, SwitchingArms, appendix_a, killer, killer_phases
from unipac.envs.linear_mdp import LinearMDP
from unipac.envs.mdps import (
    LSVIKiller,
    deep_sea,
    frozen_lake,
    grid_world,
    hypercube,
    lsvi_killer,
    random_simplex,
    river_swim,
)
from unipac.envs.planning import Optimum, level_policy_value, optimal, policy_value

INSTANCES: dict[str, Callable[..., BanditInstance]] = {
    factory.__name__: factory
    for factory in (sphere, filling, appendix_a, killer, killer_phases, soare, end_of_optimism, digits)
}

MDPS: dict[str, Callable[..., LinearMDP]] = {
    factory.__name__: factory
    for factory in (river_swim, random_simplex, deep_sea, grid_world, frozen_lake, hypercube, lsvi_killer)
}

__all__ = [
    "INSTANCES",
    "MDPS",
    "BanditInstance",
    "Killer",
    "LSVIKiller",
    "LinearMDP",
    "LinearMDPEnv",
    "NoiseKind",
    "Optimum",
    "Rounds",
    "SwitchingArms",
    "appendix_a",
    "deep_sea",
    "digits",
    "end_of_optimism",
    "filling",
    "fixed_arms",
    "frozen_lake",
    "grid_world",
    "hypercube",
    "killer",
    "killer_phases",
    "level_policy_value",
    "lsvi_killer",
    "optimal",
    "policy_value",
    "random_simplex",
    "river_swim",
    "soare",
    "sphere",
]
