"""The radius of each confidence set of an agent: compiled formulas of ``theory.radii``, and shares of δ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import jit
from unipac.linalg.levels import NESTED, SINGLE, Levels
from unipac.theory.kernels import (
    determinant as _determinant,
    level_delta as _level_delta,
    mixture as _mixture,
    theorem as _theorem,
)

THEOREM, DETERMINANT, MIXTURE, CONSTANT = range(4)
RADII = {"theorem": THEOREM, "determinant": DETERMINANT, "mixture": MIXTURE, "constant": CONSTANT}


class Confidence(NamedTuple):
    """The constants of an agent's confidence sets."""

    certified: bool
    """Whether all sets hold together with probability 1 − δ, as a theorem, and nothing has refuted them."""
    rule: int
    """SINGLE, DISJOINT or NESTED: how rounds are spread over levels."""
    radius: int
    """THEOREM, DETERMINANT, MIXTURE or CONSTANT."""
    delta: float
    """Shared by the levels: level l gets δ/(l(l+1)), a single level all of it."""
    outer_delta: float
    """For the set of all data around nested levels; 0 if there is none."""
    noise: float
    """R."""
    norm: float
    """S, the bound on ‖μ*‖."""
    regularization: float
    """λ."""
    action_norm: float
    """L, the bound on ‖x‖."""
    constant: float
    """The radius, if it is CONSTANT."""
    scale: float
    """Multiplies the radius for the choice; what is reported has the radius itself."""
    low: float
    """Expected rewards are from here, perhaps -∞, ..."""
    high: float
    """... to here."""


@jit
def unpacked(values: NDArray[np.float64]) -> Confidence:
    """The constants, from an array that Numba receives faster than so many numbers."""
    v = values
    return Confidence(
        v[0] != 0.0, int(v[1]), int(v[2]), v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12]
    )


@jit
def set_radii(levels: Levels, confidence: Confidence, lowest: int, S: int) -> None:
    """Renew β_l for the levels from ``lowest`` to S.

    The set of all data has the same regression as the outermost nested level, so both are one set with
    the smaller of the two radii.
    """
    c = confidence
    d = levels.rows.shape[1]
    for level in range(lowest, S + 1):
        logdet = levels.logdet[level - 1]
        delta = c.delta if c.rule == SINGLE else _level_delta(c.delta, level)
        if c.radius == THEOREM:
            beta = _theorem(d, level, c.delta)
        elif c.radius == DETERMINANT:
            beta = _determinant(logdet, delta, c.noise, c.norm, c.regularization)
        elif c.radius == MIXTURE:
            beta = _mixture(logdet, delta, c.noise, c.norm, c.regularization)
        else:
            beta = c.constant
        if level == S and c.rule == NESTED and c.outer_delta > 0.0:
            if c.radius == MIXTURE:
                outer = _mixture(logdet, c.outer_delta, c.noise, c.norm, c.regularization)
            else:
                outer = _determinant(logdet, c.outer_delta, c.noise, c.norm, c.regularization)
            beta = min(beta, outer)
        levels.beta[level - 1] = beta
