"""Exact values in a finite MDP, by dynamic programming: the optimum and policies that remember a level.

Tables are (T, S, A, ...) with T = H, or T = 1 where all stages have the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs.mdps import tables


class Optimum(NamedTuple):
    """The optimum of an MDP. Stage h is entry h - 1.

    Attributes:
        values: V*, (H + 1, S); the last row is 0.
        q: Q*, (H, S, A).
        policy: an optimal action for each stage and state, (H, S); the first one among equals.

    Example:
        >>> from unipac import envs
        >>> best = envs.optimal(envs.river_swim(n_states=3, horizon=3))
        >>> best.values.shape, best.q.shape, best.policy[0].tolist()
        ((4, 3), (3, 3, 2), [1, 1, 1])
    """

    values: Array
    q: Array
    policy: Integers


def level_policy_value(
    transitions: ArrayLike, rewards: ArrayLike, actions: ArrayLike, next_level: ArrayLike
) -> Array:
    """Value of a policy that depends on the stage, the state and the level of the stage before.

    In state s with level p at stage h the action is a = ``actions[h-1, s, p]``, and the next state s'
    is met with level q = ``next_level[h-1, s, p]``:

        V_h(s, p) = r_h(s, a) + Σ_s' P_h(s' | s, a) V_{h+1}(s', q),   V_{H+1} = 0.

    Args:
        transitions: P, (H, S, A, S).
        rewards: r, (H, S, A).
        actions: integers from 0 to A - 1, (H, S, P).
        next_level: integers from 0 to P - 1, (H, S, P).

    Returns:
        V, (H + 1, S, P).

    Example:
        >>> P = [[[[0, 1], [1, 0]], [[1, 0], [0, 1]]]] * 2  # action 0 changes the state, 1 does not
        >>> r = [[[0, 0], [1, 1]]] * 2  # state 1 pays
        >>> level_policy_value(P, r, [[[0, 1], [1, 0]]] * 2, [[[0, 0], [1, 0]]] * 2)[0]
        array([[1., 0.],
               [1., 1.]])
    """
    P = tables.array("transitions", transitions, ("H", "S", "A", "S"))
    horizon, n_states, n_actions, _ = P.shape
    r = tables.array("rewards", rewards, P.shape[:3])
    shape = np.shape(actions)
    fits = len(shape) == 3 and shape[:2] == (horizon, n_states) and shape[2] > 0
    check.require(fits, "actions", f"of shape ({horizon}, {n_states}, P) with P >= 1", shape)
    n_levels = shape[2]
    chosen = integers("actions", actions, shape, n_actions)
    following = integers("next_level", next_level, shape, n_levels)
    values = np.zeros((horizon + 1, n_levels, n_states))
    action, level = (np.ascontiguousarray(array.transpose(0, 2, 1)) for array in (chosen, following))
    level_values_into(P.copy(), r.copy(), action, level, horizon, values, reach_of(P))
    return np.ascontiguousarray(values.transpose(0, 2, 1))


@jit
def stage_entry(length: int, h: int) -> int:
    """Where stage entry ``h`` is in a table with so many entries: there may be one for all."""
    return h if length > 1 else 0


def reach_of(transitions: Array) -> Integers:
    """The first possible next state of each pair and one more than the last, (T, S, A, 2).

    Most states of a large MDP lead to a few others: kernels look at these only.

    Example:
        >>> reach_of(np.array([[[[0, 0.5, 0.5, 0]]]]))
        array([[[[1, 3]]]])
    """
    possible = transitions > 0
    first = possible.argmax(axis=-1)
    end = transitions.shape[-1] - possible[..., ::-1].argmax(axis=-1)
    return np.stack([first, end], axis=-1).astype(np.int64)


@jit
def optimal_values_into(
    transitions: Array,
    reach: Integers,
    rewards: Array,
    values: Array,
    q: Array,
    policy: Integers,
) -> None:
    """Fill V* (H + 1, S), Q* (H, S, A) and the first optimal actions (H, S); V*_{H+1} is set to 0."""
    horizon, n_states, n_actions = q.shape
    for s in range(n_states):
        values[horizon, s] = 0.0
    for h in range(horizon - 1, -1, -1):
        k = stage_entry(transitions.shape[0], h)
        P, r = transitions[k], rewards[stage_entry(rewards.shape[0], h)]
        for s in range(n_states):
            best = 0
            for a in range(n_actions):
                total = r[s, a]
                for t in range(reach[k, s, a, 0], reach[k, s, a, 1]):
                    if P[s, a, t] != 0.0:
                        total += P[s, a, t] * values[h + 1, t]
                q[h, s, a] = total
                if total > q[h, s, best]:
                    best = a
            values[h, s] = q[h, s, best]
            policy[h, s] = best


@jit
def level_values_into(
    transitions: Array,
    rewards: Array,
    action: Integers,
    level: Integers,
    last: int,
    values: Array,
    reach: Integers | None = None,
) -> None:
    """The value of a policy that remembers a level, at stages ``last``, ..., 1; nothing is checked.

        values[h, p, s] = r_h(s, a) + Σ_t P_h(t | s, a) values[h + 1, q, t],   a, q = action, level[h, p, s]

    ``action`` and ``level`` are (H, P, S) by level p of the stage before, an index from 0 on, and ``values``
    is (H + 1, P, S); an episode begins with p = P - 1. ``values[last]`` must be there; ``values[H]`` is 0.
    Levels that do the same in a state are worth the same and computed once; impossible next states are
    skipped, and with ``reach``, from ``reach_of``, not even looked at.
    """
    n_levels, n_states = action.shape[1], action.shape[2]
    for h in range(last - 1, -1, -1):
        k = stage_entry(transitions.shape[0], h)
        P, r = transitions[k], rewards[stage_entry(rewards.shape[0], h)]
        for p in range(n_levels):
            for s in range(n_states):
                a, q = action[h, p, s], level[h, p, s]
                if p > 0 and a == action[h, p - 1, s] and q == level[h, p - 1, s]:
                    values[h, p, s] = values[h, p - 1, s]
                    continue
                begin, end = 0, n_states
                if reach is not None:
                    begin, end = reach[k, s, a, 0], reach[k, s, a, 1]
                total = r[s, a]
                for t in range(begin, end):
                    if P[s, a, t] != 0.0:
                        total += P[s, a, t] * values[h + 1, q, t]
                values[h, p, s] = total


def integers(name: str, value: ArrayLike, shape: tuple[int, ...], limit: int) -> Integers:
    """A fresh int64 array of the given shape with entries from 0 to limit - 1."""
    array = np.asarray(value)
    check.require(array.shape == shape, name, f"of shape {shape}", array.shape)
    check.require(array.dtype.kind in "iu", name, "an array of integers", array.dtype)
    wrong = array[(array < 0) | (array >= limit)]
    check.require(wrong.size == 0, name, f"integers from 0 to {limit - 1}", wrong[:1].tolist())
    return np.array(array, dtype=np.int64, order="C")
