"""The mean reward of a policy on the rounds of a log, by importance weights: without a model.

In round t the log took A_t with propensity p_t; the weight of a policy π is w_t = π_t(A_t)/p_t. `weights.RunningMean`
bounds the mean of Σ_a π_t(a) E[r_t(a)] over the rounds from the weighted rewards. It assumes that propensities are
right, and positive wherever the policy's probabilities are; that rewards lie in a known range; and that the policy (and
the guess, if there is one) was fixed before the draws. It does not assume linear rewards, a noise scale or
stationarity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.logs.intervals import Comparison, WeightedInterval
from unipac.logs.log import Log
from unipac.logs.policies import ROUNDING, Policy, Taken, guess_of_taken, guessed, taken
from unipac.weights import RunningMean


def value(
    log: Log,
    policy: Policy | Mapping[str, Policy],
    *,
    reward_range: Sequence[SupportsFloat],
    alpha: SupportsFloat = 0.05,
    guess: Policy | None = None,
    largest_weight: SupportsFloat | None = None,
) -> WeightedInterval | dict[str, WeightedInterval]:
    """The mean reward of a policy, or of several by name, on the rounds of a log; see ``values.value``."""
    level = check.probability("alpha", alpha)
    weighed = _Weighed(log, reward_range, guess, largest_weight)
    if not isinstance(policy, Mapping):
        return weighed.value(weighed.taken(policy, "policy"), level, shared=1)
    check.require(len(policy) > 0, "policy", "at least one policy", policy)
    each = {name: weighed.taken(one, f"policy[{name!r}]") for name, one in policy.items()}
    return {name: weighed.value(one, level / len(each), shared=len(each)) for name, one in each.items()}


def compare(
    log: Log,
    first: Policy,
    second: Policy,
    *,
    reward_range: Sequence[SupportsFloat],
    alpha: SupportsFloat = 0.05,
    guess: Policy | None = None,
    largest_weight: SupportsFloat | None = None,
) -> Comparison:
    """The mean rewards of two policies and their difference; see ``values.compare``."""
    level = check.probability("alpha", alpha)
    weighed = _Weighed(log, reward_range, guess, largest_weight)
    a, b = weighed.taken(first, "first"), weighed.taken(second, "second")
    return Comparison(
        weighed.value(a, level / 4.0, shared=3),
        weighed.value(b, level / 4.0, shared=3),
        weighed.value(a, level / 2.0, shared=3, other=b),
    )


def weights(log: Log, policy: Policy, name: str = "policy") -> Array:
    """The weights of a policy on the rounds of a log, (T,)."""
    return _over_propensities(log, taken(log, policy, name, None), name)


def _over_propensities(log: Log, one: Taken, name: str) -> Array:
    p = _propensities(log)
    sure = np.flatnonzero((p >= 1.0 - ROUNDING) & (one.chances < 1.0 - ROUNDING))
    if len(sure):
        t = int(sure[0])
        expected = f"all on action {log.index[t]}, which the log took with probability 1"
        check.require(False, f"{name} in round {t}", expected, float(one.chances[t]))
    return np.asarray(one.chances / p)


def _propensities(log: Log) -> Array:
    check.require(isinstance(log, Log) and len(log) > 0, "log", "a Log with at least one round", log)
    check.require(log.propensities is not None, "log", "one with propensities", log)
    p: Any = log.propensities
    bad = np.flatnonzero(~((p > 0.0) & (p <= 1.0)))
    if len(bad):
        t = int(bad[0])
        check.require(False, f"propensities[{t}]", "above 0 and at most 1", float(p[t]))
    return np.asarray(p)


class _Weighed:
    """A log whose propensities and rewards are sound, with guesses if there are any."""

    def __init__(
        self,
        log: Log,
        reward_range: Sequence[SupportsFloat],
        guess: Policy | None,
        largest_weight: SupportsFloat | None,
    ) -> None:
        _propensities(log)
        self.log, self.range = log, check.value_range("reward_range", reward_range)
        self._check_range("rewards", log.rewards)
        self.guesses = None if guess is None else guessed(log, guess)
        if self.guesses is not None:
            for t, row in enumerate(self.guesses if isinstance(self.guesses, list) else [self.guesses]):
                self._check_range(f"guess[{t}]" if isinstance(self.guesses, list) else "guess", row)
        self.largest: float | None = None
        if largest_weight is not None:
            self.largest = check.at_least_one("largest_weight", largest_weight)

    def _check_range(self, name: str, values: Array) -> None:
        low, high = self.range
        room = ROUNDING * (high - low)
        bad = np.argwhere(~((values >= low - room) & (values <= high + room)))
        if len(bad):
            place, got = ", ".join(map(str, bad[0])), float(values[tuple(bad[0])])
            check.require(False, f"{name}[{place}]", f"in reward_range, from {low:g} to {high:g}", got)

    def taken(self, policy: Policy, name: str) -> Taken:
        """What a policy does, as weights instead of probabilities; ``highest`` are the largest possible ones."""
        one = taken(self.log, policy, name, self.guesses)
        if isinstance(policy, str) and policy == "logged":
            highest = np.ones(len(self.log))
        elif self.log.is_uniform:  # then the propensities of all actions are known, not only of those taken
            highest = one.highest * self.log.sizes
        else:
            highest = np.full(len(self.log), math.inf)
        return one._replace(chances=_over_propensities(self.log, one, name), highest=highest)

    def value(self, one: Taken, alpha: float, *, shared: int, other: Taken | None = None) -> WeightedInterval:
        """The interval of a policy, or of its difference from another one."""
        guided = self.guesses is not None and one.expected.size > 0
        if self.guesses is not None and not guided and other is not None and other.expected.size > 0:
            return _mirrored(self.value(other, alpha, shared=shared, other=one))
        mean = RunningMean(reward_range=self.range, largest_weight=self.largest, difference=other is not None)
        rewards = np.clip(self.log.rewards, *self.range)
        told: dict[str, Array] = {}
        if self.guesses is not None and guided:
            told = {"guess": guess_of_taken(self.log, self.guesses), "expected": one.expected}
            if other is not None and other.expected.size > 0:
                told["other_expected"] = other.expected
        largest = one.highest if other is None else np.maximum(one.highest, other.highest)
        mean.add(one.chances, rewards, None if other is None else other.chances, largest=largest, **told)
        used = min(float(largest.max()), math.inf if self.largest is None else self.largest)
        lower, upper = mean.interval(alpha)
        sound = lower <= upper
        return WeightedInterval(
            estimate=mean.dr if guided else mean.snipw,
            lower=lower if sound else math.nan,
            upper=upper if sound else math.nan,
            certified=sound,
            ipw=mean.ipw,
            snipw=mean.snipw,
            dr=mean.dr,
            alpha=alpha,
            shared=shared,
            rounds=mean.rounds,
            mean_weight=mean.mean_weight,
            effective_rounds=mean.effective_rounds,
            largest_weight=None if used == math.inf else used,
        )


def _mirrored(one: WeightedInterval) -> WeightedInterval:
    """The interval of the second policy minus the first, from that of the first minus the second."""
    return one._replace(
        estimate=-one.estimate, lower=-one.upper, upper=-one.lower, ipw=-one.ipw, snipw=-one.snipw, dr=-one.dr
    )
