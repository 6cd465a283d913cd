"""The largest expectation over a ball of laws, by its dual in one dimension.

    U = max{q V : n KL(p̂ ‖ q) ≤ threshold} = min_{ν ≥ top} [ν − e^{-c} Π_j (ν − V_j)^{p̂_j}],    c = threshold/n,

where q may put mass on outcomes never seen, of value ``top``. Every ν gives an upper bound (weak duality), so no
accuracy of the search has to be proven; the bound is monotone in V. With x = ν − top and g_j = top − V_j it is

    top + min_{x ≥ 0} x − e^{-c} exp(Σ p̂_j log(x + g_j)),

convex in x. Its derivative vanishes where F(x) = Σ p̂_j log(x + g_j) + log Σ p̂_j/(x + g_j) = c. F falls from F(0)
(infinite if an outcome has value ``top``) to 0, like Var/(2x²) for large x, so Newton's method finds log x from
log F in a few steps.
"""

from __future__ import annotations

import math

from unipac._arrays import Array
from unipac._jit import jit

STEPS = 30
"""The most steps of Newton's method; usually it takes 3 to 6."""

CLOSE = 1e-4
"""A step of log x this small is the last: the error of the bound is of the order of its square times c."""

SLACK = 1e-12
"""Added to a bound, relative to the range of the values, as rounding may have lowered it."""


@jit
def kl_upper(weights: Array, values: Array, kinds: int, total: float, top: float, threshold: float) -> float:
    """U for the first ``kinds`` entries of ``weights`` (counts, with sum ``total`` > 0) and ``values`` ≤ top."""
    c = threshold / total
    mean, largest, least = 0.0, -math.inf, math.inf
    for j in range(kinds):
        if weights[j] > 0.0:
            mean += weights[j] * values[j]
            largest = max(largest, values[j])
            least = min(least, values[j])
    mean /= total
    if least >= top:
        return top
    if c <= 0.0:
        return min(top, mean)
    room = SLACK * (top - least)
    if largest == least:  # q = (e^{-c}, 1 − e^{-c})
        return min(top, mean + (top - mean) * -math.expm1(-c) + room)
    variance = 0.0
    for j in range(kinds):
        if weights[j] > 0.0:
            variance += weights[j] * (values[j] - mean) ** 2
    variance /= total
    if top > largest:
        logs, inverse = 0.0, 0.0
        for j in range(kinds):
            if weights[j] > 0.0:
                g = top - values[j]
                logs += weights[j] * math.log(g)
                inverse += weights[j] / g
        logs /= total
        if logs + math.log(inverse / total) <= c:
            return min(top, top - math.exp(logs - c) + room)
    # Exact for two outcomes of which one has value top and c small; an ordinary start otherwise.
    x = max(math.sqrt(variance / (2.0 * c)) - (top - mean), 1e-3 * (top - least))
    best = 0.0
    for _ in range(STEPS):
        logs, first, second = 0.0, 0.0, 0.0  # of log(1 + g/x) and of the powers of x/(x + g)
        for j in range(kinds):
            if weights[j] > 0.0:
                ratio = x / (x + (top - values[j]))
                logs -= weights[j] * math.log(ratio)
                first += weights[j] * ratio
                second += weights[j] * ratio * ratio
        logs, first, second = logs / total, first / total, second / total
        best = min(best, -x * math.expm1(logs - c))
        F = logs + math.log(first)
        slope = first - second / first  # of F in log x: at most 0
        if F <= 0.0 or slope >= 0.0:
            break  # beyond what can be resolved
        step = math.log(F / c) * -F / slope
        step = min(max(step, -8.0), 8.0)
        x *= math.exp(step)
        if abs(step) < CLOSE:
            break
    return min(top, top + best + room)


@jit
def kl_lower(
    weights: Array, values: Array, kinds: int, total: float, bottom: float, threshold: float
) -> float:
    """The least expectation over the ball; ``values`` are the *negated* ones, which are at most −bottom."""
    return -kl_upper(weights, values, kinds, total, -bottom, threshold)
