"""Theorem C as statements about runs: no bound of CertVI ever fails, except with probability δ.

The null hypothesis of a test is "in a run of K episodes some bound fails with probability at most δ". It is rejected
when so many of N runs fail that the exact binomial probability is below 1e-6, its false-alarm rate. A bound fails if
some upper value Vup_1(s) is below V*_1(s), some lower value is above the value of the policy, or a certificate is
below the gap, each by more than 1e-9 of the range. The negative control takes a quarter of the radii, a sixteenth of
the thresholds, and must reject.
"""

import numpy as np
import pytest

import unipac
from unipac import metrics, theory
from unipac.envs import FiniteMDP, random_simplex, river_swim
from unipac.envs.finite_mdp import policy_value
from unipac.mdp.tabular.base import certified as compiled
from unipac.mdp.tabular.base.backward import pessimistic

FALSE_ALARM = 1e-6


def nearly_deterministic():
    """Three states in a ring; an action moves on as it says in 98 of 100 cases; only one move pays."""
    P = np.zeros((3, 2, 3))
    for s in range(3):
        for a in range(2):
            P[s, a] += 0.01
            P[s, a, (s + a) % 3] += 0.97
    return FiniteMDP(P, [[0, 0], [0, 0], [0.2, 1]], horizon=4, name="ring")


MDPS = {
    "river swim": lambda seed: river_swim(n_states=3, horizon=3),
    "random simplex": lambda seed: random_simplex(n_states=4, n_actions=2, dim=3, horizon=3, seed=seed),
    "ring": lambda seed: nearly_deterministic(),
}


def bounds(agent, factor):
    """Upper values, and lower values of the planned policy, with thresholds so many times as large."""
    state, rules, H = agent.state, agent._rules, agent.horizon
    compiled.thresholds(state, rules, True)
    above, below = np.empty((H + 1, agent.n_states)), np.empty((H + 1, agent.n_states))
    Q = np.empty((H, agent.n_states * agent.n_actions))
    compiled.choose(state, rules, factor, np.empty_like(state.action), Q, above)
    limits = compiled.with_means(state.counts, rules, rules.lower, -1.0)
    counted = rules.rewards == compiled.OUTCOMES
    pessimistic(state.counts, factor * state.below, counted, limits, state.action, 0, below)
    return above[0], below[0]


def failing_runs(name, runs, delta, *, episodes=400, factor=1.0, **parameters):
    """In how many runs (upper values, lower values, certificates) ever failed."""
    failures = np.zeros(3, dtype=int)
    for seed in range(runs):
        mdp = MDPS[name](seed)
        told = dict(parameters)
        if told.get("rewards") == "known":
            told["rewards"] = mdp.rewards
        agent = unipac.CertVI.made_for(mdp, delta=delta, **told)
        best, slack = mdp.optimal_value(), 1e-9 * mdp.horizon
        starts = np.random.default_rng([seed, 1]).integers(mdp.n_states, size=episodes)
        failed, begin = np.zeros(3, dtype=bool), 0
        for end in np.unique(np.geomspace(1, episodes, 40).astype(int)):
            first = starts[begin:end]
            trace = agent.play(mdp, episodes=len(first), seed=seed, initial_states=first)
            begin = end
            above, below = bounds(agent, factor)
            value = policy_value(mdp, agent.state.action)[0]
            failed[0] |= (above < best - slack).any()
            failed[1] |= (below > value + slack).any()
            failed[2] |= (trace.certificate < trace.gap - slack).any()
        failures += failed
    return failures


CASES = [
    ("river swim", {}),
    ("river swim", {"homogeneous": True}),
    ("river swim", {"homogeneous": True, "rewards": "known"}),
    ("river swim", {"reward_values": "many"}),
    ("random simplex", {}),
    ("random simplex", {"rewards": "known"}),
    ("ring", {"homogeneous": True}),
]


@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold(name, parameters, delta):
    runs = 40
    assert (
        metrics.binomial_upper_tail(failing_runs(name, runs, delta, **parameters).max(), runs, delta)
        > FALSE_ALARM
    )


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold_in_many_runs(name, parameters, delta):
    runs = 300
    failures = failing_runs(name, runs, delta, episodes=2000, **parameters)
    assert metrics.binomial_upper_tail(failures.max(), runs, delta) > FALSE_ALARM


@pytest.mark.parametrize(("name", "parameters"), [CASES[1], CASES[6]])
def test_a_quarter_of_the_radius_does_not_hold(name, parameters):
    """Negative control: with thresholds divided by 16 the same test rejects, upwards and downwards."""
    upper, lower, _ = failing_runs(name, 80, 0.1, factor=1 / 16, **parameters)
    assert metrics.binomial_upper_tail(upper, 80, 0.1) < FALSE_ALARM
    assert metrics.binomial_upper_tail(lower, 80, 0.1) < FALSE_ALARM


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


@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize("P", [[0.5, 0.5], [0.97, 0.02, 0.01], [0.2] * 5, [0.004] * 250], ids=len)
def test_unknown_outcomes_stay_in_their_ball(P, delta):
    assert metrics.binomial_upper_tail(leaving_runs(P, delta, runs=100), 100, delta) > FALSE_ALARM


def test_a_quarter_of_the_radius_of_unknown_outcomes_does_not_hold():
    """Negative control."""
    assert (
        metrics.binomial_upper_tail(leaving_runs([0.5, 0.5], 0.1, runs=100, factor=1 / 16), 100, 0.1)
        < FALSE_ALARM
    )
