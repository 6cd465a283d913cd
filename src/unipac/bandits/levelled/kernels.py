"""Compiled parts of a round, shared by the agents whose state is a stack of levels; ``rounds`` has the whole.

decide   argmax of the least upper bound, and what is known of the winner      Alg. 1 lines 8-12
learn    add a round to its level, renew the radii                             Alg. 1 lines 4-5, 13-14
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._constants import NEGLIGIBLE
from unipac._jit import inlined, jit
from unipac.bandits.levelled.confidence import Confidence, set_radii, unpacked as confidence_of
from unipac.bandits.protocol.records import Trace
from unipac.bandits.protocol.verdict import Verdict, contradict
from unipac.linalg import blocks, ridge
from unipac.linalg.fast import argmax, fixed_actions, packing
from unipac.linalg.fast.fixed_actions import Table
from unipac.linalg.levels import SINGLE, Levels, add, level_of

State = Array
"""Confidence, Levels, whether the action chosen last is the one evaluated last, and the values of that by level, in
one array: Numba is slow to receive each.

The table of fixed actions comes beside it, or None: then the code that needs one is not even compiled.
"""

_CONSTANTS = len(Confidence._fields)
_levels_of = jit(packing.unpacked_levels)
_table_of = jit(fixed_actions.unpacked)


def packed(levels: Levels, confidence: Confidence) -> State:
    """The state of an agent."""
    last = np.zeros(1 + 2 * len(levels.size))
    return np.concatenate((np.array(confidence, dtype=np.float64), packing.packed_levels(levels), last))


def levels_in(state: State) -> Levels:
    """The levels of an agent, which share the memory of its state."""
    return packing.unpacked_levels(state, _CONSTANTS)


@jit
def _unpack(state: State) -> tuple[Levels, Confidence]:
    """The state of an agent by name, for kernels only: the parts keep nothing alive."""
    return _levels_of(state, _CONSTANTS), confidence_of(state)


class Scratch(NamedTuple):
    """Values of one action by level, and room for a rotation."""

    means: Array
    """(C,): in the state, where they last until another action is evaluated."""
    width2: Array
    """(C,): likewise."""
    before: Array
    """(C,): squared widths before the round was added."""
    below: Array
    """(d + 2,)."""


@jit
def scratch(state: State, levels: Levels) -> Scratch:
    """Scratch memory for a stack of levels."""
    C, d, _ = levels.rows.shape
    floats = np.empty(C + d + 2)
    means = packing.doubles(state, state.size - 2 * C, (C,))
    width2 = packing.doubles(state, state.size - C, (C,))
    return Scratch(means, width2, floats[:C], floats[C:])


@jit
def _mark(levels: Levels, state: State) -> int:
    """Where the state says whether the action chosen last is the one evaluated last, and nothing was learned since."""
    return state.size - 2 * levels.size.size - 1


@jit
def verdict(
    levels: Levels, S: int, confidence: Confidence, index: int, best: float, means: Array, width2: Array
) -> Verdict:
    """Bounds, level and certificate of the action chosen, from its values by level.

    No action has a ucb above ``best`` and that of the chosen one.
    """
    ucb, lcb, attained = bounds(levels, S, means, width2)
    best = min(max(best, ucb), confidence.high)
    certificate, refuted = certify(confidence, best, min(ucb, confidence.high), max(lcb, confidence.low))
    ucb = min(max(ucb, confidence.low), confidence.high)
    lcb = min(max(lcb, confidence.low), confidence.high)
    level = 1 if confidence.rule == SINGLE else level_of(width2, S)
    width = math.sqrt(width2[attained])
    return Verdict(index, level, means[attained], width, ucb, lcb, certificate, refuted)


@jit
def bounds(levels: Levels, S: int, means: Array, width2: Array) -> tuple[float, float, int]:
    """Least upper bound, greatest lower bound, and the position of the set that attains the former."""
    ucb = math.inf
    lcb = -math.inf
    attained = 0
    for i in range(S):
        bonus = levels.beta[i] * math.sqrt(width2[i])
        if means[i] + bonus < ucb:
            ucb = means[i] + bonus
            attained = i
        lcb = max(lcb, means[i] - bonus)
    return ucb, lcb, attained


@jit
def certify(confidence: Confidence, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
    """As ``BanditAgent._certify``, where something is proven."""
    if not confidence.certified:
        return math.nan, False  # bounds that are not proven refute nothing
    reach = confidence.norm * confidence.action_norm
    if contradict(lcb, ucb, reach):
        return math.nan, True
    # ⟨μ*, x* − x⟩ ≤ ‖μ*‖ (‖x*‖ + ‖x‖) ≤ 2SL, whatever was seen.
    return min(max(best - lcb, 0.0), 2.0 * reach), False


@jit
def scaled(levels: Levels, S: int, scale: float, beta: Array) -> Levels:
    """The levels with ``scale`` times their radii, written to ``beta``; the rest is shared."""
    for i in range(S):
        beta[i] = scale * levels.beta[i]
    return Levels(levels.rows, levels.logdet, beta, levels.size, levels.rotations)


@jit
def largest_ucb(levels: Levels, S: int, arms: Table | None, X: Array, work: argmax.Workspace) -> float:
    """Of all rows of X, which are the actions of the table if there is one."""
    means, width2 = np.empty(S), np.empty(S)
    if arms is None:
        argmax.select(levels, S, X, work, means, width2)
    else:
        fixed_actions.select_with(arms, levels, S, work, means, width2)
    ucb, _, _ = bounds(levels, S, means, width2)
    return ucb


@inlined
def decide(
    levels: Levels,
    S: int,
    confidence: Confidence,
    arms: Table | None,
    bonus: Array | None,
    X: Array,
    work: argmax.Workspace,
    s: Scratch,
) -> Verdict:
    """The choice among the rows of X, and what is known of it.

    Where the radii of the choice are scaled, ``bonus`` (C,) has room for them, else it is None: then the code
    that needs it is not even compiled. What is reported has the radii as they are.
    """
    if bonus is None:
        if arms is None:
            k = argmax.select(levels, S, X, work, s.means, s.width2)
        else:
            k = fixed_actions.select(arms, levels, S, work, s.means, s.width2)
        best = -math.inf  # the chosen one has the largest
    else:
        by = scaled(levels, S, confidence.scale, bonus)
        if arms is None:
            k = argmax.select(by, S, X, work, s.means, s.width2)
        else:
            k = fixed_actions.select(arms, by, S, work, s.means, s.width2)
        best = largest_ucb(levels, S, arms, X, work)
    return verdict(levels, S, confidence, k, best, s.means, s.width2)


@inlined
def learn(
    levels: Levels, S: int, confidence: Confidence, x: Array, y: float, times: int, s: Scratch
) -> tuple[int, int]:
    """Add ``times`` equal rounds, given the values of x by level; returns the lowest level changed and S.

    A negligible x is not stored (no level changes, 0): it would open a level each time, and its gap is at
    most 2 β_1 ‖x‖/√λ.
    """
    if ridge.squared_norm(x) < (NEGLIGIBLE * confidence.action_norm) ** 2:
        return 0, S
    rule, regularization = confidence.rule, confidence.regularization
    lowest, S_after = add(levels, S, rule, x, y, times, s.width2, regularization, s.below)
    set_radii(levels, confidence, min(lowest, S), S_after)
    return lowest, S_after


@jit
def learn_with_table(
    levels: Levels,
    S: int,
    fixed: Table,
    bonus: Array | None,
    confidence: Confidence,
    x: Array,
    y: float,
    times: int,
    s: Scratch,
) -> tuple[int, int]:
    """As ``learn``, and keep the table of the fixed actions up to date."""
    for i in range(S):
        s.before[i] = s.width2[i]
    lowest, S_after = learn(levels, S, confidence, x, y, times, s)
    if lowest > 0:
        by = levels if bonus is None else scaled(levels, S_after, confidence.scale, bonus)
        fixed_actions.learn(fixed, by, confidence.rule, lowest, S, S_after, times, s.before, s.below)
    return lowest, S_after


class Record(NamedTuple):
    """Where ``rounds.play`` writes what happened in each of T rounds."""

    chosen: NDArray[np.int64]
    level: NDArray[np.int64]
    certificate: Array
    reward: Array
    covered: NDArray[np.bool_]
    zeta: Array
    """Of length 0 if the agent was not told several."""


def record(trace: Trace) -> Record:
    """The arrays of a trace."""
    covered = np.empty(0, dtype=np.bool_) if trace.covered is None else trace.covered
    zeta = np.empty(0) if trace.misspecification is None else trace.misspecification
    return Record(trace.index, trace.level, trace.certificate, trace.reward, covered, zeta)


@jit
def _covers(levels: Levels, changed: int, S: int, truth: Array, inside: NDArray[np.bool_]) -> bool:
    """Whether the truth lies in all sets; only those from ``changed`` on are tested again."""
    if changed > 0:
        for i in range(changed - 1, S):
            inside[i] = blocks.distance(levels.rows[i], truth) <= levels.beta[i]
    covers = True
    for i in range(S):
        covers &= inside[i]
    return covers
