"""OFUL: optimism in the face of uncertainty, Abbasi-Yadkori, Pál and Szepesvári (2011), Figure 1.

    pseudo-code                                                       here
    Σ = λI + Σ_i x_i x_iᵀ,  w = Σ⁻¹ Σ_i x_i r_i   over all rounds     linalg.ridge
    x_k = argmax_{x ∈ D_k} ⟨w, x⟩ + β ‖x‖_{Σ⁻¹}                       linalg.optimism.select
    β = R √(log det(Σ/λ) + 2 log(1/δ)) + √λ S                         theory.radii.determinant

The maximum over (x, θ) in D_k × {θ: ‖θ − w‖_Σ ≤ β} of ⟨x, θ⟩ has the closed form above. β grows with the
number of rounds, so bad actions are tried again and again: regret O(d √K log K), but no convergence
(``docs/agents/oful.md``).
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from unipac._checks import one_of
from unipac.bandits.base.agent import LinearAgent
from unipac.linalg.levels import SINGLE


class OFUL(LinearAgent):
    """Optimism over one confidence set of all data; its certificates hold, but it need not converge.

    Args:
        dim: d, the length of the action vectors.
        delta: δ, the probability that the bounds may fail.
        noise: R, the sub-Gaussian scale of the noise.
        norm: S, a bound on the norm of the unknown parameter.
        regularization: λ > 0 of the ridge regression.
        action_norm: L, a bound on the norm of the actions.
        radius: "determinant" as in the paper, or the smaller "mixture".
        bonus_scale: multiplies the radius; other than 1, nothing is certified.
        fixed_actions: (n, d); then ``choose()`` needs no argument and costs O(nd).

    >>> agent = OFUL(2, noise=0.1)
    >>> decision = agent.choose([[1.0, 0.0], [0.0, 0.5]])
    >>> decision.index, decision.width, decision.ucb   # 0.1 √(2 log 20) + 1
    (0, 1.0, 1.244775)
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
        radius: str = "determinant",
        bonus_scale: float = 1.0,
        fixed_actions: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            dim,
            rule=SINGLE,
            radius=one_of("radius", radius, ("determinant", "mixture")),
            delta=delta,
            noise=noise,
            norm=norm,
            regularization=regularization,
            action_norm=action_norm,
            bonus_scale=bonus_scale,
            fixed_actions=fixed_actions,
        )
