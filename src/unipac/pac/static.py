"""A path of pulls that does not depend on rewards, tested now and then: shared by GAllocation and XYStatic.

    pseudo-code (Soare, Lazaric and Munos 2014, section 4)                            here
    pull r independent arms once; then x_t = argmin_x max_{y ∈ Y} ‖y‖²_{(A + xxᵀ)⁻¹}  pac.static.StaticSearch._steps
    at times that grow by 1.1, the i-th time: ẑ = argmax ⟨θ̂, z⟩; stop with it if
      max_z ⟨θ̂, z − ẑ⟩ + R ‖z − ẑ‖_{A⁻¹} √(2 lg) ≤ ε,  lg = log((m − 1) π² i²/(6 δ))

Ties of the argmin are broken at random: the first of them would be pulled for ever if it did not shrink the widest
direction. The seed fixes the path, so the bound for one direction holds. A wrong ẑ must beat the one best target, so
m − 1 one-sided bounds are enough; the 6/(π² i²) sum to one. The paper tests every round with a larger constant.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.linalg.design import Span
from unipac.pac.best_arm import BestArm, better
from unipac.pac.protocol.records import Request, Steps

TIED = 1e-9
"""Values as close to the least as this, relative to it, are tied with it."""


@agent
class StaticSearch(BestArm):
    """Pulls arms in an order fixed beforehand; the algorithms choose the directions to estimate.

    {parameters}
    """

    seed: int = declare.seed("for breaking ties")
    growth: float = parameter(
        default=1.1,
        check=check.positive,
        words="factor between the times of two tests, above 1, at most 10",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check.require(1.0 < self.growth <= 10.0, "growth", "above 1 and at most 10", self.growth)

    def _directions(self) -> Array:
        raise NotImplementedError

    def _steps(self) -> Steps:
        X, Z, best, rng = self._X, self._Z, self._trivial(), np.random.default_rng(self.seed)
        span = Span.of(X)
        U, Y = span.arms, span.coordinates(self._directions())
        counts, sums = np.zeros(len(X), dtype=np.int64), np.zeros(len(X))
        asked = _independent(X @ span.basis)
        for i in itertools.count(1):
            if best[1] <= self.eps:
                break
            arms = np.flatnonzero(asked)
            sums[arms] += yield Request(arms, asked[arms], *best)
            counts += asked
            fit = self._fit(counts, sums)
            lg = math.log((len(Z) - 1) * math.pi**2 * i**2 / (6.0 * self.delta))
            guess = int(fit.mean(Z).argmax())
            best = better(best, guess, max(0.0, float(fit.upper(Z - Z[guess], lg).max())))
            done = int(counts.sum())
            asked = _path(U, Y, counts, max(1, math.ceil(self.growth * done) - done), rng)
        return best


def _independent(U: Array) -> NDArray[np.int64]:
    """One pull of each of r arms that span all: the longest, then always the farthest from the span so far."""
    counts, left = np.zeros(len(U), dtype=np.int64), U.copy()
    for _ in range(U.shape[1]):
        k = int((left**2).sum(axis=1).argmax())
        counts[k] += 1
        along = left[k] / np.linalg.norm(left[k])
        left = left - np.outer(left @ along, along)
    return counts


def _path(
    U: Array, Y: Array, counts: NDArray[np.int64], pulls: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The next pulls; each leaves the widest direction as narrow as possible."""
    asked = np.zeros_like(counts)
    inverse = np.linalg.inv(U.T @ (counts[:, None] * U))
    for _ in range(pulls):
        half = Y @ inverse
        before = (half * Y).sum(axis=1)[:, None]
        after = (before - (half @ U.T) ** 2 / (1.0 + ((U @ inverse) * U).sum(axis=1))).max(axis=0)
        k = rng.choice(np.flatnonzero(after <= after.min() * (1.0 + TIED)))
        u = inverse @ U[k]
        inverse = inverse - np.outer(u, u) / (1.0 + U[k] @ u)
        asked[k] += 1
    return asked
