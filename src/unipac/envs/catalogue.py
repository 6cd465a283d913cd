"""The instances that need no argument, by name."""

from __future__ import annotations

from collections.abc import Callable

from unipac.envs.arms import end_of_optimism, soare
from unipac.envs.contexts import filling, sphere
from unipac.envs.instance import BanditInstance
from unipac.envs.killers import appendix_a, killer, killer_phases
from unipac.envs.linear_mdp import LinearMDP
from unipac.envs.mdps import (
    deep_sea,
    frozen_lake,
    grid_world,
    hypercube,
    lsvi_killer,
    random_simplex,
    river_swim,
)

INSTANCES: dict[str, Callable[..., BanditInstance]] = {
    factory.__name__: factory
    for factory in (sphere, filling, appendix_a, killer, killer_phases, soare, end_of_optimism)
}

MDPS: dict[str, Callable[..., LinearMDP]] = {
    factory.__name__: factory
    for factory in (river_swim, random_simplex, deep_sea, grid_world, frozen_lake, hypercube, lsvi_killer)
}
