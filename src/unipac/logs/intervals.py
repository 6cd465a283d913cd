"""What `value` and `compare` return."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """An estimate of the mean reward of a policy, or of the difference of two, with bounds, by an agent's model.

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


class WeightedInterval(NamedTuple):
    """Estimates of the mean reward of a policy, or of the difference of two, with bounds, by weights.

    >>> WeightedInterval(0.5, 0.4, 0.7, True, ipw=0.5, snipw=0.5, dr=0.5, alpha=0.05, shared=1, rounds=100,
    ...                  mean_weight=1.0, effective_rounds=40.0, largest_weight=5.0).width
    0.3
    """

    estimate: float
    """``dr`` if there was a guess, else ``snipw``."""
    lower: float
    """The lower bound; NaN if the bounds contradict each other, as they may if propensities are wrong."""
    upper: float
    """The upper bound; NaN in the same case."""
    certified: bool
    """Whether the bounds are proven if the propensities are right: False only if they contradict each other."""
    ipw: float
    """The mean of the weighted rewards w r."""
    snipw: float
    """Σ w r / Σ w, self-normalised; NaN where all weights are 0."""
    dr: float
    """The doubly robust mean, with the guess; without one, with the mean so far as the guess."""
    alpha: float
    """The probability that this interval ever fails is at most this."""
    shared: int
    """Number of intervals that share the ``alpha`` that was asked for; all of them hold together with that one."""
    rounds: int
    """Number of rounds."""
    mean_weight: float
    """The mean weight, which is about 1 if the propensities are right."""
    effective_rounds: float
    """(Σ w)²/Σ w²: this many rounds of equal weight would tell as much; it is small if propensities are small."""
    largest_weight: float | None
    """The largest weight that was possible in any round, or None if that is not known."""

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

    first: Interval | WeightedInterval
    """The interval of the first policy alone."""
    second: Interval | WeightedInterval
    """The interval of the second policy alone."""
    difference: Interval | WeightedInterval
    """The interval of the first minus the second; it is narrower than the two imply, since common parts cancel."""

    @property
    def winner(self) -> str | None:
        """``"first"`` or ``"second"`` if the difference is proven not to be 0, else None."""
        if self.difference.lower > 0.0:
            return "first"
        return "second" if self.difference.upper < 0.0 else None

    def __repr__(self) -> str:
        entries = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"Comparison(winner={self.winner!r}, {entries})"
