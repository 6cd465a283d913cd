"""The backward pass that all agents share, and the exact value of the policy that comes out of it.

    Alg. 2 lines 3-15, for h = H, ..., 1 and levels l = 1, ..., S:
        w = Σ⁻¹ [Σ φ r + (Σ φ 1{s'}) V_{h+1}^l]
        Q_h^l(s, a) = clip(⟨w, φ⟩ + β ‖φ‖_{Σ⁻¹}, 0, cap_h)
        V_h^l(s) = max_a min_{i ≤ l} Q_h^i(s, a)

    lines 16-22: the action at stage h is greedy for min_{i ≤ m} Q_h^i with m = max(1, l_{h-1} − 1), and the
    level of the stage is l_h = min(first failing level, l_{h-1}).

Since l_{h-1} depends on the path, the policy is one of (state, level): its value obeys
V_h(s, p) = r + P V_{h+1}(·, min(first, p)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import jit
from unipac.linalg import ridge
from unipac.mdp.linear.base.counted import Counted

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


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
    due: NDArray[np.bool_]
    """(1,): whether the next episode needs a new plan, as there is none yet or a level was opened."""
    value: Array
    """(H + 1, C + 1, n_states): of the executed policy, by level p = 1, ..., S + 1 of the stage before."""


def empty(cap: Array, capacity: int, n_states: int, n_actions: int) -> Plan:
    """A plan to be filled by ``backward``."""
    H = len(cap)
    return Plan(
        cap=cap,
        Q=np.zeros((H, capacity, n_states, n_actions)),
        V=np.zeros((H + 1, capacity, n_states)),
        action=np.zeros((H, capacity, n_states), dtype=np.int64),
        logdet=np.zeros((H, capacity)),
        due=np.ones(1, dtype=np.bool_),
        value=np.zeros((H + 1, capacity + 1, n_states)),
    )


def grown(plan: Plan, capacity: int) -> Plan:
    """The same plan with room for ``capacity`` levels."""
    _, _, n_states, n_actions = plan.Q.shape
    larger = empty(plan.cap, capacity, n_states, n_actions)
    for old, new in zip(plan, larger, strict=True):
        if old.ndim > 1:
            new[:, : old.shape[1]] = old
    larger.due[:] = plan.due
    return larger


@jit
def backward(counted: Counted, plan: Plan, S: int, dirty: Integers) -> None:
    """Plan with the current data; ``dirty`` (H,) is the lowest level changed at each stage, S + 1 if none.

    Levels below the lowest one that changed at this or a later stage keep their Q.
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
            beta = counted.beta[h, i]
            for s in range(n_states):
                for a in range(n_actions):
                    q = beta * math.sqrt(counted.width2[h, i, s, a])
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
        dirty[h] = S + 1
    plan.due[0] = False


@jit
def _regress(counted: Counted, plan: Plan, h: int, i: int, b: Array, w: Array) -> None:
    """The estimate w = Mᵀ M b for b = Σ φ r + (Σ φ 1{s'}) V_{h+1}."""
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
def is_outdated(counted: Counted, plan: Plan, S: int, rise: float) -> bool:
    """Whether some log det has risen by more than ``rise`` since it was planned with."""
    for h in range(plan.cap.size):
        for i in range(S):
            if counted.logdet[h, i] - plan.logdet[h, i] > rise:
                return True
    return False


@jit
def evaluate(
    counted: Counted, plan: Plan, levels: int, transitions: Array, rewards: Array, last: int
) -> None:
    """The value of the executed policy at stages ``last``, ..., 1, by level of the stage before.

    ``levels`` is S + 1, or 1 where there are no levels.
    """
    n_states = transitions.shape[1]
    for h in range(last - 1, -1, -1):
        for p in range(1, levels + 1):
            m = max(1, p - 1)
            for s in range(n_states):
                a = plan.action[h, m - 1, s]
                level = min(counted.first[h, s, a], p)
                value = rewards[h, s, a]
                for following in range(n_states):
                    value += transitions[h, s, a, following] * plan.value[h + 1, level - 1, following]
                plan.value[h, p - 1, s] = value
