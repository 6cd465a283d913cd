"""BallOFUL chooses, in two dimensions, what scanning the boundaries of ellipsoid and ball chooses."""

import numpy as np
import pytest
from naive import ball_support, determinant, mixture

import unipac


@pytest.mark.parametrize("radius", ["determinant", "mixture"])
@pytest.mark.parametrize("lam", [0.4, 1.0, 3.0])
def test_choices_and_bounds_are_those_of_a_scan(lam, radius):
    rng = np.random.default_rng(8)
    agent = unipac.BallOFUL(2, noise=0.2, norm=0.8, regularization=lam, radius=radius)
    Sigma, b, theta = lam * np.eye(2), np.zeros(2), np.array([0.5, -0.6])
    formula = {"determinant": determinant, "mixture": mixture}[radius]
    for _ in range(60):
        X = rng.standard_normal((4, 2))
        X *= rng.uniform(0.2, 1, (4, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
        w, beta = np.linalg.solve(Sigma, b), formula(Sigma, lam, 0.2, 0.8, 0.05)
        upper = np.array([ball_support(Sigma, w, beta, 0.8, x, grid=4001) for x in X])
        lower = np.array([-ball_support(Sigma, w, beta, 0.8, -x, grid=4001) for x in X])
        decision, bounds = agent.choose(X), agent.bounds(X)
        np.testing.assert_allclose(bounds.ucb, upper, atol=2e-3)  # a scan misses corners by a step
        np.testing.assert_allclose(bounds.lcb, lower, atol=2e-3)
        assert upper[decision.index] >= upper.max() - 2e-3
        assert decision.certificate == pytest.approx(upper.max() - lower[decision.index], abs=4e-3)
        y = X[decision.index] @ theta + 0.2 * rng.standard_normal()
        agent.update(decision, y)
        Sigma += np.outer(X[decision.index], X[decision.index])
        b += y * X[decision.index]
