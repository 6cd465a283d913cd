"""Compiled rounds of the optimistic agents that keep the sets behind certificates, beside their levels.

    choice        argmax_x of the least of ⟨w^l, x⟩ + β_l ‖x‖ over the levels and ⟨θ̂, x⟩ + the half-width of A
    certificate   by A, B and the set of all data C, which is the outermost level

A and C do not depend on the order of the rewards, B does: so B, also with weights, is for certificates alone. Choices
are not cut by S‖x‖ or the range: bounds that are cut tie.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.bandits.levelled.confidence import DETERMINANT, Confidence
from unipac.bandits.levelled.kernels import Scratch, _covers, bounds
from unipac.bandits.protocol.verdict import Verdict, contradict
from unipac.bandits.sets import kernels as tight
from unipac.bandits.sets.certify import bound_all as bound_by_sets, certificate, index_a, interval, move_on
from unipac.bandits.sets.learning import covers as covered_by_sets, learn as learn_sets
from unipac.bandits.sets.memory import MOST, Open, unpack
from unipac.bandits.sets.weighted import learn as learn_weighted
from unipac.linalg import blocks
from unipac.linalg.fast.evaluate import evaluate_all, evaluate_one
from unipac.linalg.levels import SINGLE, Levels, level_of
from unipac.theory.kernels import mixture as _mixture


@jit
def radius_c(levels: Levels, S: int, confidence: Confidence) -> tuple[float, int]:
    """The radius of the set of all data behind certificates, and the rounds; that of a single set is for choices."""
    c = confidence
    rounds = int(np.int64(0))
    for i in range(S):
        rounds += levels.size[i]
    radius = levels.beta[S - 1]
    if c.rule == SINGLE:
        radius = _mixture(levels.logdet[0], c.outer_delta, c.noise, c.norm, c.regularization)
    return float(radius), rounds


@jit
def under(levels: Levels, S: int, zeta: float, beta: Array) -> Levels:
    """The levels if rewards are linear within ζ, with radii β_l + ζ √n_l written to ``beta``; the rest is shared."""
    members = int(np.int64(0))
    for i in range(S):
        members += levels.size[i]
        beta[i] = levels.beta[i] + zeta * math.sqrt(members)
    return Levels(levels.rows, levels.logdet, beta, levels.size, levels.rotations)


@inlined
def _select(
    levels: Levels, S: int, confidence: Confidence, known: Open, X: Array, s: Scratch
) -> tuple[int, float]:
    """The first row with the largest index, and that; its means and squared widths by level are in s.

    An action is evaluated by A and the other levels only if its bound by C, the outermost level, exceeds the largest
    index found so far.
    """
    n = X.shape[0]
    first, once = int(np.int64(0)), int(np.int64(1))
    scale, work = confidence.scale, known.work
    evaluate_all(levels.rows, S, S, X, first, n, work.outer[0], work.outer[1])
    beta = scale * levels.beta[S - 1]
    leader, best = first, -math.inf
    for k in range(n):
        bound = work.outer[0, k] + beta * math.sqrt(work.outer[1, k])
        work.values[k, MOST] = bound
        if bound > best:
            leader, best = k, bound
    if confidence.rule != SINGLE or confidence.radius != DETERMINANT:  # else as in the paper
        best = _index(levels, S, scale, known, X, best, -math.inf, leader, s)
        for k in range(n):
            bound = work.values[k, MOST]
            if bound > best or (bound == best and k < leader):
                value = _index(levels, S, scale, known, X, bound, best, k, s)
                if value > best or (value == best and k < leader):
                    leader, best = k, value
    evaluate_all(levels.rows, once, S, X, leader, leader + 1, s.means, s.width2)
    return leader, best


@jit
def _index(
    levels: Levels,
    S: int,
    scale: float,
    known: Open,
    X: Array,
    bound: float,
    enough: float,
    k: int,
    s: Scratch,
) -> float:
    """The least upper bound of action k, by A and all levels; not sought below ``enough``.

    ``bound`` is that of the outermost level.
    """
    value = min(bound, index_a(known.sets, known.rules, k, scale, known.work))
    if S > 1 and value >= enough:
        once = int(np.int64(1))
        evaluate_all(levels.rows, once, S - 1, X, k, k + 1, s.means, s.width2)
        for i in range(S - 1):
            value = min(value, s.means[i] + scale * levels.beta[i] * math.sqrt(s.width2[i]))
    return value


@inlined
def decide(levels: Levels, S: int, confidence: Confidence, known: Open, X: Array, s: Scratch) -> Verdict:
    """The choice among the rows of X, and what is known of it."""
    sets, rules, work = known.sets, known.rules, known.work
    first = sets.status[0]
    tight.look(sets, X, work)
    paper = confidence.rule == SINGLE and confidence.radius == DETERMINANT
    zeta = 0.0 if paper else rules.zetas[first]
    k, best = _select(under(levels, S, zeta, s.before), S, confidence, known, X, s)
    plain, rounds = radius_c(levels, S, confidence)
    asks, moved, refuted = True, False, False
    c, reach, ucb, lcb, mean, width = plain, 0.0, 0.0, 0.0, 0.0, 0.0
    while asks:
        zeta = rules.zetas[sets.status[0]]
        c = plain + zeta * math.sqrt(rounds)
        if confidence.rule == SINGLE:
            mean, width = s.means[S - 1], math.sqrt(s.width2[S - 1])
            ucb, lcb = mean + c * width, mean - c * width
        else:
            ucb, lcb, attained = bounds(under(levels, S, zeta, s.before), S, s.means, s.width2)
            mean, width = s.means[attained], math.sqrt(s.width2[attained])
        ucb, lcb = ucb + zeta, lcb - zeta
        upper, lower, by_sets, center, own = interval(sets, rules, X, k, k, work)
        if by_sets < ucb:
            mean, width = center, own
        ucb, lcb = min(min(ucb, upper), confidence.high), max(max(lcb, lower), confidence.low)
        reach = confidence.norm * confidence.action_norm + zeta
        # Bounds that are not proven refute nothing.
        refuted = confidence.certified and (sets.status[1] != 0 or contradict(lcb, ucb, reach))
        asks = refuted and sets.status[1] == 0 and tight.assume_next(sets, rules)
        if asks:  # answer under the next ζ
            moved = True
            tight.look(sets, X, work)
    found = math.nan
    if confidence.certified and not refuted:
        most = 2.0 * reach
        if confidence.scale == 1.0 and not (paper or moved):  # no action has a larger index
            most = min(most, max(min(best + zeta, confidence.high) - lcb, 0.0))
        found = certificate(sets, rules, levels.rows, S - 1, c, X, k, lcb, most, work)
    tight.answered(sets, rules, first)
    level = 1 if confidence.rule == SINGLE else level_of(s.width2, S)
    ucb, lcb = max(ucb, confidence.low), min(lcb, confidence.high)
    return Verdict(k, level, mean, width, ucb, lcb, found, refuted)


@inlined
def bound_all(
    levels: Levels,
    S: int,
    confidence: Confidence,
    memory: Array,
    spare: Array,
    X: Array,
    s: Scratch,
    out: Array,
) -> None:
    """Mean, width, ucb and lcb of every row of X, as the rows of ``out``."""
    sets, rules = unpack(memory)
    c, rounds = radius_c(levels, S, confidence)
    bound_by_sets(memory, spare, levels.rows, S - 1, c, rounds, X, out)
    if S > 1:
        zeta = rules.zetas[sets.status[2]]
        by = under(levels, S, zeta, s.before)
        for k in range(X.shape[0]):
            evaluate_one(levels, S, X[k], s.means, s.width2)
            ucb, lcb, attained = bounds(by, S, s.means, s.width2)
            out[3, k] = max(out[3, k], lcb - zeta)
            if ucb + zeta < out[2, k]:
                out[0, k], out[1, k], out[2, k] = s.means[attained], math.sqrt(s.width2[attained]), ucb + zeta


@inlined
def learn(
    levels: Levels,
    S: int,
    confidence: Confidence,
    known: Open,
    X: Array,
    k: int,
    y: float,
    times: int,
    late: bool,
    image: int,
) -> None:
    """Let the sets learn the reward of row k of X, before the levels do; as ``sets.learning.learn``."""
    if known.rules.zetas.size > 1:
        c, rounds = radius_c(levels, S, confidence)
        move_on(known.sets, known.rules, levels.rows, S - 1, c, rounds, X, k, known.work)
    if known.sets.weighted.shape[0] > 0:
        c, _ = radius_c(levels, S, confidence)
        learn_weighted(
            known.sets, known.rules, levels.rows, S - 1, c, X, k, y, times, late, image, known.work
        )
    learn_sets(known.sets, known.rules, X, k, y, times, late, image, known.work)


@inlined
def covers(
    levels: Levels,
    changed: int,
    S: int,
    confidence: Confidence,
    known: Open,
    truth: Array,
    inside: NDArray[np.bool_],
    s: Scratch,
) -> bool:
    """Whether the truth lies in all sets; of levels only those from ``changed`` on are tested again, unless ζ > 0."""
    zeta = known.rules.zetas[known.sets.status[0]]
    c, rounds = radius_c(levels, S, confidence)
    found = blocks.distance(levels.rows[S - 1], truth) <= c + zeta * math.sqrt(rounds)
    if confidence.rule != SINGLE:
        begin = int(np.int64(1)) if zeta > 0.0 else changed
        found &= _covers(under(levels, S, zeta, s.before), begin, S, truth, inside)
    return bool(found) and covered_by_sets(known.sets, known.rules, truth, known.work)
