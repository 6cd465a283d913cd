"""ConfidenceBall: optimism over a ball around the estimate, Dani, Hayes and Kakade (2008).

    pseudo-code                                                                      here
    A = λI + Σ xxᵀ, θ̂ = A⁻¹ Σ r x, over all rounds                                   bandits.regressions.agent
    norm_kind 2: x_t = argmax ⟨θ̂, x⟩ + √β ‖x‖_{A⁻¹}                                  ConfidenceBall._bonus
    norm_kind 1: x_t = argmax ⟨θ̂, x⟩ + √(dβ) ‖A^{-1/2} x‖_∞                          ConfidenceBall._bonus
    radius "paper":   β_t = max(128 d log t log(t²/δ), (8/3 log(t²/δ))²)             ConfidenceBall._radius
    radius "mixture": √β = √(R² [log det(A/λ) + 2 log(1/δ)] + λS²)                   theory.radii.mixture

The ball of kind 1, {θ: ‖A^{1/2}(θ − θ̂)‖₁ ≤ √(dβ)}, contains that of kind 2; its maximum is at one of 2d corners, which
makes large sets of actions easy. The mixture radius holds for every R and S at all times. That of the paper is
proven for rewards and noise bounded by 1 and actions in the coordinates of a barycentric spanner, none of which is
known here: nothing is certified with it.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.bandits.regressions.agent import RegressionsAgent


def _kind(name: str, value: int) -> int:
    return check.count(name, value, most=2)


@agent
class ConfidenceBall(RegressionsAgent):
    """Chooses the action whose reward may be largest for a parameter in a ball; it need not converge.

    {parameters}

    >>> agent = ConfidenceBall(2, radius="mixture", noise=0.1)
    >>> agent.choose([[1.0, 0.0], [0.0, 0.5]]).ucb       # √(0.01 · 2 log 20 + 1)
    1.029522
    """

    theorem: ClassVar[str] = "regret"
    counts_many = True

    delta: float = declare.delta()
    norm_kind: int = parameter(
        default=2, check=_kind, words="2 for an ellipsoid, 1 for its hull with 2d corners"
    )
    radius: str = parameter(
        default="mixture",
        check=check.choice("paper", "mixture"),
        words='"paper" as above, or the proven "mixture"',
    )

    @property
    def _proven(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given."""
        return self.radius == "mixture"

    def _radius(self) -> float:
        """√β."""
        if self.radius == "mixture":
            return self._mixture(0, self.delta)
        t = float(self.state.size[0]) + 1.0
        tail = math.log(t * t / self.delta)
        return math.sqrt(max(128.0 * self.dim * math.log(t) * tail, (8.0 / 3.0 * tail) ** 2))

    def _bonus(self, X: Array, width: Array) -> Array:
        if self.norm_kind == 2:
            return np.asarray(self._radius() * width)
        R = np.triu(self.state.rows[0, :, 1 : self.dim + 1])
        _, scale, vectors = np.linalg.svd(R)  # A = RᵀR
        root = (vectors.T / scale) @ vectors
        return np.asarray(math.sqrt(self.dim) * self._radius() * np.abs(X @ root).max(axis=1))

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, width = self._values(0, X)
        bonus = self._bonus(X, width)
        return mean, width, mean + bonus, mean - bonus

    def _choose(self, X: Array) -> tuple[int, int]:
        return int(self._bounds(X)[2].argmax()), 1
