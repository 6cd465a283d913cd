"""The accumulated excess E of set B after 10^6 rounds, against 50 digits."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import unipac
from unipac.bandits.sets import memory

pytestmark = pytest.mark.slow

ROUNDS = 10**6


def test_the_excess_after_a_million_rounds():
    """Relative error at most 1e-9; rewards 0 or 1, forecasts clipped, half of the actions nearly collinear."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi / 2, ROUNDS)
    near = rng.random(ROUNDS) < 0.5
    angle[near] = 0.7 + 1e-4 * (rng.random(near.sum()) < 0.5)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = (rng.random(ROUNDS) < 0.3 * X[:, 0] + 0.5 * X[:, 1]) * 1.0
    agent = unipac.OFUL(2, noise=0.5, norm=0.6, reward_range=(0.0, 1.0))
    agent.absorb(X, y)
    sets, rules = memory.unpacked(agent.state.sets)
    with localcontext() as context:
        context.prec = 50
        lam, one, zero = Decimal(rules.regularization), Decimal(1), Decimal(0)
        p, q, r = one / lam, zero, one / lam  # the inverse of Σ
        a = b = excess = zero
        for (u, v), reward in zip(X.tolist(), y.tolist(), strict=True):
            s, t, value = Decimal(u), Decimal(v), Decimal(reward)
            f, g = p * s + q * t, q * s + r * t
            mean, grown = a * s + b * t, one + f * s + g * t
            error = value - mean
            forecast = min(max(mean, zero), one)
            excess += (value - forecast) ** 2 - error * error / grown
            a, b = a + f * error / grown, b + g * error / grown
            p, q, r = p - f * f / grown, q - f * g / grown, r - g * g / grown
    assert sets.sums[0, memory.COUNT] == ROUNDS
    assert sets.sums[0, memory.EXCESS] == pytest.approx(float(excess), rel=1e-9)
