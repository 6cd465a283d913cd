"""The backward pass that all agents share, and the policy that comes out of it.

    Alg. 2 lines 3-15, for h = H, ..., 1 and levels l = 1, ..., S:
        w = Σ⁻¹ [Σ φ (r − c) + (Σ φ 1{s'}) V_{h+1}^l]          c = centre_h, 0 as printed
        Q_h^l(s, a) = clip(c + ⟨w, φ⟩ + β ‖φ‖_{Σ⁻¹}, 0, cap_h)
        V_h^l(s) = max_a min_{i ≤ l} Q_h^i(s, a)

    lines 16-22: the action at stage h is greedy for min_{i ≤ m} Q_h^i with m = max(1, l_{h-1} − 1), and the
    level of the stage is l_h = min(first failing level, l_{h-1}).

Since l_{h-1} depends on the path, the policy depends on (state, level): at (s, p) the next level is min(first, p).

A lower bound on the value of that policy: the radius "finite" bounds the error of the regression for *every* V from
states to [0, H − h] at once, so also for a V_low that depends on the data and on the policy:

    V_low_h(s, p) = max_{i ≤ S} c + ⟨w, φ(s, a)⟩ − β_i ‖φ(s, a)‖_{Σ_i⁻¹},  w from level i with the target
    V_low_{h+1}(·, l)

with the action a and the level l that the policy has at (s, p), clipped to [0, cap]. No further share of δ is needed:
upper and lower bounds hold on the same event.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.mdp.linear.counted.sums import Counted


class Plan(NamedTuple):
    """The outcome of a backward pass, with room for C levels."""

    cap: Array
    """(H,): the largest possible value from each stage on."""
    Q: Array
    """(H, C, n_states, n_actions)."""
    V: Array
    """(H + 1, C, n_states)."""
    action: Integers
    """(H, C, n_states): greedy for the least of the first m Q functions, m = 1, ..., S."""
    logdet: Array
    """(H, C): log-determinants of the data when each level was last planned."""


def empty(cap: Array, capacity: int, n_states: int, n_actions: int) -> Plan:
    """A plan to be filled by ``backward``."""
    H = len(cap)
    return Plan(
        cap=cap,
        Q=np.zeros((H, capacity, n_states, n_actions)),
        V=np.zeros((H + 1, capacity, n_states)),
        action=np.zeros((H, capacity, n_states), dtype=np.int64),
        logdet=np.zeros((H, capacity)),
    )


def grown(plan: Plan, capacity: int) -> Plan:
    """The same plan with room for ``capacity`` levels."""
    _, _, n_states, n_actions = plan.Q.shape
    larger = empty(plan.cap, capacity, n_states, n_actions)
    for old, new in zip(plan, larger, strict=True):
        if old.ndim > 1:
            new[:, : old.shape[1]] = old
    return larger


@jit
def backward(counted: Counted, plan: Plan, S: int, dirty: Integers, scale: float, centre: Array) -> None:
    """Plan with the current data and ``scale`` times the radii.

    ``dirty`` (H,) is the lowest level changed at each stage since the last plan, S + 1 if none. Levels below the
    lowest one that changed at this or a later stage keep their Q.
    """
    H = plan.cap.size
    n_states, n_actions, d = counted.features.shape
    b = np.empty(d)
    w = np.empty(d)
    least = np.empty((n_states, n_actions))
    lowest = S + 1
    for h in range(H - 1, -1, -1):
        lowest = min(lowest, dirty[h])
        for i in range(lowest - 1, S):
            regress(counted, h, i, plan.V[h + 1, i], b, w)
            beta = scale * counted.beta[h, i]
            for s in range(n_states):
                for a in range(n_actions):
                    q = centre[h] + beta * math.sqrt(counted.width2[h, i, s, a])
                    for j in range(d):
                        q += counted.features[s, a, j] * w[j]
                    plan.Q[h, i, s, a] = min(max(q, 0.0), plan.cap[h])
            plan.logdet[h, i] = counted.logdet[h, i]
        for i in range(S):
            for s in range(n_states):
                for a in range(n_actions):
                    q = plan.Q[h, i, s, a]
                    if i == 0 or q < least[s, a]:
                        least[s, a] = q
                if i >= lowest - 1:
                    best = 0
                    for a in range(1, n_actions):
                        if least[s, a] > least[s, best]:
                            best = a
                    plan.action[h, i, s] = best
                    plan.V[h, i, s] = least[s, best]


@jit
def regress(counted: Counted, h: int, i: int, V: Array, b: Array, w: Array) -> None:
    """The estimate w = Mᵀ M b for b = Σ φ (r − c) + (Σ φ 1{s'}) V."""
    d = b.size
    for j in range(d):
        b[j] = counted.rewards[h, i, j]
    for s in range(V.size):
        v = V[s]
        if v != 0.0:
            for j in range(d):
                b[j] += counted.arrivals[h, i, s, j] * v
    ridge.solve(counted.rows[h, i], b, w)


@jit
def is_outdated(logdet: Array, planned: Array, S: int, rise: float) -> bool:
    """Whether some log det (H, C) has risen by more than ``rise`` since it was planned with."""
    for h in range(logdet.shape[0]):
        for i in range(S):
            if logdet[h, i] - planned[h, i] > rise:
                return True
    return False


@jit
def tabulate(
    counted: Counted, plan: Plan, single: bool, last: int, action: Integers, level: Integers
) -> None:
    """The policy of the next episode at stages ``last``, ..., 1, as in ``mdp.protocol.plan.Plan``."""
    _, P, n_states = action.shape
    for h in range(last - 1, -1, -1):
        for p in range(P):
            for s in range(n_states):
                a = plan.action[h, max(0, p - 1), s]
                action[h, p, s] = a
                level[h, p, s] = 0 if single else min(counted.first[h, s, a], p + 1) - 1


@jit
def lower_values(counted: Counted, plan: Plan, S: int, centre: Array, low: Array) -> None:
    """Fill ``low``, (H + 1, levels, n_states), with V_low of the policy, by level p of the stage before."""
    H = plan.cap.size
    n_states, n_actions, d = counted.features.shape
    levels = low.shape[1]
    b, w = np.empty(d), np.empty(d)
    bound = np.empty((n_states, n_actions))
    for h in range(H - 1, -1, -1):
        for level in range(1, levels + 1):
            for s in range(n_states):
                for a in range(n_actions):
                    bound[s, a] = 0.0
            for i in range(S):
                _raise(counted, h, i, low[h + 1, level - 1], centre[h], b, w, bound)
            for p in range(1, levels + 1):
                for s in range(n_states):
                    a = plan.action[h, max(1, p - 1) - 1, s]
                    if min(counted.first[h, s, a], p) == level:
                        low[h, p - 1, s] = min(bound[s, a], plan.cap[h])


@jit
def _raise(
    counted: Counted, h: int, i: int, following: Array, centre: float, b: Array, w: Array, bound: Array
) -> None:
    """Raise the bounds of all pairs to those of level i, with the target ``following``."""
    regress(counted, h, i, following, b, w)
    for s in range(bound.shape[0]):
        for a in range(bound.shape[1]):
            value = centre - counted.beta[h, i] * math.sqrt(counted.width2[h, i, s, a])
            for j in range(b.size):
                value += counted.features[s, a, j] * w[j]
            bound[s, a] = max(bound[s, a], value)
