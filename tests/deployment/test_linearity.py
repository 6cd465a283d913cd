"""The alarm of linearity beside a judge that stores all rounds, its false alarms, and what it finds."""

import copy
import math
import warnings

import numpy as np
import pytest

import unipac
from unipac import metrics
from unipac.deployment import linearity
from unipac.deployment.linearity import Alarm


class Judge:
    """The test from stored rounds, dense and plain."""

    def __init__(self, dim, noise, alpha, norm=1.0, action_norm=1.0, zeta=0.0):
        self.dim, self.noise, self.alpha, self.norm, self.L, self.zeta = (
            dim,
            noise,
            alpha,
            norm,
            action_norm,
            zeta,
        )
        self.X, self.y, self.least = [], [], 0.0

    def powers(self, x):
        u = np.array(x) / self.L
        pairs = [u[i] * u[j] for i in range(self.dim) for j in range(i, self.dim)]
        return np.concatenate(([1.0], u, pairs if self.dim <= 8 else u * u, u**3))

    def learn(self, x, y):
        self.X.append(x), self.y.append(y)
        Z, X, y = np.array([self.powers(x) for x in self.X]), np.array(self.X), np.array(self.y)
        n, D = Z.shape
        if n % max(25, D):
            return
        V, G, b = np.eye(D) + Z.T @ Z, Z.T @ X, Z.T @ y
        inverse = np.linalg.inv(np.linalg.cholesky(V))
        A, c = inverse @ G, inverse @ b
        left = np.linalg.norm(c - A @ np.linalg.lstsq(A, c, rcond=1e-10)[0])
        radius = self.noise * math.sqrt(np.linalg.slogdet(V)[1] + 2 * math.log(1 / self.alpha))
        self.last = left, radius + self.zeta * math.sqrt(n)
        self.least = max(self.least, (left - radius) / math.sqrt(n))


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize(("dim", "curve"), [(1, 0.0), (2, 0.0), (2, 0.5), (3, 2.0), (9, 0.0)])
def test_as_the_judge_has_it(dim, curve):
    """Statistic, threshold and bound on ζ to 1e-7; dim 9 takes squares alone. One direction is never tried."""
    rng = np.random.default_rng(dim)
    told = {"noise": 0.1, "alpha": 0.05, "norm": 1.5, "action_norm": 2.0}
    judge, alarm = Judge(dim, zeta=0.3, **told), Alarm(dim, misspecification=0.3, **told)
    for k in range(110):
        x = rng.uniform(-1, 1, dim)
        x[-1] = 0.0 if dim > 2 else x[-1]
        y = 0.7 * x[0] + curve * x[0] ** 2 + 0.1 * rng.standard_normal()
        alarm.learn(x, y, k)
        judge.learn(x, y)
        if alarm.state.alarm:
            assert k + 1 == len(judge.X)
            assert judge.least > 0.3
            assert alarm.state.seq == k
            break
        assert judge.least <= 0.3
    assert alarm.state[2:4] == pytest.approx(judge.last, abs=1e-7)
    assert alarm.state.least == pytest.approx(judge.least, abs=1e-7)
    assert alarm.state.alarm == (curve == 2.0)


def bent(z):
    return 0.5 + 0.4 * np.sign(z)


