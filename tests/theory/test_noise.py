"""The scale of bounded noise, against the moment generating function of the worst variable."""

import math

import numpy as np
import pytest

from unipac import theory


@pytest.mark.parametrize("most", [0.004, 0.02, 0.1, 0.3, 0.499, 0.5])
def test_no_bernoulli_variable_is_noisier(most):
    """log E exp(s(X − p)) ≤ s²R²/2 for all p up to ``most``, and the bound is attained nearly, so R is not too large.

    A variable in [0, 1] of mean p has at most the moment generating function of Bernoulli(p).
    """
    R = theory.bounded_noise(most=most)
    s = np.concatenate([np.linspace(-60, -0.05, 2000), np.linspace(0.05, 60, 2000)])
    largest = 0.0
    for p in np.linspace(most / 50, most, 50):
        ratio = (np.log1p(p * np.expm1(s)) - s * p) / (s * s / 2)
        largest = max(largest, float(ratio.max()))
    assert largest <= R**2 * (1 + 1e-9)
    assert largest >= R**2 * 0.995  # negative control: a smaller scale would not do


def test_values():
    assert theory.bounded_noise(most=0.02) == pytest.approx(0.35, abs=0.005)
    assert theory.bounded_noise(most=0.004) == pytest.approx(0.30, abs=0.005)
    assert theory.bounded_noise(most=0.9) == theory.bounded_noise() == 0.5
    assert theory.bounded_noise(2.0, 6.0, most=2.0 + 4 * 0.1) == pytest.approx(
        4 * theory.bounded_noise(most=0.1)
    )
    assert theory.bounded_noise(most=0.0) == 0.0
    grid = [theory.bounded_noise(most=p) for p in np.linspace(1e-12, 1, 2001)]
    assert grid == sorted(grid)
    assert theory.bounded_noise(most=0.5 - 1.1e-6) == pytest.approx(0.5, abs=1e-11)


@pytest.mark.parametrize(
    "bad", [(1.0, 0.0), (0.0, math.inf), (0.0, 0.0), ("a", 1.0), (0.0, 1.0, 1.5), (0.0, 1.0, -0.1)]
)
def test_nonsense(bad):
    with pytest.raises(ValueError, match="got"):
        theory.bounded_noise(*bad)
