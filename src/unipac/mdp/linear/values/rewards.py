"""Rewards that are linear in the features and without noise: recovered from few, with a bound on every rounding error.

A visited feature has its observed reward. For the others, orthonormal directions e_j of those visited are kept, with
ρ_j = ⟨e_j, μ⟩ up to err_j. With c_j = ⟨x, e_j⟩ and the rest v of x, both in two passes of Gram-Schmidt, and rounding
s = 8 d u (1 + Σ|c_j|), u the distance of 1 to the next float:

    |⟨x, μ⟩ − c ρ| ≤ |c| err + (‖v‖ + s) √(d − Σ (|ρ_j| − err_j)₊²) + s √d        as ‖μ‖² ≤ d
    a visited x with ‖v‖ > 1e-7 gives ρ = (r − c ρ)/‖v‖, err = (|c| err + 2 s √d)/‖v‖, kept if err ≤ 0.1

Blocks have directions of their own; a block of one feature has at most one, which only adds to Σ (|ρ_j| − err_j)₊².
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.mdp.linear.values.blocks import Layout

ROUNDING = float(8.0 * np.finfo(np.float64).eps)
SHORTEST = 1e-7
LARGEST_ERROR = 0.1


class Rewards(NamedTuple):
    """The rewards of H stages; all fields but the first two follow from these two."""

    order: Integers
    """(H, N): 1 for the feature that was visited first, then 2, 3, ...; 0 if not visited."""
    observed: Array
    """(H, N)."""
    basis: Array
    """(H, B, D, D): rows e_j."""
    value: Array
    """(H, B, D): ρ."""
    error: Array
    """(H, B, D)."""
    directions: Integers
    """(H, B)."""
    spent: Array
    """(H,): Σ (|ρ_j| − err_j)₊² over all blocks."""


def no_rewards(layout: Layout, horizon: int) -> Rewards:
    """Before the first reward."""
    N, D = layout.x.shape
    B = len(layout.sizes)
    return Rewards(
        np.zeros((horizon, N), dtype=np.int64),
        np.zeros((horizon, N)),
        np.zeros((horizon, B, D, D)),
        np.zeros((horizon, B, D)),
        np.zeros((horizon, B, D)),
        np.zeros((horizon, B), dtype=np.int64),
        np.zeros(horizon),
    )


@jit
def _project(rewards: Rewards, h: int, b: int, x: Array, c: Array, v: Array) -> None:
    """Coefficients c of x in the directions of a block, and the rest v."""
    E = rewards.basis[h, b]
    for j in range(x.size):
        c[j], v[j] = 0.0, x[j]
    for _ in range(2):
        for i in range(rewards.directions[h, b]):
            more = 0.0
            for j in range(x.size):
                more += E[i, j] * v[j]
            c[i] += more
            for j in range(x.size):
                v[j] -= more * E[i, j]


@jit
def _sums(rewards: Rewards, layout: Layout, dim: int, h: int, x: int) -> tuple[float, float, float, float]:
    """(c ρ, |c| err, ‖v‖, s) of a feature."""
    b = layout.block[x]
    if b < 0:
        return 0.0, 0.0, layout.norm[x], ROUNDING * dim
    D = layout.x.shape[1]
    c, v = np.empty(D), np.empty(D)
    _project(rewards, h, b, layout.x[x], c, v)
    mean, error, length, total = 0.0, 0.0, 0.0, 0.0
    for j in range(D):
        mean += c[j] * rewards.value[h, b, j]
        error += abs(c[j]) * rewards.error[h, b, j]
        length += v[j] * v[j]
        total += abs(c[j])
    return mean, error, math.sqrt(length), ROUNDING * dim * (1.0 + total)


@jit
def reward_bounds(rewards: Rewards, layout: Layout, dim: int, h: int, x: int) -> tuple[float, float]:
    """A lower and an upper bound on the reward of a feature."""
    if rewards.order[h, x] > 0:
        return rewards.observed[h, x], rewards.observed[h, x]
    mean, error, length, s = _sums(rewards, layout, dim, h, x)
    room = error + (length + s) * math.sqrt(max(dim - rewards.spent[h], 0.0)) + s * math.sqrt(dim)
    return max(0.0, mean - room), min(1.0, mean + room)


@jit
def learn_reward(rewards: Rewards, layout: Layout, dim: int, h: int, x: int, reward: float) -> None:
    """Record the reward of a feature that was not visited before."""
    rewards.order[h, x] = rewards.order[h].max() + 1
    rewards.observed[h, x] = reward
    mean, error, length, s = _sums(rewards, layout, dim, h, x)
    if length <= SHORTEST:
        return
    error = (error + 2.0 * s * math.sqrt(dim)) / length
    if error > LARGEST_ERROR:
        return
    value = (reward - mean) / length
    rewards.spent[h] += max(abs(value) - error, 0.0) ** 2
    b = layout.block[x]
    if b >= 0:
        D = layout.x.shape[1]
        c, v = np.empty(D), np.empty(D)
        _project(rewards, h, b, layout.x[x], c, v)
        i = rewards.directions[h, b]
        for j in range(D):
            rewards.basis[h, b, i, j] = v[j] / length
        rewards.value[h, b, i], rewards.error[h, b, i] = value, error
        rewards.directions[h, b] = i + 1


def recovered(order: Integers, observed: Array, layout: Layout, dim: int) -> Rewards:
    """The rewards that follow from what was observed, in its order; a ``ValueError`` if that is no order."""
    rewards = no_rewards(layout, len(order))
    if order.shape != rewards.order.shape or observed.shape != order.shape:
        raise ValueError("rewards are not those of so many features")
    if not (((observed >= 0.0) & (observed <= 1.0)).all() and (observed[order == 0] == 0.0).all()):
        raise ValueError("rewards are not in reward_range")
    for h in range(len(order)):
        visited = np.argsort(order[h], kind="stable")[int((order[h] == 0).sum()) :]
        if not np.array_equal(order[h, visited], np.arange(1, len(visited) + 1)):
            raise ValueError("rewards have no order")
        for x in visited:
            learn_reward(rewards, layout, dim, h, int(x), float(observed[h, x]))
    return rewards
