"""What an episode changes: transitions, evaluations, the plan in use; and a loop over episodes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs.play.simulation import World
from unipac.linalg.dense import copy_all, fill_all
from unipac.mdp.linear.star.chains import Chains, Rules, copy_chain
from unipac.mdp.linear.star.memory import (
    END,
    JUDGED,
    NOW,
    SAME_REWARD,
    SINCE,
    Rewards,
    Slots,
    add,
    learn_reward,
)
from unipac.mdp.linear.star.planning.evaluate import (
    CURRENT,
    JUDGEMENTS,
    NEWEST,
    TENTATIVE,
    WAITING,
    certificate,
    evaluate,
    fill_choices,
    mean_top,
)
from unipac.mdp.linear.star.planning.plan import decide, has_grown, make_plan
from unipac.mdp.protocol.play import Played, play_one

EPISODES, PLANS, FRESH, REFUTED, WAITS = 0, 1, 2, 3, 4
"""Counters: episodes; plans; then flags: the plan in use is new, the assumptions are refuted, a plan waits."""
NUMBER, MADE, LOOKED = 5, 7, 9
"""Counters of plans 0 and 1: the plan's number, from 1; episodes before it; those after it at its last evaluation."""
COUNTERS = 11

RECENT = 100
"""Plans are compared by their mean certificate over this many of the latest first states."""
NOTICEABLE = 1e-6
"""Plans whose mean certificates differ by less count as equal, so that rounding decides nothing."""
LOOK = 1.05
"""A plan is evaluated again when the episodes since it have grown by this factor."""


class State(NamedTuple):
    """What was learned, and what follows from it."""

    slots: Slots
    rewards: Rewards
    chains: Chains
    counters: Integers
    told: Array
    """(2,): the mean certificate of plans 0 and 1 over the recent first states, at the last evaluation."""
    lost: Array
    """(1,): Σ f over all episodes."""
    grown: Array
    """(R, d, d): Σ φφ' since the newest plan."""
    starts: Array
    """(100, A, d): features of recent first states; that of episode k is entry k mod 100."""
    first: Integers
    """(100,): their numbers, where they have one."""


@jit
def explores(counters: Integers, rules: Rules) -> bool:
    """Whether the next episode is played by the newest plan, to explore."""
    return rules.explore > 0 and (counters[EPISODES] + 1) % rules.explore == 0


@jit
def act(state: State, rules: Rules, h: int, phi: Array) -> int:
    """The action at stage h, at a state with features ``phi``."""
    plan, scale = (NEWEST, 1.0) if explores(state.counters, rules) else (CURRENT, rules.scale)
    return decide(state.chains, rules, plan, h, phi, scale)[0]


@jit
def begin(state: State, rules: Rules) -> None:
    """The first plan, before any data."""
    state.counters[PLANS] = 1
    state.counters[FRESH] = 1
    make_plan(state.chains, state.slots, state.rewards, rules, NEWEST, NEWEST)
    _execute(state, rules, CURRENT)


@jit
def told_of(state: State, rules: Rules, phi: Array) -> tuple[float, float, float, float]:
    """Certificate, bound on V*, bound on the value of the policy, and trivial certificate, from a first state."""
    told = certificate(state.chains, rules, CURRENT, JUDGEMENTS, JUDGEMENTS + 1, phi)
    newest = decide(state.chains, rules, NEWEST, int(np.int64(0)), phi, rules.scale)[2]
    return told.certificate, min(told.top, newest), told.low, told.trivial


@jit
def lost_in(state: State, rules: Rules, phi: Array) -> float:
    """Σ f of the next episode, if its states have these features (n, A, d)."""
    plan, scale = (NEWEST, 1.0) if explores(state.counters, rules) else (CURRENT, rules.scale)
    total = 0.0
    for h in range(phi.shape[0]):
        total += decide(state.chains, rules, plan, h, phi[h], scale)[1]
    return total


