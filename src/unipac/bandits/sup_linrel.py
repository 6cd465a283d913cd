"""SupLinRel: stages for a known horizon on the directions that were seen often enough, Auer (2002).

    pseudo-code                                                                      here
    stage s: Z'Z = Σ_{Ψ^s} xxᵀ = Σ_u e_u uuᵀ; P: eigenvectors with e ≥ 1, Q: the others   SupLinRel._parts
    θ̂ = P diag(1/e) Pᵀ Σ_{Ψ^s} r x                                                  SupLinRel._stage
    w(x) = R √(2 log(2 T n S/δ)) ‖diag(e)^{-1/2} Pᵀx‖ + S_θ ‖Qᵀx‖                     SupLinRel._stage
    stages, choice and elimination as in SupLinUCB                                   base.elimination.StagedAgent

With a = Z P diag(1/e) Pᵀ x the error of the estimate is Σ a_i η_i − ⟨μ*, QQᵀx⟩, and ‖a‖² is the square in the first
term: no ridge is needed, what was hardly seen is a bias. Assumptions and regret are those of SupLinUCB.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from unipac._agents import agent
from unipac._arrays import Array
from unipac._constants import TIE
from unipac.bandits.regressions.elimination import StagedAgent
from unipac.linalg.levels import Levels


@agent
class SupLinRel(StagedAgent):
    """Explores what is least known among what may be best, stage by stage; least squares in place of ridge.

    {parameters}

    >>> agent = SupLinRel(2, horizon=1000, noise=0.1)
    >>> for _ in range(1000):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index, agent.state.size          # rounds that each stage has learned from
    (1, array([  3,  10,  36,  70, 270,   0]))
    """

    regularization: float = dataclasses.field(init=False, default=1.0)
    """Of the factors I + Z'Z that are kept; taken off again before they are used."""

    def _empty(self) -> Levels:
        self._known: dict[int, tuple[Array, Array, Array]] = {}
        return super()._empty()

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        super()._learn(x, y, level, times)
        self._known.pop(level, None)

    def _parts(self, stage: int) -> tuple[Array, Array, Array]:
        """The eigenvalues e ≥ 1 of Z'Z, their eigenvectors, and the other eigenvectors, as columns."""
        if stage not in self._known:
            _, scale, vectors = np.linalg.svd(np.triu(self.state.rows[stage - 1, :, 1 : self.dim + 1]))
            seen = scale**2 - self.regularization
            often = seen >= 1.0 - TIE
            self._known[stage] = seen[often], vectors[often].T, vectors[~often].T
        return self._known[stage]

    def _stage(self, stage: int, X: Array, failure: float) -> tuple[Array, Array]:
        d, rows = self.dim, self.state.rows[stage - 1]
        seen, P, Q = self._parts(stage)
        total = np.triu(rows[:, 1 : d + 1]).T @ rows[:, d + 1]  # Σ r x
        C = X @ P
        mean = C @ ((P.T @ total) / seen)
        width = np.sqrt((C**2 / seen).sum(axis=1))
        error = self.noise * math.sqrt(2.0 * math.log(1.0 / failure)) * width
        return mean, error + self.norm * np.linalg.norm(X @ Q, axis=1)
