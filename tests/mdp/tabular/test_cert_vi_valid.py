"""Theorem C, of CertVI, by the test of ``validity``."""

import numpy as np
import pytest

import unipac
from helpers.validity import failing_runs, is_rejected
from unipac import theory
from unipac.mdp.tabular.cert_vi import kernels as compiled
from unipac.mdp.tabular.counting.backward import pessimistic


def bounds(factor):
    """Of an agent, with thresholds so many times as large."""

    def found(agent):
        state, rules, H = agent.state, agent._rules, agent.horizon
        compiled.thresholds(state, rules, True)
        above, below = np.empty((H + 1, agent.n_states)), np.empty((H + 1, agent.n_states))
        Q = np.empty((H, agent.n_states * agent.n_actions))
        compiled.choose(state, rules, factor, np.empty_like(state.action), Q, above)
        limits = compiled.with_means(state.counts, rules, rules.lower, -1.0)
        counted = rules.rewards == compiled.OUTCOMES
        pessimistic(state.counts, factor * state.below, counted, limits, state.action, 0, below)
        return Q.reshape(H, agent.n_states, agent.n_actions), below, state.action

    return found


def failures(name, runs, delta, *, episodes=400, factor=1.0, **parameters):
    def make(mdp):
        known = {"rewards": mdp.rewards} if parameters.get("rewards") == "known" else {}
        return unipac.CertVI.made_for(mdp, delta=delta, **{**parameters, **known})

    return failing_runs(name, runs, make, bounds(factor), episodes=episodes)


CASES = [
    ("river swim", {}),
    ("river swim", {"homogeneous": True}),
    ("river swim", {"homogeneous": True, "rewards": "known"}),
    ("river swim", {"reward_values": "many"}),
    ("random simplex", {}),
    ("random simplex", {"rewards": "known"}),
    ("ring", {"homogeneous": True}),
    ("river swim", {"homogeneous": True, "replan_every": 50, "replan_factor": 1.5, "ties": "spread"}),
]


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold(name, parameters):
    assert not is_rejected(failures(name, 30, 0.1, **parameters).max(), 30, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold_in_many_runs(name, parameters, delta):
    failed = failures(name, 300, delta, episodes=2000, **parameters)
    print(f"{name} {parameters} delta {delta}: {failed} of 300")
    assert not is_rejected(failed.max(), 300, delta)


@pytest.mark.parametrize(("name", "parameters"), [CASES[1], CASES[6]])
def test_a_quarter_of_the_radius_does_not_hold(name, parameters):
    """Negative control: with thresholds divided by 16 the same test rejects, upwards and downwards."""
    upper, lower, _ = failures(name, 50, 0.1, factor=1 / 16, **parameters)
    assert is_rejected(upper, 50, 0.1)
    assert is_rejected(lower, 50, 0.1)


def leaving_runs(P, delta, *, runs, factor=1.0, rounds=300):
    """In how many runs the true law ever left the ball for outcomes that are not known beforehand."""
    rng, P = np.random.default_rng(0), np.array(P)
    failures = 0
    for _ in range(runs):
        N, left = np.zeros(len(P), dtype=int), False
        for j in rng.choice(len(P), p=P, size=rounds):
            N[j] += 1
            seen = N[N > 0]
            m = seen.sum() - len(seen)
            if m > 0:
                fewer = seen - 1
                kept = fewer > 0
                divergence = fewer[kept] @ np.log(fewer[kept] / m / P[N > 0][kept])
                left |= divergence > factor * theory.open_threshold(seen, delta)
        failures += left
    return failures


@pytest.mark.parametrize("delta", [pytest.param(0.5, marks=pytest.mark.slow), 0.1])
@pytest.mark.parametrize("P", [[0.5, 0.5], [0.97, 0.02, 0.01], [0.2] * 5, [0.004] * 250], ids=len)
def test_unknown_outcomes_stay_in_their_ball(P, delta):
    assert not is_rejected(leaving_runs(P, delta, runs=100), 100, delta)


def test_a_quarter_of_the_radius_of_unknown_outcomes_does_not_hold():
    """Negative control."""
    assert is_rejected(leaving_runs([0.5, 0.5], 0.1, runs=100, factor=1 / 16), 100, 0.1)
