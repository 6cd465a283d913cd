"""Small worlds of features for the agents for linear MDPs."""

import numpy as np

from unipac import envs


def collinear():
    """Features of d = 2, two of them equal, two collinear; rewards that are linear in them."""
    phi = np.array([[[0.6, 0.4], [0.6, 0.4]], [[0.3, 0.2], [0.1, 0.9]], [[1.0, 0.0], [0.0, 1.0]]])
    return phi, 2


WORLDS = {
    "one-hot": lambda: (envs.river_swim(3, 3).features, 3),
    "simplex": lambda: (envs.random_simplex(4, 3, 3, 2, seed=5).features, 2),
    "collinear": collinear,
    "one of each": lambda: (np.ones((1, 1, 1)), 1),
}
