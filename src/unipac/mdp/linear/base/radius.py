"""The radii of the MDP agents by name: their constants level by level, and whether they are proven."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac.linalg.levels import NESTED, SINGLE
from unipac.theory import mdp_radii, radii

FIXED, FINITE, MIXTURE = 0, 1, 2
"""Kinds: one number per level; ``flute_finite`` with two constants; H ``mixture`` with a share of δ."""

MOST_CHECKED = 30
"""Levels up to which the theorem is compared with the explicit radius; the ratio of the two falls with l."""


def radius_rules(
    radius: str,
    levels: int,
    *,
    dim: int,
    horizon: int,
    delta: float,
    regularization: float,
    n_states: int,
    constant: float,
    rule: int,
    episodes: int | None,
) -> tuple[int, NDArray[np.float64]]:
    """The kind of a radius and its constants, (levels, 2)."""
    nested = rule == NESTED
    constants = np.zeros((levels, 2))
    for i in range(1 if rule == SINGLE else levels):
        level = i + 1
        if radius == "finite":
            constants[i] = mdp_radii.finite_constants(
                dim,
                horizon,
                level,
                delta,
                n_states=n_states,
                regularization=regularization,
                nested=nested,
                episodes=episodes if rule == SINGLE else None,
            )
        elif radius == "mixture":
            constants[i, 0] = delta if rule == SINGLE else radii.level_delta(delta, level)
        elif radius == "explicit":
            constants[i, 0] = mdp_radii.flute_explicit(
                dim, horizon, level, delta, regularization=regularization, nested=nested
            )
        elif rule == SINGLE:
            assert episodes is not None
            constants[i, 0] = mdp_radii.lsvi_ucb(dim, horizon, episodes, delta, constant=constant)
        else:
            constants[i, 0] = mdp_radii.flute_theorem(dim, horizon, level, delta, constant=constant)
    return {"finite": FINITE, "mixture": MIXTURE}.get(radius, FIXED), constants


def certified_radius(
    radius: str,
    *,
    dim: int,
    horizon: int,
    delta: float,
    regularization: float,
    constant: float,
    rule: int,
) -> bool:
    """Whether a radius is proven: ``mixture`` never, ``theorem`` if its constant is large enough."""
    if radius in ("finite", "explicit"):
        return True
    if radius == "mixture" or rule == SINGLE:
        return False
    nested = rule == NESTED
    return all(
        mdp_radii.flute_theorem(dim, horizon, level, delta, constant=constant)
        >= mdp_radii.flute_explicit(dim, horizon, level, delta, regularization=regularization, nested=nested)
        for level in range(1, MOST_CHECKED + 1)
    )
