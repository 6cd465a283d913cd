"""Certificates of the agents that are not compiled: never too small, but with probability δ at most.

Null hypothesis: a run has a certificate below a gap with probability at most δ = 0.1. It is rejected when so many of
500 runs have one that the exact binomial probability is below 1e-6, the false-alarm rate. Each agent has a negative
control: told an eighth of the noise, the same test rejects.
"""

import numpy as np
import pytest

import unipac
from unipac import metrics
from unipac.envs import sphere

FALSE_ALARM = 1e-6
RUNS = 500
ROUNDS = 60
DELTA = 0.1

AGENTS = {
    "SupLinUCB": {"regularization": 0.05},
    "SupLinRel": {},
    "ConfidenceBall": {"regularization": 0.05},
    "ConfidenceBall 1": {"regularization": 0.05, "norm_kind": 1},
    "AnytimeSupLinUCB": {"regularization": 0.05, "gate": 1.0},
    "AnytimeSupLinUCB both": {"regularization": 0.05, "gate": 1.0, "radius": "both", "nested": False},
    "WeightedOFUL": {"regularization": 0.05},
}


def failing_runs(name, scale):
    """Runs with a certificate below the gap; the noise of a round is 0.2 or 1, and told times ``scale``."""
    cls, failures = unipac.AGENTS[name.split()[0]], 0
    for seed in range(RUNS):
        instance = sphere(2, 5, noise=0.0, seed=seed)
        offered = instance.rounds(0, ROUNDS, seed)
        rng = np.random.default_rng(seed)
        sigma = rng.choice([0.2, 1.0], ROUNDS) if cls.weighs else np.ones(ROUNDS)
        rewards = offered.rewards + (sigma * rng.choice([-1.0, 1.0], ROUNDS))[:, None]
        agent = cls.made_for(instance, rounds=ROUNDS, **{**AGENTS[name], "noise": scale, "delta": DELTA})
        more = {"noise": scale * sigma} if cls.weighs else {}
        trace = agent.play(offered.actions, rewards, truth=instance.theta, **more)
        below = metrics.certificate_violations(trace.certificate, trace.gap)
        failures += bool(below.any()) or not agent.consistent
    return failures


@pytest.mark.parametrize("name", AGENTS)
def test_certificates_hold(name):
    assert metrics.binomial_upper_tail(failing_runs(name, 1.0), RUNS, DELTA) > FALSE_ALARM


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_an_eighth_of_the_noise_does_not_hold(name):
    assert metrics.binomial_upper_tail(failing_runs(name, 0.125), RUNS, DELTA) < FALSE_ALARM
