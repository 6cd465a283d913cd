"""The sets of an agent: empty, and in the form that its parameters ask for."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unipac.bandits.sets import kernels
from unipac.bandits.sets.kernels import Rules, Sets, Work
from unipac.linalg import ridge, triangle

Array = NDArray[np.float64]


def make_rules(
    dim: int,
    blocks: int,
    share: float,
    *,
    noise: float,
    norm: float,
    regularization: float,
    action_norm: float,
    reward_range: tuple[float, float] | None,
    misspecification: tuple[float, ...],
) -> Rules:
    """The constants of the sets, A and B having ``share`` of δ each, all blocks together.

    λ = R²d/(4S²) of a block balances bias and noise; if R or S is 0, that of the other regressions serves.
    """
    low, high = reward_range or (-math.inf, math.inf)
    matched = noise > 0.0 and norm > 0.0
    return Rules(
        noise=noise,
        norm=norm,
        action_norm=action_norm,
        regularization=noise**2 * (dim // blocks) / (4.0 * norm**2) if matched else regularization,
        log_share=math.log(blocks / share),
        low=low,
        high=high,
        zetas=np.array(misspecification, dtype=np.float64),
    )


def empty(dim: int, blocks: int, rules: Rules) -> Sets:
    """Sets without data; none if ``blocks`` is 0."""
    d = dim // max(blocks, 1)
    columns = d + 3 if rules.zetas[-1] > 0.0 else d + 2
    sets = Sets(
        np.zeros((blocks, d, columns)),
        np.zeros((blocks, d, d)),
        np.zeros((blocks, 9)),
        np.zeros((blocks, 4), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )
    sets.sums[:, kernels.SCALE] = rules.regularization
    sets.counts[:, kernels.LAST] = -1
    for b in range(blocks):
        ridge.reset(sets.rows[b], rules.regularization)
        triangle.reset(sets.factor[b], rules.regularization)
        kernels.set_radii(sets, rules, b)
    return sets


def workspace(n: int, sets: Sets) -> Work:
    """Scratch memory for n actions."""
    d = sets.rows.shape[1]
    return Work(
        np.empty(n, dtype=np.int64),
        np.empty((n, d)),
        np.empty((n, 3)),
        np.empty(n),
        np.empty(d),
        np.empty(d + 3),
    )
