"""ALBA: Tao, Blanco and Zhou (2018), with rounded designs instead of random draws.

    pseudo-code                                                                  here
    active = all; for r = 0, 1, ...: until |active| ≤ max(1, ⌊d/2^r⌋):           pac.alba.ALBA._steps
      for s = 1, 2, ...: e = 2^-s
        λ: design for the active targets on the arms in their span, v its value  linalg.design.design
        pull ⌈λ_x N⌉ times each of these, N = 2 v R² (2/e)² lg
        lg = log(2(m − 1) (r+1)(r+2) s(s+1)/δ)
        θ̂: least squares of this phase alone; drop what is surely worse          linalg.fit.Fit.eliminate

The paper draws arms at random from λ and uses another estimator. Here the design is rounded up and the test is that of
RAGE, so that a certificate exists at every moment; its rate Σ_{i ≤ d} 1/Δ_i² is not proven again for this form.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from unipac._agents import agent
from unipac.linalg.design import RANK, Span, design
from unipac.pac.best_arm import BestArm, better
from unipac.pac.protocol.records import Steps


@agent
class ALBA(BestArm):
    """Halves the dimension of what is left, phase by phase.

    {parameters}

    {example}
    """

    def _steps(self) -> Steps:
        X, Z, best, active = self._X, self._Z, self._trivial(), np.arange(len(self._Z))
        for r in itertools.count(0):
            goal = max(1, X.shape[1] // 2**r)
            for s in itertools.count(1):
                if best[1] <= self.eps:
                    return best
                if len(active) <= goal:
                    break
                lg = math.log(2.0 * (len(active) - 1) * (r + 1) * (r + 2) * s * (s + 1) / self.delta)
                inside = self._inside(active)
                optimal = design(X[inside], Z[active])
                weights = np.zeros(len(X))
                weights[inside] = optimal.weights
                pulls = 2.0 * optimal.value * self.noise**2 * (2.0 * 2.0**s) ** 2 * lg
                fit = self._fit(*(yield from self._batch(weights, pulls, best)))
                active, answer, certificate = fit.eliminate(Z, active, lg)
                best = better(best, answer, certificate)
        raise AssertionError("the search returns inside the loop")

    def _inside(self, active: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The arms in the span of the active targets; all if they do not span it."""
        span = Span.of(self._Z[active])
        reach = RANK * np.linalg.norm(self._X, axis=1).max()
        inside: NDArray[np.bool_] = np.asarray(span.residual(self._X) <= reach)
        if np.linalg.matrix_rank(self._X[inside] @ span.basis) < span.rank:
            inside[:] = True
        return inside
