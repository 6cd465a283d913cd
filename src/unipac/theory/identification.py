"""A lower bound, for every method, on the number of pulls that identify the best arm.

Let Δ_x > 0 be the gap of arm x to the best arm x*. A method that errs with probability at most δ for every parameter
needs at least T* log(1/(2.4 δ)) pulls on average (Kaufmann, Cappé and Garivier 2016, with the change of measure of
Soare 2015 for linear rewards), where

    T* = 2 R² min_λ max_{x ≠ x*} ‖x* − x‖²_{A(λ)⁻¹} / Δ_x²,     A(λ) = Σ λ_x xxᵀ, Σ λ_x = 1,

If the best of other vectors than the arms is sought, x and x* in the maximum are these targets. The minimiser λ has
the proportions in which a method that attains the bound pulls the arms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._inputs import floats
from unipac.linalg import design


class IdentificationTime(NamedTuple):
    """A lower bound on the expected number of pulls of any method, and the proportions of the arms."""

    pulls: float
    """T* log(1/(2.4 δ)), with a certified lower bound on T*; 0 for δ ≥ 1/2.4."""
    time: float
    """The value that the weights attain: at most 1 + tolerance times T*."""
    weights: NDArray[np.float64]
    """(n,): the proportions of the pulls that attain ``time``."""


def identification_time(
    arms: ArrayLike,
    theta: ArrayLike,
    delta: float,
    *,
    targets: ArrayLike | None = None,
    noise: float = 1.0,
    tolerance: float = 1e-3,
) -> IdentificationTime:
    """The number of pulls that any method with error probability δ needs on average, with Gaussian noise.

    Args:
        arms: (n, d), the vectors that can be pulled.
        theta: (d,), the true parameter.
        delta: δ, the error probability.
        targets: (m, d), among which the best is sought, by default the arms; one must be better than all others.
        noise: R, the standard deviation of the noise.
        tolerance: relative error allowed in the computed T*.

    >>> found = identification_time([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.0], 0.05)
    >>> found.time, found.weights     # ‖e1 − e2‖² = 1/λ1 + 1/λ2 = 4 at λ = (½, ½): T* = 2 · 4/0.25
    (32.0, array([0.5, 0.5]))
    >>> round(found.pulls, 2)         # 32 log(1/0.12) = 32 · 2.120264
    67.85
    >>> identification_time([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.0], 0.05, targets=[[1.0, 0.0], [0.5, 0.0]]).weights
    array([1., 0.])
    """
    X = floats("arms", arms)
    check.require(X.ndim == 2 and X.size > 0, "arms", "of shape (n, d), not empty", X.shape)
    w = floats("theta", theta)
    check.require(w.shape == (X.shape[1],), "theta", f"of shape ({X.shape[1]},) as the arms", w.shape)
    check.require(bool(np.isfinite(X).all() and np.isfinite(w).all()), "arms and theta", "finite", arms)
    delta = check.probability("delta", delta)
    noise = check.nonnegative("noise", noise)
    Z = X if targets is None else floats("targets", targets)
    fits = Z.ndim == 2 and Z.size > 0 and Z.shape[1] == len(w) and bool(np.isfinite(Z).all())
    check.require(fits, "targets", f"finite, of shape (m, {len(w)}), not empty", Z.shape)
    means = Z @ w
    best = int(means.argmax())
    others = np.arange(len(Z)) != best
    if not others.any():
        return IdentificationTime(0.0, 0.0, np.full(len(X), 1.0 / len(X)))
    gaps = means[best] - means[others]
    check.require(
        bool((gaps > 0).all()),
        "arms" if targets is None else "targets",
        "such that one is better than all others",
        float(gaps.min()),
    )
    optimal = design.design(X, (Z[best] - Z[others]) / gaps[:, None], tolerance=tolerance)
    scale = 2.0 * noise**2
    pulls = scale * optimal.lower * max(math.log(1.0 / (2.4 * delta)), 0.0)
    return IdentificationTime(pulls, scale * optimal.value, optimal.weights)
