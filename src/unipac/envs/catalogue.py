"""The instances that need no argument, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from unipac.envs.bandits.almost_linear import misspecified
from unipac.envs.bandits.arms import end_of_optimism, soare
from unipac.envs.bandits.contexts import filling, sphere, uneven_noise
from unipac.envs.bandits.instance import BanditInstance
from unipac.envs.bandits.killers import appendix_a, killer, killer_phases
from unipac.envs.mdps.candidates import random_candidates
from unipac.envs.mdps.discounted import DiscountedMDP, random_anchors
from unipac.envs.mdps.factories import (
    deep_sea,
    frozen_lake,
    grid_world,
    lsvi_killer,
    random_simplex,
    river_swim,
)
from unipac.envs.mdps.finite_mdp import FiniteMDP
from unipac.envs.mdps.hypercubes import hypercube, hypercube_mixture
from unipac.envs.mdps.mixtures import mixture_swim, random_mixture, vtr_killer

T = TypeVar("T")


def _named(*factories: Callable[..., T]) -> dict[str, Callable[..., T]]:
    return {factory.__name__: factory for factory in factories}


BANDITS: dict[str, Callable[..., BanditInstance]] = _named(
    sphere,
    uneven_noise,
    filling,
    misspecified,
    appendix_a,
    killer,
    killer_phases,
    soare,
    end_of_optimism,
)
"""Bandit instances by the names that experiment files and ``unipac list`` use.

>>> BANDITS["sphere"](dim=3, n_actions=4).dim
3
"""

MDPS: dict[str, Callable[..., FiniteMDP]] = _named(
    river_swim,
    random_simplex,
    deep_sea,
    grid_world,
    frozen_lake,
    hypercube,
    lsvi_killer,
    mixture_swim,
    random_mixture,
    hypercube_mixture,
    vtr_killer,
)
"""MDPs by the names that experiment files and ``unipac list`` use.

>>> MDPS["river_swim"](n_states=3, horizon=3).n_states
3
"""

SEARCHED: dict[str, Callable[..., DiscountedMDP | FiniteMDP]] = _named(random_anchors, random_candidates)
"""MDPs for policy searches, by name.

>>> SEARCHED["random_anchors"](n_states=4, n_actions=2, anchors=2).n_states
4
"""
