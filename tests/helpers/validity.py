"""Theorems of agents for MDPs as statements about runs: no bound ever fails, except with probability δ.

The null hypothesis of a test is "in a run of K episodes some bound fails with probability at most δ". It is rejected
when so many of N runs fail that the exact binomial probability is below 1e-6, its false-alarm rate. A bound fails if
some upper value is below that of V*, some lower value is above the value of the policy, or a certificate is below the
gap, each by more than 1e-9 of the range. The negative control takes a quarter of the radii, a sixteenth of the
thresholds of balls, and must reject.
"""

import numpy as np

from unipac import metrics
from unipac.envs import FiniteMDP, LinearMDP, optimal, random_simplex, river_swim
from unipac.envs.mdps.finite_mdp import policy_value

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


def failing_runs(name, runs, make, bounds, *, episodes):
    """In how many runs (upper values, lower values, certificates) ever failed, at 40 moments.

    ``make(mdp)`` is an agent; ``bounds(agent)`` its upper values Q (H, S, A), lower values V (H + 1, S) and policy
    (H, S).
    """
    failures = np.zeros(3, dtype=int)
    for seed in range(runs):
        mdp = MDPS[name](seed)
        agent = make(mdp)
        best, slack = optimal(mdp).q, 1e-9 * mdp.horizon
        starts = np.random.default_rng([seed, 1]).integers(mdp.n_states, size=episodes)
        failed, begin = np.zeros(3, dtype=bool), 0
        for end in np.unique(np.geomspace(1, episodes, 40).astype(int)):
            first = starts[begin:end]
            trace = agent.play(mdp, episodes=len(first), seed=seed, initial_states=first)
            begin = end
            above, below, action = bounds(agent)
            failed[0] |= (above < best - slack).any()
            failed[1] |= (below > policy_value(mdp, action) + slack).any()
            failed[2] |= (trace.certificate < trace.gap - slack).any()
        failures += failed
    return failures


def is_rejected(failures, runs, delta):
    """Whether so many failures refute that a run fails with probability at most δ."""
    return metrics.binomial_upper_tail(int(failures), runs, delta) <= FALSE_ALARM
