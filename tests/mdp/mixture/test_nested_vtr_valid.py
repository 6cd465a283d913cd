"""The theorem of the agents for mixture MDPs as statements about runs: no set ever misses θ, except with probability δ.

The null hypothesis of a test is "in a run of K episodes something fails with probability at most δ". It is rejected
when so many of N runs fail that the exact binomial probability is below 1e-6, its false-alarm rate. What may fail, each
by more than 1e-9 of the range: an upper value is below V*, a lower value above that of the policy, a certificate below
the gap; and some level, or the likelihood set, does not contain θ. Negative controls take a part of the radii and must
reject.
"""

import numpy as np
import pytest

import unipac
from unipac import metrics
from unipac.envs import MixtureMDP, model_ensemble, policy_value, random_mixture
from unipac.linalg import ridge
from unipac.linalg.levels import top
from unipac.mdp.mixture.regression import kernels as regression, planning

FALSE_ALARM = 1e-6
FAILURES = ("upper", "lower", "certificate", "regressions", "likelihood")


def coins():
    """H = 2, two states, kernels of which one stays and one goes: the next state is a fair coin."""
    stay, go = np.eye(2)[:, None], (1 - np.eye(2))[:, None]
    kernels = np.concatenate([stay, go], axis=1), np.concatenate([0.5 + 0 * stay, stay], axis=1)
    rewards = np.zeros((2, 2, 2))
    rewards[1, 1] = 1.0
    return MixtureMDP(model_ensemble(kernels), [0.5, 0.5], rewards, [0.5, 0.5], horizon=2)


MDPS = {
    "coins": lambda seed: coins(),
    "random": lambda seed: random_mixture(3, 2, 3, 3, seed=seed),
    "random, homogeneous": lambda seed: random_mixture(3, 2, 2, 4, seed=seed, homogeneous=True),
}


def failing_runs(name, runs, delta, *, episodes=200, factor=1.0, **parameters):
    """In how many runs each of FAILURES ever happened, with radii so many times as large."""
    failures = np.zeros(5, dtype=int)
    for seed in range(runs):
        mdp = MDPS[name](seed)
        agent = unipac.NestedVTR.made_for(mdp, delta=delta, **parameters)
        best, slack = mdp.optimal_values(), 1e-9 * mdp.horizon
        rules = agent._rules
        starts = np.random.default_rng([seed, 1]).integers(mdp.n_states, size=episodes)
        failed, begin = np.zeros(5, dtype=bool), 0
        for end in np.unique(np.geomspace(1, episodes, 30).astype(int)):
            trace = agent.play(mdp, episodes=end - begin, seed=seed, initial_states=starts[begin:end])
            begin = end
            failed[2] |= (trace.certificate < trace.gap - slack).any()
            agent._plan()
            state, sets = agent.state, planning.all_sets(agent.state, rules)
            above, below = np.empty_like(state.upper), np.empty_like(state.lower)
            planning.choose(state, rules, sets, factor, np.empty_like(state.action), above)
            planning.certify(state, rules, sets, factor, state.action, below)
            failed[0] |= (above < best - slack).any()
            failed[1] |= (below > policy_value(mdp, state.action) + slack).any()
            for m in range(len(state.size)):
                theta = np.array(mdp.weights[m])
                for i in range(top(regression.stack(state, m))):
                    failed[3] |= ridge.distance(state.rows[m, i], theta) > factor * state.beta[m, i] * (
                        1 + 1e-9
                    )
                if agent.likelihood:
                    R = np.triu(sets.rows[m][:, 1 : agent.dim + 1])
                    failed[4] |= np.linalg.norm(R @ (theta - state.theta[m])) > factor * sets.radius[m]
        failures += failed
    return dict(zip(FAILURES, failures.tolist(), strict=True))


CASES = [
    ("coins", {}),
    ("coins", {"likelihood": True}),
    ("random", {}),
    ("random", {"likelihood": True}),
    ("random, homogeneous", {"homogeneous": True}),
    ("random, homogeneous", {"homogeneous": True, "likelihood": True}),
    ("random, homogeneous", {"homogeneous": True, "targets": "widest", "regularization": 0.1}),
]


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold(name, parameters):
    failures = failing_runs(name, 20, 0.1, **parameters)
    assert metrics.binomial_upper_tail(max(failures.values()), 20, 0.1) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_bounds_and_certificates_hold_in_many_runs(name, parameters, delta):
    failures = failing_runs(name, 200, delta, episodes=1000, **parameters)
    print(name, parameters, delta, failures)
    assert metrics.binomial_upper_tail(max(failures.values()), 200, delta) > FALSE_ALARM


@pytest.mark.parametrize(
    ("what", "factor", "more"), [("regressions", 0.5, {}), ("likelihood", 0.25, {"likelihood": True})]
)
def test_less_does_not_hold(what, factor, more):
    """Negative control: half of the radii of the regressions, a quarter of those of the likelihood sets."""
    failures = failing_runs("coins", 40, 0.1, factor=factor, regularization=0.05, **more)
    assert metrics.binomial_upper_tail(failures[what], 40, 0.1) < FALSE_ALARM


def test_values_show_it_too():
    """Negative control: with a quarter of all radii upper and lower values fail."""
    failures = failing_runs("coins", 40, 0.1, factor=0.25, regularization=0.05)
    assert metrics.binomial_upper_tail(failures["upper"], 40, 0.1) < FALSE_ALARM
    assert metrics.binomial_upper_tail(failures["lower"], 40, 0.1) < FALSE_ALARM
