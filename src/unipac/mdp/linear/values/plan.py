"""The plan of UPACLSVI and MonotoneLSVI, and its bookkeeping, in compiled code."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs.play.simulation import World
from unipac.linalg import levels, ridge
from unipac.linalg.levels import NESTED, REFRESH_OFTEN
from unipac.mdp.linear.values.bounds import Data, Rules, lower_bound, upper_bounds
from unipac.mdp.linear.values.rewards import Rewards, learn_reward, no_rewards, reward_bounds
from unipac.mdp.protocol.play import Played, play_one
from unipac.mdp.tabular.counting.counts import count, no_counts

FRESH, OLD, STALE = 0, 1, 2
"""Ages of a plan: not used yet; in use; to be replaced."""

INITIAL_LEVELS = 6

SAME_REWARD = 1e-9
"""If rewards of a feature at one stage differ by more, they have noise."""


class Planned(NamedTuple):
    """The data from which the last plan follows; rewards and levels stay the same until it is stale."""

    visits: Integers
    """Visits of the cells."""
    times: Integers
    """Counts of the outcomes."""
    rows: Array
    arrivals: Array
    logdet: Array


class State(NamedTuple):
    """What was learned, and the last plan."""

    data: Data
    rewards: Rewards
    planned: Planned
    age: Integers
    """(1,): ``FRESH`` for the first episode of a plan, then ``OLD``, ``STALE`` if the next one needs a new plan."""
    refuted: Integers
    """(1,): 1 if the reward of a feature was not always the same at a stage."""
    action: Integers
    """(H, S)."""
    bound: Array
    """(S,): upper bound on V*_1."""
    lower: Array
    """(S,): lower bound on the value of the policy."""


def empty(rules: Rules, capacity: int = INITIAL_LEVELS) -> State:
    """Before the first episode."""
    layout, stages = rules.layout, rules.horizon - 1
    B, D = len(layout.sizes), layout.x.shape[1]
    n_states = len(layout.number)
    shape = (stages, B, capacity)
    counts = no_counts(stages * layout.cells)
    data = Data(
        counts,
        rows=np.zeros((*shape, D, D + 2)),
        arrivals=np.zeros((*shape, rules.outcomes, D)),
        logdet=np.zeros(shape),
        size=np.zeros(shape, dtype=np.int64),
        rotations=np.zeros(shape, dtype=np.int64),
        open=np.ones((stages, B), dtype=np.int64),
    )
    for h in range(stages):
        for b in range(B):
            ridge.reset(data.rows[h, b, 0], rules.regularization)
    kept: Any = (counts.visits, counts.times, data.rows, data.arrivals, data.logdet)
    return State(
        data=data,
        rewards=no_rewards(layout, rules.horizon),
        planned=Planned(*(np.zeros_like(a) for a in kept)),
        age=np.full(1, STALE),
        refuted=np.zeros(1, dtype=np.int64),
        action=np.zeros((rules.horizon, n_states), dtype=np.int64),
        bound=np.zeros(n_states),
        lower=np.zeros(n_states),
    )


# -- learning ------------------------------------------------------------------------------------------


@jit
def has_room(data: Data, steps: int) -> bool:
    """Whether there is room for ``steps`` new outcomes, and a new level everywhere."""
    if data.counts.used[0] + steps > data.counts.times.size:
        return False
    for h in range(data.open.shape[0]):
        for b in range(data.open.shape[1]):
            if data.open[h, b] >= data.size.shape[2]:
                return False
    return True


@jit
def _learn_transition(state: State, rules: Rules, h: int, x: int, outcome: int, below: Array) -> None:
    """Add a transition to the counts and to the levels from its own on."""
    data, planned, layout = state.data, state.planned, rules.layout
    lam = rules.regularization
    if layout.cell[x] >= 0:
        cell = h * layout.cells + layout.cell[x]
        count(data.counts, cell, outcome, 0.0, 0.0)
        if math.log((lam + data.counts.visits[cell]) / (lam + planned.visits[cell])) > rules.rise:
            state.age[0] = STALE
    b = layout.block[x]
    if b < 0:
        return
    phi, L = layout.x[x], data.open[h, b]
    level = levels.level_in(data.rows[h, b], phi, L) if rules.levelled else 1
    if level > L:
        nested = int(np.int64(NESTED))
        levels.open_level(data.rows[h, b], data.logdet[h, b], data.rotations[h, b], level, nested, lam)
        ridge.copy(data.arrivals[h, b, level - 2], data.arrivals[h, b, level - 1])
        data.open[h, b] = level
        state.age[0] = STALE
    data.size[h, b, level - 1] += 1
    for i in range(level - 1, data.open[h, b]):
        rows, rotations = data.rows[h, b, i], data.rotations[h, b, i]
        data.rotations[h, b, i], data.logdet[h, b, i] = levels.rotate(
            rows, rotations, phi, 0.0, 1.0, lam, REFRESH_OFTEN, below
        )
        for j in range(phi.size):
            data.arrivals[h, b, i, outcome, j] += phi[j]
        if data.logdet[h, b, i] - planned.logdet[h, b, i] > rules.rise:
            state.age[0] = STALE


@jit
def learn(
    state: State, rules: Rules, states: Integers, actions: Integers, rewards: Array, following: Integers
) -> None:
    """Learn from an episode, for which there must be room, and see whether the plan is stale."""
    if state.age[0] == FRESH:
        state.age[0] = OLD
    if rules.rise < 0.0:
        state.age[0] = STALE
    below = np.empty(rules.layout.x.shape[1] + 2)
    for h in range(states.size):
        x = rules.layout.number[states[h], actions[h]]
        reward = (rewards[h] - rules.low) / rules.unit
        if state.rewards.order[h, x] == 0:
            learn_reward(state.rewards, rules.layout, rules.dim, h, x, reward)
            state.age[0] = STALE
        elif abs(state.rewards.observed[h, x] - reward) > SAME_REWARD:
            state.refuted[0] = 1
        if h < rules.horizon - 1:
            outcome = following[h] if following[h] >= 0 else rules.outcomes - 1
            _learn_transition(state, rules, h, x, outcome, below)


# -- planning ------------------------------------------------------------------------------------------


@jit
def choose(
    data: Data, rewards: Rewards, rules: Rules, scale: float, action: Integers, Q: Array, V: Array
) -> None:
    """Fill the greedy ``action`` (H, S), upper values ``Q`` (H, N) of features and ``V`` (H + 1, outcomes)."""
    n_states, n_actions = rules.layout.number.shape
    for h in range(rules.horizon, -1, -1):
        V[h, n_states:] = rules.end[h]
        if h == rules.horizon:
            V[h, :n_states] = 0.0
            continue
        upper_bounds(data, rules, h, V[h + 1], scale, Q[h])
        for x in range(Q.shape[1]):
            paid = reward_bounds(rewards, rules.layout, rules.dim, h, x)[1]
            Q[h, x] = min(float(rules.horizon - h), paid + Q[h, x])
        for s in range(n_states):
            best = 0
            for a in range(1, n_actions):
                if Q[h, rules.layout.number[s, a]] > Q[h, rules.layout.number[s, best]]:
                    best = a
            action[h, s], V[h, s] = best, Q[h, rules.layout.number[s, best]]


@jit
def certify(data: Data, rewards: Rewards, rules: Rules, scale: float, action: Integers, V: Array) -> None:
    """Fill the lower values ``V`` (H + 1, outcomes) of a policy."""
    n_states = action.shape[1]
    for h in range(rules.horizon, -1, -1):
        V[h, n_states:] = rules.end[h]
        for s in range(n_states):
            V[h, s] = 0.0
            if h < rules.horizon:
                x = rules.layout.number[s, action[h, s]]
                paid = reward_bounds(rewards, rules.layout, rules.dim, h, x)[0]
                V[h, s] = paid + lower_bound(data, rules, h, x, V[h + 1], scale)


@jit
def compute(state: State, data: Data, rules: Rules) -> None:
    """Fill ``state`` with the plan that follows from the data: choose with the scale, certify without."""
    Q, V = np.empty((rules.horizon, rules.layout.block.size)), np.empty((rules.horizon + 1, rules.outcomes))
    choose(data, state.rewards, rules, rules.scale, state.action, Q, V)
    if rules.scale != 1.0:
        choose(data, state.rewards, rules, 1.0, np.empty_like(state.action), Q, V)
    low = np.empty_like(V)
    certify(data, state.rewards, rules, 1.0, state.action, low)
    for s in range(state.bound.size):
        state.bound[s] = rules.horizon * rules.low + rules.unit * V[0, s]
        state.lower[s] = rules.horizon * rules.low + rules.unit * low[0, s]


@jit
def plan(state: State, rules: Rules) -> None:
    """Write a new plan into ``state``."""
    compute(state, state.data, rules)
    data, planned = state.data, state.planned
    planned.visits[:] = data.counts.visits
    planned.times[:] = data.counts.times
    for h in range(data.open.shape[0]):
        for b in range(data.open.shape[1]):
            for i in range(data.open[h, b]):
                ridge.copy(data.rows[h, b, i], planned.rows[h, b, i])
                ridge.copy(data.arrivals[h, b, i], planned.arrivals[h, b, i])
                planned.logdet[h, b, i] = data.logdet[h, b, i]
    state.age[0] = FRESH


@jit
def play(
    state: State, rules: Rules, world: World, starts: Integers, uniforms: Array, first: int, played: Played
) -> int:
    """Play episodes from ``first`` on, until there is no room for another; returns how many."""
    H = rules.horizon
    for k in range(first, starts.size):
        if not has_room(state.data, H):
            return k - first
        if state.age[0] == STALE:
            plan(state, rules)
        fresh = state.age[0] == FRESH
        played.fresh[k], anew = fresh, fresh or k == first
        n = play_one(played, world, k, starts[k], uniforms[k], state.action, state.bound, state.lower, anew)
        if state.refuted[0] != 0:
            played.certificate[k] = np.nan
        learn(state, rules, played.steps[0, :n], played.steps[1, :n], played.paid[:n], played.steps[2, :n])
    return starts.size - first
