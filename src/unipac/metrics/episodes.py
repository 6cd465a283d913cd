"""Measures of episodic runs."""

import math

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.metrics._arrays import moderate, numbers


def aggregate_certificate(
    bounds: ArrayLike, rewards: ArrayLike, *, horizon: int, delta: float = 0.05
) -> Array:
    """A bound on the regret after each episode, from quantities that an agent can observe.

    If `bounds` are upper bounds on V*_1 (those of a certified agent are, with its own probability), then with
    probability 1 - `delta`, for all n at once, the sum of the first n gaps is at most

        Σ_{k ≤ n} (bound_k − reward_k) + H √(n log(n(n + 1)/δ)/2).

    Proof: Given the past, reward_k, the sum of the rewards of episode k, lies in [0, H] and has the mean V^π_1 of
    that episode's policy. So Hoeffding's inequality for martingales bounds Σ (V^π − reward) by the second term,
    at each n with probability 1 − δ/(n(n+1)).

    Args:
        bounds: (K,), ``trace.bound``.
        rewards: (K,), ``trace.reward``.
        horizon: H, if the reward of a stage is in [0, 1].
        delta: δ.

    Example:
        >>> aggregate_certificate([1.0, 1.0], [0.5, 1.0], horizon=1)   # 0.5 + √(log(40)/2), 0.5 + √(log 120)
        array([1.858102, 2.688034])
    """
    upper = moderate("bounds", numbers("bounds", bounds))
    seen = moderate("rewards", numbers("rewards", rewards))
    if upper.ndim != 1 or upper.shape != seen.shape or np.isnan(upper).any() or np.isnan(seen).any():
        raise ValueError(
            f"bounds and rewards must be of one shape (K,) without NaN, got {upper.shape} and {seen.shape}"
        )
    chance = aggregate_slack(np.arange(1, len(upper) + 1), horizon=horizon, delta=delta)
    certificate: Array = np.cumsum(upper - seen) + chance
    return certificate


def aggregate_slack(episodes: ArrayLike, *, horizon: int, delta: float = 0.05) -> Array:
    """The second term of `aggregate_certificate` after n episodes.

    Args:
        episodes: n >= 1, one number or an array.
        horizon: H.
        delta: δ.

    Example:
        >>> aggregate_slack([1, 2], horizon=1)        # √(log(40)/2), √(log 120)
        array([1.358102, 2.188034])
    """
    n = numbers("episodes", episodes)
    check.require(bool(((n >= 1) & (n <= 2.0**62)).all()), "episodes", "from 1 to 2^62", episodes)
    H = check.count("horizon", horizon)
    failure = math.log(1 / check.probability("delta", delta))
    slack: Array = H * np.sqrt(n * (np.log(n * (n + 1)) + failure) / 2)
    return slack
