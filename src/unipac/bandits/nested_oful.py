"""NestedOFUL: UPAC-OFUL with nested levels and the set of all data; what we recommend.

It differs from Algorithm 1 (``upac_oful``) in three ways, none of which touches Theorem 1:

    1. Level l regresses on D^l = C^1 ∪ ... ∪ C^l instead of C^l. A round of level l is one for which
       ‖x‖_{Σ⁻¹} > 2^-l in the larger Σ of D^l, hence also in that of C^l alone: |C^l| keeps its bound.
       Whether a round belongs to D^l is known before its reward, so the radius stays valid.
    2. All data form one more set, with δ/2; the levels share the other δ/2. Any further valid upper bound may
       enter the minimum of line 8. Since D^S is all data, both are the same regression and only the smaller
       of the two radii counts.
    3. The radius is "mixture": it follows the data instead of the worst case.

    line  pseudo-code                                                           here
    4-5   Σ^l, w^l from D^l = C^1 ∪ ... ∪ C^l                                   linalg.ridge
    8     x_k = argmax_x min_{l ≤ S, all data} ⟨w^l, x⟩ + β_l ‖x‖_{(Σ^l)⁻¹}      linalg.optimism.select
    9-12  l_k = the first l ≤ S with ‖x_k‖_{(Σ^l)⁻¹} > 2^-l, else S + 1          linalg.levels.level_of
    13    C^{l_k} ← C^{l_k} ∪ {k}: every D^j with j ≥ l_k learns the round      linalg.levels.add
          β_l = √(R² [log det(Σ^l/λ) + 2 log(1/δ_l)] + λS²)                     theory.radii.mixture
          δ_l = (δ/2)/(l(l+1)), and δ/2 for all data                            bandits.confidence.set_radii

``docs/agents/nested_oful.md`` has the proof in full and what was measured.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from unipac._checks import one_of
from unipac.bandits.base.agent import LinearAgent
from unipac.linalg.levels import NESTED


class NestedOFUL(LinearAgent):
    """Optimism over nested levels of data and all data: converges, at the regret of OFUL.

    Args:
        dim: d, the length of the action vectors.
        delta: δ, the probability that the bounds may fail.
        noise: R, the sub-Gaussian scale of the noise.
        norm: S, a bound on the norm of the unknown parameter.
        regularization: λ > 0 of the ridge regressions.
        action_norm: L, a bound on the norm of the actions.
        radius: "mixture", "determinant", or the paper's "theorem" (all data then use "determinant").
        all_data: whether all data form a set of their own, with half of δ.
        bonus_scale: multiplies the radius; other than 1, nothing is certified.
        fixed_actions: (n, d); then ``choose()`` needs no argument and costs O(nd).

    >>> agent = NestedOFUL(2, delta=0.05, noise=0.1)
    >>> for _ in range(1000):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index, decision.certified, decision.certificate < 0.1
    (1, True, True)
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
        radius: str = "mixture",
        all_data: bool = True,
        bonus_scale: float = 1.0,
        fixed_actions: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            dim,
            rule=NESTED,
            radius=one_of("radius", radius, ("theorem", "determinant", "mixture")),
            delta=delta,
            all_data=all_data,
            noise=noise,
            norm=norm,
            regularization=regularization,
            action_norm=action_norm,
            bonus_scale=bonus_scale,
            fixed_actions=fixed_actions,
        )
        self._parameters["all_data"] = bool(all_data)
