"""LinUCB: the heuristic everyone knows, Li, Chu, Langford and Schapire (2010), with one shared parameter.

    pseudo-code                                                       here
    Σ = λI + Σ_i x_i x_iᵀ,  w = Σ⁻¹ Σ_i x_i r_i   over all rounds     linalg.ridge
    x_k = argmax_{x ∈ D_k} ⟨w, x⟩ + α ‖x‖_{Σ⁻¹}                       linalg.optimism.select

α is a constant to be tuned: for data chosen by the agent itself no theorem backs it, so nothing is certified.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac.bandits.base.agent import LinearAgent
from unipac.linalg.levels import SINGLE


class LinUCB(LinearAgent):
    """Mean plus α times width; bounds without a guarantee.

    Args:
        dim: d, the length of the action vectors.
        alpha: α ≥ 0, how much to explore.
        regularization: λ > 0 of the ridge regression; 1 in the paper.
        action_norm: L, a bound on the norm of the actions.
        fixed_actions: (n, d); then ``choose()`` needs no argument and costs O(nd).

    >>> agent = LinUCB(2, alpha=0.5, regularization=4.0)
    >>> agent.choose([[1.0, 0.0]]).ucb      # 0 + 0.5 · 1/√4
    0.25
    """

    def __init__(
        self,
        dim: int,
        *,
        alpha: float = 1.0,
        regularization: float = 1.0,
        action_norm: float = 1.0,
        fixed_actions: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            dim,
            rule=SINGLE,
            radius="constant",
            regularization=regularization,
            action_norm=action_norm,
            bonus_scale=check.nonnegative("alpha", alpha),
            fixed_actions=fixed_actions,
        )
        self._parameters = {
            "alpha": float(alpha),
            "regularization": self._parameters["regularization"],
            "action_norm": self._parameters["action_norm"],
        }