# -- learning --------------------------------------------------------------------------------------


@jit
def learn(
    state: State,
    rules: Rules,
    phi: Array,
    actions: Integers,
    rewards: Array,
    following: Array,
    source: Integers,
    target: Integers,
    lost: float,
) -> None:
    """Learn from an episode of n stages, for whose transitions there must be room.

    ``phi`` and ``following`` (n, A, d) are the features of states and next states, ``source`` and ``target`` (n,) their
    numbers; a target is ``OTHER`` where states have no numbers. What follows ``END`` is not read. ``lost`` is Σ f.
    """
    counters, slots = state.counters, state.slots
    state.lost[0] += lost
    counters[FRESH] = 0
    direction = False
    for h in range(actions.size):
        a = actions[h]
        x = phi[h, a]
        reward = (rewards[h] - rules.low) / rules.unit
        if rules.learned:
            word = learn_reward(state.rewards, h, x, reward)
            direction = direction or word == 1
            if word < 0:
                counters[REFUTED] = 1
        elif not rules.noisy:
            expected = 0.0
            for j in range(x.size):
                expected += x[j] * rules.weights[h, j]
            if abs(expected - reward) > 1e3 * SAME_REWARD:
                counters[REFUTED] = 1
        if h < rules.stages:
            paid = reward if rules.noisy else 0.0
            to = END if h == rules.horizon - 1 else target[h]
            key = source[h] * rules.n_actions + a if rules.counted else 0
            add(slots, rules.counted, h, key, to, paid, x, following[h])
            for i in range(x.size):
                for j in range(x.size):
                    state.grown[h, i, j] += x[i] * x[j]
    place = counters[EPISODES] % RECENT
    copy_all(phi[0].reshape(-1), state.starts[place].reshape(-1))
    state.first[place] = source[0]
    counters[EPISODES] += 1
    _look(state, rules, CURRENT)
    if counters[WAITS] == 1:
        _look(state, rules, WAITING)
        if state.told[WAITING] < state.told[CURRENT] - NOTICEABLE:
            _switch(state)
    if direction or has_grown(state.chains, rules, NEWEST, state.grown):
        _plan_anew(state, rules)


@jit
def _look(state: State, rules: Rules, live: int) -> None:
    """Evaluate a plan again if there are enough new episodes; keep the better evaluation."""
    counters, chains = state.counters, state.chains
    since, last = counters[EPISODES] - counters[MADE + live], counters[LOOKED + live]
    if since < max(last + 1.0, LOOK * last):
        return
    counters[LOOKED + live] = since
    number, kept = counters[NUMBER + live], JUDGEMENTS + 2 * live
    fill_choices(chains, state.slots, rules, live)
    for what in range(2):
        if not evaluate(chains, state.slots, rules, live, SINCE + live, number, what, TENTATIVE + what):
            counters[REFUTED] = 1
    new = _mean(state, rules, live, TENTATIVE)
    old = _mean(state, rules, live, kept)
    state.told[live] = min(new, old)
    if new <= old:
        copy_chain(chains, TENTATIVE, kept)
        copy_chain(chains, TENTATIVE + 1, kept + 1)
        copy_all(state.slots.times[SINCE + live].reshape(-1), state.slots.times[JUDGED + live].reshape(-1))


@jit
def _mean(state: State, rules: Rules, live: int, judgement: int) -> float:
    """The mean certificate of a plan over the recent first states, by these evaluations."""
    n = min(state.counters[EPISODES], RECENT)
    told = np.zeros(RECENT)
    total = 0.0
    for k in range(n):
        first = k
        if rules.counted:
            first = 0
            while state.first[first] != state.first[k]:
                first += 1
        if first == k:
            told[k] = certificate(
                state.chains, rules, live, judgement, judgement + 1, state.starts[k]
            ).certificate
        total += float(told[first])
    return total / float(n)