def deployed(mean, rounds, seed, noise=0.1):
    """An agent that plays four actions (1, z)/√2 a round, no range told, and what the alarm makes of its rounds."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (rounds, 4))
    X = np.stack([np.ones_like(z), z], axis=2) / math.sqrt(2)
    agent = unipac.Guarded(unipac.LinUCB(2), noise=noise, norm=1.5)
    trace = agent.play(X, mean(z) + noise * rng.standard_normal((rounds, 1)))
    alarm = linearity.alarm_for(agent, 0.01)
    for k, (i, r) in enumerate(zip(trace.index, trace.reward, strict=True)):
        alarm.learn(X[k, i], r, k)
    return agent, alarm


def test_a_misfit_that_the_sets_do_not_see():
    """Misfit 0.4 at noise 0.1, ten seeds: the alarm rings in all, the sets are refuted in none; a line rings never."""
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a refutation would warn
            agent, alarm = deployed(bent, 2000, seed)
            line, quiet = deployed(lambda z: 0.5 + 0.4 * z, 2000, seed)
        assert agent.consistent
        assert alarm.state.alarm
        assert 0.0 < alarm.state.least < 0.4
        assert line.consistent
        assert not quiet.state.alarm


def false_alarms(zeta, told, runs, alpha=0.5, rounds=200):
    """Rewards linear within ζ, the error of each pushed to where the residuals are; noise ±R."""
    rang = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        alarm = Alarm(2, noise=0.1, alpha=alpha, misspecification=told)
        for k in range(rounds):
            x = rng.uniform(-0.7, 0.7, 2)
            error = zeta * np.sign(x[0] ** 2 - 0.16)
            alarm.learn(x, 0.5 * x[0] + error + 0.1 * rng.choice([-1.0, 1.0]), k)
        rang += alarm.state.alarm
    return rang


def test_false_alarms_are_rare():
    """Null: an alarm rings with probability at most α = 0.5, at ζ = 0 and 0.2; 60 runs each, rejected at 1e-6.

    Control: with ζ = 0.2 and none told, the same test rejects.
    """
    for zeta in (0.0, 0.2):
        assert metrics.binomial_upper_tail(false_alarms(zeta, zeta, 60), 60, 0.5) > 1e-6
    assert metrics.binomial_upper_tail(false_alarms(0.2, 0.0, 60), 60, 0.5) < 1e-6


def test_files_and_copies():
    rng = np.random.default_rng(0)
    alarm = Alarm(2, noise=0.1, alpha=0.01)
    for k in range(60):
        alarm.learn(rng.uniform(-1, 1, 2), 0.3, k)
    other, twin = Alarm(2, noise=0.1, alpha=0.01), copy.copy(alarm)
    told = {name: array.copy() for name, array in alarm.saved().items()}
    other.restore(told)
    for k in range(60, 200):
        x = rng.uniform(-1, 1, 2)
        for each in (alarm, other, twin):
            each.learn(x, x[0] ** 2, k)
    assert alarm.state == other.state == twin.state
    assert alarm.state.alarm
    seen = alarm.sums.last.copy()
    alarm.learn(x, 0.0, 200)
    np.testing.assert_array_equal(alarm.sums.last, seen)  # it stays as it was
    for name, value in (
        ("gram", told["gram"] + 1.0),
        ("gram", np.full_like(told["gram"], np.nan)),
        ("cross", told["cross"][:1]),
        ("last", told["last"] + 5.0),
        ("total", told["total"].astype(np.float32)),
    ):
        with pytest.raises(ValueError, match="not that of any data"):
            Alarm(2, noise=0.1, alpha=0.01).restore({**told, name: value})


def test_what_it_watches():
    for noise, alpha in ((0.0, 0.01), (0.1, 0.0)):
        alarm = Alarm(2, noise=noise, alpha=alpha)
        alarm.learn(np.ones(2), 5.0, 0)
        assert not alarm.watches
        assert alarm.sums.last[0] == 0.0
    assert linearity.alarm_for(unipac.NestedOFUL(2, misspecification=(0.0, 0.3)), 0.01).rules.zeta == 0.3
    assert not linearity.alarm_for(unipac.LinUCB(2), 0.01).watches


def test_a_deployment_watches_linearity(tmp_path):
    """Rewards with a square of .4 and noise .1, means well inside their range: the sets cannot tell, the alarm does."""
    rng = np.random.default_rng(0)
    agent = unipac.Guarded(unipac.LinUCB(2), noise=0.1, norm=2.0, reward_range=(-2.0, 2.0))
    d = unipac.Deployment(agent, drift=0.0, clock=lambda: 0.0)
    for k in range(1500):
        z = rng.uniform(-1.0, 1.0, 3)
        decision = d.decide(None, np.column_stack([np.ones(3), z]) / math.sqrt(2.0), id=k)
        u = decision.action[1] * math.sqrt(2.0)
        d.reward(k, 0.4 * u * u + 0.1 * rng.standard_normal())
        if d.linearity.alarm:
            break
    assert d.linearity.alarm
    assert d.consistent
    assert 0.0 < d.linearity.least < 0.4
    assert unipac.Deployment.replay(d.events()).digest() == d.digest()
    d.save(tmp_path / "d")
    assert unipac.Deployment.load(tmp_path / "d").linearity == d.linearity
    d.restart()
    assert not d.linearity.alarm


def test_large_vectors_are_not_tested_unless_one_asks():
    told = [unipac.Deployment(unipac.OFUL(dim), linearity=alpha).events()[0]["linearity"]
            for dim, alpha in ((64, None), (65, None), (65, 0.02), (2, 0.0))]  # fmt: skip
    assert told == [0.01, 0.0, 0.02, 0.0]
    with pytest.raises(ValueError, match="linearity must be from 0 to less than 1"):
        unipac.Deployment(unipac.OFUL(2), linearity=1.0)
