"""BallOFUL: the variant of OFUL in Appendix A of He, Zhou and Gu (2021).

pseudo-code                                                          here
Θ = {θ: ‖θ − w‖_Σ ≤ β}, Σ and w from all rounds                      linalg.ridge
x_k = argmax_{x ∈ D_k} max_{θ ∈ Θ ∩ B(S)} ⟨x, θ⟩, ties at random     bandits.levelled.ball.bounds
β = R √(log det(Σ/λ) + 2 log(1/δ)) + √λ S                            theory.radii.determinant
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from unipac import _declarations as declare
from unipac._agents import agent
from unipac._arrays import Array
from unipac.bandits.levelled import ball
from unipac.bandits.levelled.agent import OptimisticAgent
from unipac.bandits.protocol.agent import BanditAgent

TIE = 1e-9
"""Values this close to the largest, relative to it and to S ‖x‖, are ties."""


@agent
class BallOFUL(OptimisticAgent):
    """OFUL whose confidence set is cut with the ball of all possible parameters; ties at random.

    {parameters}

    >>> agent = BallOFUL(2, noise=0.1)
    >>> agent.bounds([[0.6, 0.8], [0.0, -0.5]]).ucb    # no data yet: S ‖x‖
    array([1. , 0.5])
    """

    theorem: ClassVar[str] = "regret"
    draws = True

    seed: int = declare.seed("of the generator that breaks ties")

    # The rounds of the other levelled agents are compiled, without the ball; these are the protocol's own.
    _decide = BanditAgent._decide
    _play = BanditAgent._play
    _meets = True

    def _bounds(self, X: Array) -> ball.Bounds:
        values, self._meets = ball.bounds(self.state.rows[0], float(self.state.beta[0]), self.norm, X)
        return values

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        return super()._certify(best, ucb, lcb) if self._meets else (math.nan, True)

    def _covers(self, truth: Array, X: Array) -> bool:
        return ball.covers(self.state.rows[0], float(self.state.beta[0]), self.norm, truth)

    def _choose(self, X: Array) -> tuple[int, int]:
        radius = self.bonus_scale * self.state.beta[0]
        (_, _, ucb, _), _ = ball.bounds(self.state.rows[0], radius, self.norm, X)
        scale = max(self.norm * math.sqrt((X * X).sum(axis=1).max()), abs(ucb.max()))
        tied = np.flatnonzero(ucb >= ucb.max() - TIE * scale)
        if len(tied) == 1:
            return int(tied[0]), 1
        return int(tied[np.random.default_rng((self.seed, self._ledger.number())).integers(len(tied))]), 1
