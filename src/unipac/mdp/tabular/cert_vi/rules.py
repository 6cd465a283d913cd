"""What the parameters of CertVI come down to: numbers for kernels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from unipac.mdp.tabular.counting.backward import Limits
from unipac.theory.tabular import EXPLORING

GIVEN, OUTCOMES, MEANS = 0, 1, 2
"""What is known of rewards: all; nothing, and an outcome holds its reward; nothing, and their means are learned."""


class Rules(NamedTuple):
    """The numbers that parameters come down to."""

    rewards: int
    """``GIVEN``, ``OUTCOMES`` or ``MEANS``."""
    scale: float
    """Of the thresholds when choosing."""
    factor: float
    """By how much visits of a cell may grow before a new plan; 0 for a new plan in every episode."""
    growth: float
    every: float
    """A plan lasts for at least ``every`` episodes, or ``growth`` times those before it, whatever is less."""
    spread: bool
    """Whether equally good actions are spread over stages and states."""
    log_upper: float
    """log(1/failure) of each ball for one function."""
    log_lower: float
    """log(1/failure) of each ball for all functions."""
    log_reward: float
    """log(1/failure) of the mean reward of each cell."""
    low: float
    high: float
    """Range of a reward."""
    upper: Limits
    lower: Limits


def rules_of(agent: Any) -> Rules:
    """Of a CertVI."""
    S, A, stages = agent.n_states, agent.n_actions, agent._stages
    many = agent.rewards is None and agent.reward_values == "many"
    counted = OUTCOMES if agent._known is None else GIVEN
    kind = MEANS if many else counted
    base = np.zeros((1, S * A)) if agent._known is None else agent._known
    least, most = agent._outcome_rewards(kind == OUTCOMES)
    cells = S * A * (1 if agent.homogeneous else stages)
    exploring = EXPLORING * agent.delta * (0.5 if many else 1.0)
    worst, best = (-math.inf, math.inf) if agent.return_range is None else agent.return_range
    if many:  # rewards are apart from what follows them, which may be nothing
        worst, best = min(worst, 0.0), max(best, 0.0)
    return Rules(
        rewards=kind,
        scale=agent.bonus_scale,
        factor=agent.replan_factor if agent.replan == "lazy" else 0.0,
        growth=agent.replan_factor - 1.0,
        every=float(agent.replan_every),
        spread=agent.ties == "spread",
        log_upper=math.log(S * stages / exploring),  # of each state one optimal action
        log_lower=math.log(cells / ((1 - EXPLORING) * agent.delta)),
        log_reward=math.log(cells / exploring),
        low=agent.reward_range[0],
        high=agent.reward_range[1],
        upper=Limits(base, most, 1.0, best, agent._over),
        lower=Limits(base, least, 1.0, worst, agent._over),
    )
