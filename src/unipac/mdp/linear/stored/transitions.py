"""Stored transitions of one stage, and what they say of the next one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import jit

INITIAL_ROUNDS = 64

CHUNK = 2**15
"""Numbers in the features of the transitions that are worked on at once: 256 KiB, within a cache."""


class Estimates(NamedTuple):
    """The outcome of a backward pass, from which Q follows for any features."""

    factors: Array
    """(H, C, d, d): M of each level when it was last planned with."""
    w: Array
    """(H, C, d)."""
    beta: Array
    """(H, C)."""
    logdet: Array
    """(H, C)."""


class Rounds:
    """Transitions of one stage; if levels are disjoint, of one level."""

    def __init__(self, n_actions: int, dim: int) -> None:
        self.count = 0
        self.taken = np.empty((INITIAL_ROUNDS, dim))
        self.following = np.empty((INITIAL_ROUNDS, n_actions, dim))
        self.level = np.empty(INITIAL_ROUNDS, dtype=np.int64)
        self.widths: list[Array] = []
        """Of the following features in each level of the next stage."""
        self.fresh: list[int] = []
        """How many transitions have the widths of the current Σ."""
        self.planned = 0
        """How many there were at the last plan."""

    def append(self, taken: Array, following: Array, level: int) -> None:
        """Store a transition."""
        if self.count == len(self.level):
            self._reserve(2 * self.count)
        self.taken[self.count] = taken
        self.following[self.count] = following
        self.level[self.count] = level
        self.count += 1

    def fill(self, taken: Array, following: Array, level: NDArray[np.int64]) -> None:
        """Take over transitions, which were found sound."""
        self.count = len(level)
        self.taken, self.following, self.level = taken.copy(), following.copy(), level.copy()
        self._reserve(max(INITIAL_ROUNDS, self.count))

    def check_widths(self, i: int, M: Array) -> None:
        """Refuse widths of level i + 1 that are not those of the factor M."""
        x = self.following[: self.planned]
        right = np.sqrt(((x @ M.T) ** 2).sum(axis=-1))
        if not np.allclose(self.widths[i][: self.planned], right, rtol=1e-6, atol=1e-300):
            raise ValueError("widths are not those of the data")

    def forget_widths(self, first: int, last: int) -> None:
        """Levels ``first`` to ``last`` of the next stage have changed."""
        for i in range(first - 1, min(last, len(self.fresh))):
            self.fresh[i] = 0

    def _reserve(self, capacity: int) -> None:
        def more(array: NDArray[Any]) -> NDArray[Any]:
            larger = np.empty((capacity, *array.shape[1:]), dtype=array.dtype)
            larger[: self.count] = array[: self.count]
            return larger

        self.taken = more(self.taken)
        self.following = more(self.following)
        self.level = more(self.level)
        self.widths = [more(width) for width in self.widths]

    def value_sums(
        self, h: int, estimates: Estimates, cap: float, centre: float, low: int, top: int, nested: bool
    ) -> Array:
        """Σ φ V^l for l = low, ..., top, with V from the estimates at entry h, the stage that follows.

        If ``nested``, the sum of level l is over the transitions up to that level, else over all.
        """
        n_actions, d = self.following.shape[1:]
        while len(self.widths) < top:
            self.widths.append(np.empty((len(self.level), n_actions)))
            self.fresh.append(0)
        w = estimates.w[h, :top]
        size = max(1, CHUNK // (n_actions * d))
        scratch = np.empty(size * n_actions * d)
        sums = np.zeros((top - low + 1, d))
        for begin in range(0, self.count, size):
            end = min(begin + size, self.count)
            values = np.empty((top - low + 1, end - begin))
            least = np.full((end - begin, n_actions), math.inf)
            columns = np.ascontiguousarray(self.following[begin:end].reshape(-1, d).T)
            means = np.empty((top, columns.shape[1]))
            _means(w, columns, centre, means)
            for i in range(top):
                first = max(begin, self.fresh[i])
                if first < end:
                    x = self.following[first:end].reshape(-1, d)
                    u = scratch[: x.size].reshape(d, len(x))
                    np.matmul(estimates.factors[h, i], x.T, out=u)
                    _norms(u, self.widths[i][first:end].reshape(-1))
                width = self.widths[i][begin:end]
                _least_value(means[i], width, estimates.beta[h, i], cap, least, values[max(0, i + 1 - low)])
            if nested:
                values[self.level[begin:end] > np.arange(low, top + 1)[:, None]] = 0.0
            _add_products(values, self.taken[begin:end], sums)
        for i in range(top):
            self.fresh[i] = self.count
        self.planned = self.count
        return sums


@jit
def _means(w: Array, columns: Array, centre: float, means: Array) -> None:
    """The centre plus the products w @ columns, each of them summed in the order of its terms.

    So that a plan has the same bits whenever it is made, however many levels and transitions there are besides:
    those of a BLAS depend on the shape. The same holds for ``_add_products``.
    """
    d, n = columns.shape
    for i in range(w.shape[0]):
        for k in range(n):
            means[i, k] = centre
        j = 0
        while j + 4 <= d:
            for k in range(n):
                mean = means[i, k] + w[i, j] * columns[j, k]
                mean += w[i, j + 1] * columns[j + 1, k]
                mean += w[i, j + 2] * columns[j + 2, k]
                means[i, k] = mean + w[i, j + 3] * columns[j + 3, k]
            j += 4
        while j < d:
            for k in range(n):
                means[i, k] += w[i, j] * columns[j, k]
            j += 1


@jit
def _add_products(values: Array, taken: Array, sums: Array) -> None:
    """Add values @ taken to the sums, row after row."""
    for i in range(values.shape[0]):
        for k in range(taken.shape[0]):
            value = values[i, k]
            for j in range(taken.shape[1]):
                sums[i, j] += value * taken[k, j]


@jit
def _norms(u: Array, norms: Array) -> None:
    """Of the columns of u; row by row, which the compiler turns into vector instructions."""
    for k in range(norms.size):
        norms[k] = 0.0
    for r in range(u.shape[0]):
        for k in range(norms.size):
            norms[k] += u[r, k] * u[r, k]
    for k in range(norms.size):
        norms[k] = math.sqrt(norms[k])


@jit
def _least_value(mean: Array, width: Array, beta: float, cap: float, least: Array, value: Array) -> None:
    """Lower ``least`` (n, n_actions) to Q = clip(mean + β width, 0, cap); its largest entries are V."""
    n, n_actions = least.shape
    for k in range(n):
        best = 0.0
        for a in range(n_actions):
            q = min(max(mean[k * n_actions + a] + beta * width[k, a], 0.0), cap)
            q = min(q, least[k, a])
            least[k, a] = q
            best = max(best, q)
        value[k] = best
