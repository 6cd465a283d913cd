"""The theorem of UPACLSVI as statements about runs: no bound ever fails, except with probability δ.

The null hypothesis of a test is "in a run of K episodes some bound fails with probability at most δ". It is rejected
when so many of N runs fail that the exact binomial probability is below 1e-6, its false-alarm rate. A bound fails if
some upper value Q_h(s, a) is below Q*, some lower value V_h(s) is above the value of the policy, or a certificate is
below the gap, each by more than 1e-9 of the range. The negative control takes a quarter of the radii, a sixteenth of
the thresholds of balls, and must reject.
"""

import numpy as np
import pytest

import unipac
from unipac import metrics
from unipac.envs import FiniteMDP, LinearMDP, random_simplex, river_swim
from unipac.envs.finite_mdp import policy_value
from unipac.mdp.linear.base import lsvi

FALSE_ALARM = 1e-6


def ring():
    """Three states in a ring; an action moves on as it says in 98 of 100 cases; only one move pays."""
    P = np.zeros((3, 2, 3))
    for s in range(3):
        for a in range(2):
            P[s, a] += 0.01
            P[s, a, (s + a) % 3] += 0.97
    return FiniteMDP(P, [[0, 0], [0, 0], [0.2, 1]], horizon=4, name="ring")


def nearly_sure(share=0.02):
    """Two states, features that mix two nearly deterministic laws: regressions instead of counts."""
    phi = np.array([[[1.0, 0.0], [0.3, 0.7]], [[0.6, 0.4], [0.0, 1.0]]])
    laws = np.array([[1 - share, share], [share, 1 - share]])
    return LinearMDP(phi, phi @ laws, phi @ [0.1, 0.9], [0.5, 0.5], horizon=3)


MDPS = {
    "river swim": lambda seed: river_swim(n_states=3, horizon=3),
    "random simplex": lambda seed: random_simplex(n_states=4, n_actions=2, dim=3, horizon=3, seed=seed),
    "ring": lambda seed: ring(),
    "nearly sure": lambda seed: nearly_sure(),
    "even": lambda seed: nearly_sure(0.4),
}


def bounds(agent, factor):
    """Q (H, S, A), and lower values of the planned policy (H + 1, S), with radii so many times as large."""
    state, rules, H, S = agent.state, agent._way.rules, agent.horizon, agent.n_states
    Q, above, below = np.empty((H, len(rules.layout.block))), *np.empty((2, H + 1, rules.outcomes))
    lsvi.choose(state.data, state.rewards, rules, factor, np.empty_like(state.action), Q, above)
    lsvi.certify(state.data, state.rewards, rules, factor, state.action, below)
    return Q[:, rules.layout.number], below[:, :S]


def failing_runs(name, runs, delta, *, episodes=300, factor=1.0, **parameters):
    """In how many runs (upper values, lower values, certificates) ever failed."""
    failures = np.zeros(3, dtype=int)
    for seed in range(runs):
        mdp = MDPS[name](seed)
        agent = unipac.UPACLSVI.made_for(mdp, delta=delta, **parameters)
        best, slack = unipac.envs.optimal(mdp).q, 1e-9 * mdp.horizon
        starts = np.random.default_rng([seed, 1]).integers(mdp.n_states, size=episodes)
        failed, begin = np.zeros(3, dtype=bool), 0
        for end in np.unique(np.geomspace(1, episodes, 40).astype(int)):
            first = starts[begin:end]
            trace = agent.play(mdp, episodes=len(first), seed=seed, initial_states=first)
            begin = end
            above, below = bounds(agent, factor)
            value = policy_value(mdp, agent.state.action)
            failed[0] |= (above < best - slack).any()
            failed[1] |= (below > value + slack).any()
            failed[2] |= (trace.certificate < trace.gap - slack).any()
        failures += failed
    return failures


CASES = [
    ("river swim", {}),
    ("river swim", {"radius": "vertex"}),
    ("random simplex", {}),
    ("random simplex", {"radius": "vertex", "terminates": False}),
    ("nearly sure", {"radius": "auto", "terminates": False}),
    ("nearly sure", {"terminates": False, "regularization": 0.3}),
    ("ring", {}),
]


@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold(name, parameters, delta):
    runs = 30
    failures = failing_runs(name, runs, delta, **parameters)
    assert metrics.binomial_upper_tail(failures.max(), runs, delta) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold_in_many_runs(name, parameters, delta):
    runs = 300
    failures = failing_runs(name, runs, delta, episodes=2000, **parameters)
    assert metrics.binomial_upper_tail(failures.max(), runs, delta) > FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("river swim", {}),
        ("even", {"terminates": False}),
        ("even", {"terminates": False, "radius": "vertex"}),
    ],
)
def test_a_quarter_of_the_radius_does_not_hold(name, parameters):
    """Negative control: with a quarter of the radii the same test rejects, upwards and downwards."""
    upper, lower, _ = failing_runs(name, 60, 0.1, factor=0.25, **parameters)
    assert metrics.binomial_upper_tail(upper, 60, 0.1) < FALSE_ALARM
    assert metrics.binomial_upper_tail(lower, 60, 0.1) < FALSE_ALARM
