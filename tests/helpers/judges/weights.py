"""A judge of bounds by weights: the theorem, written down for whole arrays, with a root finder; nothing is compiled."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

DEPTH = np.linspace(0.0, 6.0, 32)
PRIOR = 1.0 / (1.0 + 2.0 * np.maximum(0.0, DEPTH - 2.0) ** 2)


def before(values):
    """Sums of all earlier values, for each round."""
    return np.concatenate([[0.0], np.cumsum(values)[:-1]])


def least_mean(u, z, centre, g, W, alpha):
    """The lower bound on the mean of u, where no weight can be above W (of all rounds, or of each).

    It is the least m in [0, g] with Σ c Π(1 + l (u + θ z − G)) e^{l Σ(G − m)} < 1/α.
    """
    t = len(u)
    bets = 0.98 / g * 10.0**-DEPTH
    shares = np.clip((0.98 / bets - g)[:, None] / np.broadcast_to(W, t), 0.0, 1.0)
    factors = 1.0 + bets[:, None] * (u + shares * z - centre)
    assert (factors > 0.0).all()
    wealth = np.log(factors).sum(axis=1) + bets * centre.sum() + np.log(PRIOR / PRIOR.sum())

    def excess(m):
        return logsumexp(wealth - bets * t * m) - math.log(1.0 / alpha)

    if excess(0.0) < 0.0:
        return 0.0
    return g if excess(g) >= 0.0 else brentq(excess, 0.0, g, xtol=1e-15)


def value(w, r, W, alpha, guess=None, expected=None):
    """Both bounds of the value of one policy, each with α; rewards in [0, 1]."""
    found = []
    for y, f, F in (
        (r, guess, expected),
        (1 - r, None if guess is None else 1 - guess, None if guess is None else 1 - expected),
    ):
        seen = before(w) + 1.0
        mean = (before(w * y) + 0.5) / seen
        if guess is None:
            f = F = centre = mean
        else:
            centre = np.clip(F + before(w * (y - f)) / seen, 0.0, 1.0)
        found.append(least_mean(w * y, F - w * f, centre, 1.0, W, alpha))
    return found[0], 1.0 - found[1]


def difference(w, r, v, W, alpha, guess=None, expected=None, other_expected=None):
    """Both bounds of the value of the policy with weights w minus that with weights v."""
    found = []
    for a, b, F, second in ((w, v, expected, other_expected), (v, w, other_expected, expected)):
        if guess is None:
            f = F = second = (before((w + v) * r) + 0.5) / (before(w + v) + 1.0)
            centre = (
                1.0 + (before(a * r) + 0.5) / (before(a) + 1.0) - (before(b * r) + 0.5) / (before(b) + 1.0)
            )
        else:
            f = guess
            centre = (
                1.0
                + (F + before(a * (r - f)) / (before(a) + 1.0))
                - (second + before(b * (r - f)) / (before(b) + 1.0))
            )
        z = (F - a * f) + ((1 - second) - b * (1 - f))
        found.append(least_mean(a * r + b * (1 - r), z, np.clip(centre, 0.0, 2.0), 2.0, W, alpha) - 1.0)
    return found[0], -found[1]
