"""Bandit agents with one regression for each stage, held against their judges and against their promises.

What is promised of certificates is tested by the null hypothesis that a run has a certificate below a gap with
probability at most δ = 0.1. It is rejected when so many of the runs have one that the exact binomial probability is
below 1e-6, the false-alarm rate. Each agent has a negative control: told an eighth of the noise, the same test rejects.
"""

import copy
import math

import numpy as np
import pytest

import unipac
from helpers.actions import action_sets
from unipac import metrics
from unipac.envs import sphere

T, N = 1000, 5

COMMON = {"noise": 0.2, "norm": 1.1}

KINDS = ["norms", "collinear", "unit", "arms", "repeats"]

FALSE_ALARM = 1e-6

RUNS = [80, pytest.param(500, marks=pytest.mark.slow)]

ROUNDS = 60

DELTA = 0.1


def nothing(dim):
    return ()


def compared(agent, judge, extra, X, rewards):
    """How often choices differ by more than a tie, or certificates by 1e-7; and the levels. The judge follows."""
    differ, levels = 0, set()
    for offered, reward in zip(X, rewards, strict=True):
        k, level, certificate = judge.choose(offered, *extra(agent.dim))
        decision = agent.choose(offered)
        j = decision.index
        rows, score = judge.score
        scores = dict(zip(rows.tolist(), score.tolist(), strict=True))
        tied = j in scores and abs(scores[j] - scores[k]) <= 1e-9 * max(1.0, abs(scores[k]))
        differ += not (tied and decision.level == level)
        if j == k and decision.certified:
            differ += not abs(decision.certificate - certificate) <= 1e-7
        assert decision.certified or math.isnan(decision.certificate)
        agent.update(decision, reward[j])
        judge.learn(offered[j], reward[j], decision.level)
        levels.add(level)
    return differ, levels


def world(case, d, kind, rounds=T):
    rng = np.random.default_rng(case)
    X = action_sets(rng, d, rounds, N, kind)
    theta = rng.standard_normal(d)
    return X, X @ (theta / np.linalg.norm(theta)) + 0.2 * rng.standard_normal((rounds, 1))


def check_decides(make, kind, number, *, least_levels=1):
    """As the judge in T rounds; ``make(dim, regularization)`` gives agent, judge and the judge's further draws."""
    case = number * len(KINDS) + KINDS.index(kind)
    d = [3, 1, 2, 4][case % 4]
    agent, judge, extra = make(d, [0.1, 2.0, 0.04][case % 3])
    differ, levels = compared(agent, judge, extra, *world(case, d, kind))
    assert differ == 0
    assert len(levels) >= least_levels


def check_judge_says_no(make, other):
    """Negative control: the judge of ``make(3, 0.1)`` notices that another agent plays."""
    _, judge, extra = make(3, 0.1)
    X, rewards = world(3, 3, "unit")
    assert compared(other, judge, extra, X[:1000], rewards[:1000])[0] > 0


def check_files_and_copies(make, folder):
    agent, _, _ = make(3, 0.3)
    X, rewards = world(5, 3, "unit")
    agent.play(X[:150], rewards[:150])
    agent.save(folder / "agent.npz", replace=True)
    for other in (unipac.load(folder / "agent.npz"), copy.copy(agent)):
        ours, theirs = (
            copy.copy(agent).play(X[150:300], rewards[150:300]),
            other.play(X[150:300], rewards[150:300]),
        )
        np.testing.assert_array_equal(ours.index, theirs.index)
        np.testing.assert_array_equal(ours.certificate, theirs.certificate)


def check_horizon(cls):
    """After T rounds the errors are no longer covered by δ: S ‖y − x‖ is all that is certified."""
    agent, X = cls(2, total_rounds=500, noise=0.01, norm=1.0), np.eye(2)
    trace = agent.play(X, np.tile([0.5, 0.0], (600, 1)))
    assert trace.certificate[499] < 0.5 < trace.certificate[500:].min()
    assert (trace.certificate[500:] == math.sqrt(2.0)).all()
    forgotten = cls(2, total_rounds=500, noise=0.01, norm=1.0)
    forgotten.play(X, np.tile([0.5, 0.0], (300, 1)))
    for _ in range(199):
        forgotten.forget(forgotten.choose(X))  # a certificate was given, and δ covers T of them
    assert forgotten.choose(X).certificate < 0.5
    assert forgotten.choose(X).certificate == math.sqrt(2.0)
    with pytest.raises(TypeError, match="total_rounds"):
        cls(2)
    with pytest.raises(ValueError, match="absorb"):
        agent.absorb([[1.0, 0.0]], [1.0])
    assert cls.made_for(unipac.envs.sphere(2, 3), rounds=77).total_rounds == 77


def failing_runs(cls, scale, runs, **parameters):
    """Runs with a certificate below the gap; the noise of a round is 0.2 or 1, and told times ``scale``."""
    failures = 0
    for seed in range(runs):
        instance = sphere(2, 5, noise=0.0, seed=seed)
        offered = instance.rounds(0, ROUNDS, seed)
        rng = np.random.default_rng(seed)
        sigma = rng.choice([0.2, 1.0], ROUNDS) if cls.weighs else np.ones(ROUNDS)
        rewards = offered.rewards + (sigma * rng.choice([-1.0, 1.0], ROUNDS))[:, None]
        agent = cls.made_for(instance, rounds=ROUNDS, noise=scale, delta=DELTA, **parameters)
        more = {"noise": scale * sigma} if cls.weighs else {}
        trace = agent.play(offered.actions, rewards, truth=instance.theta, **more)
        below = metrics.certificate_violations(trace.certificate, trace.gap)
        failures += bool(below.any()) or not agent.consistent
    return failures


def check_certificates(cls, runs, **parameters):
    assert metrics.binomial_upper_tail(failing_runs(cls, 1.0, runs, **parameters), runs, DELTA) > FALSE_ALARM


def check_too_little_noise(cls, runs, **parameters):
    """Negative control of the certificates."""
    assert (
        metrics.binomial_upper_tail(failing_runs(cls, 0.125, runs, **parameters), runs, DELTA) < FALSE_ALARM
    )
