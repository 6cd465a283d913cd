"""The parameters of CertVI as numbers for kernels, and the states that are ends.

No action is taken in an end, and nothing follows it; input that contradicts this is refused.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac.envs import FiniteMDP
from unipac.mdp.tabular.counting.backward import Limits
from unipac.theory.tabular import EXPLORING, certvi_mistake_bound

Booleans = NDArray[np.bool_]

GIVEN, OUTCOMES, MEANS = 0, 1, 2
"""Rewards are known; or unknown, and part of the outcomes; or unknown, and only their means are learned."""


class Rules(NamedTuple):
    """The parameters as numbers for kernels."""

    rewards: int
    """``GIVEN``, ``OUTCOMES`` or ``MEANS``."""
    scale: float
    """The factor of the thresholds when choosing."""
    factor: float
    """By how much visits of a cell may grow before a new plan; 0 for a new plan in every episode."""
    growth: float
    every: float
    """A plan lasts for at least ``every`` episodes, or ``growth`` times those before it, whichever is less."""
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
    """The rules of a CertVI."""
    S, A, stages = agent.n_states, agent.n_actions, agent._stages
    many = agent.rewards is None and agent.reward_values == "many"
    counted = OUTCOMES if agent._known is None else GIVEN
    kind = MEANS if many else counted
    base = np.zeros((1, S * A)) if agent._known is None else agent._known
    least, most = agent._outcome_rewards(kind == OUTCOMES)
    cells = S * A * (1 if agent.homogeneous else stages)
    exploring = EXPLORING * agent.delta * (0.5 if many else 1.0)
    worst, best = (-math.inf, math.inf) if agent.return_range is None else agent.return_range
    if many:  # rewards are bounded apart from later values, which may be 0
        worst, best = min(worst, 0.0), max(best, 0.0)
    return Rules(
        rewards=kind,
        scale=agent.bonus_scale,
        factor=agent.replan_factor if agent.replan == "lazy" else 0.0,
        growth=agent.replan_factor - 1.0,
        every=float(agent.replan_every),
        spread=agent.ties == "spread",
        log_upper=math.log(S * stages / exploring),  # one optimal action for each state and stage
        log_lower=math.log(cells / ((1 - EXPLORING) * agent.delta)),
        log_reward=math.log(cells / exploring),
        low=agent.reward_range[0],
        high=agent.reward_range[1],
        upper=Limits(base, most, 1.0, best, agent._over),
        lower=Limits(base, least, 1.0, worst, agent._over),
    )


def mistake_bound(agent: Any, eps: float) -> float:
    """A bound on the number of episodes of CertVI with a certificate above ε; or infinity."""
    if agent.bonus_scale != 1.0 or not agent.consistent:
        return math.inf
    return certvi_mistake_bound(
        eps / agent._unit,
        agent.n_states,
        agent.n_actions,
        agent.horizon,
        agent.delta,
        rewards=("known", "few", "many")[agent._rules.rewards],
        replan_factor=max(1.0, agent._rules.factor),
        replan_every=agent.replan_every,
    )


def ends_of(ends: Any, n_states: int) -> tuple[Booleans, tuple[int, ...] | None]:
    """Which states are ends, (S,), and their numbers."""
    over: Booleans = np.zeros(n_states, dtype=np.bool_)
    if ends is None:
        return over, None
    numbers = np.asarray(ends)
    if numbers.dtype == np.bool_ and numbers.shape == (n_states,):
        numbers = np.flatnonzero(numbers)
    sound = numbers.ndim == 1 and numbers.size > 0 and numbers.dtype.kind in "iu"
    sound = sound and 0 <= numbers.min() <= numbers.max() < n_states
    sound = sound and np.unique(numbers).size == numbers.size < n_states
    expected = (
        f"different numbers from 0 to {n_states - 1}, or booleans of shape ({n_states},), not of all states"
    )
    check.require(bool(sound), "ends", expected, ends)
    over[numbers] = True
    return over, tuple(np.flatnonzero(over).tolist())


def check_ends(mdp: FiniteMDP, over: Booleans) -> None:
    """Refuse an MDP in which an episode goes on after an end."""
    comes = (mdp.tables[:, ~over][..., over] > 0.0).any(axis=(0, 1, 2)) | (mdp.initial[over] > 0.0)
    wrong = np.flatnonzero(over)[comes & ~mdp.terminal[over]]
    expected = "states that are terminal in this MDP, or that no other state leads to"
    check.require(wrong.size == 0, "ends", expected, wrong.tolist())
