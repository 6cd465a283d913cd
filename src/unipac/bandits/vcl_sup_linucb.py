"""VCLSupLinUCB: layers with a confidence level that varies, after Li, Wang and Zhou (2019); a derived variant.

    pseudo-code                                                                      here
    layers ζ = 0, ..., ζ₀ = ⌈log₂ √(T/d)⌉; ridge V_ζ, θ_ζ on Ψ_ζ                     bandits.regressions.agent
    round t: ζ = 0, A = D_t; repeat:                                                 VCLSupLinUCB._choose
      ω = ‖x‖_{V_ζ⁻¹},  ϖ = ω (R √(max{1, log(T ω²/d)} + 2 log(n(ζ₀ + 1))) + √λ S)
      ζ = ζ₀: play argmax ⟨θ_{ζ−1}, x⟩
      some ϖ > 2^-ζ: play the largest ϖ; t enters Ψ_ζ
      else A ← {x ∈ A: ⟨θ_ζ, x⟩ ≥ max − 2^{1−ζ}}, ζ ← ζ + 1

The narrower an action, the more often its bound may fail: that saves a log T. So nothing holds for all rounds with
probability 1 − δ, there is no δ, and nothing is certified; what is derived (``docs/agents/vcl_sup_linucb.md``) is
the regret in expectation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.bandits.protocol.changes import Step
from unipac.bandits.regressions.agent import MISSING, RegressionsAgent


@agent
class VCLSupLinUCB(RegressionsAgent):
    """Explores what is widest among what may be best, layer by layer; small failures are allowed.

    {parameters}

    >>> agent = VCLSupLinUCB(2, total_rounds=1000, noise=0.1, regularization=0.01)
    >>> for _ in range(1000):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index, decision.certified, agent.state.size      # rounds that each layer has learned from
    (1, False, array([ 2,  2,  6, 22, 39]))
    """

    absorbs = False

    moved: ClassVar[Mapping[str, str]] = {"horizon": "T is total_rounds"}

    total_rounds: int = parameter(check=check.count, words="T, how many rounds there will be")

    def _layers(self) -> int:
        """ζ₀: layers 0 to ζ₀ − 1 learn."""
        return max(0, math.ceil(math.log2(math.sqrt(self.total_rounds / self.dim))))

    def _entries(self) -> int:
        return max(1, self._layers())

    def _level_range(self) -> tuple[int, int]:
        return 0, self._layers()

    def _error(self, width: Array, n: int) -> Array:
        """ϖ of actions with these widths, in a round with n."""
        with np.errstate(divide="ignore"):
            spread = np.maximum(1.0, np.log(self.total_rounds * width**2 / self.dim))
        alpha = self.noise * np.sqrt(spread + 2.0 * math.log(n * (self._layers() + 1)))
        return np.asarray((alpha + math.sqrt(self.regularization) * self.norm) * width)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Of the last layer; without a guarantee."""
        mean, width = self._values(self._entries() - 1, X)
        error = self._error(width, len(X))
        return mean, width, mean + error, mean - error

    def _choose(self, X: Array) -> tuple[int, int]:
        alive, last = np.arange(len(X)), MISSING
        for layer in range(self._layers()):
            mean, width = self._values(layer, X[alive])
            error = self._error(width, len(X))
            if (error > 2.0**-layer).any():
                return int(alive[int(error.argmax())]), layer + 1
            alive, last = alive[mean >= mean.max() - 2.0 ** (1 - layer)], layer
        return int(alive[int(self._values(last, X[alive])[0].argmax())]), 0

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        return self._insertion((level - 1,), x, y, times) if level > 0 else self.state
