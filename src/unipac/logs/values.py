"""`value` and `compare`: what policies earn on the rounds of a log, by a model or by weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, SupportsFloat, overload

from unipac import _checks as check
from unipac.bandits.protocol.agent import BanditAgent
from unipac.logs import by_model, by_weights
from unipac.logs.intervals import Comparison, Interval, WeightedInterval
from unipac.logs.log import Log
from unipac.logs.policies import Policy

_WAYS = {"model": by_model, "weights": by_weights}


@overload
def value(
    agent: BanditAgent, log: Log, policy: Policy, *, learned: bool = False, by: Literal["model"] = "model"
) -> Interval: ...
@overload
def value(
    log: Log,
    policy: Mapping[str, Policy],
    *,
    by: Literal["weights"],
    reward_range: Sequence[SupportsFloat],
    alpha: SupportsFloat = 0.05,
    guess: Policy | None = None,
    largest_weight: SupportsFloat | None = None,
) -> dict[str, WeightedInterval]: ...
@overload
def value(
    log: Log,
    policy: Policy,
    *,
    by: Literal["weights"],
    reward_range: Sequence[SupportsFloat],
    alpha: SupportsFloat = 0.05,
    guess: Policy | None = None,
    largest_weight: SupportsFloat | None = None,
) -> WeightedInterval: ...
def value(*arguments: Any, by: str = "model", **options: Any) -> Any:
    """The mean reward of a policy on the contexts of a log, with proven bounds.

    ``value(agent, log, policy, learned=False)`` uses the confidence set of an agent that has learned the log. It needs
    no propensities, and holds for all policies at once; it assumes linear rewards.

    ``value(log, policy, by="weights", reward_range=(low, high), alpha=0.05, guess=None, largest_weight=None)`` uses
    importance weights. It needs propensities and a policy that was fixed before looking at the log; it assumes no
    model.

    Args:
        *arguments: (agent, log, policy) by model, (log, policy) by weights.
        **options: the other arguments in these two calls.
        agent: by model: a fresh agent, which sets the assumptions (``noise``, ``norm``, δ); a copy of it absorbs the
            log. With ``learned``, an agent that has learned all data already; it is used as it is.
        log: the contexts, and the rounds to learn from.
        policy: a function of the offered vectors (n, d) that returns an index or n probabilities; or the indexes of all
            rounds, integers (T,); or their probabilities, (T, n). By weights also "uniform", or "logged" for what was
            decided; or a dict of policies, which share ``alpha``.
        learned: by model: whether the agent has already learned the log, because it made or absorbed it. Learning a log
            twice would count its data twice. So an agent that has learned anything is refused unless this is True.
        by: "model" or "weights".
        reward_range: by weights: (low, high) between which all rewards lie.
        alpha: by weights: the probability that an interval fails, at any time, is at most this.
        guess: by weights: guesses of the rewards of all actions, a function of the offered vectors (n, d) or numbers
            (T, n), made without these rounds. They may be wrong; good ones make the interval narrower.
        largest_weight: by weights: a bound on all π/p, known before the data, such as 1 over the least propensity. A
            log of uniform choices needs none: its propensities are all known. For others the log has the propensities
            of the actions taken alone; without this bound intervals are much wider where rewards are rare.

    Returns:
        By model an `Interval` that holds for all policies at once with probability 1 − δ. By weights a
        `WeightedInterval`, or a dict of them by name, which hold together with probability 1 − ``alpha``, also if the
        log grows and is looked at again and again.

    Raises:
        ValueError: if a policy takes what the log could not take, propensities are missing or not in (0, 1], a reward
            lies outside its range, or probabilities do not add up to 1; says where.

    Example:
        >>> from unipac import OFUL
        >>> arms = [[1.0, 0.0], [0.0, 1.0]]
        >>> log = Log(arms, index=[0, 1] * 500, rewards=[0.2, 0.7] * 500, propensities=[0.5] * 1000)
        >>> known = value(OFUL(2, noise=0.5), log, policy=lambda actions: 1)
        >>> known.estimate, known.lower, known.upper
        (0.699, 0.619, 0.780)
        >>> known.certified
        True
        >>> known = value(log, lambda actions: 1, by="weights", reward_range=(0, 1))
        >>> known.ipw, known.snipw, known.lower, known.upper
        (0.700, 0.700, 0.678, 0.717)
    """
    return _way(by, arguments).value(*arguments, **options)


@overload
def compare(
    agent: BanditAgent,
    log: Log,
    first: Policy,
    second: Policy,
    *,
    learned: bool = False,
    by: Literal["model"] = "model",
) -> Comparison: ...
@overload
def compare(
    log: Log,
    first: Policy,
    second: Policy,
    *,
    by: Literal["weights"],
    reward_range: Sequence[SupportsFloat],
    alpha: SupportsFloat = 0.05,
    guess: Policy | None = None,
    largest_weight: SupportsFloat | None = None,
) -> Comparison: ...
def compare(*arguments: Any, by: str = "model", **options: Any) -> Any:
    """Compare the mean rewards of two policies on the contexts of a log.

    ``compare(agent, log, first, second, learned=False)`` by model, ``compare(log, first, second, by="weights",
    reward_range=(low, high), alpha=0.05, guess=None, largest_weight=None)`` by weights; the arguments are those of
    `value`. The difference is bounded directly, so its interval is narrower where the policies agree. All three
    intervals hold together: by model, also with those of all other policies; by weights, the difference gets half of
    ``alpha``, and each policy a quarter.

    Example:
        >>> from unipac import OFUL
        >>> arms = [[1.0, 0.0], [0.0, 1.0]]
        >>> log = Log(arms, index=[0, 1] * 500, rewards=[0.2, 0.7] * 500, propensities=[0.5] * 1000)
        >>> found = compare(OFUL(2, noise=0.5), log, lambda actions: 1, lambda actions: [0.5, 0.5])
        >>> found.winner, found.difference.lower > 0.1
        ('first', True)
        >>> found = compare(log, lambda actions: 1, "logged", by="weights", reward_range=(0, 1))
        >>> found.winner, found.difference.lower > 0.1, found.difference.alpha
        ('first', True, 0.025)
    """
    return _way(by, arguments).compare(*arguments, **options)


def _way(by: str, arguments: tuple[Any, ...]) -> Any:
    way = _WAYS[check.one_of("by", by, tuple(_WAYS))]
    if by == "model" and arguments and isinstance(arguments[0], Log):
        raise ValueError(
            'agent must be the first argument; by="weights" needs none, got a Log and by="model"'
        )
    return way
