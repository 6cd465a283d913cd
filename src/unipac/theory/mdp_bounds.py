"""A bound on the number of episodes of FLUTE that are worse than ε: Theorem 2 with explicit constants.

Let cap_h = H − h + 1 be the largest value of Q_h. Let f be the factor by which a determinant may have grown
since the plan. Let g_1 = cap_h, and g_l = 2 √f β_{l-1} 2^-(l-1) for l ≥ 2. Let p be the level of the stage
before, and U_h(s, p) = min_{i < p} Q_h^i − V^π_h. If all regressions hold (probability 1 − δ/2), then

    U_h(s, p) ≤ min(cap_h, g_l) + E U_{h+1}(s', l),      l = l_h(s, p),    0 ≤ U_h ≤ cap_h,

because min_{i < p} Q_h^i ≤ Q_h^{l-1} at the action taken (for l = 1, U_h ≤ cap_h is enough). U_1
bounds the gap. Summed over the m episodes with a gap above ε,

    m ε ≤ Σ_h Σ_k min(cap_h, g_{l_h^k}) + √(m Σ_{h>1} cap_h² log(1/δ_m)/2)

by Hoeffding's inequality for the differences U_h − E U_h. Stage h has room for h ``level_size(l)`` rounds of
level l, so the first sum is largest if the levels fill in order of decreasing g_l. The largest m that
satisfies this bounds N_ε. With δ_m = (δ/2)/(m(m+1) i(i+1)) it holds for all m and all ε = H 2^-i at once; any
other ε uses the next smaller one of these.
"""

from __future__ import annotations

import math
from typing import Literal

from unipac import _checks as check
from unipac._constants import TIE
from unipac.theory.bounds import LARGEST_LEVEL, largest_number, level_size
from unipac.theory.mdp_radii import LARGEST_HORIZON, flute_explicit, flute_finite, members_bound


def flute_mistake_bound(
    eps: float,
    dim: int,
    horizon: int,
    delta: float,
    *,
    radius: Literal["finite", "explicit"] = "finite",
    n_states: int | None = None,
    nested: bool = True,
    regularization: float = 1.0,
    replan_factor: float = 1.25,
) -> int:
    """With probability 1 − δ, for all ε at once: no more episodes than this have a gap above ε.

    Args:
        eps: ε.
        dim: d.
        horizon: H.
        delta: δ.
        radius: "finite", with ``n_states``, or "explicit".
        n_states: number of states, for "finite".
        nested: True for NestedFLUTE, False for FLUTE.
        regularization: λ.
        replan_factor: f; 1 if the agent replans in every episode.

    >>> bound = flute_mistake_bound(0.1, 6, 3, 0.05, n_states=3)
    >>> 1e8 < bound < 1e11
    True
    """
    eps = check.positive("eps", eps)
    H = check.count("horizon", horizon, most=LARGEST_HORIZON)
    delta = check.probability("delta", delta)
    nested = check.flag("nested", nested)
    check.one_of("radius", radius, ("finite", "explicit"))
    factor = check.real("replan_factor", replan_factor)
    check.require(1.0 <= factor <= check.LARGEST, "replan_factor", ">= 1 and at most 1e50", replan_factor)
    suffices = radius == "explicit" or n_states is not None
    check.require(suffices, "n_states", "given for radius 'finite'", n_states)
    i = max(1, math.ceil(math.log2(H / eps)))
    grid = H * 2.0**-i
    rooms: list[int] = []
    gaps: list[float] = []
    gap = math.inf
    level = 1
    while gap > grid / (4 * H) or level <= 3:  # deeper levels add less than ε/4 per episode
        if level > LARGEST_LEVEL:  # the smallest resolution of the cover grows with H, so gaps may stay large
            raise ValueError(f"eps must be larger for horizon = {H}, got {check.shown(eps)}")
        rooms.append(level_size(dim, level, regularization))
        gaps.append(gap)
        beta = _full_radius(dim, H, level, delta, radius, n_states, nested, regularization)
        gap = 2 * math.sqrt(factor * (1 + TIE)) * math.exp(5e-10) * beta * 2.0**-level
        level += 1

    caps = [H - h for h in range(H)]
    spread = sum(cap**2 for cap in caps[1:])

    def excess(m: int) -> float:
        total = sum(_filled(m, h, cap, rooms, gaps, gap) for h, cap in enumerate(caps, start=1))
        failure = math.log(2 * m * (m + 1) * i * (i + 1) / delta)
        return total + math.sqrt(m * spread * failure / 2) - m * grid

    return largest_number(excess)


def _filled(m: int, stage: int, cap: float, rooms: list[int], gaps: list[float], rest: float) -> float:
    """The largest sum of min(cap, g_l) over m rounds of a stage, with g_l = ``rest`` beyond the listed levels."""
    total = 0.0
    for room, gap in sorted(zip(rooms, gaps, strict=True), key=lambda entry: -entry[1]):
        rounds = min(m, stage * room)
        total += rounds * min(cap, gap)
        m -= rounds
    return total + m * min(cap, rest)


def _full_radius(
    dim: int,
    horizon: int,
    level: int,
    delta: float,
    radius: str,
    n_states: int | None,
    nested: bool,
    regularization: float,
) -> float:
    """β_l of a full level."""
    if radius == "explicit" or n_states is None:
        return flute_explicit(dim, horizon, level, delta, regularization=regularization, nested=nested)
    members = members_bound(dim, horizon, level, regularization=regularization, nested=nested)
    return flute_finite(
        dim * math.log1p(members / (dim * regularization)),
        dim,
        horizon,
        level,
        delta,
        n_states=n_states,
        regularization=regularization,
        nested=nested,
    )
