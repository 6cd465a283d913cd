"""The plan of CertVI and its bookkeeping, in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._jit import inlined, jit
from unipac.envs.play.simulation import World
from unipac.mdp.protocol.play import Played, play_one
from unipac.mdp.tabular.cert_vi.rules import MEANS, OUTCOMES, Rules
from unipac.mdp.tabular.counting.backward import KL, Bonus, Limits, estimated, optimistic, pessimistic
from unipac.mdp.tabular.counting.counts import (
    Counts,
    at,
    count_episode,
    no_counts,
    trimmed,
    with_room,
)
from unipac.mdp.tabular.counting.kl import kl_lower, kl_upper
from unipac.theory.tabular import dirichlet_kernel, kt_kernel, open_kernel

FRESH, OLD, GROWN, STALE = 0, 1, 2, 3
"""Ages of a plan: not used yet; in use; in use until it has lasted long enough; to be replaced."""


class State(NamedTuple):
    """What was learned, and the last plan."""

    counts: Counts
    planned: Integers
    """(C,): visits when the last plan was made."""
    age: Integers
    """(1,): ``FRESH`` for the first episode of a plan, then ``OLD``, ``GROWN`` once visits of some cell have grown by
    the factor, and ``STALE`` if the next episode needs a new plan, as this one has also lasted long enough."""
    episodes: Integers
    """(2,): episodes learned in all, and before the last plan."""
    above: Array
    """(C,): thresholds of the balls for one function at the last plan."""
    below: Array
    """(C,): thresholds of the balls for all functions."""
    action: Integers
    """(H, S)."""
    bound: Array
    """(S,): upper bound on V*_1."""
    lower: Array
    """(S,): lower bound on the value of the policy."""
    planned_times: Integers
    """(E,): how often each outcome had come at the last plan, which follows from this and ``planned_reward``."""
    planned_reward: Array
    """(C,): the sums of rewards at that time."""
    planned_used: Integers
    """(1,): the number of outcomes at that time."""


def empty(cells: int, horizon: int, n_states: int) -> State:
    """Before the first episode."""
    return State(
        counts=no_counts(cells),
        planned=np.zeros(cells, dtype=np.int64),
        age=np.full(1, STALE),
        episodes=np.zeros(2, dtype=np.int64),
        above=np.zeros(cells),
        below=np.zeros(cells),
        action=np.zeros((horizon, n_states), dtype=np.int64),
        bound=np.zeros(n_states),
        lower=np.zeros(n_states),
        planned_times=np.zeros(0, dtype=np.int64),
        planned_reward=np.zeros(cells),
        planned_used=np.zeros(1, dtype=np.int64),
    )


def copied(state: State) -> State:
    """A copy that shares no array."""
    counts = Counts._make(array.copy() for array in state.counts)
    return State._make([counts, *(array.copy() for array in state[1:])])


def with_more_room(state: State, steps: int) -> State:
    """The same state with room for this many new outcomes."""
    counts = with_room(state.counts, steps)
    if counts is state.counts:
        return state
    times = np.zeros(counts.times.size, dtype=np.int64)
    times[: state.planned_times.size] = state.planned_times
    return state._replace(counts=counts, planned_times=times)


@inlined
def learn(
    state: State, rules: Rules, states: Integers, actions: Integers, rewards: Array, following: Integers
) -> None:
    """Count an episode, for which there must be room, and see whether the plan is stale."""
    visits = state.counts.visits
    pairs = rules.upper.extreme.size
    n_actions = pairs // state.action.shape[1]
    with_rewards = rules.rewards == OUTCOMES
    count_episode(state.counts, pairs, n_actions, states, actions, rewards, following, with_rewards)
    state.episodes[0] += 1
    age = max(OLD, state.age[0])
    for h in range(states.size):
        cell = (0 if visits.size == pairs else h * pairs) + states[h] * n_actions + actions[h]
        if visits[cell] > rules.factor * state.planned[cell]:
            age = max(GROWN, age)
    planned = state.episodes[1]
    if age == GROWN and lasted(state.episodes[0] - planned, planned, rules.every, rules.growth):
        age = STALE
    state.age[0] = age


def _lasted(since: int, planned: int, every: float, growth: float) -> bool:
    """Whether a plan has been in use for its least number of episodes."""
    return since >= min(every, growth * planned)


lasted = inlined(_lasted)


@jit
def thresholds(state: State, rules: Rules, everywhere: bool) -> None:
    """Update the thresholds of the cells visited since the last plan, or ``everywhere``."""
    counts = state.counts
    most = counts.kinds.max()
    times = np.empty(most)
    outcomes = state.action.shape[1] + 1
    for cell in range(counts.visits.size):
        n = counts.visits[cell]
        if n > 0 and (everywhere or n != state.planned[cell]):
            k, e = 0, counts.first[cell]
            while e >= 0:
                times[k] = counts.times[e]
                k, e = k + 1, counts.other[e]
            state.above[cell] = rules.log_upper + kt_kernel(float(n))
            if rules.rewards == OUTCOMES:
                state.below[cell] = open_kernel(times[:k], rules.log_lower)
            else:
                state.below[cell] = dirichlet_kernel(times[:k], outcomes, rules.log_lower)


@jit
def mean_reward(counts: Counts, rules: Rules, cell: int, scale: float) -> float:
    """Bound on the mean reward of a cell: lower if scale < 0, else upper with ``scale`` times the threshold."""
    n = float(counts.visits[cell])
    if n == 0.0:
        return rules.high if scale >= 0.0 else rules.low
    threshold = rules.log_reward + kt_kernel(n)
    weights, values = np.empty(2), np.empty(2)
    weights[1] = min(max((counts.reward[cell] - n * rules.low) / (rules.high - rules.low), 0.0), n)
    weights[0] = n - weights[1]
    values[0], values[1] = rules.low, rules.high
    if scale >= 0.0:
        return kl_upper(weights, values, 2, n, rules.high, scale * threshold)
    return kl_lower(weights, -values, 2, n, rules.low, threshold)


@jit
def with_means(counts: Counts, rules: Rules, limits: Limits, scale: float) -> Limits:
    """The limits; where mean rewards are learned, bounds on them are the base."""
    if rules.rewards != MEANS:
        return limits
    base = np.empty((counts.visits.size // limits.extreme.size, limits.extreme.size))
    for cell in range(counts.visits.size):
        base[cell // base.shape[1], cell % base.shape[1]] = mean_reward(counts, rules, cell, scale)
    return Limits(base, limits.extreme, 0.0, limits.end, limits.over)


@jit
def choose(state: State, rules: Rules, scale: float, action: Integers, Q: Array, V: Array) -> int:
    """The pass for upper values, with ``scale`` times the thresholds."""
    radius = state.above if scale == 1.0 else scale * state.above
    bonus = Bonus(KL, radius, np.empty(0), np.empty((0, 0)))
    limits = with_means(state.counts, rules, rules.upper, scale)
    return optimistic(state.counts, bonus, limits, np.empty((0, 0)), rules.spread, action, Q, V)


@jit
def plan(state: State, rules: Rules, Q: Array, V: Array) -> None:
    """Put a new plan into ``state``: choose with the scale, certify without; Q and V keep the values of the choice."""
    thresholds(state, rules, False)
    stage = choose(state, rules, rules.scale, state.action, Q, V)
    below = np.empty_like(V)
    limits = with_means(state.counts, rules, rules.lower, -1.0)
    one_less = rules.rewards == OUTCOMES
    pessimistic(state.counts, state.below, one_less, limits, state.action, stage, below)
    state.lower[:] = below[0]
    if rules.scale == 1.0:
        state.bound[:] = V[0]
    else:
        above = np.empty_like(V)
        choose(state, rules, 1.0, np.empty_like(state.action), np.empty_like(Q), above)
        state.bound[:] = above[0]
    state.planned[:] = state.counts.visits
    state.planned_reward[:] = state.counts.reward
    state.planned_used[0] = state.counts.used[0]
    for e in range(state.counts.used[0]):
        state.planned_times[e] = state.counts.times[e]
    state.age[0], state.episodes[1] = FRESH, state.episodes[0]


def renewed(state: State, rules: Rules) -> State:
    """The state, with a plan for the next episode."""
    if state.age[0] == STALE:
        H, n_states = state.action.shape
        plan(state, rules, np.empty((H, rules.upper.extreme.size)), np.empty((H + 1, n_states)))
    return state


@jit
def play(
    state: State, rules: Rules, world: World, starts: Integers, uniforms: Array, first: int, played: Played
) -> int:
    """Play episodes from ``first`` on until there is no room for the outcomes of another; returns how many."""
    H, n_states = state.action.shape
    Q, V = np.empty((H, rules.upper.extreme.size)), np.empty((H + 1, n_states))
    for k in range(first, starts.size):
        if state.counts.used[0] + H > state.counts.times.size:
            return k - first
        if state.age[0] == STALE:
            plan(state, rules, Q, V)
        fresh = state.age[0] == FRESH
        played.fresh[k], anew = fresh, fresh or k == first
        n = play_one(played, world, k, starts[k], uniforms[k], state.action, state.bound, state.lower, anew)
        learn(state, rules, played.steps[0, :n], played.steps[1, :n], played.paid[:n], played.steps[2, :n])
    return starts.size - first


@jit
def recommend(state: State, rules: Rules, action: Integers, lower: Array) -> None:
    """Fill the ``action`` (H, S) that is best under the frequencies, and the ``lower`` bound (S,) on its value."""
    thresholds(state, rules, True)
    limits = with_means(state.counts, rules, rules.lower, 0.0)
    if rules.rewards == MEANS:
        for cell in range(state.counts.visits.size):
            if state.counts.visits[cell] == 0:
                limits.base[cell // limits.base.shape[1], cell % limits.base.shape[1]] = rules.low
    V = np.empty((action.shape[0] + 1, action.shape[1]))
    stage = estimated(state.counts, limits, action, V)
    limits = with_means(state.counts, rules, rules.lower, -1.0)
    pessimistic(state.counts, state.below, rules.rewards == OUTCOMES, limits, action, stage, V)
    lower[:] = V[0]


def saved(state: State) -> State:
    """What goes to a file; thresholds and plans follow from it."""
    none = np.empty(0)
    return state._replace(
        counts=trimmed(state.counts),
        above=none,
        below=none,
        action=np.empty((0, 0), dtype=np.int64),
        bound=none,
        lower=none,
        planned_times=state.planned_times[: state.planned_used[0]],
    )


def restored(saved: State, like: State, rules: Rules) -> State:
    """The state from a file; thresholds and the plan are computed. Refused if no data can lead to it."""
    counts, P = saved.counts, len(saved.planned_times)
    sound = (
        saved.age.shape == saved.planned_used.shape == (1,)
        and saved.episodes.shape == (2,)
        and 0 <= saved.episodes[1] <= saved.episodes[0]
        and saved.planned_used[0] == P <= counts.used[0] == counts.times.size
        and saved.planned.shape == saved.planned_reward.shape == counts.visits.shape
        and bool(((saved.planned_times > 0) & (saved.planned_times <= counts.times[:P])).all())
        and bool(np.isfinite(saved.planned_reward).all() and (saved.planned >= 0).all())
        and saved.age[0] in (FRESH, OLD, GROWN, STALE)
    )
    check.require(sound, "plan", "one that data led to", "another")
    over = np.repeat(rules.upper.over, rules.upper.extreme.size // rules.upper.over.size)
    visited = counts.visits.reshape(-1, over.size)[:, over].any()
    check.require(not visited, "visits", "0 in the ends", "others")
    before = at(counts, saved.planned_times, saved.planned_reward)
    state = like._replace(counts=before, planned_times=np.zeros(P, dtype=np.int64))
    if saved.age[0] != STALE:
        state = renewed(state, rules)._replace(counts=counts)
    else:
        state = state._replace(counts=counts)
        thresholds(state, rules, True)
    kept = ("planned", "planned_reward", "planned_used", "age", "episodes")
    times = np.zeros(counts.times.size, dtype=np.int64)
    times[:P] = saved.planned_times
    for name in kept:
        getattr(state, name)[:] = getattr(saved, name)
    return state._replace(planned_times=times)
