"""UPAC-LSVI: how δ is shared, and a bound on the number of episodes with a large gap.

A stage of a finite linear MDP has B blocks of two or more features, with regressions over levels, and features with
counts. If there are both, half of δ is for regressions and half for counts. The radii "monotone" and "auto" split
each half again, between upper and lower values; "vertex" needs no such split. ``log_failures`` has the log(1/failure)
of single events.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from unipac import _checks as check
from unipac._constants import TIE
from unipac.theory.bounds import largest_number, level_size

ALL_DATA = 0.9
"""α: the share of the set of all data; the levels share the rest, level l with 1/(l(l+1)) of it."""

MOST_LEVELS = 40
"""Higher levels are never needed: they have room for more than 4^40 episodes."""


class Sizes(NamedTuple):
    """Sizes of an MDP and its features, on which the constants depend."""

    horizon: int
    dim: int
    outcomes: int
    """S, one more if episodes may terminate."""
    blocks: Sequence[int]
    """Number of coordinates of each block of two or more features."""
    counted: int
    """Number of features that are counted."""
    alone: int
    """How many of the counted features have no regression."""
    features: int
    """Number of distinct features."""


class LogFailures(NamedTuple):
    """log(1/failure) of single events, before it is shared between levels."""

    counted: float
    """For the ball of one counted feature."""
    sets: float
    """For one of the S − 1 sets {V* > t} of next states in a block; with "vertex", the same as `every`."""
    every: float
    """For one of all sets of next states in a block."""


def log_failures(sizes: Sizes, delta: float, radius: str) -> LogFailures:
    """The log(1/failure) of single events, for a total failure probability of δ.

    >>> log_failures(Sizes(2, 2, 2, [2], 0, 0, 3), 0.5, "monotone")        # one set, one stage: log(1/.25) each
    LogFailures(counted=1.386294, sets=1.386294, every=1.386294)
    """
    both = len(sizes.blocks) > 0 and sizes.counted > 0
    share = delta * (0.5 if both else 1.0) * (1.0 if radius == "vertex" else 0.5)
    stages = max(sizes.horizon - 1, 1)
    one = math.log(stages * max(len(sizes.blocks), 1) / share)
    every = one + log_sets(sizes.outcomes)
    proper = one + math.log(max(sizes.outcomes - 1, 1))
    return LogFailures(
        math.log(stages * max(sizes.counted, 1) / share), every if radius == "vertex" else proper, every
    )


def log_sets(outcomes: int) -> float:
    """log(2^(S−1) − 1): the log-number of sets of next states, a set and its complement counted once; 0 if S = 1.

    >>> log_sets(3)              # log 3
    1.098612
    """
    if outcomes <= 2:
        return 0.0
    return (outcomes - 1) * math.log(2.0) + math.log1p(-math.ldexp(1.0, 1 - outcomes))


def upac_lsvi_mistake_bound(
    eps: float,
    sizes: Sizes,
    delta: float,
    *,
    radius: str = "monotone",
    regularization: float = 1.0,
    replan_factor: float = 1.05,
) -> float:
    """With probability 1 − 3δ, for all ε at once: at most this many episodes of UPACLSVI have a gap above ε.

    One δ is for the bounds of the agent, one for all sets of next states (not needed for "vertex"), one for this:
    the gaps of any set of m episodes, each decided before it begins, sum to at most e/(e−1) times

        N H + H(H−1)/2 G(m) + b log(i(i+1)/δ),      b = H(H−1)/2 + H,  i = max(1, ⌈log2(H/ε)⌉)

    N distinct features cost at most 1 at their first visit at each stage. G(m) fills m visits of a stage into places
    of decreasing height. Level l of a block has ``level_size`` places of height √f (B + B')_{l−1} 2^-(l−1), at most 1;
    B and B' are the radii for the sets of V* and for all sets, at their largest. Each feature with counts alone has
    4^l places with 4^(l−1) ≤ λ + n < 4^l, whose height is that of n = 4^(l−1)/f − λ visits. The bound is the largest m
    for which m ε/2 is at most all this. It is infinite if ε is so small that even the lowest place may exceed it: there
    are places of 40 levels.

    Args:
        eps: ε, for rewards in [0, 1].
        sizes: sizes of the MDP and its features.
        delta: δ.
        radius: "monotone", "auto" or "vertex".
        regularization: λ.
        replan_factor: f; 1 if the agent replans in every episode.

    >>> sizes = Sizes(horizon=3, dim=6, outcomes=3, blocks=[], counted=6, alone=6, features=6)
    >>> 10**7 < upac_lsvi_mistake_bound(0.1, sizes, 0.05) < 10**8
    True
    """
    eps, delta = check.positive("eps", eps), check.probability("delta", delta)
    check.require(isinstance(sizes, Sizes), "sizes", "a Sizes", sizes)
    lam = check.positive("regularization", regularization)
    f = check.real("replan_factor", replan_factor)
    check.require(f >= 1.0, "replan_factor", ">= 1", replan_factor)
    check.one_of("radius", radius, ("monotone", "vertex", "auto"))
    H = sizes.horizon
    places = _places(sizes, delta, radius, lam, f * (1.0 + 1e-6))
    ranges = H * (H - 1) / 2
    slope = math.e / (math.e - 1) * ranges * (places[-1][0] if places else 0.0)
    if slope >= eps / 2:
        return math.inf
    i = max(1, math.ceil(math.log2(H) - math.log2(eps)))
    fixed = sizes.features * H + (ranges + H) * math.log(i * (i + 1) / delta)

    def excess(m: int) -> float:
        return math.e / (math.e - 1) * (fixed + ranges * _filled(m, places)) - m * eps / 2

    return largest_number(excess)


def _filled(m: int, places: list[tuple[float, float]]) -> float:
    total, left = 0.0, float(m)
    for height, size in places:
        total += height * min(left, size)
        left -= min(left, size)
    return total + left * places[-1][0] if places else 0.0


def _places(sizes: Sizes, delta: float, radius: str, lam: float, f: float) -> list[tuple[float, float]]:
    """The places as (height, number), from the highest to the lowest."""
    logs, fresh = log_failures(sizes, delta, radius), log_failures(sizes, delta, "vertex")
    other = logs if radius == "vertex" else fresh  # for the event of all sets
    places = []
    for k in sizes.blocks:
        inside, height = 0, 1.0
        for level in range(1, MOST_LEVELS + 1):
            size = level_size(k, level, lam)
            places.append((height, float(size)))
            inside += size
            logdet = k * math.log1p(inside / (k * lam))
            share = math.log(level * (level + 1) / (1.0 - ALL_DATA))
            radii = [
                0.5 * math.sqrt(logdet + 2.0 * (log + share)) + 0.5 * math.sqrt(lam * sizes.dim)
                for log in (logs.sets, other.every)
            ]
            height = min(height, math.sqrt(f * (1.0 + TIE)) * sum(radii) * 2.0**-level)
    for level in range(1, MOST_LEVELS + 1):
        n = 4.0 ** (level - 1) / f - lam
        height = 1.0 if n < 1.0 else min(1.0, _counted_width(n, sizes, logs, other, radius))
        places.append((height, sizes.alone * 4.0**level))
    return sorted((place for place in places if place[1] > 0), reverse=True)


def _counted_width(n: float, sizes: Sizes, logs: LogFailures, other: LogFailures, radius: str) -> float:
    """Error of the bound of a counted feature, relative to the range of V; it decreases in n ≥ 1."""
    if radius == "vertex":  # two laws in one ball, with the largest loss of the Dirichlet(1/2) mixture
        threshold = logs.counted + 2.0 * math.log(2.0) + 0.5 * (sizes.outcomes - 1) * math.log(n + 1.0)
        return 2.0 * math.sqrt(threshold / (2.0 * n))
    threshold = logs.counted + math.log(2.0) + 0.5 * math.log(n + 1.0)
    every = math.log(1.0 + n) + 2.0 * (other.counted + log_sets(sizes.outcomes)) + 2.0 * math.log(2.0)
    return math.sqrt(threshold / (2.0 * n)) + 0.5 * math.sqrt(every / n)
