"""An alarm for changes of the unknown parameter; the probability that it ever rings falsely is at most α.

    learned rounds are cut into blocks of m = 100 d; in block j ≥ 2, after every 25 rounds:
    (G₁, b₁): Σ xxᵀ and Σ xr of all rounds before the block, (G₂, b₂): of the block's rounds so far, V_i = G_i + λI
    T = min_θ [Σ_i ‖b_i − G_i θ‖²_{V_i⁻¹} + f‖θ‖²] / (2R²) − ½ Σ_i log det(V_i/λ)
    alarm if T ≥ log(j(j + 1)/α) + f S²/(2R²)

If μ* never changes, exp(‖b_i − G_i μ*‖²_{V_i⁻¹}/(2R²)) det(V_i/λ)^{-1/2} is a mixture of supermartingales that start
at 1. The first stops where the block begins, which is fixed in advance. Within the block, its product with the second
is a supermartingale of mean at most 1. At θ = μ* the minimum in T is the logarithm of this product plus f‖μ*‖²/(2R²),
and ‖μ*‖ ≤ S: T can reach the threshold only if the product reaches j(j + 1)/α. So by Ville's inequality block j alarms
with probability at most α/(j(j + 1)), and any block with at most α/2. R must bound the noise, S the norm of μ*, and the
noise of a round must have mean 0 given the rounds learned before it, as it has if they are learned in the order of
decisions; otherwise neither offers nor arrivals may depend on the noise of outstanding rewards.

f is for directions that were never tried: without it, rounding could explain any change by them. It is so small that S
matters only if R is below about 1e-10 S. The minimum is one of least squares, with V_i = L_i L_iᵀ: rows
L_i⁻¹(G_i | b_i) and √f I. Reflections reduce them to a triangle, and what remains of b is the misfit, without
differences of large numbers. All of it is compiled and runs on one thread.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import jit

EVERY = 25
"""Rounds between two tests."""
ROUNDS_PER_DIM = 100
"""Rounds of a block for each dimension; a multiple of ``EVERY``."""
FLOOR = 1e-24
"""f, relative to the mean eigenvalue of G₁, and at least that of 1."""


@jit
def add_rounds(gram: Array, total: Array, X: Array, y: Array) -> None:
    """Add the rounds to Σ xxᵀ and Σ xr."""
    for k in range(X.shape[0]):
        x = X[k]
        for i in range(x.size):
            total[i] += x[i] * y[k]
            row, x_i = gram[i], x[i]
            for j in range(x.size):
                row[j] += x_i * x[j]


@jit
def whiten(gram: Array, total: Array, regularization: float, room: Array) -> float:
    """Write (Lᵀ | L⁻¹G | L⁻¹b) into the first d rows of ``room``, (d + 1, 2d + 1); the result is log det(V/λ)."""
    d = total.size
    for i in range(d):
        for j in range(d):
            room[i, j] = room[i, d + j] = gram[i, j]
        room[i, i] += regularization
        room[i, 2 * d] = total[i]
    logdet = 0.0
    for k in range(d):
        top = room[k]
        pivot = max(top[k], regularization)  # smaller by rounding only, since V is at least λI
        logdet += math.log(pivot / regularization)
        for j in range(k, 2 * d + 1):
            top[j] /= math.sqrt(pivot)
        for i in range(k + 1, d):
            row, share = room[i], top[i]
            for j in range(i, 2 * d + 1):
                row[j] -= share * top[j]
    return logdet


@jit
def reduce(upper: Array, room: Array) -> float:
    """Add the rows L⁻¹(G | b) in ``room`` to the triangle (R | z) in ``upper``; the result is the misfit they add.

    One reflection for each column; the last row of ``room`` takes the products of the column with the others.
    """
    d = room.shape[0] - 1
    sums = room[d]
    for k in range(d):
        top = upper[k]
        squares = 0.0
        for i in range(d):
            squares += room[i, d + k] * room[i, d + k]
        if squares == 0.0:
            continue
        length = math.copysign(math.sqrt(top[k] * top[k] + squares), top[k])
        first = top[k] + length
        for j in range(k + 1, d + 1):
            sums[d + j] = first * top[j]
        for i in range(d):
            row, share = room[i], room[i, d + k]
            for j in range(d + k + 1, 2 * d + 1):
                sums[j] += share * row[j]
        scale = 2.0 / (first * first + squares)
        for j in range(k + 1, d + 1):
            sums[d + j] *= scale
            top[j] -= first * sums[d + j]
        top[k] = -length
        for i in range(d):
            row, share = room[i], room[i, d + k]
            for j in range(d + k + 1, 2 * d + 1):
                row[j] -= share * sums[j]
    misfit = 0.0
    for i in range(d):
        misfit += room[i, 2 * d] * room[i, 2 * d]
    return misfit


@jit
def open_block(gram: Array, total: Array, regularization: float, upper: Array, room: Array) -> None:
    """Write the triangle of the rounds before a block into ``upper``, (d + 1, d + 1).

    Its last row begins with log det(V₁/λ) and the misfit of these rounds alone.
    """
    d = total.size
    trace = 0.0
    for i in range(d):
        trace += gram[i, i]
        for j in range(d + 1):
            upper[i, j] = 0.0
    for i in range(d):
        upper[i, i] = math.sqrt(FLOOR * max(1.0, trace / d))
    upper[d, 0] = whiten(gram, total, regularization, room)
    upper[d, 1] = reduce(upper, room)


@jit
def split(
    gram: Array, total: Array, regularization: float, before: Array, upper: Array, room: Array
) -> tuple[float, float]:
    """The misfit of one θ for the rounds before and inside a block, and Σ_i log det(V_i/λ)."""
    d = total.size
    for i in range(d):
        for j in range(d + 1):
            upper[i, j] = before[i, j]
    logdet = whiten(gram, total, regularization, room)
    return before[d, 1] + reduce(upper, room), before[d, 0] + logdet


class Drift(NamedTuple):
    """Whether the unknown parameter seems to have changed.

    >>> from unipac import Deployment, OFUL
    >>> Deployment(OFUL(2)).drift.alarm                         # nothing was learned yet
    False
    """

    alarm: bool
    """Whether the alarm rang; it stays on until ``restart``."""
    statistic: float
    """T at the last test, or when the alarm rang; NaN before the second block."""
    threshold: float
    """log(j(j + 1)/α) + f S²/(2R²) at that test; infinite if there was none."""
    seq: int | None
    """The number of the event at which the alarm rang; None if it did not."""


class _Sums(NamedTuple):
    """All rounds but those that wait for the next test."""

    gram: Array
    """(2, d, d): Σ xxᵀ before and inside the block."""
    total: Array
    """(2, d): Σ xr."""
    block: int
    inside: int
    """Rounds inside the block."""
    before: Array | None
    """The triangle of ``open_block``; None if it is yet to be computed."""
    last: Drift


class Alarm:
    """Learns rounds in order and tests after every ``EVERY`` of them; ``state`` is the latest result."""

    def __init__(
        self, dim: int, noise: float, regularization: float, alpha: float, norm: float = 1.0
    ) -> None:
        self.dim, self.noise, self.regularization, self.alpha = dim, noise, regularization, alpha
        self.norm = norm
        self.watches = alpha > 0.0 and noise > 0.0
        self._X, self._y = np.zeros((EVERY, dim)), np.zeros(EVERY)
        self._upper, self._room = np.empty((dim + 1, dim + 1)), np.empty((dim + 1, 2 * dim + 1))
        none = Drift(False, math.nan, math.inf, None)
        self.kept = (_Sums(np.zeros((2, dim, dim)), np.zeros((2, dim)), 1, 0, None, none), 0)

    def __copy__(self) -> Alarm:
        """Another alarm that has learned the same."""
        other = Alarm(self.dim, self.noise, self.regularization, self.alpha, self.norm)
        other._X[...], other._y[...], other.kept = self._X, self._y, self.kept
        return other

    def learn(self, x: Array, y: float, seq: int) -> None:
        """Add one round; ``seq`` is the number of the event that brought it."""
        self.kept = self.after(x, y, seq)

    def after(self, x: Array, y: float, seq: int) -> tuple[_Sums, int]:
        """What ``kept`` is after one more round; nothing is learned until it is assigned."""
        sums, filled = self.kept
        if not self.watches or sums.last.alarm:
            return self.kept
        self._X[filled], self._y[filled] = x, y
        return (sums, filled + 1) if filled + 1 < EVERY else (self._looked(sums, seq), 0)

    def _looked(self, sums: _Sums, seq: int) -> _Sums:
        gram, total, (block, inside, before, last) = sums.gram.copy(), sums.total.copy(), sums[2:]
        add_rounds(gram[1], total[1], self._X, self._y)
        inside += EVERY
        if block > 1:
            if before is None:
                before = np.empty((self.dim + 1, self.dim + 1))
                open_block(gram[0], total[0], self.regularization, before, self._room)
            last = self._test(gram, total, block, before, seq)
        if inside == ROUNDS_PER_DIM * self.dim:
            gram[0] += gram[1]
            total[0] += total[1]
            gram[1], total[1] = 0.0, 0.0
            block, inside, before = block + 1, 0, None
        return _Sums(gram, total, block, inside, before, last)

    def _test(self, gram: Array, total: Array, block: int, before: Array, seq: int) -> Drift:
        misfit, logdet = split(gram[1], total[1], self.regularization, before, self._upper, self._room)
        ratio = math.sqrt(misfit) / self.noise
        statistic = min(0.5 * ratio * ratio - 0.5 * logdet, sys.float_info.max)
        floor = FLOOR * max(1.0, float(np.trace(gram[0])) / self.dim)
        most = math.sqrt(floor) * self.norm / self.noise
        threshold = math.log(block * (block + 1) / self.alpha) + 0.5 * most * most
        rings = statistic >= threshold
        return Drift(rings, statistic, threshold, seq if rings else None)

    @property
    def state(self) -> Drift:
        """The result of the last test."""
        return self.kept[0].last

    # -- files ---------------------------------------------------------------------------------

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The state for a file: numbers for JSON, and arrays."""
        sums, filled = self.kept
        last = sums.last
        statistic = None if math.isnan(last.statistic) else last.statistic
        threshold = None if math.isinf(last.threshold) else last.threshold
        numbers = {"block": sums.block, "inside": sums.inside, "filled": filled,
                   "last": [last.alarm, statistic, threshold, last.seq]}  # fmt: skip
        X, y = np.zeros_like(self._X), np.zeros_like(self._y)
        X[:filled], y[:filled] = self._X[:filled], self._y[:filled]
        return numbers, {"gram": sums.gram, "total": sums.total, "X": X, "y": y}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; raise a ``ValueError`` if no data could have led to it."""
        block, inside, filled = (int(numbers[name]) for name in ("block", "inside", "filled"))
        most = ROUNDS_PER_DIM * self.dim
        if not (block >= 1 and 0 <= inside < most and inside % EVERY == 0 and 0 <= filled < EVERY):
            raise ValueError("the drift alarm is not that of any data")
        sums = self.kept[0]
        for name, held in (("gram", sums.gram), ("total", sums.total), ("X", self._X), ("y", self._y)):
            array = arrays[name]
            if array.shape != held.shape or array.dtype != held.dtype or not np.isfinite(array).all():
                raise ValueError("the drift alarm is not that of any data")
        self._X[...], self._y[...] = arrays["X"], arrays["y"]
        alarm, statistic, threshold, seq = numbers["last"]
        last = Drift(
            bool(alarm),
            math.nan if statistic is None else float(statistic),
            math.inf if threshold is None else float(threshold),
            None if seq is None else int(seq),
        )
        gram, total = (np.array(arrays[name], order="C") for name in ("gram", "total"))
        self.kept = (_Sums(gram, total, block, inside, None, last), filled)


def alarm_for(agent: Any, alpha: float) -> Alarm:
    """A new alarm under the assumptions of an agent; without a scale of the noise it watches nothing."""
    noise, ridge = getattr(agent, "noise", 0.0), getattr(agent, "regularization", 1.0)
    return Alarm(agent.dim, noise, ridge, alpha, getattr(agent, "norm", 1.0))
