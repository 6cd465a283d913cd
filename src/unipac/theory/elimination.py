"""What is proven of elimination: the radius of a fixed design, and how many mistakes are made.

Two confidence statements serve all algorithms. ``radii.mixture`` holds for all directions and all times, whatever
was pulled. The one here holds for a single direction y and a design that does not depend on the noise:

    |⟨θ̂ − θ*, y⟩| ≤ ‖y‖_{V⁻¹} (R √(2 log(1/p)) + √λ S)         each side with probability 1 − p

since ⟨θ̂ − θ*, y⟩ = Σ a_i η_i − λ yᵀV⁻¹θ* with a_i = yᵀV⁻¹x_i and Σ a_i² ≤ ‖y‖²_{V⁻¹}.
"""

from __future__ import annotations

import math

from unipac import _checks as check
from unipac._constants import TIE
from unipac.theory import radii
from unipac.theory.bounds import level_size, steady_from


def fixed_design(p: float, *, noise: float = 1.0, norm: float = 1.0, regularization: float = 0.0) -> float:
    """R √(2 log(1/p)) + √λ S: the radius of one side of one direction, which fails with probability p.

    >>> fixed_design(0.05, noise=0.5, regularization=4.0)     # 0.5 √(2 · 2.995732) + 2
    3.223873
    """
    check.share("p", p)
    check.nonnegative("noise", noise)
    check.nonnegative("norm", norm)
    check.nonnegative("regularization", regularization)
    return noise * math.sqrt(2.0 * math.log(1.0 / p)) + math.sqrt(regularization) * norm


def phase_log(active: int, phase: int, delta: float) -> float:
    """log(2(m − 1) l(l+1)/δ): both sides of the m − 1 pairs with the best of m arms, in phase l.

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

    Phase l has accuracy e_l = e_1 2^-(l−1), e_1 = ``largest_gap``/2, and takes at most
    2 R² (1 + tolerance) r lg_l/e_l² pulls and one more for each arm of the design; what survives it has a gap of at
    most 4 e_l. So mistakes above ε end with the first phase for which 4 e_l ≤ ε.

    Args:
        eps: ε.
        arms: n, how many there are.
        rank: r of the arms.
        delta: δ.
        noise: R.
        largest_gap: 2SL, the largest gap that can be.
        support: the most arms in a design; n if not given.
        tolerance: of the designs.

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
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
) -> float:
    """With probability 1 − δ, for all ε at once: Guarded makes no more mistakes above ε, whatever its heuristic.

    N_ε ≤ Σ_{l ≤ l*} ``level_size``(l) + g d 4^l*, where l* is the last level with l = 1 or 4 b_{l−1} 2^-(l−1) > ε
    and b_l is the mixture radius with (δ/2)/(l(l+1)) after g d 4^l + Σ_{j ≤ l} ``level_size``(j) rounds.

    >>> guarded_mistake_bound(2.0, 1, 0.05, norm=0.1, noise=0.1)  # 4 b_1/2 = 0.75 < 2: level 1, 12 + 16 · 4
    76.0
    """
    eps = check.positive("eps", eps)
    gate = check.positive("gate", gate)
    dim = check.count("dim", dim, most=2**31)
    regularization = check.positive("regularization", regularization)
    action_norm = check.positive("action_norm", action_norm)
    delta = check.probability("delta", delta)
    total, members, found = 0, 0, 0.0
    steady = steady_from(regularization, action_norm)
    level, gap = 0, math.inf
    while level <= steady or gap > eps:
        level += 1
        size = level_size(dim, level, regularization, action_norm)
        total += size
        if gap > eps or level == 1:
            found = total + gate * dim * 4.0**level
        members += size
        growth = (gate * dim * 4.0**level + members) * action_norm**2 / (dim * regularization)
        radius = radii.mixture(
            dim * math.log1p(growth),
            radii.level_delta(delta / 2.0, level),
            noise=noise,
            norm=norm,
            regularization=regularization,
        )
        gap = 4.0 * radius * math.sqrt(1.0 + TIE) * 2.0**-level
    return found


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
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
) -> float:
    """With probability 1 − δ, for all ε at once: AnytimeSupLinUCB makes no more mistakes above ε than this.

    N_ε ≤ Σ_{l ≤ l*} ``level_size``(l) + g d 4^l**: rounds that level l stores have a gap of at most
    4 b_{l−1} 2^-(l−1), those that it exploits one of at most 2 b_l 2^-l and come before round g d 4^l. l* is the last
    level with l = 1 or the former above ε, l** the last with the latter above ε (no such term if there is none). b_l is
    the radius of a full level: ``mixture`` with δ/(l(l+1)) after ``level_size``(l) rounds, those of all levels up to l
    if ``nested``; with half of δ if ``all_data`` is one more set. "both" has at most that with δ/2; "pool" is
    R √(2 log(2N(m+1)(m+2)/δ_l)) + √λ S for N = n(n+1)/2 directions of n vectors and m = ``level_size``(l). "round"
    grows with the rounds: infinite.

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
    if radius == "round":
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
