"""Compiled rounds of the agents whose state is a stack of levels, with or without the sets behind certificates.

choose      argmax of the least upper bound, and what is known of the winner      Alg. 1 lines 8-12
bound_all   bounds of every action
learn_one   add a round to its level, renew the radii                             Alg. 1 lines 4-5, 13-14
learn_all   add rounds
play        choose and learn, round after round

``sets`` is the memory of the sets and ``spare`` their scratch memory, ``fixed`` the table of fixed actions, ``bonus``
room for scaled radii. What an agent does not have is None: then the code that needs it is not even compiled. An agent
with sets has neither of the latter two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unipac._arrays import Array
from unipac._inputs import first_invalid, largest_norm
from unipac._jit import inlined, jit
from unipac.bandits.levelled import tight_kernels as by_sets
from unipac.bandits.levelled.confidence import Confidence
from unipac.bandits.levelled.kernels import (
    Record,
    Scratch,
    State,
    _covers,
    _mark,
    _table_of,
    _unpack,
    bounds,
    decide,
    learn,
    learn_with_table,
    scratch,
)
from unipac.bandits.sets import memory as tight
from unipac.linalg.fast import argmax
from unipac.linalg.fast.evaluate import evaluate_all, evaluate_one
from unipac.linalg.levels import Levels, top


@jit
def choose(
    state: State, fixed: Array | None, bonus: Array | None, sets: Array | None, spare: Any, X: Array
) -> tuple[int, int, float, float, float, float, float, bool]:
    """The choice among the rows of X, which are the fixed actions if there is a table; a Verdict, as a tuple.

    It is -1 if some action is not finite or too long. Numba takes five times as long to hand over a named
    one.
    """
    levels, confidence = _unpack(state)
    if fixed is None and first_invalid(X, largest_norm(confidence.action_norm)) >= 0:
        return int(np.int64(-1)), 0, 0.0, 0.0, 0.0, 0.0, 0.0, False
    s = scratch(state, levels)
    n, d = X.shape
    S = top(levels)
    if sets is not None:
        v = by_sets.decide(levels, S, confidence, tight.opened(sets, spare, n), X, s)
    elif fixed is None:
        v = decide(levels, S, confidence, None, bonus, X, argmax.workspace(n, d, levels.size.size), s)
    else:
        work = argmax.workspace(n, d, levels.size.size)
        v = decide(levels, S, confidence, _table_of(fixed), bonus, X, work, s)
    state[_mark(levels, state)] = 1.0
    return v.chosen, v.level, v.mean, v.width, v.ucb, v.lcb, v.certificate, v.refuted


@jit
def bound_all(state: State, sets: Array | None, spare: Any, X: Array, out: Array) -> None:
    """Mean, width, ucb and lcb of every row of X, as the rows of ``out``."""
    levels, confidence = _unpack(state)
    state[_mark(levels, state)] = 0.0
    s = scratch(state, levels)
    S = top(levels)
    if sets is not None:
        by_sets.bound_all(levels, S, confidence, sets, spare, X, s, out)
    else:
        for k in range(X.shape[0]):
            evaluate_one(levels, S, X[k], s.means, s.width2)
            ucb, lcb, attained = bounds(levels, S, s.means, s.width2)
            out[0, k] = s.means[attained]
            out[1, k] = math.sqrt(s.width2[attained])
            out[2, k] = ucb
            out[3, k] = lcb


@jit
def learn_one(
    state: State,
    fixed: Array | None,
    bonus: Array | None,
    sets: Array | None,
    spare: Any,
    x: Array,
    y: float,
    times: int,
    known: bool,
    late: bool,
) -> None:
    """Learn the reward y of x, ``times``, where there is room in the stack.

    The level of the action is decided now, before its reward is looked at. ``known``: there is one, it was chosen
    last, and its values in the state are up to date unless the mark says otherwise. ``late``: the reward of a younger
    decision came before.
    """
    levels, confidence = _unpack(state)
    mark = _mark(levels, state)
    known &= state[mark] > 0.0
    state[mark] = 0.0
    X = x.reshape((1, x.size))
    _learn_row(
        levels, confidence, scratch(state, levels), fixed, bonus, sets, spare, X, 0, y, times, known, late
    )


@jit
def learn_all(
    state: State, fixed: Array | None, bonus: Array | None, sets: Array | None, spare: Any, X: Array, y: Array
) -> int:
    """Learn the rewards y of the rows of X; returns how many fitted into the stack."""
    levels, confidence = _unpack(state)
    state[_mark(levels, state)] = 0.0
    s = scratch(state, levels)
    for t in range(y.size):
        if levels.size.size <= top(levels):
            return t
        _learn_row(
            levels, confidence, s, fixed, bonus, sets, spare, X, t, y[t], int(np.int64(1)), False, False
        )
    return y.size


@inlined
def _learn_row(
    levels: Levels,
    confidence: Confidence,
    s: Scratch,
    fixed: Array | None,
    bonus: Array | None,
    sets: Array | None,
    spare: Any,
    X: Array,
    t: int,
    y: float,
    times: int,
    known: bool,
    late: bool,
) -> None:
    lowest, nowhere, S = int(np.int64(1)), int(np.int64(-1)), top(levels)
    if not known:
        evaluate_all(levels.rows, lowest, S, X, t, t + 1, s.means, s.width2)
    if sets is not None:
        by_sets.learn(levels, S, confidence, tight.known(sets, spare, lowest), X, t, y, times, late, nowhere)
    if fixed is None:
        learn(levels, S, confidence, X[t], y, times, s)
    else:
        learn_with_table(levels, S, _table_of(fixed), bonus, confidence, X[t], y, times, s)


@jit
def play(
    state: State,
    fixed: Array | None,
    offered: Array | None,
    bonus: Array | None,
    sets: Array | None,
    spare: Any,
    actions: Array,
    rewards: Array,
    truth: Array,
    refuted: bool,
    record: Record,
) -> tuple[int, bool]:
    """Rounds on actions (T, n, d), or (1, n, d) for the same in all rounds, and rewards (T, n).

    ``fixed`` is the table of the fixed actions, if there are any; ``offered`` too, if these are the actions.

    Returns how many rounds were played before the stack was full, and whether bounds were refuted, then or before
    (``refuted``). An empty ``truth`` leaves out the test whether it lies in all sets.
    """
    levels, confidence = _unpack(state)
    state[_mark(levels, state)] = 0.0
    if fixed is not None:
        arms = _table_of(fixed)
    T = rewards.shape[0]
    _, n, d = actions.shape
    capacity = levels.size.size
    s = scratch(state, levels)
    behind = tight.known(sets, spare, n)
    if sets is None:
        work = argmax.workspace(n, d, capacity)
    inside = np.ones(capacity, dtype=np.bool_)
    once = int(np.int64(1))
    any_refuted = refuted
    changed = once
    for t in range(T):
        S = top(levels)
        if capacity <= S:
            return t, any_refuted
        X = actions[t] if actions.shape[0] > 1 else actions[0]
        if truth.size > 0:
            if sets is not None:
                record.covered[t] = by_sets.covers(levels, changed, S, confidence, behind, truth, inside, s)
            else:
                record.covered[t] = _covers(levels, changed, S, truth, inside)
        if sets is not None:
            choice = by_sets.decide(levels, S, confidence, behind, X, s)
        elif offered is None:
            choice = decide(levels, S, confidence, None, bonus, X, work, s)
        else:
            choice = decide(levels, S, confidence, arms, bonus, X, work, s)
        k = choice.chosen
        any_refuted |= choice.refuted
        record.chosen[t] = k
        record.level[t] = choice.level
        record.certificate[t] = math.nan if any_refuted else choice.certificate
        record.reward[t] = rewards[t, k]
        x, y = X[k], rewards[t, k]
        if sets is not None:
            if record.zeta.size > 0:
                record.zeta[t] = behind.rules.zetas[behind.sets.status[2]]
            by_sets.learn(levels, S, confidence, behind, X, k, y, once, False, k)
        if fixed is None:
            lowest, _ = learn(levels, S, confidence, x, y, once, s)
        else:
            lowest, _ = learn_with_table(levels, S, arms, bonus, confidence, x, y, once, s)
        changed = min(lowest, S)
    return T, any_refuted
