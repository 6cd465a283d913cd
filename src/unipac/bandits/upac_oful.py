"""UPAC-OFUL: Algorithm 1 of He, Zhou and Gu (2021), to the letter.

Setting: in round k actions D_k ⊂ R^d are offered, ‖x‖ ≤ L; the reward of x is ⟨μ*, x⟩ plus R-sub-Gaussian
noise, ‖μ*‖ ≤ S.

    line  pseudo-code                                                     here
    1     C^l ← ∅ for all l, S_1 = 1                                      linalg.levels.empty
    4     Σ^l = λI + Σ_{i ∈ C^l} x_i x_iᵀ                                 linalg.ridge: RᵀR = Σ^l
    5     b^l = Σ_{i ∈ C^l} x_i r_i,  w^l = (Σ^l)⁻¹ b^l                   linalg.ridge: Rᵀz = b^l
    8     x_k = argmax_{x ∈ D_k} min_{l ≤ S} ⟨w^l, x⟩ + β_l ‖x‖_{(Σ^l)⁻¹}  linalg.optimism.select
    9-12  l = 1; while l ≤ S and ‖x_k‖_{(Σ^l)⁻¹} ≤ 2^-l: l ← l + 1        linalg.levels.level_of
    13    C^l ← C^l ∪ {k}, receive r_k                                    linalg.levels.add
    14    S = max{l: C^l ≠ ∅}                                             linalg.levels.top
          β_l = 6 √(d l log(d l/δ))                                       theory.radii.theorem

    symbol          argument or attribute       meaning
    d, δ, λ         dim, delta, regularization
    R, S, L         noise, norm, action_norm    (S bounds ‖μ*‖ here, the number of levels above)
    l_k             decision.level              how much there was to learn
    ‖x‖_{Σ⁻¹}, w    decision.width, .mean       of the level that attains the minimum of line 8

Theorem 1: with probability 1 − δ, for all ε > 0 at once, the number of rounds with a gap above ε is O(d²
log³(d/(δε))/ε²); ``theory.mistake_bound`` has it with constants. ``docs/upac_oful.md`` lists every
deviation.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from unipac._checks import one_of
from unipac.bandits.agent import LinearAgent
from unipac.linalg.levels import DISJOINT


class UPACOFUL(LinearAgent):
    """Optimism over disjoint levels of data, each of which stays finite.

    Args:
        dim: d, the length of the action vectors.
        delta: δ, the probability that the bounds may fail.
        noise: R, the sub-Gaussian scale of the noise.
        norm: S, a bound on the norm of the unknown parameter.
        regularization: λ > 0 of the ridge regressions.
        action_norm: L, a bound on the norm of the actions.
        radius: "theorem" as in the paper, or the smaller "determinant" or "mixture".
        bonus_scale: multiplies the radius; other than 1, nothing is certified.
        fixed_actions: (n, d); then ``choose()`` needs no argument and costs O(nd).

    >>> agent = UPACOFUL(2, delta=0.05, noise=0.1)
    >>> for _ in range(100):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> levels = agent.levels()
    >>> sum(level.size for level in levels), all(level.size <= level.bound for level in levels)
    (100, True)
    """

    def __init__(
        self,
        dim: int,
        *,
        delta: float = 0.05,
        noise: float = 1.0,
        norm: float = 1.0,
        regularization: float = 1.0,
        action_norm: float = 1.0,
        radius: str = "theorem",
        bonus_scale: float = 1.0,
        fixed_actions: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            dim,
            rule=DISJOINT,
            radius=one_of("radius", radius, ("theorem", "determinant", "mixture")),
            delta=delta,
            noise=noise,
            norm=norm,
            regularization=regularization,
            action_norm=action_norm,
            bonus_scale=bonus_scale,
            fixed_actions=fixed_actions,
        )
