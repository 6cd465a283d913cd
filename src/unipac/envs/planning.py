"""Exact values in a finite MDP, by dynamic programming: the optimum and policies that remember a level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._jit import jit

if TYPE_CHECKING:
    from unipac.envs.linear_mdp import LinearMDP

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Optimum(NamedTuple):
    """The optimum of an MDP. Stage h is entry h - 1.

    Attributes:
        values: V*, (H + 1, S); the last row is 0.
        q: Q*, (H, S, A).
        policy: an optimal action for each stage and state, (H, S); the first one among equals.
    """

    values: FloatArray
    q: FloatArray
    policy: IntArray


def optimal(mdp: LinearMDP) -> Optimum:
    """V*, Q* and an optimal policy of `mdp`.

    Example:
        >>> from unipac.envs import river_swim
        >>> optimum = optimal(river_swim(n_states=3, horizon=3))
        >>> optimum.values[0]
        array([0.2515, 0.7765, 2.101 ])
        >>> optimum.policy[0]
        array([1, 1, 1])
    """
    horizon, n_states, n_actions = mdp.rewards.shape
    optimum = Optimum(
        np.zeros((horizon + 1, n_states)),
        np.empty((horizon, n_states, n_actions)),
        np.empty((horizon, n_states), dtype=np.int64),
    )
    optimal_values_into(mdp.transitions.copy(), mdp.rewards.copy(), *optimum)
    return optimum


def policy_value(mdp: LinearMDP, policy: ArrayLike) -> FloatArray:
    """Value of a policy that depends on the stage and the state.

    Args:
        mdp: the MDP.
        policy: the actions, integers of shape (H, S).

    Returns:
        V^π, (H + 1, S).

    Example:
        >>> from unipac.envs import river_swim
        >>> policy_value(river_swim(n_states=3, horizon=3), [[0, 0, 0]] * 3)[0]
        array([0.15, 0.1 , 0.05])
    """
    actions = _integers("policy", policy, mdp.rewards.shape[:2], mdp.n_actions)[:, :, None]
    no_level = np.zeros(actions.shape, dtype=np.int64)
    return level_policy_value(mdp.transitions, mdp.rewards, actions, no_level)[:, :, 0]


def level_policy_value(
    transitions: ArrayLike, rewards: ArrayLike, actions: ArrayLike, next_level: ArrayLike
) -> FloatArray:
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
    P = np.array(transitions, dtype=np.float64, order="C")
    r = np.array(rewards, dtype=np.float64, order="C")
    square = P.ndim == 4 and P.size > 0 and P.shape[1] == P.shape[3]
    check.require(square, "transitions", "of shape (H, S, A, S), not empty", P.shape)
    horizon, n_states, n_actions, _ = P.shape
    check.require(r.shape == P.shape[:3], "rewards", f"of shape {P.shape[:3]}", r.shape)
    shape = np.shape(actions)
    fits = len(shape) == 3 and shape[:2] == (horizon, n_states) and shape[2] > 0
    check.require(fits, "actions", f"of shape ({horizon}, {n_states}, P) with P >= 1", shape)
    n_levels = shape[2]
    chosen = _integers("actions", actions, shape, n_actions)
    following = _integers("next_level", next_level, shape, n_levels)
    values = np.zeros((horizon + 1, n_states, n_levels))
    level_values_into(P, r, chosen, following, n_levels, values)
    return values


@jit
def optimal_values_into(
    transitions: FloatArray, rewards: FloatArray, values: FloatArray, q: FloatArray, policy: IntArray
) -> None:
    """Fill V* (H + 1, S), Q* (H, S, A) and the first optimal actions (H, S); V*_{H+1} is set to 0."""
    horizon, n_states, n_actions = rewards.shape
    for s in range(n_states):
        values[horizon, s] = 0.0
    for h in range(horizon - 1, -1, -1):
        for s in range(n_states):
            best = 0
            for a in range(n_actions):
                total = rewards[h, s, a]
                for t in range(n_states):
                    total += transitions[h, s, a, t] * values[h + 1, t]
                q[h, s, a] = total
                if total > q[h, s, best]:
                    best = a
            values[h, s] = q[h, s, best]
            policy[h, s] = best


@jit
def level_values_into(
    transitions: FloatArray,
    rewards: FloatArray,
    actions: IntArray,
    next_level: IntArray,
    n_levels: int,
    values: FloatArray,
) -> None:
    """As `level_policy_value` for the first `n_levels` levels, into ``values``; nothing is checked.

    ``actions`` and ``next_level`` are (H, S, ≥ P) and ``values`` is (H + 1, S, ≥ P). The expectation over
    the next state is taken for all levels at once, so that the inner loop runs along memory, and only for
    actions that some level takes; impossible next states are skipped.
    """
    horizon, n_states, n_actions = rewards.shape
    expected = np.empty(n_levels)
    for s in range(n_states):
        for p in range(n_levels):
            values[horizon, s, p] = 0.0
    for h in range(horizon - 1, -1, -1):
        for s in range(n_states):
            for a in range(n_actions):
                taken = False
                for p in range(n_levels):
                    taken = taken or actions[h, s, p] == a
                if not taken:
                    continue
                for p in range(n_levels):
                    expected[p] = rewards[h, s, a]
                for t in range(n_states):
                    weight = transitions[h, s, a, t]
                    if weight != 0.0:
                        for p in range(n_levels):
                            expected[p] += weight * values[h + 1, t, p]
                for p in range(n_levels):
                    if actions[h, s, p] == a:
                        values[h, s, p] = expected[next_level[h, s, p]]


def _integers(name: str, value: ArrayLike, shape: tuple[int, ...], limit: int) -> IntArray:
    """A fresh int64 array of the given shape with entries from 0 to limit - 1."""
    array = np.asarray(value)
    check.require(array.shape == shape, name, f"of shape {shape}", array.shape)
    check.require(array.dtype.kind in "iu", name, "an array of integers", array.dtype)
    wrong = array[(array < 0) | (array >= limit)]
    check.require(wrong.size == 0, name, f"integers from 0 to {limit - 1}", wrong[:1].tolist())
    return np.array(array, dtype=np.int64, order="C")
