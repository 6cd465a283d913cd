"""VOFUL keeps what a test of every inequality, round by round, keeps."""

import math

import numpy as np
import pytest

import unipac


def possible(theta, rounds, *, delta, bound, norm, longest, directions, depth):
    """Whether no inequality speaks against theta: the pseudo-code, one term after the other."""
    if math.hypot(*theta) > norm:
        return False
    rates = [2.0**-i for i in range(1, 9)]
    log = math.log(2 * directions * depth * len(rates) / delta)
    for i in range(directions):
        u = (math.cos(math.pi * i / directions), math.sin(math.pi * i / directions))
        for j in range(depth):
            total = squares = 0.0
            for x, y in rounds:
                along = (x[0] * u[0] + x[1] * u[1]) / (longest * 2.0**-j)
                c = max(-1.0, min(1.0, along)) / bound
                residual = y - x[0] * theta[0] - x[1] * theta[1]
                total += c * residual
                squares += (c * residual) ** 2
            for rate in rates:
                if abs(total) > ((-math.log(1 - rate) - rate) * squares + log) / rate:
                    return False
    return True


@pytest.mark.parametrize("kind", ["quiet", "loud", "collinear", "short"])
def test_the_cover_is_that_of_the_pseudo_code(kind):
    rng, theta = np.random.default_rng(4), np.array([0.5, -0.4])
    told = {"delta": 0.1, "norm": 0.8, "directions": 5, "depth": 3}
    bound, sigma = 0.4, 0.4 if kind == "loud" else 0.02
    agent = unipac.VOFUL(2, noise=bound, action_norm=1.5, cells=16, **told)
    rounds, decided = [], 0
    for t in range(151):
        X = rng.standard_normal((4, 2))
        X *= rng.uniform(0.2, 1.5, (4, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
        if kind == "collinear":
            X[1:] = X[:1] * [[0.5], [-0.3], [0.0]]
        elif kind == "short":
            X *= 0.05
        bounds, decision = agent.bounds(X), agent.choose(X)
        assert decision.index == bounds.ucb.argmax()
        assert decision.certificate == pytest.approx(min(bounds.ucb.max() - decision.lcb, 2 * 0.8 * 1.5))
        assert (X @ theta).max() - X[decision.index] @ theta <= decision.certificate + 1e-12
        if t % 30 == 0:
            G, reach = agent._covering()
            points = np.vstack([theta[None], G[:: max(1, len(G) // 20)], rng.uniform(-0.8, 0.8, (40, 2))])
            right = [possible(p, rounds, bound=bound, longest=1.5, **told) for p in points.tolist()]
            assert right[0]
            assert agent._possible(points, 0.0).tolist() == right  # point by point, no tie among these
            inside = points[right]
            assert (bounds.ucb[:, None] + 1e-12 >= X @ inside.T).all()  # the cover leaves out none of them
            assert (bounds.lcb[:, None] - 1e-12 <= X @ inside.T).all()
            assert ((G[:, None] - inside[None]) ** 2).sum(axis=2).min(axis=0).max() <= reach**2 * (1 + 1e-9)
            decided += len(right) - sum(right)
        y = decision.action @ theta + sigma * rng.choice([-1.0, 1.0])
        agent.update(decision, y)
        rounds.append((decision.action.tolist(), y))
    assert decided > 5 or kind == "short"  # some points were ruled out


def test_rewards_that_nothing_explains_are_a_refutation():
    agent = unipac.VOFUL(2, noise=0.01, norm=0.5)
    with pytest.warns(RuntimeWarning, match="does not hold"):
        trace = agent.play(np.eye(2), np.full((300, 2), 0.9))
    assert np.isnan(trace.certificate[-1])


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match="dim must be 2 for VOFUL"):
        unipac.VOFUL(3)
    with pytest.warns(UserWarning, match="assumes bounded noise"):
        unipac.VOFUL(2).play(unipac.envs.sphere(2, 3, noise=0.1), rounds=2)
