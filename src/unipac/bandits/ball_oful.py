"""BallOFUL: the variant of OFUL in Appendix A of He, Zhou and Gu (2021).

pseudo-code                                                          here
Θ = {θ: ‖θ − w‖_Σ ≤ β}, Σ and w from all rounds                      linalg.ridge
x_k = argmax_{x ∈ D_k} max_{θ ∈ Θ ∩ B(S)} ⟨x, θ⟩, ties at random     bandits.base.ball, cut
β = R √(log det(Σ/λ) + 2 log(1/δ)) + √λ S                            theory.radii.determinant
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from unipac import _declarations as declare
from unipac._agents import agent
from unipac._arrays import Array
from unipac.bandits.levelled.agent import OptimisticAgent
from unipac.bandits.levelled.ball import bound_all
from unipac.bandits.levelled.cut import BallBounds

TIE = 1e-9
"""Values this close to the largest, relative to it and to S ‖x‖, are ties."""


@agent
class BallOFUL(BallBounds, OptimisticAgent):
    """OFUL whose confidence set is cut with the ball of all possible parameters; ties at random.

    {parameters}

    >>> agent = BallOFUL(2, noise=0.1)
    >>> agent.bounds([[0.6, 0.8], [0.0, -0.5]]).ucb    # no data yet: S ‖x‖
    array([1. , 0.5])
    """

    theorem: ClassVar[str] = "regret"
    draws: ClassVar[bool] = True

    seed: int = declare.seed("of the generator that breaks ties")

    def _is_cut(self) -> bool:
        return True

    def _choose(self, X: Array) -> tuple[int, int]:
        out = np.empty((4, len(X)))
        bound_all(self.state.rows[0], self.bonus_scale * self.state.beta[0], self.norm, X, out)
        ucb = out[2]
        scale = max(self.norm * math.sqrt((X * X).sum(axis=1).max()), abs(ucb.max()))
        tied = np.flatnonzero(ucb >= ucb.max() - TIE * scale)
        if len(tied) == 1:
            return int(tied[0]), 1
        return int(tied[np.random.default_rng((self.seed, self._number())).integers(len(tied))]), 1
