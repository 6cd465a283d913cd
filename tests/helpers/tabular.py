"""What comparisons of tabular agents with their judges share."""

import numpy as np

from unipac.mdp.protocol.plan import Episode

TIE = 1e-8
"""Actions whose values differ by less may be taken for each other: the last digits are not the same."""


def learned(agent, episode):
    states, actions, rewards, following = episode
    agent._commit(agent._learn(Episode(states, actions, np.zeros_like(states), rewards, following)), 0)


def agree(action, Q):
    """Whether all actions (H, S) are the best of Q (H, S, A), up to ties."""
    taken = np.take_along_axis(Q, action[:, :, None], axis=2)[:, :, 0]
    return bool((taken >= Q.max(axis=2) - TIE).all())
