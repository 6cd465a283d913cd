"""The backward pass that all agents share, and the policy that comes out of it.

    Alg. 2 lines 3-15, for h = H, ..., 1 and levels l = 1, ..., S:
        w = Σ⁻¹ [Σ φ (r − c) + (Σ φ 1{s'}) V_{h+1}^l]          c = centre_h, 0 as printed
        Q_h^l(s, a) = clip(c + ⟨w, φ⟩ + β ‖φ‖_{Σ⁻¹}, 0, cap_h)
        V_h^l(s) = max_a min_{i ≤ l} Q_h^i(s, a)

    lines 16-22: the action at stage h is greedy for min_{i ≤ m} Q_h^i with m = max(1, l_{h-1} − 1), and the
    level of the stage is l_h = min(first failing level, l_{h-1}).

Since l_{h-1} depends on the path, the policy is one of (state, level): at (s, p) the next level is min(first, p).
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
    """(H, C): those of the data when they were last planned with."""


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
            _regress(counted, plan, h, i, b, w)
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
def _regress(counted: Counted, plan: Plan, h: int, i: int, b: Array, w: Array) -> None:
    """The estimate w = Mᵀ M b for b = Σ φ (r − c) + (Σ φ 1{s'}) V_{h+1}."""
    d = b.size
    for j in range(d):
        b[j] = counted.rewards[h, i, j]
    for s in range(counted.arrivals.shape[2]):
        v = plan.V[h + 1, i, s]
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
    """The policy of the next episode at stages ``last``, ..., 1, as in ``mdp.base.plan.Plan``."""
    _, P, n_states = action.shape
    for h in range(last - 1, -1, -1):
        for p in range(P):
            for s in range(n_states):
                a = plan.action[h, max(0, p - 1), s]
                action[h, p, s] = a
                level[h, p, s] = 0 if single else min(counted.first[h, s, a], p + 1) - 1
