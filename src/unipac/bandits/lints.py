"""LinTS: Thompson sampling with a linear model, Agrawal and Goyal (2013), Abeille and Lazaric (2017).

    pseudo-code                                                                      here
    Σ = λI + Σ xxᵀ, θ̂ = Σ⁻¹ Σ r x, over all rounds                                   bandits.regressions.agent
    z ~ N(0, I); θ̃ = θ̂ + s Σ^{-1/2} z                                                LinTS._choose
    x_k = argmax_{x ∈ D_k} ⟨θ̃, x⟩
    scale "posterior":   s = R; with λ = R²/S² the posterior of a Gaussian prior      LinTS._spread
    scale "frequentist": s = √(R² [log det(Σ/λ) + 2 log(1/δ)] + λS²)                 theory.radii.mixture

Any square root will do; here it is R⁻¹ of the factor Σ = RᵀR, so ⟨θ̃, x⟩ = ⟨Mx, z̄ + s z⟩ with M = R⁻ᵀ and z̄ of
``linalg.ridge``. An action that was tried a bounded number of times is chosen with a probability that does not
vanish, so bad actions come back for ever: not uniform-PAC. ``Guarded(LinTS(...))`` is.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.bandits.regressions.agent import RegressionsAgent


@agent
class LinTS(RegressionsAgent):
    """Draws a parameter that may be true, and plays what is best for it; bounds without a guarantee.

    {parameters}

    >>> agent = LinTS(2, noise=0.1, regularization=0.01, seed=1)
    >>> for _ in range(200):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index, decision.certified
    (1, False)
    """

    theorem: ClassVar[str] = "regret"
    counts_many = True
    draws = True

    delta: float = parameter(default=0.05, check=check.probability, words="δ of the frequentist scale")
    scale: str = parameter(
        default="posterior",
        check=check.choice("posterior", "frequentist"),
        words="the spread of the draws, as above",
    )
    seed: int = declare.seed("of the draws")

    @property
    def guarantee(self) -> str:
        """Regret with the frequentist scale; nothing with the posterior, which is right on average over a prior."""
        return self.theorem if self.scale == "frequentist" else "none"

    def _spread(self) -> float:
        return self.noise if self.scale == "posterior" else self._mixture(0, self.delta)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, width = self._values(0, X)
        return mean, width, mean + self._spread() * width, mean - self._spread() * width

    def _choose(self, X: Array) -> tuple[int, int]:
        d, rows = self.dim, self.state.rows[0]
        sampler = np.random.default_rng((self.seed, self._ledger.number()))
        drawn = rows[:, d + 1] + self._spread() * sampler.standard_normal(d)
        return int((X @ (np.tril(rows[:, :d]).T @ drawn)).argmax()), 1
