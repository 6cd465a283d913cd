"""A guess of the norm of the unknown parameter, from pilot data."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._inputs import check_rewards, floats


def suggested_norm(vectors: ArrayLike, rewards: ArrayLike, regularization: float = 1.0) -> float:
    """1.5 times the norm of the ridge fit to pilot data: a ``norm`` to start with.

    The agent must not learn the pilot data afterwards: a bound is not valid for the data from which it was taken.

    >>> suggested_norm([[1.0, 0.0], [0.0, 1.0]], [0.6, 0.8])     # 1.5 · ‖(0.3, 0.4)‖
    0.75

    Args:
        vectors: vectors of the actions taken, (m, d).
        rewards: their rewards, (m,).
        regularization: λ of the ridge fit.
    """
    X, y = floats("vectors", vectors), floats("rewards", rewards)
    check.require(X.ndim == 2 and X.size > 0, "vectors", "of shape (m, d), not empty", X.shape)
    check.require(y.shape == (len(X),), "rewards", f"of shape ({len(X)},)", y.shape)
    check_rewards("vectors", X)
    check_rewards("rewards", y)
    ridge = check.positive("regularization", regularization)
    fit = np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y)
    return 1.5 * float(np.linalg.norm(fit))
