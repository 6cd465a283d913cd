"""The plan of agents for mixture MDPs: one pass for upper values, one for the lower values of the policy.

It also plays whole episodes in compiled code, with the same numbers as the loop of ``_plan`` and ``_learn``.
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs.mdps.planning import level_values_into, stage_entry
from unipac.envs.play.simulation import World, reward_of, sample
from unipac.linalg import ridge
from unipac.linalg.levels import Levels, top
from unipac.mdp.mixture.regression.kernels import (
    Rules,
    State,
    integrate,
    learn,
    most_levels,
    scaling,
    stack,
)
from unipac.mdp.mixture.regression.likelihood import Sets, interval, likelihood_sets


@jit
def bounds(levels: Levels, S: int, x: Array, scale: float) -> tuple[float, float]:
    """The greatest lower and the least upper bound on ⟨θ, x⟩ over the levels."""
    low, high = -math.inf, math.inf
    for i in range(S):
        mean, width2 = ridge.evaluate(levels.rows[i], x)
        error = scale * levels.beta[i] * math.sqrt(width2)
        low, high = max(low, mean - error), min(high, mean + error)
    return low, high


@jit
def _value(
    state: State,
    rules: Rules,
    sets: Sets,
    h: int,
    s: int,
    a: int,
    V: Array,
    scale: float,
    x: Array,
    w: Array,
) -> tuple[float, float]:
    """Bounds on P_h V at (s, a), not clipped to the range of V."""
    M = state.size.shape[0]
    offset, span = scaling(rules, h, V)
    if span <= 0.0:
        return V[0], V[0]
    m = 0 if M == 1 else h
    integrate(rules, s, a, V, offset, span, x)
    levels = stack(state, m)
    low, high = bounds(levels, top(levels), x, scale)
    if rules.likelihood:
        other = interval(sets, m, state.theta[m], x, scale, w)
        low, high = max(low, other[0]), min(high, other[1])
    return offset + span * low, offset + span * high


@jit
def choose(state: State, rules: Rules, sets: Sets, scale: float, action: Integers, V: Array) -> None:
    """Fill the greedy ``action`` (H, S) and upper values ``V`` (H + 1, S).

    Of actions with the same value it takes the one with the larger bound before clipping, of these the first.
    """
    H, n_states, n_actions = rules.rewards.shape
    x, w = np.empty(rules.features.shape[3]), np.empty(rules.features.shape[3])
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        least, most = V[h + 1].min(), V[h + 1].max()
        for s in range(n_states):
            best, beyond = -math.inf, -math.inf
            for a in range(n_actions):
                high = _value(state, rules, sets, h, s, a, V[h + 1], scale, x, w)[1]
                q = rules.rewards[h, s, a] + min(max(high, least), most)
                high += rules.rewards[h, s, a]
                if q > best or (q == best and high > beyond):
                    best, beyond, action[h, s] = q, high, a
            V[h, s] = best


@jit
def certify(state: State, rules: Rules, sets: Sets, scale: float, action: Integers, V: Array) -> None:
    """Fill lower values ``V`` (H + 1, S) of a policy."""
    H, n_states = action.shape
    x, w = np.empty(rules.features.shape[3]), np.empty(rules.features.shape[3])
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        least, most = V[h + 1].min(), V[h + 1].max()
        for s in range(n_states):
            a = action[h, s]
            low = _value(state, rules, sets, h, s, a, V[h + 1], scale, x, w)[0]
            V[h, s] = rules.rewards[h, s, a] + min(max(low, least), most)


@jit
def all_sets(state: State, rules: Rules) -> Sets:
    """The likelihood sets, if there are any."""
    if not rules.likelihood:
        return Sets(np.empty((0, 0, 0)), np.empty((0, 0)), np.empty(0))
    return likelihood_sets(rules.features, state.counts, state.theta, rules.log_likelihood)


@jit
def plan(state: State, rules: Rules) -> None:
    """Write a new plan into ``state``: choose with the scale, certify without."""
    sets = all_sets(state, rules)
    choose(state, rules, sets, rules.scale * rules.trust, state.action, state.upper)
    certify(state, rules, sets, rules.trust, state.action, state.lower)
    state.bound[:] = state.upper[0]
    if rules.scale != 1.0:
        proven = np.empty_like(state.upper)
        choose(state, rules, sets, rules.trust, np.empty_like(state.action), proven)
        state.bound[:] = proven[0]
    for s in range(state.bound.size):
        state.lower[0, s] = min(state.lower[0, s], state.bound[s])
    state.planned[0] = 1


@jit
def has_room(state: State, rules: Rules) -> bool:
    """Whether there is room for the levels that an episode may open."""
    M, C = state.size.shape
    visits = rules.rewards.shape[0] if M == 1 else 1
    return bool(most_levels(state) + visits <= C)


Record = tuple[Array, Array, Array, Array]


@jit
def play(
    state: State, rules: Rules, world: World, starts: Integers, uniforms: Array, first: int, out: Record
) -> int:
    """Play episodes from ``first`` on, until there is no room for another; returns how many.

    ``out``: gap, reward, bound and certificate of each, (K,).
    """
    gap, reward, bound, certificate = out
    H, n_states = state.action.shape
    values, no_level = np.zeros((H + 1, 1, n_states)), np.zeros((H, 1, n_states), dtype=np.int64)
    states, actions, following = np.empty((3, H), dtype=np.int64)
    for k in range(first, starts.size):
        if not has_room(state, rules):
            return k - first
        if state.planned[0] == 0:
            plan(state, rules)
        action = state.action.reshape((H, 1, n_states))
        level_values_into(world.tables, world.rewards, action, no_level, H, values, world.reach)
        s = starts[k]
        gap[k] = world.optimal[s] - values[0, 0, s]
        bound[k], certificate[k] = state.bound[s], state.bound[s] - state.lower[0, s]
        if state.refuted[0] != 0:
            certificate[k] = np.nan
        reward[k] = 0.0
        for h in range(H):
            a = state.action[h, s]
            t = sample(world.cumulative[stage_entry(world.cumulative.shape[0], h), s, a], uniforms[k, h])
            states[h], actions[h], following[h] = s, a, t
            reward[k] += reward_of(world, h, s, a, t)
            s = t
        learn(state, rules, states, actions, following)
    return starts.size - first
