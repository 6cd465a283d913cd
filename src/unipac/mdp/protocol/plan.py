"""What an agent fixes before an episode, and what it learns from one."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from unipac._arrays import Array, Integers

Change: TypeAlias = Any
"""What an episode changes: a new state, or a plain tuple of a kernel that changes the state and its arguments."""


class Plan(NamedTuple):
    """The policy of an episode, with bounds on its value and on the best one.

    The policy may remember a *level* from one stage to the next, an index p from 0 to P − 1; FLUTE does, other agents
    have P = 1.

    >>> import numpy as np
    >>> plan = Plan(np.zeros((2, 1, 3), int), np.zeros((2, 1, 3), int), np.full(3, 2.0), lower=None, fresh=True)
    >>> plan.action.shape, plan.bound.tolist()                  # H = 2 stages, one level, 3 states
    ((2, 1, 3), [2.0, 2.0, 2.0])
    """

    action: Integers
    """(H, P, S): the action, by the level of the stage before; the first stage takes p = P − 1."""
    level: Integers
    """(H, P, S): the level of the stage, which is the index p at the next stage."""
    bound: Array
    """(S,): an upper bound on V*_1."""
    lower: Array | None
    """(S,): a lower bound on V^π_1 of this policy, where there is one."""
    fresh: bool
    """Whether it was planned anew."""


class Episode(NamedTuple):
    """A finished episode, as arrays of length n ≤ H.

    >>> import numpy as np
    >>> states, zeros, following = np.array([0, 1]), np.zeros(2, int), np.array([1, -1])
    >>> episode = Episode(states, action=zeros, level=zeros, reward=np.ones(2), following=following)
    >>> float(episode.reward.sum()), int(episode.following[-1])
    (2.0, -1)
    """

    state: Integers
    """Where the agent was, at each stage."""
    action: Integers
    """What it did there."""
    level: Integers
    """The level of each stage as in the plan, from 0."""
    reward: Array
    """The reward for it."""
    following: Integers
    """The next state; -1 if the episode terminated, so that all later values are 0."""
