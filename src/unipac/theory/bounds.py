"""Bounds with explicit constants on the size of levels and on the number of mistakes.

All of them rest on one argument. A round that enters level l as its second or later member has width² > 4^-l
there, so it raises log det Σ_l by more than log(1 + 4^-l). On the other hand, m actions of norm at most L keep
log det(Σ_l/λ) ≤ d log(1 + mL²/(dλ)). Nesting the levels only makes widths smaller, so the same bound holds.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Literal

from unipac import _checks as check
from unipac._constants import NEGLIGIBLE, TIE
from unipac.theory import radii

Radius = Literal["theorem", "determinant", "mixture"]

LARGEST_LEVEL = 400
"""4^-400 is far below the smallest accuracy for which there are finite bounds."""

MOST_LEVELS = 64
"""With misspecification no more levels are looked at: 4^64 rounds are more than can be counted."""

LATE = 1e-6
"""An explored round whose reward is late still counts as wide if its squared width is 4^-l up to this part of it."""


def level_size(dim: int, level: int, regularization: float = 1.0, action_norm: float = 1.0) -> int:
    """The most rounds that level l can hold: the largest m with (m − 1) log(1 + 4^-l) ≤ d log(1 + mL²/(dλ)).

    A sharper form of the paper's Lemma 5.1 (|C^l| ≤ 17 d l 4^l for λ ≥ 1), valid for any λ > 0 and L.

    >>> level_size(1, 1)      # 11 log 1.25 = 2.455 ≤ log 13 = 2.565, but 12 log 1.25 = 2.678 > log 14 = 2.639
    12
    >>> level_size(1, 1, regularization=4.0)  # 4 log 1.25 = 0.8926 > log(1 + 5/4) = 0.8109
    4
    """
    d = check.count("dim", dim)
    ratio = check.positive("action_norm", action_norm) ** 2
    ratio /= d * check.positive("regularization", regularization)
    return _level_size(d, check.count("level", level, most=LARGEST_LEVEL), ratio)


def late_level_size(dim: int, level: int, regularization: float = 1.0, action_norm: float = 1.0) -> int:
    """``level_size`` for a level that also takes rounds with a squared width down to 4^-l (1 − ``LATE``).

    It is at most a few millionths more than ``level_size``: mostly the same number.
    """
    ratio = action_norm**2 / (dim * regularization)
    return _level_size(dim, level, ratio, LATE)


@functools.lru_cache(maxsize=4096)
def _level_size(d: int, level: int, ratio: float, narrower: float = 0.0) -> int:
    step = math.log1p(math.ldexp(1.0 - narrower, -2 * level))

    def excess(m: float) -> float:
        return (m - 1.0) * step - d * math.log1p(m * ratio)

    from scipy.optimize import brentq  # local, since it takes a third of the time of `import unipac`

    # The excess is convex in m and negative at m = 1, so it has exactly one zero above 1.
    upper = 2.0
    while excess(upper) <= 0.0:
        upper *= 2.0
    m: int = math.floor(brentq(excess, 1.0, upper, xtol=1e-9, rtol=1e-15))
    return m + 1 if excess(m + 1.0) <= 0.0 else m


def largest_number(excess: Callable[[int], float]) -> int:
    """The largest m with excess(m) ≥ 0, or 0; the function must be concave, or stay below 0 once it falls below.

    >>> largest_number(lambda m: 10.5 - m), largest_number(lambda m: -m - 1)
    (10, 0)
    """
    upper = 1
    while excess(upper) >= 0.0:
        upper *= 2
    lower = upper // 2
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (middle, upper) if excess(middle) >= 0.0 else (lower, middle)
    return lower


def mistake_bound(
    eps: float,
    dim: int,
    delta: float,
    *,
    radius: Radius = "mixture",
    nested: bool = False,
    all_data: bool = False,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
    misspecification: float = 0.0,
) -> float:
    """With probability 1 − δ, for all ε at once: the number of rounds with a gap above ε is at most this.

    Rounds of level l > 1 have a gap of at most 2 β_{l-1} 2^-(l-1). So mistakes happen only on levels l ≤ l*,
    where l* is the last level for which this exceeds ε (and at least 1); the bound is Σ_{l ≤ l*}
    ``level_size``. β_l is the radius of a full level: of C^l, or of C^1 ∪ ... ∪ C^l if ``nested``. With
    ``all_data``, half of δ goes to the set of all data. The bound is infinite for ε below about 1e-11,
    since actions of norm below 1e-12 L are not stored.

    If rewards are linear within ζ > 0 only, rounds that pass level l have a gap of at most 2 (β_l + ζ √n_l) 2^-l + 2ζ,
    n_l the most members of its set. This falls, then rises with l: the bound counts the levels up to the *first* for
    which it is at most ε, and is infinite if there is none.

    >>> mistake_bound(0.5, 3, 0.05)      # paper's constants: 1.5e8
    35336
    >>> mistake_bound(2.0, 1, 0.05, norm=0.1, noise=0.1)  # 2 β_1/2 = 0.35 < 2: only level 1
    12
    """
    eps = check.positive("eps", eps)
    bounds = _LevelBounds(dim, delta, radius, nested, all_data, noise, norm, regularization, action_norm)
    zeta = check.nonnegative("misspecification", misspecification)
    if eps < bounds.negligible_gap:
        return math.inf
    return bounds.within(eps, zeta) if zeta > 0.0 else sum(size for _, size, _ in bounds.above(eps))


def staircase(
    eps: float,
    dim: int,
    delta: float,
    *,
    radius: Radius = "mixture",
    nested: bool = False,
    all_data: bool = False,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
) -> list[tuple[int, int, float]]:
    """The levels that ``mistake_bound`` counts, as (level, its most rounds, the largest gap of a round).

    These are the steps by which the bound on mistakes grows as ε falls. Where the bound is infinite, a
    ``ValueError`` is raised.

    >>> staircase(1.0, 1, 0.05)[-2:]              # level 5 loses at most 0.57, so it does not count at ε = 1
    [(3, 385, 1.926...), (4, 1943, 1.058...)]
    >>> sum(size for _, size, _ in staircase(1.0, 1, 0.05)) == mistake_bound(1.0, 1, 0.05)
    True
    """
    eps = check.positive("eps", eps)
    bounds = _LevelBounds(dim, delta, radius, nested, all_data, noise, norm, regularization, action_norm)
    check.require(eps >= bounds.negligible_gap, "eps", f"at least {bounds.negligible_gap:g}", eps)
    return list(bounds.above(eps))


def regret_bound(
    rounds: int,
    dim: int,
    delta: float,
    *,
    radius: Radius = "mixture",
    nested: bool = False,
    all_data: bool = False,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
) -> float:
    """The regret that uniform-PAC implies (Dann et al. 2017, Theorem 3), with probability 1 − δ for all K.

    Regret(K) ≤ ∫ min(K, N_ε) dε: in the worst case the levels fill in order of decreasing gap.

    >>> regret_bound(10, 1, 0.05)        # level 1 alone, with the trivial gap 2
    20.0
    """
    left = total = check.count("rounds", rounds, least=0)
    bounds = _LevelBounds(dim, delta, radius, nested, all_data, noise, norm, regularization, action_norm)
    levels = []
    room = 0
    for level, (size, gap) in enumerate(bounds, start=1):
        levels.append((size, gap))
        room += size
        if room >= left and level > bounds.steady_from:
            break
    regret = 0.0
    for size, gap in sorted(levels, key=lambda entry: -entry[1]):
        regret += min(size, left) * gap
        left -= min(size, left)
    return regret + total * bounds.negligible_gap


def steady_from(regularization: float, action_norm: float) -> int:
    """A level beyond which β_l 2^-l decreases.

    If 4^l ≥ 64 λ/L², a full level has log det(Σ/λ) > 5d, and the next one less than 3d more. So β_l does not double.
    """
    return max(3, 4 + math.ceil(math.log(regularization / action_norm**2, 4)))


class _LevelBounds:
    """For l = 1, 2, ...: the most rounds of level l, and the largest gap that they can have."""

    def __init__(
        self,
        dim: int,
        delta: float,
        radius: Radius,
        nested: bool,
        all_data: bool,
        noise: float,
        norm: float,
        regularization: float,
        action_norm: float,
    ) -> None:
        nested, all_data = check.flag("nested", nested), check.flag("all_data", all_data)
        check.require(nested or not all_data, "all_data", "False without nested levels", all_data)
        check.one_of("radius", radius, ("theorem", "determinant", "mixture"))
        self.dim = check.count("dim", dim)
        self.delta = check.probability("delta", delta) / (2.0 if all_data else 1.0)
        self.radius = radius
        self.nested = nested
        self.noise = check.nonnegative("noise", noise)
        self.norm = check.nonnegative("norm", norm)
        self.regularization = check.positive("regularization", regularization)
        self.action_norm = check.positive("action_norm", action_norm)
        if radius == "theorem" and not radii.theorem_is_proven(
            dim,
            self.delta,
            noise=noise,
            norm=norm,
            regularization=regularization,
            action_norm=action_norm,
        ):
            raise ValueError(
                "radius must be 'determinant' or 'mixture' unless regularization = 1, noise, norm and "
                "action_norm <= 1 and, if dim = 1, delta <= 0.71, got 'theorem'"
            )

    def _beta(self, level: int, members: int) -> float:
        """The radius of a level whose set has this many members."""
        if self.radius == "theorem":
            return radii.theorem(self.dim, level, self.delta)
        growth = members * self.action_norm**2 / (self.dim * self.regularization)
        radius = radii.mixture if self.radius == "mixture" else radii.determinant
        return radius(
            self.dim * math.log1p(growth),
            radii.level_delta(self.delta, level),
            noise=self.noise,
            norm=self.norm,
            regularization=self.regularization,
        )

    @property
    def steady_from(self) -> int:
        """A level beyond which gaps decrease; with the radius ``theorem`` they do from l = 2 on."""
        return steady_from(self.regularization, self.action_norm)

    @property
    def negligible_gap(self) -> float:
        """The largest gap that an action too short to be stored can have: 2 β_1 ‖x‖/√λ."""
        size = level_size(self.dim, 1, self.regularization, self.action_norm)
        width = NEGLIGIBLE * self.action_norm / math.sqrt(self.regularization)
        return 2.0 * self._beta(1, size) * width

    def __iter__(self) -> Iterator[tuple[int, float]]:
        gap = math.inf
        members = 0
        for level in itertools.count(1):
            size = level_size(self.dim, level, self.regularization, self.action_norm)
            members = members + size if self.nested else size
            yield size, min(gap, 2.0 * self.norm * self.action_norm)
            gap = 2.0 * self._beta(level, members) * math.sqrt(1.0 + TIE) * 2.0**-level

    def within(self, eps: float, zeta: float) -> float:
        """The sizes of the levels up to the first that lets gaps of at most ε pass, if rewards are linear within ζ."""
        total = members = 0
        for level in range(1, MOST_LEVELS + 1):
            size = level_size(self.dim, level, self.regularization, self.action_norm)
            total += size
            members = members + size if self.nested else size
            radius = self._beta(level, members) + zeta * math.sqrt(members)
            if 2.0 * radius * math.sqrt(1.0 + TIE) * 2.0**-level + 2.0 * zeta <= eps:
                return total
        return math.inf

    def above(self, eps: float) -> Iterator[tuple[int, int, float]]:
        """Level, size and gap of the levels whose gap exceeds ε, and of level 1."""
        for level, (size, gap) in enumerate(self, start=1):
            if gap <= eps and level > self.steady_from:
                return
            if gap > eps or level == 1:
                yield level, size, gap
