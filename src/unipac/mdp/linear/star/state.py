"""The state of StarLSVI: empty, with more room, in files.

A file has transitions, counts, and the rewards seen. Plans and evaluations are computed from these again: the data of
each are differences of columns of counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._inputs import check_norms
from unipac._memory import require_room
from unipac.linalg.soundness import check_shape
from unipac.mdp.linear.star import episodes as kernels
from unipac.mdp.linear.star.chains import Rules, no_chains
from unipac.mdp.linear.star.episodes import (
    COUNTERS,
    EPISODES,
    FRESH,
    LOOKED,
    MADE,
    NUMBER,
    PLANS,
    RECENT,
    REFUTED,
    WAITS,
    State,
)
from unipac.mdp.linear.star.fallback import Log
from unipac.mdp.linear.star.memory import (
    ALL,
    COLUMNS,
    END,
    INITIAL_SLOTS,
    JUDGED,
    NOW,
    OTHER,
    SINCE,
    Rewards,
    Slots,
    enter_all,
    learn_reward,
    no_rewards,
    no_slots,
    with_room as with_slots,
)
from unipac.mdp.linear.star.planning.evaluate import CHAINS, CURRENT, NEWEST, WAITING
from unipac.mdp.linear.star.planning.plan import make_plan


class Saved(NamedTuple):
    """What goes to a file; features only where states have no numbers."""

    source: Integers
    target: Integers
    paid: Array
    times: Integers
    used: Integers
    taken: Array
    following: Array
    reward_features: Array
    reward_values: Array
    reward_counts: Integers
    counters: Integers
    told: Array
    lost: Array
    grown: Array
    starts: Array
    first: Integers
    log: Log


def empty(rules: Rules, n_states: int) -> State:
    """Before the first episode, with the first plan."""
    H, A, d = rules.horizon, rules.n_actions, rules.dim
    what = f"{CHAINS} times {H} stages of 5 matrices of {d} x {d}"
    require_room(
        "horizon",
        what,
        8 * CHAINS * H * 5 * d * (d + 1) + 8 * H * (INITIAL_SLOTS * (A + 2) * d + n_states * (A + 1)),
    )
    state = State(
        slots=no_slots(rules.stages, n_states, A, d),
        rewards=no_rewards(H, d),
        chains=no_chains(CHAINS, H, d),
        counters=np.zeros(COUNTERS, dtype=np.int64),
        told=np.full(2, math.inf),
        lost=np.zeros(1),
        grown=np.zeros((rules.stages, d, d)),
        starts=np.zeros((RECENT, A, d)),
        first=np.zeros(RECENT, dtype=np.int64),
    )
    kernels.begin(state, rules)
    return state


def with_room(state: State) -> State:
    """The same with room for an episode."""
    slots = with_slots(state.slots)
    return state if slots is state.slots else state._replace(slots=slots)


def saved(state: State, rules: Rules, log: Log) -> Saved:
    """What goes to a file, with the episodes of the fallback."""
    slots, N = state.slots, int(state.slots.used.max(initial=0))
    held = 0 if rules.counted else N
    return Saved(
        slots.source[:, :N],
        slots.target[:, :N],
        slots.paid[:, :N],
        slots.times[:, :, :N],
        slots.used,
        slots.taken[:, :held],
        slots.following[:, :held],
        state.rewards.feature,
        state.rewards.observed,
        state.rewards.known,
        state.counters,
        state.told,
        state.lost,
        state.grown,
        state.starts[: 0 if rules.counted else RECENT],
        state.first,
        log,
    )


def restored(found: Saved, rules: Rules, features: Array, episodes: int) -> State:
    """The state from a file; ``features`` (S, A, d), S = 0 where states have no numbers."""
    _check_counters(found.counters, found.told, found.lost, episodes)
    slots = _slots(found, rules, features, episodes)
    check_shape(found.grown, (rules.stages, rules.dim, rules.dim))
    if not (np.abs(found.grown) <= 2.0 * episodes + 1.0).all():
        raise ValueError("sums of features are too large for so many episodes")
    state = State(
        slots=slots,
        rewards=_rewards(found, rules),
        chains=no_chains(CHAINS, rules.horizon, rules.dim),
        counters=found.counters,
        told=found.told,
        lost=found.lost,
        grown=found.grown,
        starts=_starts(found, rules, features, episodes),
        first=found.first,
    )
    waits = found.counters[WAITS] == 1
    for plan in (CURRENT, WAITING, NEWEST) if waits else (CURRENT, NEWEST):
        make_plan(state.chains, slots, state.rewards, rules, plan, plan)
    for live in (CURRENT, WAITING) if waits else (CURRENT,):
        kernels.judge(state, rules, live)
    return state


def _check_counters(counters: Integers, told: Array, lost: Array, episodes: int) -> None:
    check_shape(counters, (COUNTERS,))
    c = counters.tolist()
    live = [(c[NUMBER + i], c[MADE + i], c[LOOKED + i]) for i in (CURRENT, WAITING)]
    waits = c[WAITS] == 1
    sound = (
        c[EPISODES] == episodes
        and 1 <= c[PLANS] <= episodes + 1
        and all(c[flag] in (0, 1) for flag in (FRESH, REFUTED, WAITS))
        and 1 <= live[0][0] <= c[PLANS]
        and (live[0][0] < live[1][0] <= c[PLANS] if waits else live[1] == (0, 0, 0))
        and all(0 <= made <= episodes and 0 <= looked <= episodes - made for _, made, looked in live)
        and told.shape == (2,)
        and bool((told >= 0.0).all())
        and (waits or told[1] == math.inf)
        and lost.shape == (1,)
        and 0.0 <= lost[0] <= 1e12 * (episodes + 1.0)
    )
    if not sound:
        raise ValueError("the counters are not those of so many episodes")


def _slots(found: Saved, rules: Rules, features: Array, episodes: int) -> Slots:
    """The transitions, with room for more."""
    R, A, d = rules.stages, rules.n_actions, rules.dim
    N, S = found.source.shape[1], len(features)
    held = 0 if rules.counted else N
    shapes = {"source": (R, N), "target": (R, N), "paid": (R, N), "times": (COLUMNS, R, N), "used": (R,)}
    for name, shape in {**shapes, "taken": (R, held, d), "following": (R, held, A, d)}.items():
        check_shape(getattr(found, name), shape)
    if not (((found.used >= 0) & (found.used <= N)).all() and found.used.max(initial=0) == N):
        raise ValueError("the numbers of transitions are not sound")
    inside = np.arange(N) < found.used[:, None]
    times, paid, target = found.times, found.paid, found.target
    sound = (
        bool((times[ALL][inside] >= 1).all() and (times[ALL].sum(axis=1) <= episodes).all())
        and bool((times >= 0).all() and (times[SINCE:JUDGED] <= times[ALL]).all())
        and bool((times[JUDGED:] <= times[SINCE : SINCE + 2]).all())
        and not (times[:, ~inside].any() or paid[~inside].any() or target[~inside].any())
        and not found.source[~inside].any()
        and bool(((paid >= 0.0) & (paid <= (1.0 if rules.noisy else 0.0))).all())
        and bool((target[rules.horizon - 1 :][inside[rules.horizon - 1 :]] == END).all())
        and (rules.terminates or not (target[: rules.horizon - 1] == END).any())
    )
    if not sound:
        raise ValueError("the transitions are not those of any episodes")
    room = max(INITIAL_SLOTS, 1 << N.bit_length())
    slots = no_slots(R, S, A, d, room)
    for name in ("source", "target", "paid"):
        getattr(slots, name)[:, :N] = getattr(found, name)
    slots.times[:, :, :N], slots.used[:] = times, found.used
    if rules.counted:
        source = found.source
        if not (0 <= source.min(initial=0) <= source.max(initial=0) < S * A and target.max(initial=0) < S):
            raise ValueError("the transitions are not those of so many states")
        if target.min(initial=0) < END or any(
            len({*zip(source[h, :n], target[h, :n], paid[h, :n], strict=True)}) < n
            for h, n in enumerate(found.used.tolist())
        ):
            raise ValueError("transitions are there twice")
        slots.taken[:, :N] = features.reshape(-1, d)[source] * inside[:, :, None]
        there = inside & (target >= 0)
        slots.following[:, :N] = features[np.maximum(target, 0)] * there[:, :, None, None]
    else:
        if found.source.any() or not np.isin(target[inside], (END, OTHER)).all():
            raise ValueError("the transitions are not those of any observations")
        for array in (found.taken, found.following):
            check_norms("features", array.reshape(-1, d), 1.0)
        slots.taken[:, :N], slots.following[:, :N] = found.taken, found.following
    enter_all(slots)
    return slots


def _rewards(found: Saved, rules: Rules) -> Rewards:
    """What was seen of rewards, and the directions that follow from it."""
    H, d = rules.horizon, rules.dim
    rewards, counts = no_rewards(H, d), found.reward_counts
    check_shape(found.reward_features, (H, d, d))
    check_shape(found.reward_values, (H, d))
    check_shape(counts, (4, H))
    check_norms("features", found.reward_features.reshape(-1, d), 1.0)
    values, most = found.reward_values, d if rules.learned else 0
    if not ((counts >= 0).all() and (counts <= counts[NOW]).all() and counts.max(initial=0) <= most):
        raise ValueError("rewards are not those of so many features")
    for h in range(H):
        n = int(counts[NOW, h])
        if found.reward_features[h, n:].any() or values[h, n:].any():
            raise ValueError("rewards are not those of so many features")
        for i in range(n):
            x = np.ascontiguousarray(found.reward_features[h, i])
            if not 0.0 <= values[h, i] <= 1.0 or learn_reward(rewards, h, x, float(values[h, i])) != 1:
                raise ValueError("rewards are not those of independent features")
    rewards.known[:] = counts
    return rewards


def _starts(found: Saved, rules: Rules, features: Array, episodes: int) -> Array:
    """Features of the recent first states."""
    A, d, n = rules.n_actions, rules.dim, min(episodes, RECENT)
    check_shape(found.starts, (0 if rules.counted else RECENT, A, d))
    check_shape(found.first, (RECENT,))
    if found.first[n:].any() or found.starts[n:].any():
        raise ValueError("there are more first states than episodes")
    starts = np.zeros((RECENT, A, d))
    if rules.counted:
        if not ((found.first >= 0) & (found.first < len(features))).all():
            raise ValueError("first states are not those of so many states")
        starts[:n] = features[found.first[:n]]
    else:
        check_norms("starts", found.starts.reshape(-1, d), 1.0)
        if found.first.any():
            raise ValueError("first states have no numbers")
        starts[:] = found.starts
    return starts
