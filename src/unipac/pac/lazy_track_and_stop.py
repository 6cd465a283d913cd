"""LazyTrackAndStop: track the optimal proportions, improved by one step a round; after Jedra and Proutiere (2020).

    pseudo-code                                                     here
    w = 1/n; for t = 0, 1, ...: θ̂ by ridge regression on all pulls  pac.lazy_track_and_stop.LazyTrackAndStop._steps
      stop as LinGapE: max_j ⟨θ̂, z_j − z_i⟩ + C ‖z_j − z_i‖_{V⁻¹} ≤ ε, i = argmax ⟨θ̂, z_i⟩
      pull the rarest arm if it has fewer than √t/(2n) pulls; else
        y = z_i − z_j with the largest ‖y‖²_{A(w)⁻¹}/⟨θ̂, y⟩²
        w ← 0.98 w + 0.02 e_x,  x = argmax (xᵀA(w)⁻¹y)²
        pull argmin_x (count_x − t w_x)
    C = √(R² [log det(V/λ) + 2 log(1/δ)] + λS²)                     theory.radii.mixture

The certificate rests on the mixture bound alone, whatever is pulled. The paper's step for w is larger.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.linalg.design import Span
from unipac.linalg.soundness import check_ratio
from unipac.pac.best_arm import BestArm, better
from unipac.pac.protocol.records import Request, Steps
from unipac.theory import radii


@agent
class LazyTrackAndStop(BestArm):
    """Follows the proportions that are best for the estimated parameter.

    {parameters}

    {example}
    """

    regularization: float = declare.regularization()
    step: float = parameter(default=0.02, check=check.probability, words="how far w moves in a round")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ratio(self.regularization, float(np.linalg.norm(self._X, axis=1).max()))

    def _steps(self) -> Steps:
        X, Z, best = self._X, self._Z, self._trivial()
        n, d = X.shape
        span = Span.of(X)
        U, W = span.arms, span.coordinates(Z)
        V, b = self.regularization * np.eye(d), np.zeros(d)
        weights, counts = np.full(n, 1.0 / n), np.zeros(n)
        for t in itertools.count():
            theta, i, certificate = self._look(V, b)
            best = better(best, i, certificate)
            if best[1] <= self.eps:
                break
            k = int(counts.argmin())
            if counts[k] >= math.sqrt(t) / (2 * n):
                inverse = np.linalg.inv(U.T @ (weights[:, None] * U))
                away = W[i] - W
                gaps = np.maximum(np.maximum((Z[i] - Z) @ theta, 0.0) + self.eps, 1e-12)
                ratio = ((away @ inverse) * away).sum(axis=1) / gaps**2
                ratio[i] = -1.0
                y = away[int(ratio.argmax())]
                weights = (1.0 - self.step) * weights
                weights[int(((U @ inverse @ y) ** 2).argmax())] += self.step
                k = int((counts - t * weights).argmin())
            (reward,) = yield Request([k], [1], *best)
            V += np.outer(X[k], X[k])
            b += reward * X[k]
            counts[k] += 1
        return best

    def _look(self, V: Array, b: Array) -> tuple[Array, int, float]:
        """The estimate, the best target under it, and how much that can lose."""
        inverse = np.linalg.inv(V)
        theta: Array = np.asarray(np.linalg.solve(V, b), dtype=np.float64)
        logdet = float(np.linalg.slogdet(V / self.regularization)[1])
        C = radii._mixture(max(logdet, 0.0), self.delta, self.noise, self.norm, self.regularization)
        i = int((self._Z @ theta).argmax())
        away = self._Z - self._Z[i]
        loss = away @ theta + C * np.sqrt(np.maximum(((away @ inverse) * away).sum(axis=1), 0.0))
        return theta, i, max(0.0, float(loss.max()))
