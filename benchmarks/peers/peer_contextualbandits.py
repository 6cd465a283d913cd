"""contextualbandits: LinUCB, one regression per arm in single precision, one context, rewards 0 or 1."""

import numpy as np
from contextualbandits.online import LinUCB

from serve import serve_bandit


def make(n, d, alpha=1.0, ridge=1.0):
    policy = LinUCB(nchoices=n, alpha=alpha, lambda_=ridge, method="sm", random_state=1, njobs=1)

    def choose(actions):
        return int(policy.predict(actions[:1])[0])

    def update(actions, k, reward):
        policy.partial_fit(actions[:1], np.array([k]), np.array([float(reward > 0)]))

    return choose, update


serve_bandit(["contextualbandits", "numpy"], make)
