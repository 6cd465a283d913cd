"""How large the unknown parameter may be, from a pilot."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._inputs import check_rewards, floats


def suggested_norm(vectors: ArrayLike, rewards: ArrayLike, regularization: float = 1.0) -> float:
    """1.5 times the norm of the ridge fit to a pilot: a ``norm`` to start with.

    The pilot must not be learned afterwards: a bound that was taken from the data it is used on is none.

    >>> suggested_norm([[1.0, 0.0], [0.0, 1.0]], [0.6, 0.8])     # 1.5 · ‖(0.3, 0.4)‖
    0.75

    Args:
        vectors: (m, d), of the actions taken.
        rewards: (m,).
        regularization: λ of the fit.
    """
    X, y = floats("vectors", vectors), floats("rewards", rewards)
    check.require(X.ndim == 2 and X.size > 0, "vectors", "of shape (m, d), not empty", X.shape)
    check.require(y.shape == (len(X),), "rewards", f"of shape ({len(X)},)", y.shape)
    check_rewards("vectors", X)
    check_rewards("rewards", y)
    ridge = check.positive("regularization", regularization)
    fit = np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y)
    return 1.5 * float(np.linalg.norm(fit))
