"""What the levels of ``Guarded`` learn, compiled.

The stack has all data as its first entry and closed level l as entry l, where ``linalg.levels`` counts from 1.

close     a level keeps what all data were
learn     all data learn every round, closed levels the explored ones
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.sets import memory as tight
from unipac.bandits.sets.certify import move_on
from unipac.bandits.sets.learning import covers as covered_by_sets, learn as learn_sets
from unipac.bandits.sets.weighted import learn as learn_weighted
from unipac.linalg import blocks, levels as stack, ridge
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.theory.kernels import level_delta as _level_delta, mixture as _mixture

_learn_level = stack._learn

NARROWER = 1e-6
"""The relative amount by which rounding alone may make the squared width of an explored round narrower."""


class Rules(NamedTuple):
    """The constants of a guard, all of them float64."""

    gate: float
    """g d: level l is open for the first g d 4^l rounds."""
    delta: float
    """δ/2: shared by the levels."""
    outer: float
    """The part of δ for the set of all data: what the levels and the sets behind certificates leave."""
    noise: float
    norm: float
    regularization: float
    action_norm: float
    low: float
    high: float


@jit
def closed_levels(rows: Array) -> int:
    """How many levels are closed: the others have no factor yet."""
    closed = int(np.int64(0))
    while closed + 1 < rows.shape[0] and rows[closed + 1, 0, 1] > 0.0:
        closed += 1
    return closed


@jit
def set_radii(levels: Levels, rules: Rules, low: int, high: int) -> None:
    """Renew the radii of the entries from ``low`` to ``high``."""
    for i in range(low, high + 1):
        delta = rules.outer if i == 0 else _level_delta(rules.delta, i)
        levels.beta[i] = _mixture(levels.logdet[i], delta, rules.noise, rules.norm, rules.regularization)


@inlined
def radius_of(levels: Levels, rules: Rules, level: int, zeta: float) -> float:
    """The radius of a closed level if rewards are linear within ζ: b_l + ζ √n, with n at least the rounds of D^l."""
    radius = levels.beta[level]
    if zeta > 0.0:
        members = math.floor(rules.gate * 4.0**level)
        for i in range(1, level + 1):
            members += levels.size[i]
        radius += zeta * math.sqrt(members)
    return float(radius)


@inlined
def close(levels: Levels, closed: int, rounds: int, rules: Rules) -> int:
    """Close the levels that are closed in the next round: each keeps a copy of all data. Returns how many are."""
    while rounds + 1.0 > rules.gate * 4.0 ** (closed + 1.0):
        closed += 1
        ridge.copy(levels.rows[0], levels.rows[closed])
        levels.logdet[closed], levels.rotations[closed] = levels.logdet[0], levels.rotations[0]
        set_radii(levels, rules, closed, closed)
    return closed


class Scratch(NamedTuple):
    """Room for the mean and squared width of one action in each entry of the stack, and for a rotation."""

    means: Array
    width2: Array
    below: Array


def scratch(capacity: int, d: int) -> Scratch:
    """Scratch memory for a stack."""
    return Scratch(np.empty(capacity), np.empty(capacity), np.empty(d + 2))


_scratch = jit(scratch)


@jit
def learn_one(
    levels: Levels,
    rules: Rules,
    sets: Array | None,
    spare: Array,
    x: Array,
    y: float,
    level: int,
    times: int,
    late: bool,
    s: Scratch,
) -> None:
    """Learn ``times`` equal rounds that were decided at ``level``; a genuine round never exceeds the closed ones.

    ``late``: the reward of a younger decision came before.
    """
    closed = closed_levels(levels.rows)
    if sets is not None:
        known, assumed = tight.unpack(sets)
        first, X = int(np.int64(0)), x.reshape((1, x.size))
        work = tight.workspace(spare, int(np.int64(1)), known)
        move_on(known, assumed, levels.rows, first, levels.beta[0], levels.size[0], X, first, work)
        nowhere = int(np.int64(-1))
        if known.weighted.shape[0] > 0:
            c = levels.beta[0]
            learn_weighted(known, assumed, levels.rows, first, c, X, first, y, times, late, nowhere, work)
        learn_sets(known, assumed, X, first, y, times, late, nowhere, work)
    learn(levels, closed, levels.size[0], rules, x, y, min(level, closed), times, math.nan, s)


@inlined
def learn(
    levels: Levels,
    closed: int,
    rounds: int,
    rules: Rules,
    x: Array,
    y: float,
    level: int,
    times: int,
    width2: float,
    s: Scratch,
) -> int:
    """Add ``times`` equal rounds, explored at ``level`` while they are wide, else free; returns the closed levels.

    Width is checked here again: if rewards are late, a round may have been wide when it was chosen, and no longer be.

    ``width2`` is the squared width of x on all data; NaN if it is not known.
    """
    first, once = int(np.int64(0)), int(np.int64(1))
    row = x.reshape((1, x.size))
    explored = int(np.int64(0))
    if level > 0:
        evaluate_all(levels.rows, level + 1, level + 1, row, first, once, s.means, s.width2)
        if s.width2[0] >= (1.0 - NARROWER) * 4.0**-level:  # else others were learned after it was chosen
            explored = max(once, stack.share(s.width2[0], level, times))
    while times > 0:
        room = rules.gate * 4.0 ** (closed + 1.0) - rounds
        step = times if room >= times else max(1, math.floor(room))
        if explored > 0 or math.isnan(width2):
            evaluate_all(
                levels.rows, once, closed + 1 if explored > 0 else once, row, first, once, s.means, s.width2
            )
        else:
            s.width2[0] = width2
        width2 = math.nan
        _learn_level(levels, once, x, y, step, s.width2, rules.regularization, s.below)
        set_radii(levels, rules, first, first)
        if explored > 0:
            part = min(step, explored)
            for i in range(level, closed + 1):
                _learn_level(levels, i + 1, x, y, part, s.width2, rules.regularization, s.below)
            levels.size[level] += part
            explored -= part
            set_radii(levels, rules, level, closed)
        levels.size[0] += step
        rounds += step
        times -= step
        closed = close(levels, closed, rounds, rules)
    return closed


@jit
def covers(levels: Levels, rules: Rules, closed: int, zeta: float, truth: Array) -> bool:
    """Whether the truth lies in all sets, for rewards that are linear within ζ."""
    radius = levels.beta[0] + zeta * math.sqrt(levels.size[0])
    inside = bool(blocks.distance(levels.rows[0], truth) <= radius)
    for i in range(1, closed + 1):
        inside &= blocks.distance(levels.rows[i], truth) <= radius_of(levels, rules, i, zeta)
    return inside


@jit
def covers_all(levels: Levels, rules: Rules, sets: Array | None, spare: Array, truth: Array) -> bool:
    """Whether the truth lies in all sets, those behind certificates included."""
    closed = closed_levels(levels.rows)
    if sets is None:
        return covers(levels, rules, closed, 0.0, truth)
    known = tight.opened(sets, spare, int(np.int64(0)))
    inside = covered_by_sets(known.sets, known.rules, truth, known.work)
    return inside and covers(levels, rules, closed, known.rules.zetas[known.sets.status[0]], truth)
