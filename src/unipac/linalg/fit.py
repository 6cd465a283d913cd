"""Least squares on pulls whose numbers were fixed before, what it proves of a direction, and elimination by it.

Given a batch that does not depend on its own noise, for one direction y and one side with probability 1 − p,

    ⟨θ̂ − θ*, y⟩ ≤ R √(2 log(1/p)) ‖y‖_{V⁻¹} + S ‖the part of y outside the span of the batch‖

as ⟨θ̂ − θ*, y⟩ = Σ a_i η_i with a_i = yᵀV⁻¹x_i and Σ a_i² = ‖y‖²_{V⁻¹} for y in the span. All is computed in the one
basis of ``design.Span``; what lies outside of it by its tolerance is a bias, not a width.
"""

from __future__ import annotations

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg.design import Span


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
        mean, error = self.pairs(Z[active], Z[active], log_term)
        stays = ~(mean > error).any(axis=1)
        left = active[stays]
        losses = np.maximum((mean + error)[np.ix_(stays, stays)].max(axis=1), 0.0)
        best = int(losses.argmin())
        return left, int(left[best]), float(losses[best])

    def pairs(self, Z: Array, Y: Array, log_term: float) -> tuple[Array, Array]:
        """Estimates of ⟨θ*, y − z⟩ for every row z of Z and y of Y, and by how much they may be wrong, one side."""
        span, root = self.span, np.linalg.cholesky(self.inverse)
        to_mean, to_width = (
            span.basis @ (self.estimate / span.scale),
            span.basis @ (root / span.scale[:, None]),
        )
        scale = self.noise * np.sqrt(2.0 * log_term)
        Z, Y = np.array(Z), np.array(Y)  # what cannot be written to would be another type to the compiler
        return _pairs(Z, Y, to_mean, np.ascontiguousarray(to_width), span.basis.copy(), scale, self.norm)


@jit
def _pairs(
    Z: Array, Y: Array, to_mean: Array, to_width: Array, basis: Array, scale: float, norm: float
) -> tuple[Array, Array]:
    """Every vector is mapped by itself, so that copies have the same image and nothing lies between them."""
    a, b = _images(Z, to_mean, to_width, basis), _images(Y, to_mean, to_width, basis)
    n, m, r, size = len(Z), len(Y), to_width.shape[1], a.shape[1]
    mean, error = np.empty((n, m)), np.empty((n, m))
    for i in range(n):
        for j in range(m):
            mean[i, j] = b[j, 0] - a[i, 0]
            width2 = outside2 = 0.0
            for k in range(1, r + 1):
                width2 += (b[j, k] - a[i, k]) ** 2
            for k in range(r + 1, size):
                outside2 += (b[j, k] - a[i, k]) ** 2
            error[i, j] = scale * np.sqrt(width2) + norm * np.sqrt(outside2)
    return mean, error


@jit
def _images(Z: Array, to_mean: Array, to_width: Array, basis: Array) -> Array:
    """Of every row its estimate, what its width is the length of, and, where there is any, its part outside."""
    n, d = Z.shape
    r = to_width.shape[1]
    images = np.zeros((n, 1 + r + (d if r < d else 0)))
    for i in range(n):
        for j in range(d):
            images[i, 0] += Z[i, j] * to_mean[j]
            for k in range(r):
                images[i, 1 + k] += Z[i, j] * to_width[j, k]
        if r < d:
            for j in range(d):
                images[i, 1 + r + j] = Z[i, j]
            for k in range(r):
                along = 0.0
                for j in range(d):
                    along += Z[i, j] * basis[j, k]
                for j in range(d):
                    images[i, 1 + r + j] -= along * basis[j, k]
    return images
