"""`logs.check`: silent on sound logs, and every planted fault is found, alone."""

import numpy as np
import pytest

import unipac
from unipac import logs
from unipac.logs import Log

ROUNDS, N = 2000, 4


def parts(seed=0):
    """A sound log with a holdout of 20 percent around a preferred action."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (ROUNDS, N, 3))
    X[:, :, 2] = 0.5  # one constant is usual
    holdout = rng.random(ROUNDS) < 0.2
    liked = X[:, :, 0].argmax(axis=1)
    index = np.where(holdout, rng.integers(N, size=ROUNDS), liked)
    p = 0.2 / N + 0.8 * (index == liked)
    rewards = X[np.arange(ROUNDS), index] @ [0.4, -0.3, 0.5] + rng.uniform(-0.2, 0.2, ROUNDS)
    return {
        "sets": X,
        "index": index,
        "rewards": rewards,
        "propensities": p,
        "ids": list(range(ROUNDS)),
        "times": np.sort(rng.random(ROUNDS)),
        "holdout": holdout,
        "holdout_share": 0.2,
    }


def test_sound_logs_raise_no_alarm():
    """Null: nothing is found. 100 sound logs; a false alarm in one of them has a chance of about 0.2 percent."""
    assert [logs.check(Log(**parts(seed)), noise=0.2) for seed in range(100)] == [[]] * 100


def uniform_parts():
    told = parts()
    rng = np.random.default_rng(5)
    index = rng.integers(N, size=ROUNDS)
    return told | {"index": index, "propensities": np.full(ROUNDS, 1 / N), "holdout": None}


def test_sound_uniform_log():
    assert logs.check(Log(**uniform_parts())) == []


FAULTS = {
    "propensity of 0": ("propensity", lambda a: a["propensities"].__setitem__(7, 0.0)),
    "propensity above 1": ("propensity", lambda a: a["propensities"].__setitem__(7, 1.01)),
    "propensities of another action": (
        "overlap",
        lambda a: a.update(propensities=np.roll(a["propensities"], 1) * 0.5 + 0.02),
    ),
    "rare actions said to be twice as likely": (
        "overlap",
        lambda a: a.update(propensities=np.maximum(a["propensities"], 0.1)),
    ),
    "wrong holdout": ("holdout", lambda a: a.update(holdout_share=0.3)),
    "no holdout at all": ("holdout", lambda a: a.update(holdout=np.zeros(ROUNDS, dtype=bool))),
    "an id twice": ("ids", lambda a: a["ids"].__setitem__(9, 8)),
    "time goes back": ("times", lambda a: a["times"].__setitem__(100, -1.0)),
    "an empty column": ("features", lambda a: a["sets"].__setitem__((..., 1), 0.0)),
    "two constants": ("features", lambda a: a["sets"].__setitem__((..., 1), 0.3)),
    "one reward for all": ("rewards", lambda a: a["rewards"].fill(1.0)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault):
    name, plant = FAULTS[fault]
    told = parts()
    plant(told)
    found = logs.check(Log(**told))
    assert [finding.name for finding in found] == [name]


def test_a_log_that_is_not_as_uniform_as_it_says():
    told = uniform_parts()
    told["index"] = np.where(np.arange(ROUNDS) % 10 == 0, 0, told["index"])  # ten percent more of the first
    assert "uniform" in {finding.name for finding in logs.check(Log(**told))}


def test_curved_rewards_are_found():
    told = parts()
    told["rewards"] = told["rewards"] + 2.0 * told["sets"][np.arange(ROUNDS), told["index"], 1] ** 2
    found = logs.check(Log(**told), noise=0.2)
    assert [finding.name for finding in found] == ["linearity"]
    assert not logs.check(Log(**told))  # without the noise nothing can be said


def test_noise_that_is_larger_than_said_is_found():
    told = parts()
    told["rewards"] = told["rewards"] + np.random.default_rng(1).normal(0.0, 3.0, ROUNDS)
    assert [finding.name for finding in logs.check(Log(**told), noise=0.2)] == ["linearity"]


def test_deterministic_logs_have_nothing_to_compare():
    """With propensities of 1 the mean of 1/p is 1, whatever n is: no finding."""
    told = parts() | {"propensities": np.ones(ROUNDS), "holdout": None}
    assert logs.check(Log(**told)) == []


@pytest.mark.parametrize("d", [1, 40])
def test_misfit_in_small_and_large_dimensions(d):
    rng = np.random.default_rng(d)
    X = rng.uniform(-1, 1, (3000, 1, d)) / np.sqrt(d)
    linear, squares = X[:, 0].sum(axis=1), (X[:, 0] ** 2).sum(axis=1)
    dice = rng.uniform(-0.02, 0.02, 3000)
    index = np.zeros(3000, dtype=int)
    assert not logs.misfit(Log(X, index, linear + dice), noise=0.02).found
    assert logs.misfit(Log(X, index, squares + dice), noise=0.02).found
    assert not logs.misfit(Log(X, index, linear), noise=0.0).found  # exact, up to rounding
    assert logs.misfit(Log(X, index, squares), noise=0.0).found


def test_misfit_is_the_minimum_of_the_definition():
    """Against a plain minimisation, with the inverse of V, in more than one part of rounds."""
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-0.5, 0.5, (9000, 2)), rng.normal(size=9000)
    z = np.column_stack([x, x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2])
    V = np.eye(5) + z.T @ z
    inverse = np.linalg.inv(V)
    b, G = z.T @ y, z.T @ x
    theta = np.linalg.solve(G.T @ inverse @ G, G.T @ inverse @ b)
    rest = b - G @ theta
    found = logs.misfit(Log(x[:, None], np.zeros(9000, dtype=int), y), noise=1.5, alpha=0.05)
    assert found.statistic == pytest.approx(np.sqrt(rest @ inverse @ rest), rel=1e-9)
    assert found.threshold == pytest.approx(1.5 * np.sqrt(np.linalg.slogdet(V)[1] + 2 * np.log(20)), rel=1e-6)


def test_misfit_on_logs_of_an_agent_that_learns():
    """Null: linear rewards, ±noise, actions that depend on the past: at most 10 percent alarms at α = 0.1.

    200 logs; more than 32 alarms have a chance below 0.5 percent if the rate is 10 percent. Negative control: with a
    fifth of the noise told, most logs are flagged.
    """
    instance = unipac.envs.sphere(3, 5, noise=0.5, noise_kind="rademacher", seed=1)
    alarms = bold = 0
    for seed in range(200):
        drawn = instance.rounds(0, 150, seed=seed)
        index = unipac.LinUCB(3).play(drawn.actions, drawn.rewards).index
        log = Log(drawn.actions, index, drawn.rewards[np.arange(150), index])
        alarms += logs.misfit(log, noise=0.5, alpha=0.1).found
        bold += logs.misfit(log, noise=0.1, alpha=0.1).found
    assert alarms <= 32
    assert bold > 100
