"""Replay: the rewards of a learning agent, estimated from a log of uniform choices (Li, Chu, Langford and Wang 2011).

    for each logged round (D, k, r):
        the agent chooses from D; if it takes k, it learns r, and the round counts; else the round is discarded

If the logged choices are uniform and independent of everything else, the rounds that count have the same distribution
as the rounds of a live agent. About one round in n counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac.bandits.protocol.agent import BanditAgent
from unipac.logs.log import Log


class Replay(NamedTuple):
    """The rounds that count.

    >>> played = Replay(rounds=np.array([0, 3]), rewards=np.array([0.2, 0.4]))
    >>> played.mean, played.standard_error
    (0.3, 0.1)
    """

    rounds: NDArray[np.int64]
    """Numbers of these rounds in the log."""
    rewards: NDArray[np.float64]
    """Rewards of these rounds."""

    @property
    def mean(self) -> float:
        """Mean reward; NaN without rounds."""
        return float(self.rewards.mean()) if len(self.rewards) else math.nan

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, valid for a policy that does not learn; NaN with fewer than two rounds."""
        count = len(self.rewards)
        return float(self.rewards.std(ddof=1) / math.sqrt(count)) if count > 1 else math.nan


def replay(agent: BanditAgent, log: Log) -> Replay:
    """Let an agent choose and learn on the rounds of a log of uniform choices.

    Args:
        agent: the agent; it learns, as in ``play``.
        log: its propensities must be 1/n in every round; `check` compares them with the actions taken.

    Raises:
        ValueError: if the propensities are missing or not uniform.

    Example:
        >>> from unipac import LinUCB
        >>> arms = [[1.0, 0.0], [0.0, 1.0]]
        >>> index = np.random.default_rng(0).integers(2, size=1000)
        >>> log = Log(arms, index, rewards=np.array([0.2, 0.7])[index], propensities=np.full(1000, 0.5))
        >>> played = replay(LinUCB(2), log)
        >>> len(played.rounds), played.mean > 0.65
        (535, True)
    """
    check.require(isinstance(agent, BanditAgent), "agent", "a bandit agent", agent)
    check.require(isinstance(log, Log), "log", "a Log", log)
    instead = "unknown propensities" if log.propensities is None else "others"
    check.require(log.is_uniform, "log", "one of uniform choices, with propensities 1/n", instead)
    taken, rewards = log.index.tolist(), log.rewards.tolist()
    counted: list[int] = []
    for t, (k, reward) in enumerate(zip(taken, rewards, strict=True)):
        decision = agent.choose(np.array(log.offered(t)))
        if decision.index == k:
            agent.update(decision, reward)
            counted.append(t)
        else:
            agent.forget(decision)
    rounds = np.array(counted, dtype=np.int64)
    return Replay(rounds, log.rewards[rounds])
