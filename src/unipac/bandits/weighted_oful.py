"""WeightedOFUL: rounds of known, different noise, each weighed by it; Zhou, Gu and Szepesvári (2021).

    pseudo-code                                                                      here
    Σ = λI + Σ_i x_i x_iᵀ/σ̄_i²,  w = Σ⁻¹ Σ_i x_i r_i/σ̄_i²   over all rounds         WeightedOFUL._learn
    x_k = argmax_{x ∈ D_k} ⟨w, x⟩ + β ‖x‖_{Σ⁻¹}                                       WeightedOFUL._choose
    radius "mixture":   σ̄ = σ,  β = √(log det(Σ/λ) + 2 log(1/δ) + λS²)               theory.radii.mixture, R = 1
    radius "ball":      the same, bounds over that set cut with the ball ‖θ‖ ≤ S         bandits.levelled.ball.bounds
    radius "bernstein": σ̄ = max(σ, R/√d),  a = R/√d,                                 WeightedOFUL._radius
      β = 8 √(d log(1 + tL²/(dλa²)) log(4t²/δ)) + 4 √d log(4t²/δ) + √λ S

The noise σ_k of a round comes with its reward at the latest, and must not depend on it. "mixture" is the bound of
OFUL on the data divided by σ: it holds if the noise of round k is σ_k-sub-Gaussian, which is more than a variance of
σ_k². "bernstein" asks for noise bounded by R with variance σ_k²; its constants are
quoted from the paper, not proven again, so nothing is certified with it.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._constants import SMALLEST_RATIO
from unipac._jit import jit
from unipac.bandits.levelled import ball
from unipac.bandits.protocol.changes import Step
from unipac.bandits.regressions.agent import RegressionsAgent, insert, restored
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import Saved, check_growth
from unipac.theory import radii

RADII = check.choice("mixture", "ball", "bernstein")


class SavedWeights(NamedTuple):
    """What goes to a file."""

    levels: Saved
    weight: Array


class WeightedLevels(NamedTuple):
    """A stack as in ``linalg.levels``, of one regression, and the weight of its rounds."""

    rows: Array
    logdet: Array
    beta: Array
    size: NDArray[np.int64]
    rotations: NDArray[np.int64]
    weight: Array
    """(1,): Σ_i 1/σ̄_i²."""


@jit
def _insert(
    levels: Levels, x: Array, y: float, times: int, ridge: float, weight: Array, added: float
) -> None:
    insert(levels, np.zeros(1, dtype=np.int64), x, y, times, ridge)
    weight[0] += added


@agent
class WeightedOFUL(RegressionsAgent):
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
    counts_many = True
    weighs = True
    _meets = True

    noise: float = parameter(
        default=1.0, check=check.positive, words="R, the noise of rounds that come without one"
    )
    delta: float = declare.delta()
    radius: str = parameter(default="mixture", check=RADII, words='"mixture", "ball" or "bernstein"')

    def _check_parameters(self) -> None:
        super()._check_parameters()
        least = self._least_noise = math.sqrt(SMALLEST_RATIO / self.regularization) * self.action_norm
        check.require(self.noise >= least, "noise", f"at least {least:g}", self.noise)

    @property
    def _proven(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given."""
        return self.radius != "bernstein"

    def _empty(self) -> WeightedLevels:  # type: ignore[override]  # with the weight
        return WeightedLevels(*super()._empty(), np.zeros(1))

    def _saved(self) -> Any:
        return SavedWeights(super()._saved(), self.state.weight)

    def _restored(self, saved: Any) -> WeightedLevels:  # type: ignore[override]  # with the weight
        sound = saved.levels.size.shape == saved.weight.shape == (1,) and np.isfinite(saved.weight).all()
        if not sound or saved.levels.size[0] != self.rounds or saved.weight[0] < 0:
            raise ValueError("the weights are not those of so many rounds")
        levels = restored(saved.levels, self.dim, self.regularization, self.action_norm, saved.weight)
        return WeightedLevels(*levels, saved.weight)

    def _radius(self) -> float:
        if self.radius != "bernstein":
            logdet, ridge = max(float(self.state.logdet[0]), 0.0), self.regularization
            return radii.mixture(logdet, self.delta, noise=1.0, norm=self.norm, regularization=ridge)
        t, d, floor2 = max(float(self.state.size[0]), 1.0), self.dim, self.noise**2 / self.dim
        growth = math.log1p(t * self.action_norm**2 / (d * self.regularization * floor2))
        tail = math.log(4.0 * t * t / self.delta)
        bias = math.sqrt(self.regularization) * self.norm
        return 8.0 * math.sqrt(d * growth * tail) + 4.0 * math.sqrt(d) * tail + bias

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        return super()._certify(best, ucb, lcb) if self._meets else (math.nan, True)

    def _covers(self, truth: Array, X: Array) -> bool:
        known = self.state.rows[0], self._radius(), self.norm
        return ball.covers(*known, truth) if self.radius == "ball" else super()._covers(truth, X)

    def _bounds(self, X: Array) -> ball.Bounds:
        if self.radius == "ball":
            values, self._meets = ball.bounds(self.state.rows[0], self._radius(), self.norm, X)
            return values
        mean, width = self._values(0, X)
        bonus = self._radius() * width
        return mean, width, mean + bonus, mean - bonus

    def _choose(self, X: Array) -> tuple[int, int]:
        mean, width = self._values(0, X)
        return int((mean + self._radius() * width).argmax()), 1

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        floor = self.noise / math.sqrt(self.dim) if self.radius == "bernstein" else 0.0
        sigma = max(self.noise if noise is None else noise, floor)
        check_growth(times, self.regularization, self.action_norm / sigma)
        *levels, weight = self.state
        learned = x / sigma, y / sigma, times, self.regularization
        return _insert, (Levels(*levels), *learned, weight, times / sigma**2)
