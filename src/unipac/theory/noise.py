"""The scale of the noise of bounded rewards."""

from __future__ import annotations

import math

from unipac import _checks as check


def bounded_noise(low: float = 0.0, high: float = 1.0, most: float | None = None) -> float:
    """R for rewards in [low, high]: (high − low)/2, or less if their means stay near ``low``.

    Kearns and Saul (1998): a variable in [0, 1] with mean p is sub-Gaussian with the scale
    √((1 − 2p)/(2 log((1 − p)/p))), which grows with p up to 1/2. If the mean reward of every action in every context
    is at most ``most``, and ``most`` is at most the middle, this is the scale at ``most``; else it is Hoeffding's.

    >>> bounded_noise(), bounded_noise(most=0.02), bounded_noise(-1.0, 1.0)    # √(0.96/(2 log 49)) = 0.3512
    (0.5, 0.351192, 1.0)

    Args:
        low: the least possible reward.
        high: the largest possible reward.
        most: an upper bound on the expected rewards, if there is one.
    """
    low, high = check.value_range("low, high", (low, high))
    length = high - low
    if most is None:
        return length / 2.0
    bound = check.real("most", most)
    check.require(low <= bound <= high, "most", f"from {low:g} to {high:g}", most)
    p = (bound - low) / length
    if p == 0.0:
        return 0.0  # then every reward is ``low``
    if p >= 0.5 - 1e-6:  # the formula is 0/0 at 1/2; here it is less than this by at most 1e-12
        return length / 2.0
    return length * math.sqrt((1.0 - 2.0 * p) / (2.0 * math.log((1.0 - p) / p)))
