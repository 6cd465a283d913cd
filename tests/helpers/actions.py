"""Action sets of many kinds, for comparisons of agents with their judges."""

import numpy as np


def action_sets(rng, dim, rounds, n, kind):
    """Actions of norm 1e-6 to 1: random, with repeats, collinear, of unit length, or few fixed arms."""
    X = rng.standard_normal((rounds, n, dim))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    if kind == "norms":
        X *= 10.0 ** rng.uniform(-6, 0, (rounds, n, 1))
    elif kind == "repeats":
        X[:, n // 2 :] = X[:, : n - n // 2]
        X *= rng.uniform(0.2, 1, (rounds, n, 1))
    elif kind == "collinear":
        directions = X[0, :2]
        X = directions[rng.integers(0, 2, (rounds, n))] * rng.uniform(-1, 1, (rounds, n, 1))
    elif kind == "arms":
        X = np.repeat(X[:1] * rng.uniform(0.5, 1, (1, n, 1)), rounds, axis=0)
    return X
