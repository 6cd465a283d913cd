"""MABWiser: LinUCB, one ridge regression per arm; all arms see one context, the first action of the round."""

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from serve import serve_bandit


def make(n, d, alpha=1.0, ridge=1.0):
    arms = list(range(n))
    bandit = MAB(arms, LearningPolicy.LinUCB(alpha=alpha, l2_lambda=ridge), seed=0)
    bandit.fit([0], [0.0], np.zeros((1, d)))  # it does not predict before a first fit

    def choose(actions):
        return bandit.predict(actions[:1])

    def update(actions, k, reward):
        bandit.partial_fit([k], [reward], actions[:1])

    return choose, update


serve_bandit(["mabwiser", "numpy"], make)
