"""The mean reward of a policy, with proven bounds: the certified direct method.

An agent that has learned the rounds of a log has a set that contains μ* with probability 1 − δ: an ellipsoid, or an
intersection of several. The mean reward of a policy π on contexts x_1, ..., x_T is ⟨μ*, m⟩ for

    m = 1/T Σ_t Σ_k π(k | x_t) φ(x_t, k),

and the set bounds ⟨μ*, m⟩ for every vector m at once. So the intervals of all policies, and of the differences of any
two, hold together with that probability, even if a policy was chosen after looking at the log, and even for actions
that the log never took. The assumptions are those of the agent: E[reward | x, k] = ⟨μ*, φ(x, k)⟩ with ‖μ*‖ ≤ norm;
noise that is sub-Gaussian with scale ``noise``; actions chosen without knowledge of their own noise; and no round left
out or kept because of its reward. `misfit` tests the first of these.
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
"""Largest difference between the sum of probabilities and 1."""


class Interval(NamedTuple):
    """An estimate of the mean reward of a policy, or of the difference of two, with bounds.

    >>> Interval(estimate=0.5, lower=0.4, upper=0.7, certified=True).width
    0.3
    """

    estimate: float
    """⟨θ, m⟩ for the regression θ of the set that has the least upper bound."""
    lower: float
    """The lower bound; NaN if nothing is proven, or if the bounds contradict each other."""
    upper: float
    """The upper bound; NaN in the same cases."""
    certified: bool
    """Whether the bounds are proven under the agent's assumptions, and the data do not refute these."""

    @property
    def width(self) -> float:
        """The upper bound minus the lower one."""
        return self.upper - self.lower


class Comparison(NamedTuple):
    """Two policies on the same contexts.

    >>> first, second = Interval(0.5, 0.4, 0.6, True), Interval(0.3, 0.1, 0.5, True)
    >>> Comparison(first, second, Interval(0.2, 0.1, 0.3, True)).winner       # though the two overlap
    'first'
    """

    first: Interval
    """The interval of the first policy alone."""
    second: Interval
    """The interval of the second policy alone."""
    difference: Interval
    """The interval of the first minus the second: narrower than the two imply, since what they share cancels."""

    @property
    def winner(self) -> str | None:
        """``"first"`` or ``"second"`` if the difference is proven not to be 0, else None."""
        if self.difference.lower > 0.0:
            return "first"
        return "second" if self.difference.upper < 0.0 else None


def value(agent: BanditAgent, log: Log, policy: Policy, *, learned: bool = False) -> Interval:
    """The mean reward of a policy on the contexts of a log.

    Args:
        agent: a fresh agent, which sets the assumptions (``noise``, ``norm``, δ); a copy of it absorbs the log. With
            ``learned``, an agent that has learned all data already; it is used as it is.
        log: the contexts, and the rounds to learn from.
        policy: a function of the offered vectors (n, d) that returns an index or n probabilities; or the indexes of all
            rounds, integers (T,); or their probabilities, (T, n).
        learned: whether the agent has learned the log already, because it made it or absorbed it. To learn a log twice
            would count its data twice. So an agent that has learned anything is refused unless this is True.

    Returns:
        An interval that holds for all policies at once with probability 1 − δ.

    Example:
        >>> from unipac import OFUL
        >>> arms = [[1.0, 0.0], [0.0, 1.0]]
        >>> log = Log(arms, index=[0, 1] * 500, rewards=[0.2, 0.7] * 500)
        >>> known = value(OFUL(2, noise=0.5), log, policy=lambda actions: 1)
        >>> known.estimate, known.lower, known.upper
        (0.699, 0.619, 0.780)
        >>> known.certified
        True
    """
    trained = _learned(agent, log, learned)
    return _interval(trained, _mean_vector(log, policy, "policy"), trained.reward_range)


def compare(
    agent: BanditAgent, log: Log, first: Policy, second: Policy, *, learned: bool = False
) -> Comparison:
    """Compare the mean rewards of two policies on the contexts of a log.

    The arguments are those of `value`. All three intervals hold together, and with those of all other policies.

    Example:
        >>> from unipac import OFUL
        >>> arms = [[1.0, 0.0], [0.0, 1.0]]
        >>> log = Log(arms, index=[0, 1] * 500, rewards=[0.2, 0.7] * 500)
        >>> found = compare(OFUL(2, noise=0.5), log, lambda actions: 1, lambda actions: [0.5, 0.5])
        >>> found.winner, found.difference.lower > 0.1
        ('first', True)
    """
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
    if np.ndim(choice) == 0:
        return np.asarray(X[check.count(name, choice, least=0, most=len(X) - 1)])
    chances = np.asarray(choice, dtype=np.float64)
    fits = chances.shape == (len(X),) and bool((chances >= 0.0).all())
    fits = fits and abs(float(chances.sum()) - 1.0) <= ROUNDING
    check.require(fits, name, f"an index or {len(X)} probabilities with sum 1", choice)
    return np.asarray(chances @ X)


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
