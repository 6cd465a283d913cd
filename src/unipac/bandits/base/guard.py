"""Compiled rounds of ``Guarded``: levels that close one after the other and watch over a heuristic.

The stack has all data as its first entry and closed level l as entry l, where ``linalg.levels`` counts from 1.

guard     eliminate, and explore what a closed level does not know well enough
verdict   what is known of the action chosen
learn     all data learn every round, closed levels the explored ones; levels close
play      all of it, round after round, if the heuristic is a single regression
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._jit import jit
from unipac.bandits.base import rounds as single
from unipac.bandits.base.agent import REFUTED
from unipac.linalg import levels as stack
from unipac.linalg import ridge
from unipac.linalg.fast import argmax
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.theory import radii

Array = NDArray[np.float64]

_mixture = jit(radii._mixture)
_level_delta = jit(radii._level_delta)
_learn_level = stack._learn

NEVER = 1 << 40


class Rules(NamedTuple):
    """The constants of a guard, all of them float64."""

    gate: float
    """g d: level l is open for the first g d 4^l rounds."""
    delta: float
    """δ/2: for all data, and shared by the levels."""
    noise: float
    norm: float
    regularization: float
    action_norm: float
    low: float
    high: float


class Work(NamedTuple):
    """Scratch memory for n actions."""

    rows: Array
    """(n, d): the actions still alive, in their order."""
    index: NDArray[np.int64]
    """(n,): which these are."""
    dropped: NDArray[np.int64]
    """(n,): the level that ruled the action out; NEVER if none did."""
    away: Array
    """(n, d): differences."""
    values: Array
    """(4, n): means and squared widths of actions and of differences."""


@jit
def workspace(n: int, d: int) -> Work:
    """Scratch memory."""
    whole = np.empty(n, dtype=np.int64)
    return Work(np.empty((n, d)), whole, np.empty(n, dtype=np.int64), np.empty((n, d)), np.empty((4, n)))


@jit
def guard(levels: Levels, closed: int, X: Array, work: Work) -> tuple[int, int, int, int]:
    """Row of X to be played, or -1 if the heuristic may pick among ``work.rows``; level; alive; last level used."""
    n, d = X.shape
    alive = n
    first = int(np.int64(0))
    mean, width2 = work.values[0], work.values[1]
    step, step2 = work.values[2], work.values[3]
    for i in range(n):
        work.index[i], work.dropped[i] = i, NEVER
        for j in range(d):
            work.rows[i, j] = X[i, j]
    for level in range(1, closed + 1):
        evaluate_all(levels.rows, level + 1, level + 1, work.rows, first, alive, mean, width2)
        best = first
        for i in range(1, alive):
            if mean[i] > mean[best]:
                best = i
        _differences(work.rows, alive, work.rows[best], work.away)
        evaluate_all(levels.rows, level + 1, level + 1, work.away, first, alive, step, step2)
        kept = 0
        widest = first
        for i in range(alive):
            if -step[i] <= levels.beta[level] * math.sqrt(step2[i]):
                if kept < i:
                    work.rows[kept] = work.rows[i]
                work.index[kept], width2[kept] = work.index[i], width2[i]
                if width2[kept] > width2[widest]:
                    widest = kept
                kept += 1
            else:
                work.dropped[work.index[i]] = level
        alive = kept
        if alive == 1:
            return work.index[0], 0, alive, level
        if width2[widest] > stack.threshold(level):
            return work.index[widest], level, alive, level
    return -1, 0, alive, closed


@jit
def _differences(rows: Array, count: int, x: Array, away: Array) -> None:
    for i in range(count):
        for j in range(x.size):
            away[i, j] = rows[i, j] - x[j]


@jit
def verdict(
    levels: Levels, rules: Rules, X: Array, k: int, last: int, work: Work, race: argmax.Workspace
) -> tuple[float, float, float, float, float, bool]:
    """Mean, width, ucb and lcb in the set of all data, certificate, and whether the bounds are refuted."""
    once, first = int(np.int64(1)), int(np.int64(0))
    mean, width2 = work.values[2], work.values[3]
    best = single.largest_ucb(levels, once, None, X, race)
    evaluate_all(levels.rows, once, once, X, k, k + 1, mean, width2)
    m, width = mean[0], math.sqrt(width2[0])
    ucb, lcb = min(m + levels.beta[0] * width, rules.high), max(m - levels.beta[0] * width, rules.low)
    if lcb > ucb + REFUTED * max(abs(lcb), abs(ucb)):
        return m, width, ucb, lcb, math.nan, True
    certificate = min(max(min(best, rules.high) - lcb, 0.0), 2.0 * rules.norm * rules.action_norm)
    for level in range(1, last + 1):
        count = 0
        for i in range(X.shape[0]):
            if work.dropped[i] > level:
                for j in range(X.shape[1]):
                    work.away[count, j] = X[i, j] - X[k, j]
                count += 1
        evaluate_all(levels.rows, level + 1, level + 1, work.away, first, count, mean, width2)
        gap = 0.0
        for i in range(count):
            gap = max(gap, mean[i] + levels.beta[level] * math.sqrt(width2[i]))
        certificate = min(certificate, gap)
    return m, width, ucb, lcb, certificate, False


@jit
def set_radii(levels: Levels, rules: Rules, low: int, high: int) -> None:
    """Renew the radii of the entries from ``low`` to ``high``."""
    for i in range(low, high + 1):
        delta = rules.delta if i == 0 else _level_delta(rules.delta, i)
        levels.beta[i] = _mixture(levels.logdet[i], delta, rules.noise, rules.norm, rules.regularization)


@jit
def close(levels: Levels, closed: int, rounds: int, rules: Rules) -> int:
    """Close the levels that the next round finds closed: each keeps what all data were; returns how many are."""
    while rounds + 1.0 > rules.gate * 4.0 ** (closed + 1.0):
        closed += 1
        ridge.copy(levels.rows[0], levels.rows[closed])
        levels.logdet[closed], levels.rotations[closed] = levels.logdet[0], levels.rotations[0]
        set_radii(levels, rules, closed, closed)
    return closed


@jit
def learn(
    levels: Levels, closed: int, rounds: int, rules: Rules, x: Array, y: float, level: int, times: int
) -> int:
    """Add ``times`` equal rounds, explored at ``level`` as long as they are wide, else free; how many are closed."""
    d = x.size
    first, once = int(np.int64(0)), int(np.int64(1))
    mean, width2, below = np.empty(levels.size.size), np.empty(levels.size.size), np.empty(d + 2)
    row = x.reshape((1, d))
    explored = int(np.int64(0))
    if level > 0:
        evaluate_all(levels.rows, level + 1, level + 1, row, first, once, mean, width2)
        explored = max(once, stack.share(width2[0], level, times))
    while times > 0:
        room = rules.gate * 4.0 ** (closed + 1.0) - rounds
        step = times if room >= times else max(1, int(math.floor(room)))
        evaluate_all(levels.rows, once, closed + 1 if explored > 0 else once, row, first, once, mean, width2)
        _learn_level(levels, once, x, y, step, width2, rules.regularization, below)
        set_radii(levels, rules, first, first)
        if explored > 0:
            part = min(step, explored)
            for i in range(level, closed + 1):
                _learn_level(levels, i + 1, x, y, part, width2, rules.regularization, below)
            levels.size[level] += part
            explored -= part
            set_radii(levels, rules, level, closed)
        levels.size[0] += step
        rounds += step
        times -= step
        closed = close(levels, closed, rounds, rules)
    return closed


@jit
def covers(levels: Levels, closed: int, truth: Array) -> bool:
    """Whether the truth lies in all sets."""
    for i in range(closed + 1):
        if ridge.distance(levels.rows[i], truth) > levels.beta[i]:
            return False
    return True


@jit
def play(
    levels: Levels,
    closed: int,
    rounds: int,
    rules: Rules,
    heuristic: Array,
    actions: Array,
    rewards: Array,
    truth: Array,
    record: single.Record,
) -> tuple[int, bool]:
    """Rounds on actions (T, n, d), or (1, n, d), and rewards (T, n); how many are closed then, and any refuted."""
    inner, confidence = single._unpack(heuristic)
    s = single.scratch(heuristic, inner)
    _, n, d = actions.shape
    once, first = int(np.int64(1)), int(np.int64(0))
    work, race = workspace(n, d), argmax.workspace(n, d, levels.size.size)
    inner_race = argmax.workspace(n, d, inner.size.size)
    refuted = False
    for t in range(rewards.shape[0]):
        X = actions[t] if actions.shape[0] > 1 else actions[0]
        if truth.size > 0:
            record.covered[t] = covers(levels, closed, truth)
        k, level, alive, last = guard(levels, closed, X, work)
        if k < 0:
            by = single.of_choice(inner, once, confidence)
            room = inner_race if alive == n else argmax.workspace(alive, d, inner.size.size)
            k = work.index[argmax.select(by, once, work.rows[:alive], room, s.means, s.width2)]
        _, _, _, _, certificate, wrong = verdict(levels, rules, X, k, last, work, race)
        refuted |= wrong
        record.chosen[t], record.level[t] = k, level
        record.certificate[t] = math.nan if refuted else certificate
        record.reward[t] = rewards[t, k]
        x, y = X[k], rewards[t, k]
        closed = learn(levels, closed, rounds, rules, x, y, level, once)
        rounds += 1
        evaluate_all(inner.rows, once, once, X, k, k + 1, s.means, s.width2)
        single.learn(inner, once, confidence, x, y, once, s)
    return closed, refuted
