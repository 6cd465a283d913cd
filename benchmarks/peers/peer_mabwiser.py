"""MABWiser: LinUCB, one ridge regression per arm; all arms see one context, the first action of the round."""

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from serve import serve_bandit


def make(n, d):
    arms = list(range(n))
    bandit = MAB(arms, LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0), seed=0)
    bandit.fit([0], [0.0], np.zeros((1, d)))  # it does not predict before a first fit

    def choose(actions):
        return bandit.predict(actions[:1])

    def update(actions, k, reward):
        bandit.partial_fit([k], [reward], actions[:1])

    return choose, update


serve_bandit(["mabwiser", "numpy"], make)
