"""Linear mixture MDPs: a likelihood set for the weights, and a bound on NestedVTR's episodes with a large gap.

*Weights of known kernels.* t next states are drawn, each with a probability <θ, x_i> that mixes d known probabilities
x_i, with θ in the simplex. With probability 1 − failure, for all t at once, the log-likelihood of θ is below the
largest one by at most ``likelihood_threshold``; no norm and no λ enter. Proof: The average of Π <θ', x_i> over θ' ~
Dirichlet(1/2, ..., 1/2) has a logarithm below the largest by at most log Γ(t + d/2) Γ(1/2)/(Γ(t + 1/2) Γ(d/2)) (Cover
and Ordentlich 1996). Divided by the likelihood of θ it is a supermartingale, so Ville's inequality applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from unipac import _checks as check
from unipac._constants import NEGLIGIBLE, TIE
from unipac._jit import jit
from unipac.theory import radii
from unipac.theory.bounds import level_size

MOST_LEVELS = 40
"""Higher levels are never needed: they have room for more than 4^40 visits."""


@jit
def likelihood_kernel(t: float, dim: int, log_failures: float) -> float:
    """``likelihood_threshold`` without checks, with log(1/failure) as argument."""
    lost = math.lgamma(t + 0.5 * dim) - math.lgamma(t + 0.5)
    if t > 1e4:  # the difference loses its digits; log Γ(x + s) − log Γ(x) ≤ s log(x + s)
        lost = 0.5 * (dim - 1.0) * math.log(t + 0.5 * dim)
    return log_failures + lost + math.lgamma(0.5) - math.lgamma(0.5 * dim)


def likelihood_threshold(t: float, dim: int, failure: float) -> float:
    """The most by which the log-likelihood of the true weights can be below the largest one.

    >>> likelihood_threshold(0, 3, 0.05)         # log 20: nothing seen
    2.995732
    >>> likelihood_threshold(1, 2, 0.05)         # log 20 + log Γ(2) Γ(1/2)/(Γ(3/2) Γ(1)) = log 20 + log 2
    3.688879
    """
    n = check.nonnegative("t", t)
    d = check.count("dim", dim, most=2**31)
    return likelihood_kernel(n, d, -math.log(check.probability("failure", failure)))


def vtr_mistake_bound(
    eps: float,
    dim: int,
    horizon: int,
    delta: float,
    *,
    norm: float = 1.0,
    regularization: float = 1.0,
    value_norm: float = 1.0,
    homogeneous: bool = False,
    scaling: str = "span",
    nested: bool = True,
    likelihood: bool = False,
    certificates: bool = False,
) -> float:
    """With probability 1 − 3δ/2, for all ε at once: at most this many episodes of NestedVTR have a gap above ε.

    For rewards in [0, 1]. If all sets hold (probability 1 − δ), the gap is at most the expectation, over the episode,
    of Σ_{h<H} (H − h) v(l_h). Here l_h is the level of the visit, v(1) = 1 and v(l) = min(1, 2 β_{l−1} 2^-(l−1)) with
    the β of a full level. For any set of episodes, each decided before it begins, the expectations sum to at most
    e/(e−1) times (the realised sum + B log(1/δ')), B = H(H−1)/2, with δ' = δ/(2i(i+1)) for ε_i = H 2^-i. At each stage,
    level l has at most ``level_size`` visits. So the bound is the largest m with

        m ε/2 ≤ e/(e−1) [Σ_{h<H} (H − h) G(m) + B log(2i(i+1)/δ)]

    where G(m) fills m visits into the levels in decreasing order of v. If one regression serves all stages
    (``homogeneous``), widths in the plan are at most √2 times those at the visit, unless some det Σ_l has doubled
    since. So v has the factor √2, stages share the levels (the largest v go to the largest H − h), and each doubling
    adds B: Σ_{l≤l*} d log2(1 + n_l X²/(dλ)) doublings in all. Visits above level l* + 1 count as visits of that level;
    l* minimises the bound. If values are then scaled by H at all stages (``scaling`` "horizon"), H replaces H − h. The
    bound is infinite if ε is so small that features too short to be stored matter.

    Args:
        eps: ε.
        dim: d.
        horizon: H.
        delta: δ.
        norm: the bound on ‖θ_h‖.
        regularization: λ.
        value_norm: X, a bound on ‖Σ φ(s, a, s') V(s')‖ for V with values in [0, 1].
        homogeneous: whether all stages have one regression.
        scaling: "span" or "horizon": what values are divided by before a regression. Of no effect unless homogeneous.
        nested: whether levels are nested (NestedVTR) or disjoint (UPACVTR).
        likelihood: whether the likelihood set takes half of δ.
        certificates: bound the number of large certificates instead, for ``targets="widest"``.

    >>> 10**8 < vtr_mistake_bound(0.5, 4, 5, 0.05) < 10**9
    True
    >>> vtr_mistake_bound(0.5, 4, 1, 0.05)          # nothing to learn
    0
    """
    eps, delta = check.positive("eps", eps), check.probability("delta", delta)
    d = check.count("dim", dim, most=2**31)
    H = check.count("horizon", horizon, most=10_000)
    B, lam = check.nonnegative("norm", norm), check.positive("regularization", regularization)
    X = check.positive("value_norm", value_norm)
    alike = check.flag("homogeneous", homogeneous)
    # A regression knows <θ, x> up to w = 2 β ‖x‖, where x integrates (V − offset)/u. So the plan knows P_h V up to u w.
    # Values after stage h range over H − h, and the plan clips: the error is at most min(H − h, u w). "span" has
    # u = max V − min V <= H − h, "horizon" with one regression for each stage has u = H − h. Both have an error of at
    # most (H − h) min(1, w) = (H − h) v. One regression for all stages with "horizon" has u = H at each of them (see
    # mdp.mixture.regression.kernels.scaling): min(H − h, H w) <= H v, and this may exceed (H − h) v.
    # B stays: it is the most that a clipped episode can lose, and so the most that a doubling can cost.
    by_horizon = check.one_of("scaling", scaling, ("span", "horizon")) == "horizon" and alike
    nested, half = check.flag("nested", nested), check.flag("likelihood", likelihood)
    twice = 2.0 if check.flag("certificates", certificates) else 1.0
    ranges = H * (H - 1) / 2
    if H == 1:
        return 0
    share = delta / (1 if alike else H - 1) / (2 if half else 1) / (2 if nested else 1)
    factor = twice * (math.sqrt(2.0) if alike else 1.0)
    first, values, sizes, doublings = _levels(d, lam, B, X, share, factor, nested)
    most = H * (H - 1) if by_horizon else ranges
    if eps < 2 * factor * most * first * NEGLIGIBLE * X / math.sqrt(lam):
        return math.inf
    i = max(1, math.ceil(math.log2(H / eps)))
    chance = ranges * math.log(2 * i * (i + 1) / delta)
    if not alike:

        def stages(m: int) -> float:
            return ranges * _filled(m, values, sizes, MOST_LEVELS)

        return _largest(lambda m: math.e / (math.e - 1) * (stages(m) + chance) - m * eps / 2)

    best = math.inf
    for last in range(1, MOST_LEVELS):
        extra = chance + ranges * sum(doublings[:last])

        def excess(m: int, levels: int = last + 1, extra: float = extra) -> float:
            if by_horizon:
                total = H * _filled((H - 1) * m, values, sizes, levels)
            else:
                fills = [_filled(k * m, values, sizes, levels) for k in range(H)]
                total = sum((H - k) * (fills[k] - fills[k - 1]) for k in range(1, H))
            return math.e / (math.e - 1) * (total + extra) - m * eps / 2

        if best == math.inf or excess(int(best)) < 0.0:  # otherwise this l* does not improve the bound
            best = min(best, _largest(excess, best))
    return best


def _levels(
    d: int, lam: float, norm: float, X: float, share: float, factor: float, nested: bool
) -> tuple[float, list[float], list[int], list[float]]:
    """β_1; the values v(1), v(2), ...; the sizes; and the most doublings of each level's determinant."""
    values, sizes, doublings = [1.0], [], []
    members, first = 0, 0.0
    for level in range(1, MOST_LEVELS + 1):
        size = level_size(d, level, lam, X)
        members = members + size if nested else size
        logdet = d * math.log1p(members * X * X / (d * lam))
        beta = radii.mixture(
            logdet, radii.level_delta(share, level), noise=0.5, norm=norm, regularization=lam
        )
        first = first or beta
        sizes.append(size)
        doublings.append(logdet / math.log(2.0))
        values.append(min(1.0, factor * 2.0 * beta * math.sqrt(1.0 + TIE) * 2.0**-level))
    return first, values, sizes, doublings


def _filled(m: int, values: list[float], sizes: list[int], levels: int) -> float:
    """The largest sum of values of m visits to ``levels`` levels; the last level has room for any number."""
    total, left = 0.0, float(m)
    rest = values[levels - 1]
    for value, size in sorted(zip(values[: levels - 1], sizes[: levels - 1], strict=True), reverse=True):
        if left == 0.0:
            break
        total += max(value, rest) * min(left, size)
        left -= min(left, size)
    return total + left * rest


def _largest(excess: Callable[[int], float], beyond: float = math.inf) -> float:
    """The largest m with excess(m) ≥ 0, for a function that ends below 0; infinite if m would exceed 2^89.

    ``beyond`` is known to be too large.
    """
    upper = 1
    while upper < beyond and excess(upper) >= 0.0:
        upper *= 2
        if upper > 2**90:
            return math.inf
    lower, upper = upper // 2, int(min(upper, beyond))
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (middle, upper) if excess(middle) >= 0.0 else (lower, middle)
    return lower
