"""What an agent learns about a finite linear MDP: sums instead of stored transitions.

For stage h and level l the regression of the backward pass (Algorithm 2 lines 6-9) needs

    Σ = λI + Σ φφᵀ      kept as in ``linalg.ridge``
    Σ φ (r + V(s'))  =  Σ φ r  +  (Σ φ 1{s'}) V

so two sums suffice for every V: the cost of an episode does not depend on how many came before. Widths of
all pairs (s, a) are kept and updated by rank one. ``rule`` is that of ``linalg.levels``: SINGLE for
LSVI-UCB, DISJOINT for FLUTE, NESTED for NestedFLUTE. Stage h is entry h − 1, level l entry l − 1 of each
array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg import levels, ridge
from unipac.linalg.levels import NESTED, REFRESH_OFTEN, SINGLE, grown_array, threshold


class Counted(NamedTuple):
    """The data of H stages with room for C levels; kernels write into these arrays in place."""

    features: Array
    """(n_states, n_actions, d)."""
    rows: Array
    """(H, C, d, d + 2): factors of Σ; the place of z serves the backward pass."""
    logdet: Array
    """(H, C): log det(Σ/λ), a function of the factors."""
    beta: Array
    """(H, C): the radius, proven or not; the plan may scale it."""
    size: Integers
    """(H, C): |C_h^l|."""
    rotations: Integers
    """(H, C): rotations since M was derived from R."""
    rewards: Array
    """(H, C, d): Σ φ r."""
    arrivals: Array
    """(H, C, n_states, d): Σ φ 1{s'}."""
    width2: Array
    """(H, C, n_states, n_actions): ‖φ(s, a)‖² in the metric of Σ⁻¹."""
    first: Integers
    """(H, n_states, n_actions): the first level whose test φ(s, a) fails, S + 1 if it passes all."""


def empty(features: Array, horizon: int, capacity: int, regularization: float) -> Counted:
    """No data."""
    n_states, n_actions, d = features.shape
    counted = Counted(
        features=features,
        rows=np.zeros((horizon, capacity, d, d + 2)),
        logdet=np.zeros((horizon, capacity)),
        beta=np.zeros((horizon, capacity)),
        size=np.zeros((horizon, capacity), dtype=np.int64),
        rotations=np.zeros((horizon, capacity), dtype=np.int64),
        rewards=np.zeros((horizon, capacity, d)),
        arrivals=np.zeros((horizon, capacity, n_states, d)),
        width2=np.zeros((horizon, capacity, n_states, n_actions)),
        first=np.ones((horizon, n_states, n_actions), dtype=np.int64),
    )
    for h in range(horizon):
        open_level(counted, h, 1, SINGLE, regularization)
        find_first(counted, h, 1)
    return counted


def grown(counted: Counted, capacity: int) -> Counted:
    """The same data with room for ``capacity`` levels."""
    names = [name for name in Counted._fields if name not in ("features", "first")]
    return counted._replace(**{name: with_levels(getattr(counted, name), capacity) for name in names})


def with_levels(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """An array (H, levels, ...) with room for ``capacity`` levels, or cut to so many."""
    if capacity <= array.shape[1]:
        return np.ascontiguousarray(array[:, :capacity])
    return np.ascontiguousarray(grown_array(array.swapaxes(0, 1), capacity).swapaxes(0, 1))


class Planned(NamedTuple):
    """The data of the last plan, kept where plans are not renewed before every episode: the plan follows from it."""

    rows: Array
    """(H, C, d, d + 2)."""
    rewards: Array
    """(H, C, d)."""
    arrivals: Array
    """(H, C, n_states, d)."""
    width2: Array
    """(H, C, n_states, n_actions)."""
    levels: Integers
    """(1,): how many there were; 0 if nothing was planned yet."""


def not_planned(counted: Counted, lazy: bool) -> Planned:
    """Before the first plan; without room where every episode is planned anew."""
    kept = (counted.rows, counted.rewards, counted.arrivals, counted.width2)
    rows, rewards, arrivals, width2 = (np.zeros_like(array if lazy else array[:, :0]) for array in kept)
    return Planned(rows, rewards, arrivals, width2, np.zeros(1, dtype=np.int64))


def grown_planned(planned: Planned, capacity: int) -> Planned:
    """The same with room for ``capacity`` levels."""
    if planned.rows.shape[1] == 0:
        return planned
    rows, rewards, arrivals, width2 = (with_levels(array, capacity) for array in planned[:4])
    return Planned(rows, rewards, arrivals, width2, planned.levels)


@jit
def keep(counted: Counted, planned: Planned, h: int, lowest: int, S: int) -> None:
    """Copy the levels from ``lowest`` to S of entry h into ``planned``, as a plan is made with them."""
    for i in range(lowest - 1, min(S, planned.rows.shape[1])):
        ridge.copy(counted.rows[h, i], planned.rows[h, i])
        ridge.copy(counted.arrivals[h, i], planned.arrivals[h, i])
        ridge.copy(counted.width2[h, i], planned.width2[h, i])
        for j in range(counted.rewards.shape[2]):
            planned.rewards[h, i, j] = counted.rewards[h, i, j]


@jit
def top(counted: Counted) -> int:
    """S: the largest non-empty level of stage 1, at least 1 (Alg. 2 line 25)."""
    for level in range(counted.size.shape[1], 1, -1):
        if counted.size[0, level - 1] > 0:
            return level
    return 1


@jit
def open_level(counted: Counted, h: int, level: int, rule: int, regularization: float) -> None:
    """Prepare a level at entry h: empty, or, if levels are nested, equal to the one below."""
    rows, logdet, rotations = counted.rows[h], counted.logdet[h], counted.rotations[h]
    levels.open_level(rows, logdet, rotations, level, rule, regularization)
    new = level - 1
    if rule == NESTED:
        ridge.copy(counted.arrivals[h, new - 1], counted.arrivals[h, new])
        ridge.copy(counted.width2[h, new - 1], counted.width2[h, new])
        for j in range(counted.rewards.shape[2]):
            counted.rewards[h, new, j] = counted.rewards[h, new - 1, j]
    else:
        compute_widths(counted, h, new)


@jit
def find_first(counted: Counted, h: int, S: int) -> bool:
    """Bring ``first`` up to date after widths shrank; returns whether it changed."""
    changed = False
    n_states, n_actions, _ = counted.features.shape
    for s in range(n_states):
        for a in range(n_actions):
            level = counted.first[h, s, a]
            while level <= S and counted.width2[h, level - 1, s, a] <= threshold(level):
                level += 1
            if level != counted.first[h, s, a]:
                counted.first[h, s, a] = level
                changed = True
    return changed


@jit
def learn(
    counted: Counted,
    h: int,
    level: int,
    S: int,
    rule: int,
    regularization: float,
    s: int,
    a: int,
    reward: float,
    following: int,
    below: Array,
) -> None:
    """Add a transition to level ``level`` of entry h; ``following`` is -1 after a terminal state."""
    x = counted.features[s, a]
    last = S if rule == NESTED else level
    for i in range(level - 1, last):
        counted.rotations[h, i], counted.logdet[h, i] = levels.rotate(
            counted.rows[h, i],
            counted.rotations[h, i],
            x,
            0.0,
            1.0,
            regularization,
            REFRESH_OFTEN,
            below,
        )
        for j in range(x.size):
            counted.rewards[h, i, j] += reward * x[j]
            if following >= 0:
                counted.arrivals[h, i, following, j] += x[j]
        if counted.rotations[h, i] == 0:
            compute_widths(counted, h, i)
        else:
            _shrink_widths(counted, h, i, below)
    counted.size[h, level - 1] += 1


@jit
def compute_widths(counted: Counted, h: int, i: int) -> None:
    """The widths of all pairs at entry (h, i), from the factors."""
    n_states, n_actions, _ = counted.features.shape
    for s in range(n_states):
        for a in range(n_actions):
            _, counted.width2[h, i, s, a] = ridge.evaluate(counted.rows[h, i], counted.features[s, a])


@jit
def _shrink_widths(counted: Counted, h: int, i: int, below: Array) -> None:
    """width² −= ⟨m, φ⟩², where m is what ``ridge.add`` left of the row below."""
    n_states, n_actions, d = counted.features.shape
    for s in range(n_states):
        for a in range(n_actions):
            g = 0.0
            for j in range(d):
                g += counted.features[s, a, j] * below[j]
            if g != 0.0:
                counted.width2[h, i, s, a] = max(0.0, counted.width2[h, i, s, a] - g * g)
