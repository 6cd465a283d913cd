"""Theorems about elimination: the radius of a fixed design, and bounds on the number of mistakes.

All algorithms use one of two confidence statements. ``radii.mixture`` holds for all directions and all times,
whatever was pulled. The other holds for a single direction y and a design that does not depend on the noise:

    |⟨θ̂ − θ*, y⟩| ≤ ‖y‖_{V⁻¹} (R √(2 log(1/p)) + √λ S)         each side with probability 1 − p

since ⟨θ̂ − θ*, y⟩ = Σ a_i η_i − λ yᵀV⁻¹θ* with a_i = yᵀV⁻¹x_i and Σ a_i² ≤ ‖y‖²_{V⁻¹}.
"""

from __future__ import annotations

import math

from unipac import _checks as check
from unipac._constants import TIE
from unipac.theory import radii
from unipac.theory.bounds import MOST_LEVELS, late_level_size, level_size, steady_from


def fixed_design(p: float, *, noise: float = 1.0, norm: float = 1.0, regularization: float = 0.0) -> float:
    """R √(2 log(1/p)) + √λ S: the one-sided radius in one direction, which fails with probability at most p.

    >>> fixed_design(0.05, noise=0.5, regularization=4.0)     # 0.5 √(2 · 2.995732) + 2
    3.223873
    """
    check.share("p", p)
    check.nonnegative("noise", noise)
    check.nonnegative("norm", norm)
    check.nonnegative("regularization", regularization)
    return noise * math.sqrt(2.0 * math.log(1.0 / p)) + math.sqrt(regularization) * norm


def phase_log(active: int, phase: int, delta: float) -> float:
    """log(2(m − 1) l(l+1)/δ): for both sides of m − 1 comparisons, of the best of m arms with each other, in phase l.

    >>> phase_log(3, 1, 0.05)      # log(2 · 2 · 2/0.05) = log 160
    5.075174
    """
    m = check.count("active", active, least=2)
    phase = check.count("phase", phase)
    return math.log(2.0 * (m - 1) * phase * (phase + 1.0) / check.probability("delta", delta))


def phased_elimination_mistake_bound(
    eps: float,
    arms: int,
    rank: int,
    delta: float,
    *,
    noise: float = 1.0,
    largest_gap: float = 2.0,
    support: int | None = None,
    tolerance: float = 0.05,
) -> float:
    """With probability 1 − δ, for all ε at once: PhasedElimination makes no more mistakes above ε than this.

    Phase l has accuracy e_l = e_1 2^-(l−1), e_1 = ``largest_gap``/2. It takes at most 2 R² (1 + tolerance) r lg_l/e_l²
    pulls, lg_l = ``phase_log``, and one more for each arm of the design. Arms that survive it have a gap of at
    most 4 e_l. So there are no mistakes above ε after the first phase for which 4 e_l ≤ ε.

    Args:
        eps: ε.
        arms: n, the number of arms.
        rank: r, the rank of the arms.
        delta: δ.
        noise: R.
        largest_gap: 2SL, the largest possible gap.
        support: the most arms in a design; n by default.
        tolerance: relative tolerance of the designs.

    >>> phased_elimination_mistake_bound(1.9, 2, 1, 0.05, tolerance=1.0)  # e = 1, 1/2, 1/4; lg = log 80, 240, 480
    506.34064

    That is 4 (4.382027 + 4 · 5.480639 + 16 · 6.173786) + 3 · 2.
    """
    eps = check.positive("eps", eps)
    n = check.count("arms", arms, most=2**31)
    rank = check.count("rank", rank, most=2**31)
    most = n if support is None else check.count("support", support, most=2**31)
    check.probability("delta", delta)
    if n == 1 or eps >= check.positive("largest_gap", largest_gap):
        return 0.0
    scale = 2.0 * check.nonnegative("noise", noise) ** 2 * (1.0 + check.positive("tolerance", tolerance))
    total, phase, accuracy = 0.0, 0, math.inf
    while 4.0 * accuracy > eps:
        phase += 1
        accuracy = largest_gap / 2.0 * 2.0 ** -(phase - 1)
        total += scale * rank * phase_log(n, phase, delta) / accuracy**2 + most
    return total


