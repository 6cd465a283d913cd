"""WeightedOFUL: rounds of known, different noise, each weighed by it; Zhou, Gu and Szepesvári (2021).

    pseudo-code                                                                      here
    Σ = λI + Σ_i x_i x_iᵀ/σ̄_i²,  w = Σ⁻¹ Σ_i x_i r_i/σ̄_i²   over all rounds         _weigh
    x_k = argmax_{x ∈ D_k} ⟨w, x⟩ + β ‖x‖_{Σ⁻¹}                                       _choose
    radius "mixture":   σ̄ = σ,  β = √(log det(Σ/λ) + 2 log(1/δ) + λS²)               theory.radii.mixture, R = 1
    radius "ball":      the same, bounds over that set cut with the ball ‖θ‖ ≤ S         base.cut
    radius "bernstein": σ̄ = max(σ, R/√d),  a = R/√d,                                 _radius
      β = 8 √(d log(1 + tL²/(dλa²)) log(4t²/δ)) + 4 √d log(4t²/δ) + √λ S

The noise σ_k of a round is told with its reward at the latest, and must not depend on it. "mixture" is the bound of
OFUL on the data divided by σ: it holds if the noise of round k is σ_k-sub-Gaussian, which is more than a variance of
σ_k². "bernstein" asks for noise bounded by R with variance σ_k²; its constants stand here as the paper is quoted,
they were not proven again, so nothing is certified with it.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check
from unipac import _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._constants import SMALLEST_RATIO
from unipac.bandits.levelled.cut import BallBounds
from unipac.bandits.regressions.agent import RegressionsAgent, insert, restored
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import Saved, check_growth
from unipac.theory import radii


class SavedWeights(NamedTuple):
    """What goes to a file."""

    levels: Saved
    weight: Array
    """(1,): Σ_i 1/σ̄_i²."""


@agent
class WeightedOFUL(BallBounds, RegressionsAgent):
    """Optimism over one confidence set of all data, in which quiet rounds weigh more than noisy ones.

    {parameters}

    >>> agent = WeightedOFUL(2)
    >>> for sigma in (0.1, 1.0):
    ...     decision = agent.choose([[1.0, 0.0]])
    ...     agent.update(decision, reward=0.5, noise=sigma)
    >>> agent.choose([[1.0, 0.0]]).width          # 1/√(1 + 100 + 1)
    0.099015
    """

    theorem: ClassVar[str] = "regret"
    counts_many: ClassVar[bool] = True
    weighs: ClassVar[bool] = True

    noise: float = parameter(
        default=1.0,
        check=check.positive,
        words="R, the noise of rounds that are not told theirs; no noise is larger",
    )
    delta: float = declare.delta()
    radius: str = parameter(
        default="mixture",
        check=check.choice("mixture", "ball", "bernstein"),
        words='the proven "mixture", "ball" or "bernstein", as above',
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        least = self._least_noise()
        check.require(self.noise >= least, "noise", f"at least {least:g}", self.noise)

    def _least_noise(self) -> float:
        """Below it widths could not be trusted."""
        return math.sqrt(SMALLEST_RATIO / self.regularization) * self.action_norm

    @property
    def certified(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given."""
        return self.radius != "bernstein"

    def _empty(self) -> Levels:
        self._weight = np.zeros(1)
        return super()._empty()

    def _saved(self) -> Any:
        return SavedWeights(super()._saved(), self._weight)

    def _restored(self, saved: Any) -> Levels:
        sound = saved.levels.size.shape == saved.weight.shape == (1,) and np.isfinite(saved.weight).all()
        if not sound or saved.levels.size[0] != self._rounds or saved.weight[0] < 0:
            raise ValueError("the weights are not those of so many rounds")
        self._weight = saved.weight
        return restored(saved.levels, self.dim, self.regularization, self.action_norm, saved.weight)

    def _radius(self) -> float:
        if self.radius != "bernstein":
            logdet = max(float(self.state.logdet[0]), 0.0)
            return radii.mixture(
                logdet, self.delta, noise=1.0, norm=self.norm, regularization=self.regularization
            )
        t, d = max(float(self.state.size[0]), 1.0), self.dim
        floor2 = self.noise**2 / d
        growth = math.log1p(t * self.action_norm**2 / (d * self.regularization * floor2))
        tail = math.log(4.0 * t * t / self.delta)
        return (
            8.0 * math.sqrt(d * growth * tail)
            + 4.0 * math.sqrt(d) * tail
            + math.sqrt(self.regularization) * self.norm
        )

    def _all_data(self) -> tuple[Array, float]:
        return self.state.rows[0], self._radius()

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        if self.radius == "ball":
            return super()._bounds(X)
        mean, width = self._values(0, X)
        bonus = self._radius() * width
        return mean, width, mean + bonus, mean - bonus

    def _choose(self, X: Array) -> tuple[int, int]:
        mean, width = self._values(0, X)
        return int((mean + self._radius() * width).argmax()), 1

    def _weigh(self, x: Array, y: float, level: int, times: int, noise: float) -> None:
        sigma = max(noise, self.noise / math.sqrt(self.dim)) if self.radius == "bernstein" else noise
        check_growth(times, self.regularization, self.action_norm / sigma)
        insert(self.state, (0,), x / sigma, y / sigma, times, self.regularization)
        self._weight[0] += times / sigma**2

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        self._weigh(x, y, level, times, self.noise)
