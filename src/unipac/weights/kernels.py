"""Wealth of many bets against a small mean, and the mean that it rules out, compiled.

Each side of an interval is a lower bound: on the mean of y = r for the lower side, on that of y = 1 − r for the upper
one, where r in [0, 1] is the reward. In round s a policy has the weight w = π(A)/p(A), and f is a guess of y that was
made before the draw. The numbers

    u = w y                       u >= 0, with mean v, the value of the policy
    z = Σ_a π(a) f(a) − w f(A)    z >= −W, with mean 0, where W bounds the weight of any action in this round

and a centre G in [0, g], also fixed before the draw, give each bet l with a share θ of the guess a factor

    1 + l (u + θ z − G) > 0,      where l (g + θ W) < 1: θ = min(1, (0.98/l − g)/W).

Its mean is at most exp(l (v − G)). So the product of the factors, times exp(−l Σ (v − G)), is a nonnegative
supermartingale, and so is the mixture of all bets. By Ville's inequality it stays below 1/α at all times with
probability 1 − α. The difference of two policies a and b is the case u = u_a + u'_b, z = z_a + z'_b, with y' = 1 − y
for the second one: the mean of u is then 1 + v_a − v_b, and g = 2.
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import jit

(
    ROUNDS, WEIGHTS, EARNED, SQUARES, MISSED, CORRECTED,
    OTHER_WEIGHTS, OTHER_EARNED, OTHER_SQUARES, OTHER_MISSED, OTHER_CORRECTED,
    LOWER_CENTRES, UPPER_CENTRES, GROWN, SHRUNK,
) = range(15)  # fmt: skip
"""Places in the array of totals: t; Σ w, Σ w r, Σ w², Σ w (r − f), and the sum of the doubly robust terms; the same
for the other policy; Σ G of both sides; and bounds on the products of the factors."""

TOTALS = 15
CLOSEST = 0.98
"""The largest l (g + θ W): no factor is below 1 − 0.98."""
PRIOR = 0.5
"""The first guess, which counts as one round of weight 1."""
FOLD = 1e200
"""Products beyond this, or below its inverse, become logarithms: no factor is above 1e100."""


@jit
def add(
    weights: Array,
    rewards: Array,
    others: Array,
    guesses: Array,
    expected: Array,
    others_expected: Array,
    largest: Array,
    bets: Array,
    rooms: Array,
    totals: Array,
    products: Array,
    logs: Array,
) -> None:
    """Add rounds: weights, rewards in [0, 1], bounds W; weights of the other policy and guesses may be empty.

    ``rooms`` are 0.98/l − g for the bets l.
    """
    two, guided = others.size > 0, guesses.size > 0
    for s in range(weights.size):
        v = others[s] if two else 0.0
        f = guesses[s] if guided else 0.0
        first = expected[s] if guided else 0.0
        second = others_expected[s] if others_expected.size > 0 else np.nan
        add_one(
            weights[s], rewards[s], v, f, first, second, two, guided,
            largest[s], bets, rooms, totals, products, logs,
        )  # fmt: skip


@jit
def add_one(
    w: float,
    r: float,
    v: float,
    f: float,
    first: float,
    second: float,
    two: bool,
    guided: bool,
    largest: float,
    bets: Array,
    rooms: Array,
    totals: Array,
    products: Array,
    logs: Array,
) -> None:
    """Add one round with weights w and v, a guess f(A), and the means Σ π f of the first and the second policy.

    Unless ``guided``, the guess is the weighted mean reward so far. If ``second`` is NaN, the second policy is the one
    that made the decisions: v = 1, and it needs no guess, as its z is 0. The centre must not depend on f(A).
    """
    most = 2.0 if two else 1.0
    if guided:
        centre = first + totals[MISSED] / (totals[WEIGHTS] + 1.0)
        if two and math.isnan(second):
            centre += 1.0 - (totals[OTHER_EARNED] + PRIOR) / (totals[OTHER_WEIGHTS] + 1.0)
            second = f
        elif two:
            centre += 1.0 - second - totals[OTHER_MISSED] / (totals[OTHER_WEIGHTS] + 1.0)
    else:
        earned = totals[EARNED] + totals[OTHER_EARNED] + PRIOR
        f = first = second = earned / (totals[WEIGHTS] + totals[OTHER_WEIGHTS] + 1.0)
        centre = (totals[EARNED] + PRIOR) / (totals[WEIGHTS] + 1.0)
        if two:
            centre += 1.0 - (totals[OTHER_EARNED] + PRIOR) / (totals[OTHER_WEIGHTS] + 1.0)
    centre = min(max(centre, 0.0), most)

    lower, upper = w * r, w * (1.0 - r)
    lower_z, upper_z = first - w * f, (1.0 - first) - w * (1.0 - f)
    if two:
        lower += v * (1.0 - r)
        upper += v * r
        lower_z += (1.0 - second) - v * (1.0 - f)
        upper_z += second - v * f
    _bet(lower, lower_z, centre, 1.0 / largest, bets, rooms, products[0])
    _bet(upper, upper_z, most - centre, 1.0 / largest, bets, rooms, products[1])
    totals[LOWER_CENTRES] += centre
    totals[UPPER_CENTRES] += most - centre
    totals[GROWN] *= 1.0 + (max(lower, upper) + max(lower_z, upper_z, 0.0))
    totals[SHRUNK] *= 1.0 - CLOSEST
    if totals[GROWN] > FOLD or totals[SHRUNK] < 1.0 / FOLD:
        _fold(products, logs)
        totals[GROWN] = totals[SHRUNK] = 1.0

    totals[ROUNDS] += 1.0
    totals[WEIGHTS] += w
    totals[EARNED] += w * r
    totals[SQUARES] += w * w
    totals[MISSED] += w * (r - f)
    totals[CORRECTED] += first + w * (r - f)
    if two:
        totals[OTHER_WEIGHTS] += v
        totals[OTHER_EARNED] += v * r
        totals[OTHER_SQUARES] += v * v
        totals[OTHER_MISSED] += v * (r - f)
        totals[OTHER_CORRECTED] += second + v * (r - f)


@jit
def _bet(u: float, z: float, centre: float, scale: float, bets: Array, rooms: Array, products: Array) -> None:
    """Multiply the wealth of each bet; ``scale`` is 1/W, or 0 without a bound, and then the guess has no share."""
    for k in range(bets.size):
        share = min(1.0, rooms[k] * scale)
        products[k] *= 1.0 + bets[k] * (u + share * z - centre)


@jit
def _fold(products: Array, logs: Array) -> None:
    for side in range(2):
        for k in range(logs.shape[1]):
            logs[side, k] += math.log(products[side, k])
            products[side, k] = 1.0


@jit
def least_sum(
    bets: Array, log_priors: Array, products: Array, logs: Array, centres: float, most: float, limit: float
) -> float:
    """The least Σ v in [0, most] that the bets of one side have not ruled out: log mixture < limit."""
    low, high = 0.0, most
    if _log_mixture(bets, log_priors, products, logs, centres - low) < limit:
        return low
    if _log_mixture(bets, log_priors, products, logs, centres - high) >= limit:
        return high
    for _ in range(100):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if _log_mixture(bets, log_priors, products, logs, centres - middle) >= limit:
            low = middle
        else:
            high = middle
    return low


@jit
def _log_mixture(bets: Array, log_priors: Array, products: Array, logs: Array, excess: float) -> float:
    """The log of Σ_k c_k K(l_k) for Σ (G − v) = excess."""
    largest = -np.inf
    for k in range(bets.size):
        term = log_priors[k] + logs[k] + math.log(products[k]) + bets[k] * excess
        largest = max(largest, term)
    total = 0.0
    for k in range(bets.size):
        term = log_priors[k] + logs[k] + math.log(products[k]) + bets[k] * excess
        total += math.exp(term - largest)
    return largest + math.log(total)


@jit
def bet_on(
    x: float,
    z: float,
    scale: float,
    bets: Array,
    rooms: Array,
    log_priors: Array,
    before: Array,
    after: Array,
) -> float:
    """Write the log wealth of bets that a mean is above 0, after one more round; returns the log of their mixture.

    Given the past, x >= −2 has a mean of at most 0, and z >= −W the mean 0; ``scale`` is 1/W, and ``rooms`` are
    0.98/l − 2. Then the mixture is a nonnegative supermartingale.
    """
    for k in range(bets.size):
        share = min(1.0, rooms[k] * scale)
        after[k] = before[k] + math.log1p(bets[k] * (x + share * z))
    nothing = 0.0
    return _log_mixture(bets, log_priors, np.ones(bets.size), after, nothing)
