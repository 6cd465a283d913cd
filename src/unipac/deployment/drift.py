"""An alarm that rings if the unknown parameter has changed; falsely, ever, with probability at most α.

    learned rounds are cut into blocks of m = 100 d; in block j ≥ 2, after every 25 rounds:
    (G₁, b₁): Σ xxᵀ and Σ xr of all rounds before the block, (G₂, b₂): of those inside so far, V_i = G_i + λI
    T = min_θ Σ_i ‖b_i − G_i θ‖²_{V_i⁻¹} / (2R²) − ½ Σ_i log det(V_i/λ);   alarm if T ≥ log(j(j + 1)/α)

For one unchanging μ*, exp(‖b_i − G_i μ*‖²_{V_i⁻¹}/(2R²)) det(V_i/λ)^{-1/2} is a mixture of supermartingales that
start at 1. The first is stopped where the block begins, which is fixed in advance; times the second it is a
supermartingale within the block, of mean at most 1. T is at most its logarithm, so by Ville's inequality block j
alarms with probability at most α/(j(j + 1)), and all of them with at most α/2. R must bound the noise; S is not needed.

With G = V − λI:  G V⁻¹ G = V − 2λI + λ² V⁻¹  and  G V⁻¹ b = b − λ V⁻¹ b.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from unipac._arrays import Array

EVERY = 25
"""Rounds between two looks."""
ROUNDS_PER_DIM = 100
"""A block has so many rounds for each dimension; a multiple of ``EVERY``."""
FLOOR = 1e-10
"""Of the eigenvalues of the normal equations, relative to their mean: directions that were never tried."""


class Drift(NamedTuple):
    """Whether the unknown parameter seems to have changed.

    >>> from unipac import Deployment, OFUL
    >>> Deployment(OFUL(2)).drift.alarm                         # nothing was learned yet
    False
    """

    alarm: bool
    """It rang, and stays so until ``restart``."""
    statistic: float
    """T at the last look, or when it rang; NaN before the second block."""
    threshold: float
    """log(j(j + 1)/α) then; infinite where there is no alarm."""
    seq: int | None
    """The event at which it rang."""


class _Side(NamedTuple):
    """What T needs of one side of the split."""

    normal: Array
    """G V⁻¹ G."""
    right: Array
    """G V⁻¹ b."""
    square: float
    """‖b‖²_{V⁻¹}."""
    logdet: float


class Alarm:
    """Learns rounds in their order; ``look`` tells what it thinks."""

    def __init__(self, dim: int, noise: float, regularization: float, alpha: float) -> None:
        self.dim, self.noise, self.regularization, self.alpha = dim, noise, regularization, alpha
        self.watches = alpha > 0.0 and noise > 0.0
        self._gram, self._total = np.zeros((2, dim, dim)), np.zeros((2, dim))
        self._X, self._y = np.zeros((EVERY, dim)), np.zeros(EVERY)
        self._filled = self._inside = 0
        self._block = 1
        self._last = Drift(False, math.nan, math.inf, None)
        self._before: _Side | None = None

    def learn(self, x: Array, y: float, seq: int) -> None:
        """One more round, and the number of the event that brought it."""
        if not self.watches or self._last.alarm:
            return
        self._X[self._filled], self._y[self._filled] = x, y
        self._filled += 1
        if self._filled == EVERY:
            self._look(seq)

    def _look(self, seq: int) -> None:
        self._gram[1] += self._X.T @ self._X
        self._total[1] += self._X.T @ self._y
        self._filled = 0
        self._inside += EVERY
        if self._block > 1:
            if self._before is None:
                self._before = self._side(0)
            statistic = self._statistic(self._before, self._side(1))
            threshold = math.log(self._block * (self._block + 1) / self.alpha)
            rings = statistic >= threshold
            self._last = Drift(rings, statistic, threshold, seq if rings else None)
        if self._inside == ROUNDS_PER_DIM * self.dim:
            self._gram[0] += self._gram[1]
            self._total[0] += self._total[1]
            self._gram[1], self._total[1] = 0.0, 0.0
            self._inside, self._before = 0, None
            self._block += 1

    def _side(self, i: int) -> _Side:
        ridge, unit = self.regularization, np.eye(self.dim)
        V, b = self._gram[i] + ridge * unit, self._total[i]
        factor, _ = lapack.dpotrf(V, lower=1)  # LAPACK itself: SciPy's checks take longer than the work
        logdet = 2.0 * float(np.log(np.diag(factor)).sum()) - self.dim * math.log(ridge)
        half, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(half) + np.tril(half, -1).T
        solved = inverse @ b
        normal = V - 2.0 * ridge * unit + ridge**2 * inverse
        return _Side(normal, b - ridge * solved, float(b @ solved), logdet)

    def _statistic(self, first: _Side, second: _Side) -> float:
        normal, right = first.normal + second.normal, first.right + second.right
        normal[np.diag_indices(self.dim)] += FLOOR * max(1.0, float(np.trace(normal)) / self.dim)
        _, solved, _ = lapack.dposv(normal, right, lower=1)
        explained = float(right @ solved)
        misfit = max(0.0, first.square + second.square - explained)
        return misfit / (2.0 * self.noise**2) - 0.5 * (first.logdet + second.logdet)

    @property
    def state(self) -> Drift:
        """What is known."""
        return self._last

    # -- files ---------------------------------------------------------------------------------

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Numbers for JSON, and arrays."""
        told = self._last
        statistic = None if math.isnan(told.statistic) else told.statistic
        threshold = None if math.isinf(told.threshold) else told.threshold
        numbers = {"block": self._block, "inside": self._inside, "filled": self._filled,
                   "last": [told.alarm, statistic, threshold, told.seq]}  # fmt: skip
        return numbers, {"gram": self._gram, "total": self._total, "X": self._X, "y": self._y}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what was saved; a ``ValueError`` if it cannot be."""
        block, inside, filled = (int(numbers[name]) for name in ("block", "inside", "filled"))
        most = ROUNDS_PER_DIM * self.dim
        if not (block >= 1 and 0 <= inside < most and inside % EVERY == 0 and 0 <= filled < EVERY):
            raise ValueError("the drift alarm is not that of any data")
        for name, held in (("gram", self._gram), ("total", self._total), ("X", self._X), ("y", self._y)):
            array = arrays[name]
            if array.shape != held.shape or array.dtype != held.dtype or not np.isfinite(array).all():
                raise ValueError("the drift alarm is not that of any data")
            held[...] = array
        self._block, self._inside, self._filled = block, inside, filled
        alarm, statistic, threshold, seq = numbers["last"]
        self._last = Drift(
            bool(alarm),
            math.nan if statistic is None else float(statistic),
            math.inf if threshold is None else float(threshold),
            None if seq is None else int(seq),
        )