@jit
def judge(state: State, rules: Rules, live: int) -> None:
    """Write the evaluations of a plan again, from the data that its kept evaluations used."""
    fill_choices(state.chains, state.slots, rules, live)
    number, kept = state.counters[NUMBER + live], JUDGEMENTS + 2 * live
    for what in range(2):
        evaluate(state.chains, state.slots, rules, live, JUDGED + live, number, what, kept + what)


@jit
def _switch(state: State) -> None:
    """Execute the plan that waits."""
    counters, slots, chains = state.counters, state.slots, state.chains
    copy_chain(chains, WAITING, CURRENT)
    copy_chain(chains, JUDGEMENTS + 2, JUDGEMENTS)
    copy_chain(chains, JUDGEMENTS + 3, JUDGEMENTS + 1)
    copy_all(slots.times[SINCE + WAITING].reshape(-1), slots.times[SINCE + CURRENT].reshape(-1))
    copy_all(slots.times[JUDGED + WAITING].reshape(-1), slots.times[JUDGED + CURRENT].reshape(-1))
    copy_all(slots.choice[WAITING].reshape(-1), slots.choice[CURRENT].reshape(-1))
    copy_all(slots.gain[WAITING].reshape(-1), slots.gain[CURRENT].reshape(-1))
    copy_all(slots.decided[WAITING], slots.decided[CURRENT])
    for field in (NUMBER, MADE, LOOKED):
        counters[field + CURRENT] = counters[field + WAITING]
    copy_all(state.rewards.known[WAITING], state.rewards.known[CURRENT])
    state.told[CURRENT] = state.told[WAITING]
    counters[FRESH] = 1
    _drop(state)


@jit
def _drop(state: State) -> None:
    """Drop the plan that waits."""
    state.counters[WAITS] = 0
    state.told[WAITING] = math.inf
    fill_all(state.slots.times[SINCE + WAITING].reshape(-1), int(np.int64(0)))
    fill_all(state.slots.times[JUDGED + WAITING].reshape(-1), int(np.int64(0)))
    fill_all(state.rewards.known[WAITING], int(np.int64(0)))
    for field in (NUMBER, MADE, LOOKED):
        state.counters[field + WAITING] = 0


@jit
def _plan_anew(state: State, rules: Rules) -> None:
    """Make a plan from all data; execute it, or let it wait, or keep it for exploring."""
    counters, slots = state.counters, state.slots
    counters[PLANS] += 1
    fill_all(slots.times[SINCE + NEWEST].reshape(-1), int(np.int64(0)))
    copy_all(state.rewards.known[NOW], state.rewards.known[NEWEST])
    for h in range(rules.stages):
        for i in range(rules.dim):
            for j in range(rules.dim):
                state.grown[h, i, j] = 0.0
    if not make_plan(state.chains, slots, state.rewards, rules, NEWEST, NEWEST):
        counters[REFUTED] = 1
    recent = state.starts[: min(counters[EPISODES], RECENT)]
    if state.told[CURRENT] > rules.threshold * mean_top(state.chains, rules, NEWEST, recent):
        _drop(state)
        counters[FRESH] = 1
        _execute(state, rules, CURRENT)
    elif counters[WAITS] == 0:
        counters[WAITS] = 1
        _execute(state, rules, WAITING)


@jit
def _execute(state: State, rules: Rules, live: int) -> None:
    """Make the newest plan plan 0 or 1; at first its evaluation is trivial."""
    counters, slots = state.counters, state.slots
    copy_chain(state.chains, NEWEST, live)
    copy_all(state.rewards.known[NEWEST], state.rewards.known[live])
    counters[NUMBER + live], counters[MADE + live] = counters[PLANS], counters[EPISODES]
    counters[LOOKED + live] = 0
    state.told[live] = math.inf
    fill_all(slots.times[SINCE + live].reshape(-1), int(np.int64(0)))
    fill_all(slots.times[JUDGED + live].reshape(-1), int(np.int64(0)))
    fill_all(slots.decided[live], int(np.int64(0)))
    judge(state, rules, live)


