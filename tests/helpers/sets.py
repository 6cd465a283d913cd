"""What tests of the sets behind certificates share."""

import math

import numpy as np

from unipac.bandits.sets import memory as packed
from unipac.linalg import ridge

C_LAMBDA = 0.7


def workspace(n, sets):
    """Scratch memory for n actions."""
    m, d, _ = sets.rows.shape
    room = packed.room(n, m, d, sets.weighted.shape[0] > 0)
    return packed.unpacked_work(np.zeros(room), n, sets)


def action(rng, m, d):
    """A vector in one of m blocks, of norm at most 1."""
    x = np.zeros(m * d)
    b = int(rng.integers(m))
    x[b * d : (b + 1) * d] = rng.standard_normal(d)
    return x / max(np.linalg.norm(x), 1)


class C:
    """A regression of all data with a radius, dense, and the rows of a stack for the kernels."""

    def __init__(self, dim, radius):
        self.rows, self.radius = np.zeros((1, dim, dim + 2)), radius
        ridge.reset(self.rows[0], C_LAMBDA)
        self.gram, self.b = C_LAMBDA * np.eye(dim), np.zeros(dim)

    def learn(self, x, y, times):
        ridge.add(self.rows[0], x, y, float(times), np.empty(len(x) + 2))
        self.gram, self.b = self.gram + times * np.outer(x, x), self.b + times * y * x

    def __call__(self, v):
        solved = np.linalg.solve(self.gram, v)
        return float(self.b @ solved) + self.radius * math.sqrt(max(float(v @ solved), 0.0))