def guarded_mistake_bound(
    eps: float,
    dim: int,
    delta: float,
    *,
    gate: float = 16.0,
    pending: int = 0,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
    misspecification: float = 0.0,
) -> float:
    """With probability 1 − δ, for all ε at once: a bound on Guarded's mistakes above ε, whatever its heuristic.

    N_ε ≤ Σ_{l ≤ l*} ``level_size``(l) + g d 4^l*, where l* is the last level with l = 1 or 4 b_{l−1} 2^-(l−1) > ε
    and b_l is the mixture radius with (δ/2)/(l(l+1)) after n_l = g d 4^l + Σ_{j ≤ l} ``level_size``(j) rounds.

    If rewards are linear within ζ > 0 only, what passes level l has a gap of at most 4 (b_l + ζ √n_l) 2^-l + 4ζ. This
    falls, then rises with l: l* is the *first* level for which it is at most ε, and the bound is infinite if there is
    none: for ε below 118ζ at d = 20, g = 16, below 58ζ at d = 5.

    If rewards are late, N_ε ≤ (1 + τ) Σ_{l ≤ l*} size(l) + g d 4^l* + τ. Here at most τ others wait whenever a decision
    is made, none is forgotten, and all rewards come as the sets allow (``docs/guide/late_rewards.md``). Proof:

    - A decision has the same largest gap as before: its levels were closed when it was made. So a mistake was explored
      at a level l ≤ l*, or was made before level l* closed.
    - Level l* closes when g d 4^l* rounds are learned, and τ decisions may wait then: at most g d 4^l* + τ came before.
    - When its reward comes, an explored decision is stored if it is still wide in its level, else it counts as free.
      Those stored at level l are at most size(l), as if rewards were not late. One that is not stored was wide when it
      was made, and closed levels up to l change only if a decision explored at a level up to l is stored. So one was,
      while it waited: charge it to that one. At most τ wait at that moment, so each stored decision is charged τ times.

    >>> guarded_mistake_bound(2.0, 1, 0.05, norm=0.1, noise=0.1)  # 4 b_1/2 = 0.75 < 2: level 1, 12 + 16 · 4
    76.0
    >>> guarded_mistake_bound(2.0, 1, 0.05, norm=0.1, noise=0.1, pending=3)  # 4 · 12 + 16 · 4 + 3
    115.0
    >>> guarded_mistake_bound(2.0, 1, 0.05, norm=0.1, noise=0.1, misspecification=0.1)
    inf
    """
    eps = check.positive("eps", eps)
    waiting = check.count("pending", pending, least=0, most=2**31)
    gate = check.positive("gate", gate)
    dim = check.count("dim", dim, most=2**31)
    regularization = check.positive("regularization", regularization)
    action_norm = check.positive("action_norm", action_norm)
    delta, zeta = check.probability("delta", delta), check.nonnegative("misspecification", misspecification)
    total, members, bound = 0, 0, 0.0
    steady = steady_from(regularization, action_norm)
    level, gap = 0, math.inf
    while gap > eps if zeta > 0.0 else level <= steady or gap > eps:
        if zeta > 0.0 and level == MOST_LEVELS:
            return math.inf
        level += 1
        size = level_size(dim, level, regularization, action_norm)
        if waiting > 0:
            size = late_level_size(dim, level, regularization, action_norm)
        total += size
        if gap > eps or level == 1:
            bound = (1.0 + waiting) * total + gate * dim * 4.0**level + waiting
        members += size
        rounds = gate * dim * 4.0**level + members
        growth = rounds * action_norm**2 / (dim * regularization)
        radius = radii.mixture(
            dim * math.log1p(growth),
            radii.level_delta(delta / 2.0, level),
            noise=noise,
            norm=norm,
            regularization=regularization,
        )
        radius += zeta * math.sqrt(rounds)
        gap = 4.0 * radius * math.sqrt(1.0 + TIE) * 2.0**-level + 4.0 * zeta
    return bound


def anytime_mistake_bound(
    eps: float,
    dim: int,
    delta: float,
    *,
    gate: float = 64.0,
    radius: str = "mixture",
    nested: bool = True,
    all_data: bool = True,
    pool: int = 0,
    pending: int = 0,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
) -> float:
    """With probability 1 − δ, for all ε at once: AnytimeSupLinUCB makes no more mistakes above ε than this.

    N_ε ≤ Σ_{l ≤ l*} ``level_size``(l) + g d 4^l**. Rounds that level l stores have a gap of at most 4 b_{l−1} 2^-(l−1).
    Rounds that it exploits have a gap of at most 2 b_l 2^-l and come before round g d 4^l. l* is the last level with
    l = 1 or the first of these gaps above ε, l** the last with the second above ε (without one, the term is 0). b_l is
    the radius of a full level: ``mixture`` with δ/(l(l+1)) after ``level_size``(l) rounds, or those of all levels up
    to l if ``nested``; δ is halved if ``all_data`` adds one more set. The radius "both" is at most that with δ/2.
    "pool" is R √(2 log(2N(m+1)(m+2)/δ_l)) + √λ S for N = n(n+1)/2 directions of n vectors and m = ``level_size``(l).
    "round" grows with the rounds, so its bound is infinite.

    If decisions are made while others wait for their rewards (``pending`` > 0), the bound is infinite: nothing is
    proven. A round is stored because it was wide when it was chosen, and need not be so when its reward comes: nothing
    bounds how many a level stores.

    >>> anytime_mistake_bound(2.0, 1, 0.05, norm=0.1, noise=0.1)  # 4 b_1/2 < 2 and 2 b_1/2 < 2: level 1 alone
    12.0
    """
    eps, gate = check.positive("eps", eps), check.positive("gate", gate)
    check.one_of("radius", radius, ("mixture", "round", "pool", "both"))
    dim = check.count("dim", dim, most=2**31)
    pool = check.count("pool", pool, least=1 if radius == "pool" else 0, most=2**31)
    regularization = check.positive("regularization", regularization)
    action_norm = check.positive("action_norm", action_norm)
    share = check.probability("delta", delta) / (2.0 if check.flag("all_data", all_data) else 1.0)
    assumed = {"noise": noise, "norm": norm, "regularization": regularization}
    if radius == "round" or check.count("pending", pending, least=0, most=2**31) > 0:
        return math.inf
    total, members, stored, exploited = 0, 0, 0, 0.0
    level, before, width = 0, math.inf, math.inf
    while level <= steady_from(regularization, action_norm) or before > eps or width > eps:
        level += 1
        size = level_size(dim, level, regularization, action_norm)
        total += size
        members = members + size if check.flag("nested", nested) else size
        part = radii.level_delta(share, level)
        if radius == "pool":
            directions = pool * (pool + 1) / 2.0
            b = fixed_design(part / (2.0 * directions * (size + 1.0) * (size + 2.0)), **assumed)
        else:
            logdet = dim * math.log1p(members * action_norm**2 / (dim * regularization))
            b = radii.mixture(logdet, part / 2.0 if radius == "both" else part, **assumed)
        if before > eps or level == 1:
            stored = total
        width = 2.0 * b * math.sqrt(1.0 + TIE) * 2.0**-level
        if width > eps:
            exploited = gate * dim * 4.0**level
        before = 2.0 * width
    return stored + exploited
