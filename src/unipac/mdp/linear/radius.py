"""The radii of the MDP agents by name: their constants level by level, and whether they are proven."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac.linalg.levels import NESTED, SINGLE
from unipac.theory import mdp_radii, radii

FIXED, FINITE, MIXTURE = 0, 1, 2
"""Kinds: one number per level; ``flute_finite`` with two constants; H ``mixture`` with a share of δ."""

CENTRED = ("finite", "explicit")
"""Radii for targets r + V(s') − (H − h)/2 with V at most H − h."""

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
    """The kind of a radius and its constants, (levels, H, 2)."""
    nested = rule == NESTED
    constants = np.zeros((levels, horizon, 2))
    for i in range(1 if rule == SINGLE else levels):
        level = i + 1
        if radius == "finite":
            for h in range(horizon):
                constants[i, h] = mdp_radii.finite_constants(
                    dim,
                    horizon,
                    level,
                    delta,
                    n_states=n_states,
                    regularization=regularization,
                    nested=nested,
                    episodes=episodes if rule == SINGLE else None,
                    stage=h + 1,
                )
        elif radius == "mixture":
            constants[i, :, 0] = delta if rule == SINGLE else radii.level_delta(delta, level)
        elif radius == "explicit":
            constants[i, :, 0] = mdp_radii.flute_explicit(
                dim, horizon, level, delta, regularization=regularization, nested=nested
            )
        elif rule == SINGLE:
            assert episodes is not None
            constants[i, :, 0] = mdp_radii.lsvi_ucb(dim, horizon, episodes, delta, constant=constant)
        else:
            constants[i, :, 0] = mdp_radii.flute_theorem(dim, horizon, level, delta, constant=constant)
    return {"finite": FINITE, "mixture": MIXTURE}.get(radius, FIXED), constants


def centres(radius: str, horizon: int) -> NDArray[np.float64]:
    """(H,): what is taken from the targets of each stage, the middle of the values of what follows."""
    middle: NDArray[np.float64] = 0.5 * np.arange(horizon - 1, -1, -1.0)
    return middle if radius in CENTRED else np.zeros(horizon)


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
    if radius in CENTRED:
        return True
    if radius == "mixture" or rule == SINGLE:
        return False
    nested = rule == NESTED
    return all(
        mdp_radii.flute_theorem(dim, horizon, level, delta, constant=constant)
        >= mdp_radii.uncentred_explicit(dim, horizon, level, delta, regularization, nested)
        for level in range(1, MOST_CHECKED + 1)
    )
