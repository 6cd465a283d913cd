"""The judges themselves, on what can be said of them without an agent: convergence, and order of their regret."""

import numpy as np
import pytest

from helpers.judges import bandits as judges


def regret(agent, X, theta, noise, seed, draw=None):
    """Over T rounds on X (T, n, d); also how often a certificate was below the gap."""
    rng = np.random.default_rng(seed)
    total, violations = 0.0, 0
    for offered in X:
        extra = () if draw is None else (draw(rng),)
        k, level, certificate = agent.choose(offered, *extra)
        gap = (offered @ theta).max() - offered[k] @ theta
        total += gap
        violations += gap > certificate + 1e-9
        agent.learn(offered[k], float(offered[k] @ theta + noise * rng.standard_normal()), level)
    return total, violations


def contexts(T, n, d, seed):
    X = np.random.default_rng(seed).standard_normal((T, n, d))
    return X / np.linalg.norm(X, axis=2, keepdims=True)


THETA = np.array([0.6, 0.0, 0.8])


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda: judges.AnytimeSupLinUCB(3, noise=0.1, regularization=0.01, gate=1.0), 0.4),
        (lambda: judges.AnytimeSupLinUCB(3, noise=0.1, regularization=0.01, nested=True, exploit="all"), 0.1),
        (lambda: judges.AnytimeSupLinUCB(3, noise=0.1, regularization=0.01, radius="round", gate=1.0), 0.4),
        (lambda: judges.AnytimeSupLinUCB(3, noise=0.1, regularization=0.01, radius="both", gate=1.0), 0.4),
        (lambda: judges.AnytimeSupLinUCB(3, noise=0.1, regularization=0.01, radius="pool", pool=8000, gate=1.0), 0.4),
        (lambda: judges.SupLinUCB(3, 2000, 4, noise=0.1, regularization=0.01), 0.5),
        (lambda: judges.SupLinRel(3, 2000, 4, noise=0.1), 0.5),
        (lambda: judges.VCLSupLinUCB(3, 2000, 4, noise=0.1, regularization=0.01), 0.4),
        (lambda: judges.ConfidenceBall(3, radius="mixture", noise=0.1), 0.05),
        (lambda: judges.ConfidenceBall(3, radius="mixture", noise=0.1, norm_kind=1), 0.1),
        (lambda: judges.Index(3, noise=0.1), 0.05),
    ],
)  # fmt: skip
def test_regret_is_a_fraction_of_that_of_chance(make, most):
    X = contexts(2000, 4, 3, seed=0)
    chance = ((X @ THETA).max(axis=1) - (X @ THETA).mean(axis=1)).sum()
    total, violations = regret(make(), X, THETA, 0.1, seed=1)
    assert total <= most * chance
    assert violations == 0


@pytest.mark.parametrize("scale", ["posterior", "frequentist"])
def test_thompson_sampling(scale):
    X = contexts(2000, 4, 3, seed=0)
    chance = ((X @ THETA).max(axis=1) - (X @ THETA).mean(axis=1)).sum()
    agent = judges.LinTS(3, scale=scale, noise=0.1, regularization=0.01)
    total, _ = regret(agent, X, THETA, 0.1, 1, draw=lambda rng: rng.standard_normal(3))
    assert total <= 0.1 * chance


def test_the_bad_pulls_of_the_anytime_stages_do_not_grow():
    """D = {e1, e2}, θ = (1/2, 0), no noise: after K forced rounds of e1; they have no `times`, so one by one."""
    pulls = []
    for forced in (1000, 4000):
        agent = judges.AnytimeSupLinUCB(2, gate=1.0)
        for _ in range(forced):
            _, level, _ = agent.choose(np.eye(2)[:1])
            agent.learn(np.eye(2)[0], 0.5, level)
        bad = 0
        for _ in range(500):
            k, level, _ = agent.choose(np.eye(2))
            bad += k
            agent.learn(np.eye(2)[k], 0.5 * (1 - k), level)
        pulls.append(bad)
    assert pulls[0] == pulls[1] > 0


def test_weights_by_variance_help():
    """σ = .05 with probability .9, else 1: rounds weighed by their noise lose less than with one noise for all."""
    X, rng = contexts(2000, 5, 3, seed=2), np.random.default_rng(3)
    sigma = np.where(rng.random(2000) < 0.9, 0.05, 1.0)
    noise = sigma * rng.choice([-1.0, 1.0], 2000)
    losses = []
    for agent in (judges.WeightedOFUL(3), judges.Index(3, radius="mixture")):
        total = 0.0
        for t, offered in enumerate(X):
            k, _, certificate = agent.choose(offered)
            gap = (offered @ THETA).max() - offered[k] @ THETA
            assert gap <= certificate + 1e-9
            total += gap
            agent.learn(offered[k], float(offered[k] @ THETA + noise[t]), sigma[t])
        losses.append(total)
    assert losses[0] < 0.7 * losses[1]


def test_one_model_per_action():
    agent, rng = judges.DisjointLinUCB(2, 2, alpha=0.5), np.random.default_rng(0)
    truth, late = np.array([[0.5, 0.0], [0.0, 0.5]]), 0
    for t in range(400):
        x = rng.standard_normal(2)
        X = np.array([x, x]) / np.linalg.norm(x)
        k = agent.choose(X)[0]
        agent.learn(X[k], float(X[k] @ truth[k] + 0.1 * rng.standard_normal()), k)
        late += t >= 200 and (X * truth).sum(axis=1).argmax() != k
    assert late <= 20
