"""What a policy earns, with proven bounds: the certified direct method.

An agent that has learned the rounds of a log knows, with probability 1 − δ, a set that contains μ*: an ellipsoid, or
several. The mean reward of a policy π on contexts x_1, ..., x_T is ⟨μ*, m⟩ for

    m = 1/T Σ_t Σ_k π(k | x_t) φ(x_t, k),

and the set bounds ⟨μ*, m⟩ for every vector m at once. So the intervals of all policies, and of the differences of any
two, hold together with that probability, whichever policy is asked for after looking at the log, whichever actions the
log never took. What is assumed is what the agent assumes: E[reward | x, k] = ⟨μ*, φ(x, k)⟩ with ‖μ*‖ ≤ norm, noise that
is sub-Gaussian with scale ``noise``, actions chosen without knowledge of their own noise, no round left out or kept
because of its reward. `misfit` tests the first of these.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.verdict import contradict
from unipac.logs.log import Log

Policy = Callable[[Array], Any] | ArrayLike

ROUNDING = 1e-9
"""Probabilities may sum to 1 with so much of an error."""


class Interval(NamedTuple):
    """What is known of the mean reward of a policy, or of a difference of two.

    >>> Interval(estimate=0.5, lower=0.4, upper=0.7, certified=True).width
    0.3
    """

    estimate: float
    """⟨θ, m⟩ for the regression θ of the set that has the least upper bound."""
    lower: float
    """NaN where nothing is proven, or the bounds contradict each other."""
    upper: float
    """The same."""
    certified: bool
    """Whether the bounds are proven under the agent's assumptions, and nothing has refuted these."""

    @property
    def width(self) -> float:
        """From the lower to the upper bound."""
        return self.upper - self.lower


class Comparison(NamedTuple):
    """Two policies on the same contexts.

    >>> first, second = Interval(0.5, 0.4, 0.6, True), Interval(0.3, 0.1, 0.5, True)
    >>> Comparison(first, second, Interval(0.2, 0.1, 0.3, True)).winner       # though the two overlap
    'first'
    """

    first: Interval
    """Of the first policy alone."""
    second: Interval
    """Of the second."""
    difference: Interval
    """Of the first less the second: narrower than the two intervals tell, as what they share cancels."""

    @property
    def winner(self) -> str | None:
        """The "first" or the "second" where the difference is proven not to be 0, else None."""
        if self.difference.lower > 0.0:
            return "first"
        return "second" if self.difference.upper < 0.0 else None


def value(agent: BanditAgent, log: Log, policy: Policy, *, learned: bool = False) -> Interval:
    """The mean reward of a policy on the contexts of a log.

    Args:
        agent: a fresh agent, of which a copy absorbs the log; it says what is assumed (``noise``, ``norm``, δ). With
            ``learned``, one that knows all that it should, and is asked as it is.
        log: the contexts, and the rounds to learn from.
        policy: a function of the offered vectors (n, d) that returns an index or n probabilities; or the indexes of all
            rounds, integers (T,); or their probabilities, (T, n).
        learned: whether the agent has learned the log already, because it made it or absorbed it. Learned twice, a log
            would seem to be twice as long: so an agent that has learned anything is refused without this word.

    Returns:
        An interval that holds for all policies at once with probability 1 − δ.

    Example:
        >>> from unipac import OFUL
        >>> arms = [[1.0, 0.0], [0.0, 1.0]]
        >>> log = Log(arms, index=[0, 1] * 500, rewards=[0.2, 0.7] * 500)
        >>> known = value(OFUL(2, noise=0.5), log, policy=lambda actions: 1)
        >>> known.estimate, known.lower, known.upper
        (0.699, 0.558, 0.839)
        >>> known.certified
        True
    """
    knows = _learned(agent, log, learned)
    return _interval(knows, _mean_vector(log, policy, "policy"), knows.reward_range)


def compare(
    agent: BanditAgent, log: Log, first: Policy, second: Policy, *, learned: bool = False
) -> Comparison:
    """Which of two policies earns more on the contexts of a log, and by how much.

    Arguments are those of `value`. All three intervals hold together, with those of all other policies.

    Example:
        >>> from unipac import OFUL
        >>> arms = [[1.0, 0.0], [0.0, 1.0]]
        >>> log = Log(arms, index=[0, 1] * 500, rewards=[0.2, 0.7] * 500)
        >>> found = compare(OFUL(2, noise=0.5), log, lambda actions: 1, lambda actions: [0.5, 0.5])
        >>> found.winner, found.difference.lower > 0.1
        ('first', True)
    """
    knows = _learned(agent, log, learned)
    a, b = _mean_vector(log, first, "first"), _mean_vector(log, second, "second")
    limits = knows.reward_range
    spread = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    return Comparison(
        _interval(knows, a, limits), _interval(knows, b, limits), _interval(knows, a - b, spread)
    )


def _learned(agent: BanditAgent, log: Log, learned: bool) -> BanditAgent:
    """An agent that knows the log."""
    check.require(isinstance(agent, BanditAgent), "agent", "a bandit agent", agent)
    check.require(isinstance(log, Log) and len(log) > 0, "log", "a Log with at least one round", log)
    check.require(log.dim == agent.dim, "log", f"of dimension {agent.dim}, as the agent is", log.dim)
    check.require(
        not getattr(agent, "disjoint", False), "agent", "one with a model for all actions together", agent
    )
    if check.flag("learned", learned):
        return agent
    check.require(
        agent.rounds == 0,
        "agent",
        "fresh, or else learned=True say that it knows the log, which must not be learned twice",
        agent,
    )
    fresh = copy.copy(agent)
    fresh.absorb(log.actions, log.rewards)
    return fresh


def _mean_vector(log: Log, policy: Policy, name: str) -> Array:
    """The mean of the vectors that a policy takes."""
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
    """The vector of one choice: of an index, or the mean one of probabilities."""
    if np.ndim(choice) == 0:
        return np.asarray(X[check.count(name, choice, least=0, most=len(X) - 1)])
    chances = np.asarray(choice, dtype=np.float64)
    fits = chances.shape == (len(X),) and bool((chances >= 0.0).all())
    fits = fits and abs(float(chances.sum()) - 1.0) <= ROUNDING
    check.require(fits, name, f"an index or {len(X)} probabilities with sum 1", choice)
    return np.asarray(chances @ X)


def _interval(agent: BanditAgent, m: Array, limits: tuple[float, float] | None) -> Interval:
    """Bounds on ⟨μ*, m⟩; m may be longer than any action, as differences are."""
    with agent._lock:
        mean, _, ucb, lcb = (float(column[0]) for column in agent._bounds(np.ascontiguousarray(m)[None]))
        proven = agent.certified and agent.consistent
    longest = getattr(agent, "norm", math.inf) * float(np.linalg.norm(m))
    low, high = limits or (-math.inf, math.inf)
    upper, lower = min(ucb, longest, high), max(lcb, -longest, low)
    if not proven or contradict(lower, upper, math.inf):
        return Interval(mean, math.nan, math.nan, False)
    return Interval(mean, lower, max(upper, lower), True)
