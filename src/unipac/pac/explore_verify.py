"""Explore-Verify: the framework of Karnin (2016), with RAGE as explorer.

    pseudo-code                                                               here
    for i = 1, 2, ...:                                                        pac.explore_verify.ExploreVerify._steps
      ẑ: RAGE at max(κ/i², δ), κ = 0.1; gaps ĝ by least squares on its pulls  pac.rage.RAGE._explore
      λ = argmin max_{x ≠ ẑ} ‖ẑ − x‖²_{A(λ)⁻¹}/ĝ_x², v its value              linalg.design.design
      pull ⌈λ_x N⌉ fresh times, N = 1.1 v R² (√(2 lg) + √(2 log 2n))², lg = log(i(i+1)/δ)
      accept ẑ if max_x ⟨θ̂, x − ẑ⟩ + R ‖x − ẑ‖_{V⁻¹} √(2 lg) ≤ ε

A wrong ẑ is accepted only if the noise of the fresh pulls makes it beat one fixed arm, the best. That is a one-sided
bound in one direction: no union over arms is needed, and a small δ is cheap.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.linalg.design import design
from unipac.linalg.fit import Fit
from unipac.pac.best_arm import better
from unipac.pac.protocol.records import Request, Steps
from unipac.pac.rage import RAGE


@agent
class ExploreVerify(RAGE):
    """Finds a candidate at low confidence, then verifies it with fresh pulls.

    {parameters}

    {example}
    """

    explore_delta: float = parameter(
        default=0.1, check=check.probability, words="κ, how often the explorer may err"
    )

    def _steps(self) -> Steps:
        Z, best = self._Z, self._trivial()
        for i in itertools.count(1):
            if best[1] <= self.eps:
                break
            counts, sums = np.zeros(len(self._X), dtype=np.int64), np.zeros(len(self._X))
            explorer, results = self._explore(max(self.explore_delta / i**2, self.delta)), None
            while True:
                try:
                    request = explorer.send(results)  # None starts it
                except StopIteration as end:
                    guess = end.value[0]
                    break
                results = yield Request(request.arms, request.counts, *best)
                counts[request.arms] += request.counts
                sums[request.arms] += results
            lg = math.log(i * (i + 1) / self.delta)
            weights, value = self._verifying(self._fit(counts, sums), guess)
            pulls = 1.1 * self.noise**2 * value
            pulls *= (math.sqrt(2.0 * lg) + math.sqrt(2.0 * math.log(2.0 * len(Z)))) ** 2
            fit = self._fit(*(yield from self._batch(weights, pulls, best)))
            best = better(best, guess, max(0.0, float(fit.upper(Z - Z[guess], lg).max())))
        return best

    def _verifying(self, fit: Fit, guess: int) -> tuple[NDArray[np.float64], float]:
        """The design that separates the candidate from each other target, as far as their estimated gap demands."""
        away = self._Z[guess] - np.delete(self._Z, guess, axis=0)
        away = away[(away != 0.0).any(axis=1)]
        gaps = np.maximum(fit.mean(away), self.noise * np.sqrt(fit.width2(away))) + self.eps
        gaps = np.maximum(gaps, 1e-9 * self.norm * np.linalg.norm(away, axis=1))
        optimal = design(self._X, away / gaps[:, None])
        return optimal.weights, optimal.value
