"""BallOFUL, and radius "ball" of WeightedOFUL, in two dimensions: the scanned boundaries of ellipsoid and ball."""

import numpy as np
import pytest

import unipac
from helpers.actions import action_sets
from helpers.judges.levelled import ball_support, determinant, mixture


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


@pytest.mark.parametrize("lam", [0.4, 1.0, 3.0])
def test_radius_ball_chooses_as_before_and_certifies_less(lam):
    told = {"noise": 0.2, "norm": 0.8, "regularization": lam}
    cut, whole = (unipac.WeightedOFUL(2, radius=radius, **told) for radius in ("ball", "mixture"))
    rng, theta, smaller = np.random.default_rng(8), np.array([0.5, -0.6]), 0
    Sigma, b = lam * np.eye(2), np.zeros(2)
    for _ in range(60):
        X = rng.standard_normal((4, 2))
        X *= rng.uniform(0.2, 1, (4, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
        scale = 0.2  # its ellipsoid is that of the data over their noise
        w = np.linalg.solve(Sigma, b)
        beta = mixture(Sigma, lam, 0.2 / scale, 0.8, 0.05)
        upper = np.array([ball_support(Sigma, w, beta, 0.8, x, grid=4001) for x in X])
        lower = np.array([-ball_support(Sigma, w, beta, 0.8, -x, grid=4001) for x in X])
        decision, other, bounds = cut.choose(X), whole.choose(X), cut.bounds(X)
        np.testing.assert_allclose(bounds.ucb, upper, atol=3e-3)  # a scan misses corners by a step
        np.testing.assert_allclose(bounds.lcb, lower, atol=3e-3)
        assert decision.index == other.index
        assert decision.certificate <= other.certificate + 1e-12
        assert decision.certificate <= upper.max() - lower[decision.index] + 5e-3
        gap = (X @ theta).max() - X[decision.index] @ theta
        assert gap <= decision.certificate + 1e-9
        smaller += decision.certificate < other.certificate - 1e-9
        y = X[decision.index] @ theta + 0.2 * rng.standard_normal()
        cut.update(decision, y)
        whole.update(other, y)
        Sigma += np.outer(X[decision.index], X[decision.index]) / scale**2
        b += y * X[decision.index] / scale**2
    assert smaller > 10


def test_an_ellipsoid_outside_of_the_ball_is_a_refutation():
    agent = unipac.BallOFUL(1, noise=0.01, norm=0.5, radius="mixture")
    with pytest.warns(RuntimeWarning, match="does not hold"):
        trace = agent.play(np.ones((1, 1)), np.full((300, 1), 0.9))
    assert not agent.consistent
    assert np.isnan(trace.certificate[-1])


@pytest.mark.parametrize("scale", [0.0, 0.1, 0.3, 2.0])
def test_a_scaled_bonus_changes_the_choice_of_the_ball_alone(scale):
    """Bounds are those of an agent with the bonus as it is; the choice is judged by brute force."""
    rng = np.random.default_rng(4)
    scaled, judge = (unipac.BallOFUL(2, noise=0.3, regularization=0.3, bonus_scale=s) for s in (scale, 1.0))
    assert (scaled.certified, scaled.guarantee, judge.guarantee) == (True, "none", "regret")
    Sigma, b = 0.3 * np.eye(2), np.zeros(2)
    differ = 0
    for _ in range(80):
        X = action_sets(rng, 2, 1, 5, "repeats")[0]
        decision, bounds = scaled.choose(X), judge.bounds(X)
        k = decision.index
        np.testing.assert_array_equal(scaled.bounds(X), bounds)
        assert (decision.mean, decision.ucb, decision.lcb) == (bounds.mean[k], bounds.ucb[k], bounds.lcb[k])
        assert decision.certificate == min(max(bounds.ucb.max() - bounds.lcb[k], 0.0), 2.0)
        beta = determinant(Sigma, 0.3, 0.3, 1.0, 0.05)
        w = np.linalg.solve(Sigma, b)
        by = [ball_support(Sigma, w, scale * beta, 1.0, x) for x in X]
        by = [X[i] @ w if value == -np.inf else value for i, value in enumerate(by)]  # they do not meet
        assert by[k] >= max(by) - 1e-3
        differ += k != bounds.ucb.argmax()
        x, reward = X[k], X[k] @ [0.5, -0.6] + 0.3 * rng.standard_normal()
        scaled.update(decision, reward)
        judge.absorb([x], [reward])
        Sigma, b = Sigma + np.outer(x, x), b + reward * x
    assert differ > 5


def test_agents_without_a_ball_name_the_one_that_has_it():
    for make in (
        lambda: unipac.OFUL(2, radius="ball"),
        lambda: unipac.BallOFUL(2, radius="ball"),
        lambda: unipac.Guarded(unipac.LinUCB(2), radius="ball"),
    ):
        with pytest.raises(ValueError, match="BallOFUL cuts its set with the ball"):
            make()
