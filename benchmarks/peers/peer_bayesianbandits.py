"""bayesianbandits: upper quantiles from 1,000 draws, one regression per arm; all arms see one context."""

import numpy as np
from bayesianbandits import Arm, ContextualAgent, NormalRegressor, UpperConfidenceBound

from serve import serve_bandit


def make(n, d):
    arms = [Arm(k, learner=NormalRegressor(alpha=1.0, beta=1.0)) for k in range(n)]
    agent = ContextualAgent(arms, UpperConfidenceBound(), random_seed=0)

    def choose(actions):
        (k,) = agent.pull(actions[:1])
        return k

    def update(actions, k, reward):
        agent.select_for_update(k).update(actions[:1], np.array([reward]))

    return choose, update


serve_bandit(["bayesianbandits", "numpy"], make)
