"""Error bounds for the mean of a fixed number of bounded variables, and the sample sizes that follow.

All are one-sided: with probability 1 − ``failure`` the true mean is at most this far above (or below) the observed one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._inputs import floats
from unipac.envs.mdps.discounted import discount_factor


def hoeffding(n: int, failure: float, *, span: float = 1.0) -> float:
    """Hoeffding's width, span √(log(1/failure)/(2n)), for n independent numbers in an interval of length ``span``.

    Example:
        >>> round(hoeffding(200, 0.05), 4)
        0.0865
    """
    n = check.count("n", n)
    failure = check.share("failure", failure)
    return check.nonnegative("span", span) * math.sqrt(math.log(1 / failure) / (2 * n))


def empirical_bernstein(variance: Any, n: int, failure: float, *, span: float = 1.0) -> Any:
    """√(2 v log(2/failure)/n) + 7 span log(2/failure)/(3(n − 1)), Maurer and Pontil (2009), Theorem 4.

    Args:
        variance: v, the sample variance, with n − 1 in its denominator; a number or an array.
        n: how many numbers, at least 2.
        failure: probability that the bound fails.
        span: length of the interval that contains the numbers.

    Example:
        >>> float(round(empirical_bernstein(0.01, 200, 0.05), 4))
        0.0625
    """
    n = check.count("n", n, least=2)
    log = math.log(2 / check.share("failure", failure))
    v = floats("variance", variance)
    check.require(bool(((v >= 0) & (v <= check.LARGEST)).all()), "variance", "finite and >= 0", variance)
    return np.sqrt(2 * v * log / n) + 7 * check.nonnegative("span", span) * log / (3 * (n - 1))


class PhasedSamples(NamedTuple):
    """Number of phases of a phased method, and its samples per phase."""

    phases: int
    samples: int
    """Samples of each anchor in each phase."""


def ppq_samples(
    eps: float, delta: float, *, discount: float, anchors: int, mass: float = 1.0
) -> PhasedSamples:
    """Phases R and samples m that make phased parametric Q-learning ε-optimal with probability 1 − δ.

    With e = √(log(2KR/δ)/(2m))/(1 − γ), |V_i − V*| ≤ γ |V_{i−1} − V*| + γLe. Values off by x cost the greedy policy at
    most 2x/(1 − γ). So R = log(4/(ε(1 − γ)²))/(1 − γ) and m = 8γ²L² log(2KR/δ)/(ε²(1 − γ)⁶) make either part ≤ ε/2.

    Args:
        eps: ε > 0.
        delta: δ.
        discount: γ.
        anchors: K.
        mass: L, the largest Σ_j |λ_j|.

    Example:
        >>> ppq_samples(0.1, 0.05, discount=0.5, anchors=5)
        PhasedSamples(phases=11, samples=98512)
    """
    eps, delta = check.positive("eps", eps), check.probability("delta", delta)
    anchors, mass = check.count("anchors", anchors), check.positive("mass", mass)
    discount = discount_factor("discount", discount)
    left = 1 - discount
    phases = max(1, math.ceil(math.log(4 / (eps * left**2)) / left))
    log = math.log(2 * anchors * phases / delta)
    return PhasedSamples(phases, max(1, math.ceil(8 * (discount * mass) ** 2 * log / (eps**2 * left**6))))
