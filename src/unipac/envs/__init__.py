"""Stochastic linear bandit instances which know their optimum.

Every instance yields its rounds as pure functions of a seed and the number of the round, see
`BanditInstance`. `INSTANCES` maps names to the factories that need no argument.
"""

from collections.abc import Callable

from unipac.envs.arms import end_of_optimism, fixed_arms, soare
from unipac.envs.classification import digits
from unipac.envs.contexts import sphere
from unipac.envs.instance import BanditInstance, NoiseKind, Rounds
from unipac.envs.killers import Killer, appendix_a, killer, killer_phases

INSTANCES: dict[str, Callable[..., BanditInstance]] = {
    factory.__name__: factory
    for factory in (sphere, appendix_a, killer, killer_phases, soare, end_of_optimism, digits)
}

__all__ = [
    "INSTANCES",
    "BanditInstance",
    "Killer",
    "NoiseKind",
    "Rounds",
    "appendix_a",
    "digits",
    "end_of_optimism",
    "fixed_arms",
    "killer",
    "killer_phases",
    "soare",
    "sphere",
]
