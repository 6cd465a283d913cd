"""Whether rewards can be linear in the vectors: a test that is valid for logs of any policy.

With y_t = ⟨μ*, x_t⟩ + ε_t and vectors z_t made of x_t alone, for any λ > 0 and V = λI + Σ z_t z_tᵀ,

    P( ‖Σ z_t ε_t‖²_{V⁻¹} ≥ R² [log det(V/λ) + 2 log(1/α)] ) ≤ α

(Abbasi-Yadkori, Pál and Szepesvári 2011, Theorem 1), and Σ z_t ε_t = b − Gμ* with b = Σ z_t y_t and G = Σ z_t x_tᵀ. So

    min_θ ‖b − Gθ‖²_{V⁻¹} above that bound

happens with probability at most α if the rewards are linear in x and the noise has scale R. Here z is x and its
products x_i x_j, or its squares alone where there would be too many.
"""

from __future__ import annotations

import math
from typing import NamedTuple, SupportsFloat

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.logs.log import Log
from unipac.theory import radii

MOST_PAIRED = 30
"""Up to this dimension all products of two entries are looked at."""

PART = 4096
"""Rounds whose products are in memory at once."""


class Misfit(NamedTuple):
    """The outcome of the test.

    >>> Misfit(statistic=3.0, threshold=2.0).found
    True
    """

    statistic: float
    """The distance of the rewards from linear ones, √ of the minimum."""
    threshold: float
    """More than this has probability at most α if rewards are linear."""

    @property
    def found(self) -> bool:
        """Whether linear rewards are ruled out."""
        return self.statistic > self.threshold


def misfit(log: Log, *, noise: SupportsFloat, alpha: SupportsFloat = 0.01) -> Misfit:
    """Whether the rewards of a log can be linear in the vectors of the actions taken.

    Found means: with probability 1 − ``alpha`` the rewards are not linear, or their noise is larger than said. Not
    found means little: there may be too few rounds, or another misfit than that of second order.

    Args:
        log: of any policy.
        noise: R, the sub-Gaussian scale of the noise.
        alpha: the probability of a false alarm.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-0.7, 0.7, (2000, 1, 2))
        >>> straight, bent = X[:, 0, 0], X[:, 0, 0] ** 2
        >>> dice = rng.uniform(-0.2, 0.2, 2000)
        >>> first = np.zeros(2000, dtype=int)
        >>> [misfit(Log(X, first, y + dice), noise=0.2).found for y in (straight, bent)]
        [False, True]
    """
    R, alpha = check.nonnegative("noise", noise), check.probability("alpha", alpha)
    x, y = log.actions, log.rewards
    size = x.shape[1] + _products(x[:0]).shape[1]
    V, G, b = np.eye(size), np.zeros((size, x.shape[1])), np.zeros(size)
    for begin in range(0, len(x), PART):
        part = slice(begin, begin + PART)
        z = np.hstack([x[part], _products(x[part])])
        V, G, b = V + z.T @ z, G + z.T @ x[part], b + z.T @ y[part]
    factor = np.linalg.cholesky(V)
    logdet = 2.0 * float(np.log(np.diag(factor)).sum())
    A, c = np.linalg.solve(factor, G), np.linalg.solve(factor, b)
    theta = np.linalg.lstsq(A, c)[0]
    threshold = radii.mixture(max(logdet, 0.0), alpha, noise=R, norm=0.0, regularization=1.0)
    # Without noise anything beyond rounding is a misfit.
    rounding = 1e-9 * math.sqrt(float(c @ c))
    return Misfit(float(np.linalg.norm(c - A @ theta)), threshold + rounding)


def _products(x: Array) -> Array:
    if x.shape[1] > MOST_PAIRED:
        return np.asarray(x * x)
    i, j = np.triu_indices(x.shape[1])
    return np.asarray(x[:, i] * x[:, j])