# -- play ------------------------------------------------------------------------------------------


class Tables(NamedTuple):
    """The plan in use, and the one that explores, as tables for S states."""

    features: Array
    """(S, A, d)."""
    action: Integers
    """(2, H, S)."""
    bound: Array
    """(S,): upper bounds on V*; NaN where they are not computed yet."""
    value: Array
    """(S,): lower bounds on the value of the plan in use."""
    lower: Array
    """(2, S): the bound less the certificate."""
    gain: Array
    """(2, H, S): f."""


@jit
def fill_tables(state: State, rules: Rules, tables: Tables, live: int) -> None:
    """Actions of all states at all stages: of the plan in use (0), or of the newest one as it explores (1)."""
    plan, scale = (NEWEST, 1.0) if live == 1 else (CURRENT, rules.scale)
    for h in range(rules.horizon):
        for s in range(tables.features.shape[0]):
            p, f, _ = decide(state.chains, rules, plan, h, tables.features[s], scale)
            tables.action[live, h, s], tables.gain[live, h, s] = p, f


@jit
def fill_bound(state: State, rules: Rules, tables: Tables, s: int) -> None:
    """Bound and certificates of a first state."""
    told, top, value, trivial = told_of(state, rules, tables.features[s])
    low = rules.horizon * rules.low
    tables.bound[s], tables.value[s] = low + rules.unit * top, low + rules.unit * value
    tables.lower[0, s] = low + rules.unit * (top - told)
    tables.lower[1, s] = low + rules.unit * (top - trivial)


@jit
def play(
    state: State,
    rules: Rules,
    world: World,
    tables: Tables,
    starts: Integers,
    uniforms: Array,
    first: int,
    played: Played,
    explored: NDArray[np.bool_],
) -> int:
    """Play episodes from ``first`` on, until there is no room for another; returns how many."""
    H, A, d = rules.horizon, rules.n_actions, rules.dim
    phi, following = np.empty((H, A, d)), np.zeros((H, A, d))
    counters = state.counters
    shown, looked = -1, -1
    filled = np.zeros(2, dtype=np.int64)
    for k in range(first, starts.size):
        if state.slots.used.size > 0 and state.slots.used.max() >= state.slots.source.shape[1]:
            return k - first
        exploring = explores(counters, rules)
        live = 1 if exploring else 0
        number = counters[PLANS] if exploring else counters[NUMBER]
        anew = shown != live or filled[live] != number
        shown = live
        if filled[live] != number:
            fill_tables(state, rules, tables, live)
            filled[live] = number
        if counters[LOOKED] != looked or counters[FRESH] == 1 or k == first:
            fill_all(tables.bound, math.nan)
            looked = counters[LOOKED]
        s = starts[k]
        if math.isnan(tables.bound[s]):
            fill_bound(state, rules, tables, s)
        played.fresh[k], explored[k] = counters[FRESH] == 1 and not exploring, exploring
        n = play_one(
            played, world, k, s, uniforms[k], tables.action[live], tables.bound, tables.lower[live], anew
        )
        if counters[REFUTED] == 1:
            played.certificate[k] = math.nan
        lost = 0.0
        for h in range(n):
            lost += tables.gain[live, h, played.steps[0, h]]
            copy_all(tables.features[played.steps[0, h]].reshape(-1), phi[h].reshape(-1))
            if played.steps[2, h] >= 0:
                copy_all(tables.features[played.steps[2, h]].reshape(-1), following[h].reshape(-1))
        learn(
            state,
            rules,
            phi[:n],
            played.steps[1, :n],
            played.paid[:n],
            following[:n],
            played.steps[0, :n],
            played.steps[2, :n],
            lost,
        )
    return starts.size - first
