"""Least squares on pulls whose numbers were fixed before, what it proves of a direction, and elimination by it.

Given a batch that does not depend on its own noise, for one direction y and one side with probability 1 − p,

    ⟨θ̂ − θ*, y⟩ ≤ R √(2 log(1/p)) ‖y‖_{V⁻¹} + S ‖the part of y outside the span of the batch‖

as ⟨θ̂ − θ*, y⟩ = Σ a_i η_i with a_i = yᵀV⁻¹x_i and Σ a_i² = ‖y‖²_{V⁻¹} for y in the span. All is computed in the one
basis of ``design.Span``; what lies outside of it by its tolerance is a bias, not a width.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac.linalg.design import Span

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class Fit:
    """Least squares on how often each arm was pulled and what came in all."""

    def __init__(self, X: Array, counts: Integers, sums: Array, noise: float, norm: float) -> None:
        pulled = counts > 0
        self.noise, self.norm = noise, norm
        self.span = Span.of(X[pulled])
        U = self.span.arms
        self.inverse = np.linalg.inv(U.T @ (counts[pulled, None] * U))
        self.estimate = self.inverse @ (U.T @ sums[pulled])

    def mean(self, Y: Array) -> Array:
        """⟨θ̂, y⟩ of every row."""
        return np.asarray(self.span.coordinates(Y) @ self.estimate)

    def width2(self, Y: Array) -> Array:
        """‖y‖²_{V⁻¹} of every row."""
        C = self.span.coordinates(Y)
        return np.asarray(np.maximum(((C @ self.inverse) * C).sum(axis=1), 0.0))

    def upper(self, Y: Array, log_term: float) -> Array:
        """An upper bound on ⟨θ*, y⟩ for every row; each fails with probability exp(−log_term)."""
        return np.asarray(self.mean(Y) + self.error(Y, log_term))

    def error(self, Y: Array, log_term: float) -> Array:
        """By how much ⟨θ̂, y⟩ may be wrong, one side."""
        return np.asarray(
            self.noise * np.sqrt(2.0 * log_term * self.width2(Y)) + self.norm * self.span.residual(Y)
        )

    def eliminate(self, Z: Array, active: Integers, log_term: float) -> tuple[Integers, int, float]:
        """What is not surely worse than another active target, the best of it, and what that can lose.

        Strictly worse: two copies of the best must not drop each other.
        """
        kept = []
        for z in active:
            away = Z[active] - Z[z]
            if not (self.mean(away) > self.error(away, log_term)).any():
                kept.append(z)
        left = np.array(kept)
        losses = [max(0.0, float(self.upper(Z[left] - Z[z], log_term).max())) for z in left]
        best = int(np.argmin(losses))
        return left, int(left[best]), losses[best]
