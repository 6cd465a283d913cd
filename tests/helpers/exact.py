"""Ridge regression in rational arithmetic: the judge of rounding errors."""

from fractions import Fraction

import mpmath
import numpy as np

GRID = 2**20
"""Features and rewards are multiples of 1/GRID, so that sums of a million products fit an int64."""


def on_grid(values):
    """Integers k for values k/GRID."""
    return np.rint(np.asarray(values) * GRID).astype(np.int64)


def regression(features, rewards, regularization, grid=GRID):
    """Sigma and b as matrices of 60 digits, from integer features and rewards, without any rounding."""
    mpmath.mp.dps = 60
    gram = features.T @ features
    moment = features.T @ rewards
    d = features.shape[1]
    scale = mpmath.mpf(grid) ** 2
    Sigma = mpmath.matrix(d, d)
    b = mpmath.matrix(d, 1)
    for i in range(d):
        b[i] = mpmath.mpf(int(moment[i])) / scale
        for j in range(d):
            Sigma[i, j] = mpmath.mpf(int(gram[i, j])) / scale
        Sigma[i, i] += mpmath.mpf(regularization)
    return Sigma, b


def mean_and_width(Sigma, b, x):
    column = mpmath.matrix([mpmath.mpf(float(value)) for value in x])
    solved = mpmath.lu_solve(Sigma, column)
    return float((b.T * solved)[0]), float(mpmath.sqrt((column.T * solved)[0]))


def after_equal_rounds(x, reward, times, regularization, probe):
    """Mean and squared width of ``probe`` after equal rounds (x, reward), Sherman-Morrison in fractions."""
    x = [Fraction(float(value)) for value in x]
    probe = [Fraction(float(value)) for value in probe]
    lam = Fraction(float(regularization))
    xx = sum(value * value for value in x)
    xp = sum(a * b for a, b in zip(x, probe, strict=True))
    pp = sum(value * value for value in probe)
    gain = lam + times * xx
    width2 = (pp - times * xp * xp / gain) / lam
    mean = times * Fraction(float(reward)) * xp / gain
    return float(mean), float(width2)
