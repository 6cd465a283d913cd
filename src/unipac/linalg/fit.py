"""Least squares on a batch of pulls that was fixed beforehand: one-sided error bounds, and elimination by them.

If the batch does not depend on its own noise, then for one direction y and one side, with probability 1 − p,

    ⟨θ̂ − θ*, y⟩ ≤ R √(2 log(1/p)) ‖y‖_{V⁻¹} + S ‖the part of y outside the span of the batch‖

as ⟨θ̂ − θ*, y⟩ = Σ a_i η_i with a_i = yᵀV⁻¹x_i and Σ a_i² = ‖y‖²_{V⁻¹} for y in the span. Everything is computed in the
basis of ``design.Span``. Parts outside the span, up to its tolerance, enter as a bias and not as a width.
"""

from __future__ import annotations

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg.design import Span


class Fit:
    """Least squares on the number of pulls of each arm and the sum of its rewards."""

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
        """A one-sided bound on the error of ⟨θ̂, y⟩ for every row; each fails with probability exp(−log_term)."""
        return np.asarray(
            self.noise * np.sqrt(2.0 * log_term * self.width2(Y)) + self.norm * self.span.residual(Y)
        )

    def eliminate(self, Z: Array, active: Integers, log_term: float) -> tuple[Integers, int, float]:
        """The targets that no active target surely beats, the best of them, and a bound on its loss.

        To beat means to be strictly better: two copies of the best target must not eliminate each other.
        """
        mean, error = self.pairs(Z[active], Z[active], log_term)
        stays = ~(mean > error).any(axis=1)
        left = active[stays]
        losses = np.maximum((mean + error)[np.ix_(stays, stays)].max(axis=1), 0.0)
        best = int(losses.argmin())
        return left, int(left[best]), float(losses[best])

    def pairs(self, Z: Array, Y: Array, log_term: float) -> tuple[Array, Array]:
        """Estimates of ⟨θ*, y − z⟩ for every row z of Z and y of Y, and one-sided bounds on their errors."""
        span, root = self.span, np.linalg.cholesky(self.inverse)
        to_mean, to_width = (
            span.basis @ (self.estimate / span.scale),
            span.basis @ (root / span.scale[:, None]),
        )
        scale = self.noise * np.sqrt(2.0 * log_term)
        Z, Y = np.array(Z), np.array(Y)  # to Numba, read-only arrays would be another type
        mean, error = np.empty((len(Z), len(Y))), np.empty((len(Z), len(Y)))
        maps = to_mean, np.ascontiguousarray(to_width), span.basis.copy()
        _pairs(Z, Y, *maps, scale, self.norm, mean, error)
        return mean, error


@jit
def _pairs(
    Z: Array,
    Y: Array,
    to_mean: Array,
    to_width: Array,
    basis: Array,
    scale: float,
    norm: float,
    mean: Array,
    error: Array,
) -> None:
    """Write means and errors of all pairs; vectors are mapped one by one, so that copies differ by exactly 0."""
    a, b = _images(Z, to_mean, to_width, basis), _images(Y, to_mean, to_width, basis)
    n, m, r, size = len(Z), len(Y), to_width.shape[1], a.shape[1]
    for i in range(n):
        for j in range(m):
            mean[i, j] = b[j, 0] - a[i, 0]
            width2 = outside2 = 0.0
            for k in range(1, r + 1):
                width2 += (b[j, k] - a[i, k]) ** 2
            for k in range(r + 1, size):
                outside2 += (b[j, k] - a[i, k]) ** 2
            error[i, j] = scale * np.sqrt(width2) + norm * np.sqrt(outside2)


@jit
def _images(Z: Array, to_mean: Array, to_width: Array, basis: Array) -> Array:
    """For every row: its mean, a vector whose length is its width, and, if r < d, its part outside the span."""
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
