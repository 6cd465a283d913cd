"""The mean reward of a policy, with proven bounds from the confidence set of an agent (the direct method).

An agent that has learned the rounds of a log has a set that contains μ* with probability 1 − δ: an ellipsoid, or an
intersection of several. The mean reward of a policy π on contexts x_1, ..., x_T is ⟨μ*, m⟩ for

    m = 1/T Σ_t Σ_k π(k | x_t) φ(x_t, k),

and the set bounds ⟨μ*, m⟩ for every vector m at once. So the intervals of all policies, and of the differences of any
two, hold together with that probability, even if a policy was chosen after looking at the log, and even for actions
that the log never took. The agent's assumptions must hold: E[reward | x, k] = ⟨μ*, φ(x, k)⟩ with ‖μ*‖ ≤ norm; the noise
is sub-Gaussian with scale ``noise``; actions were chosen without knowledge of their own noise; and no round was left
out or kept because of its reward. `misfit` tests the first of these.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.verdict import contradict
from unipac.logs.intervals import Comparison, Interval
from unipac.logs.log import Log
from unipac.logs.policies import Policy, index_or_chances


def value(agent: BanditAgent, log: Log, policy: Policy, *, learned: bool = False) -> Interval:
    """The mean reward of a policy on the contexts of a log; see ``values.value``."""
    trained = _learned(agent, log, learned)
    return _interval(trained, _mean_vector(log, policy, "policy"), trained.reward_range)


def compare(
    agent: BanditAgent, log: Log, first: Policy, second: Policy, *, learned: bool = False
) -> Comparison:
    """The mean rewards of two policies, and their difference; see ``values.compare``."""
    trained = _learned(agent, log, learned)
    a, b = _mean_vector(log, first, "first"), _mean_vector(log, second, "second")
    limits = trained.reward_range
    spread = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    return Comparison(
        _interval(trained, a, limits), _interval(trained, b, limits), _interval(trained, a - b, spread)
    )


def _learned(agent: BanditAgent, log: Log, learned: bool) -> BanditAgent:
    """An agent that has learned the log: the agent itself, or a copy."""
    check.require(isinstance(agent, BanditAgent), "agent", "a bandit agent", agent)
    check.require(isinstance(log, Log) and len(log) > 0, "log", "a Log with at least one round", log)
    check.require(log.dim == agent.dim, "log", f"of dimension {agent.dim}, as the agent is", log.dim)
    check.require(
        not hasattr(agent, "n_actions"), "agent", "one with a model for all actions together", agent
    )
    if check.flag("learned", learned):
        return agent
    check.require(
        agent.rounds == 0,
        "agent",
        "fresh; pass learned=True if it has learned the log, which must not be learned twice",
        agent,
    )
    fresh = copy.copy(agent)
    fresh.absorb(log.actions, log.rewards)
    return fresh


def _mean_vector(log: Log, policy: Policy, name: str) -> Array:
    """The mean m of the vectors that a policy takes."""
    total = np.zeros(log.dim)
    if callable(policy):
        for t in range(len(log)):
            X = log.offered(t)
            total += _taken(X, policy(X), f"{name} in round {t}")
        return total / len(log)
    choices: Any = policy
    check.require(len(log) == len(choices), name, f"of length {len(log)}, as the log", len(choices))
    for t, choice in enumerate(choices):
        total += _taken(log.offered(t), choice, f"{name}[{t}]")
    return total / len(log)


def _taken(X: Array, choice: Any, name: str) -> Array:
    """The vector of one choice: that of an index, or the mean under probabilities."""
    chosen = index_or_chances(name, choice, len(X))
    return np.asarray(X[chosen] if isinstance(chosen, int) else chosen @ X)


def _interval(agent: BanditAgent, m: Array, limits: tuple[float, float] | None) -> Interval:
    """Bounds on ⟨μ*, m⟩; m may be longer than any action, as a difference of two is."""
    with agent._lock:
        mean, _, ucb, lcb = (float(column[0]) for column in agent._bounds(np.ascontiguousarray(m)[None]))
        proven = agent.certified and agent.consistent
    longest = getattr(agent, "norm", math.inf) * float(np.linalg.norm(m))
    low, high = limits or (-math.inf, math.inf)
    upper, lower = min(ucb, longest, high), max(lcb, -longest, low)
    if not proven or contradict(lower, upper, math.inf):
        return Interval(mean, math.nan, math.nan, False)
    return Interval(mean, lower, max(upper, lower), True)
