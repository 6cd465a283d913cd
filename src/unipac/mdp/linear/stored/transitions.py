"""Stored transitions, what they contribute to the stage before, and the choice of actions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg.levels import level_in
from unipac.mdp.linear.counted.sums import Counted

INITIAL_ROUNDS = 64

CHUNK = 2**15
"""How many entries of features are processed at once: 256 KiB, which fits into a cache."""


class Estimates(NamedTuple):
    """The outcome of a backward pass, from which Q follows for any features."""

    factors: Array
    """(H, C, d, d): M of each level when it was last planned."""
    w: Array
    """(H, C, d)."""
    beta: Array
    """(H, C)."""
    logdet: Array
    """(H, C)."""


class Rounds:
    """Room for the transitions of one stage, or of one of its levels if they are disjoint; the caller counts them."""

    def __init__(self, n_actions: int, dim: int) -> None:
        self.taken = np.empty((INITIAL_ROUNDS, dim))
        self.following = np.empty((INITIAL_ROUNDS, n_actions, dim))
        self.level = np.empty(INITIAL_ROUNDS, dtype=np.int64)
        self.widths: list[Array] = []
        """Of the following features in each level of the next stage."""

    def place(self, count: int, taken: Array, following: Array, level: int) -> None:
        """Write a transition behind the first ``count``; it is not counted yet."""
        if count == len(self.level):
            self._reserve(count, 2 * count)
        self.taken[count] = taken
        self.following[count] = following
        self.level[count] = level

    def fill(self, taken: Array, following: Array, level: Integers) -> None:
        """Take over transitions that were checked."""
        self.taken, self.following, self.level = taken, following, level
        self._reserve(len(level), max(INITIAL_ROUNDS, len(level)))

    def _reserve(self, count: int, capacity: int) -> None:
        def more(array: NDArray[Any]) -> NDArray[Any]:
            larger = np.empty((capacity, *array.shape[1:]), dtype=array.dtype)
            larger[:count] = array[:count]
            return larger

        arrays = more(self.taken), more(self.following), more(self.level), [*map(more, self.widths)]
        self.taken, self.following, self.level, self.widths = arrays

    def value_sums(
        self,
        count: int,
        fresh: Integers,
        h: int,
        estimates: Estimates,
        cap: float,
        centre: float,
        low: int,
        top: int,
        nested: bool,
    ) -> Array:
        """Σ φ V^l for l = low, ..., top, with V from the estimates at entry h, the stage that follows.

        If ``nested``, the sum of level l is over the transitions up to that level, else over all. Before the
        call, the first ``fresh`` of ``count`` transitions have the widths of the current Σ, by level; after it, all.
        """
        n_actions, d = self.following.shape[1:]
        while len(self.widths) < top:
            self.widths.append(np.empty((len(self.level), n_actions)))
        w = estimates.w[h, :top]
        size = max(1, CHUNK // (n_actions * d))
        scratch = np.empty(size * n_actions * d)
        sums = np.zeros((top - low + 1, d))
        for begin in range(0, count, size):
            end = min(begin + size, count)
            values = np.empty((top - low + 1, end - begin))
            least = np.full((end - begin, n_actions), math.inf)
            columns = np.ascontiguousarray(self.following[begin:end].reshape(-1, d).T)
            means = np.empty((top, columns.shape[1]))
            _means(w, columns, centre, means)
            for i in range(top):
                first = max(begin, int(fresh[i]))
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
        fresh[:top] = count
        return sums


class State(NamedTuple):
    """What was learned of H stages, with room for C levels, and the last plan; G groups of transitions per stage."""

    data: Counted
    """The sums that do not depend on states, as for an MDP without any."""
    rounds: list[list[Rounds]]
    """H − 1 times G: by stage and, if levels are disjoint, by level."""
    counts: Integers
    """(H − 1, G): transitions of each group."""
    fresh: Integers
    """(H − 1, G, C): how many of them have the widths of the current Σ in each level of the next stage."""
    dirty: Integers
    """(H,): the lowest level changed since the last plan."""
    levels: Integers
    """(2,): S, and the levels of the last plan."""
    estimates: Estimates
    planned_rows: Array
    """(H, P, d, d + 2): those of the last plan, P = 0 before the first one."""
    planned_rewards: Array
    """(H, P, d)."""
    planned_counts: Integers
    """(H − 1, G): transitions at the last plan."""


@jit
def _means(w: Array, columns: Array, centre: float, means: Array) -> None:
    """The centre plus the products w @ columns, each of them summed in the order of its terms.

    This gives a plan the same bits whenever it is made, whatever other levels and transitions there are; the bits
    of a BLAS depend on the shape. The same holds for ``_add_products``.
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
    """Fill the norms of the columns of u, row by row: the compiler turns that into vector instructions."""
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


@jit
def fill_q_values(estimates: Estimates, h: int, phi: Array, cap: float, centre: float, q: Array) -> None:
    """Q of the first levels into ``q`` (levels, n_actions)."""
    d = phi.shape[1]
    for i in range(q.shape[0]):
        for a in range(q.shape[1]):
            mean = centre
            width2 = 0.0
            for r in range(d):
                u = 0.0
                for j in range(r + 1):
                    u += estimates.factors[h, i, r, j] * phi[a, j]
                width2 += u * u
                mean += estimates.w[h, i, r] * phi[a, r]
            q[i, a] = min(max(mean + estimates.beta[h, i] * math.sqrt(width2), 0.0), cap)


@jit
def choose(
    data: Counted, estimates: Estimates, h: int, phi: Array, previous: int, cap: float, centre: float
) -> tuple[int, int]:
    """The greedy action at entry h and the level of the stage, given that of the stage before (lines 16-22)."""
    n_actions = phi.shape[0]
    q = np.empty((max(1, previous - 1), n_actions))
    fill_q_values(estimates, h, phi, cap, centre, q)
    best = 0
    highest = -math.inf
    for a in range(n_actions):
        least = math.inf
        for i in range(q.shape[0]):
            least = min(least, q[i, a])
        if least > highest:
            best = a
            highest = least
    return best, level_in(data.rows[h], phi[best], previous - 1)
