"""A lower bound on the value of the policy that the next episode follows, for finitely many states.

The radius ``finite`` bounds the error of the regression for *every* V from states to [0, H − h] at once, so
also for a V_low that depends on the data and on the policy:

    V_low_h(s, p) = max_{i ≤ S} c + ⟨w, φ(s, a)⟩ − β_i ‖φ(s, a)‖_{Σ_i⁻¹},  w from level i with the target
    V_low_{h+1}(·, l)

with the action a and the level l that the policy has at (s, p), clipped to [0, cap]. No further share of δ
is needed: upper and lower bounds hold on the same event.
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.mdp.linear.counted.backward import Plan
from unipac.mdp.linear.counted.sums import Counted


@jit
def lower_values(counted: Counted, plan: Plan, S: int, levels: int, centre: Array) -> Array:
    """V_low of the policy at every stage, (H + 1, levels, n_states), by level p of the stage before."""
    H = plan.cap.size
    n_states, n_actions, d = counted.features.shape
    low = np.zeros((H + 1, levels, n_states))
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
    return low


@jit
def _raise(
    counted: Counted, h: int, i: int, following: Array, centre: float, b: Array, w: Array, bound: Array
) -> None:
    """Raise the bounds of all pairs to those of level i, with the target ``following``."""
    d = b.size
    for j in range(d):
        b[j] = counted.rewards[h, i, j]
    for s in range(following.size):
        for j in range(d):
            b[j] += counted.arrivals[h, i, s, j] * following[s]
    ridge.solve(counted.rows[h, i], b, w)
    for s in range(bound.shape[0]):
        for a in range(bound.shape[1]):
            value = centre - counted.beta[h, i] * math.sqrt(counted.width2[h, i, s, a])
            for j in range(d):
                value += counted.features[s, a, j] * w[j]
            bound[s, a] = max(bound[s, a], value)
