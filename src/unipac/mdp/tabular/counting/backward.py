"""Passes from the last stage to the first: upper values with a bonus of some kind, lower values of a policy.

With peak = max(0, max V_{h+1}), as an episode may end, for every (s, a) with n visits and outcomes (s', r):

    Q_h(s, a) = base + high + peak                                  if n = 0
                base + bound of E[r + V_{h+1}(s')], at most high + peak
    V_h(s)    = min(ceiling, max_a Q_h(s, a))

and downwards in the same way. ``base`` is a reward known apart from the outcomes, ``high`` the largest reward of an
outcome: one of the two is 0. Where nothing depends on the stage and V no longer changes, earlier stages are the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.mdp.tabular.counting.counts import Counts
from unipac.mdp.tabular.counting.kl import kl_lower, kl_upper

KL, HOEFFDING, BERNSTEIN = 0, 1, 2
"""Kinds of bonus, by radius (C,): the threshold of a ball; the radius of a mean of n; log(..)/n for the variance."""

STILL = 1e-13
"""Values that change by less than this, relative to the largest, have converged; rounding may do as much."""


class Bonus(NamedTuple):
    """What is added to means."""

    kind: int
    radius: Array
    """(C,): by cell."""
    width: Array
    """(H,): factor of the radius at a stage; not used by KL."""
    second: Array
    """(H + 1, S): another term by stage and next state, under a root; (0, 0) if there is none."""


class Limits(NamedTuple):
    """Limits of rewards and values."""

    base: Array
    """(H or 1, S A): rewards apart from the outcomes."""
    extreme: Array
    """(S A,): the largest reward of an outcome for upper values, the least one for lower values."""
    sure: float
    """1 if the base is certain, so that it is part of ``end``; 0 if it only bounds a mean."""
    end: float
    """The largest sum of rewards still to come for upper values, the least one for lower values; or infinite."""
    over: NDArray[np.bool_]
    """(S,): states in which no action is taken: their value is 0."""


@jit
def gather(
    counts: Counts, cell: int, after: Array, weights: Array, values: Array, sign: float, end: float
) -> int:
    """Fill counts of a cell's outcomes and sign · (r + V_{h+1}(s')), at most ``end``; returns how many outcomes."""
    k, e = 0, counts.first[cell]
    while e >= 0:
        t = counts.following[e]
        weights[k] = counts.times[e]
        values[k] = min(end, sign * (counts.value[e] + (after[t] if t >= 0 else 0.0)))
        k += 1
        e = counts.other[e]
    return k


@jit
def optimistic(
    counts: Counts,
    bonus: Bonus,
    limits: Limits,
    previous: Array,
    spread: bool,
    action: Integers,
    Q: Array,
    V: Array,
) -> int:
    """Fill the greedy ``action`` (H, S), ``Q`` (H, S A), ``V`` (H + 1, S); Q stays below ``previous``, if given.

    Of equally good actions the first is taken, or one that depends on stage and state if they are ``spread``. Returns
    the last of the first stages that are all the same.
    """
    H, n_states = action.shape
    pairs = Q.shape[1]
    n_actions = pairs // n_states
    pooled = counts.visits.size == pairs
    varies = not pooled or limits.base.shape[0] > 1 or bonus.kind != KL or previous.size > 0
    most = counts.kinds.max()
    weights, values = np.empty(most), np.empty(most)
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        after = V[h + 1]
        peak = max(0.0, after.max())
        for s in range(n_states):
            best, chosen = -math.inf, 0
            if limits.over[s]:
                best, Q[h, s * n_actions : (s + 1) * n_actions] = 0.0, 0.0
            for a in range(0 if limits.over[s] else n_actions):
                pair = s * n_actions + a
                cell = pair if pooled else h * pairs + pair
                base = limits.base[min(h, limits.base.shape[0] - 1), pair]
                end = limits.end - limits.sure * base
                q = min(limits.extreme[pair] + peak, end) if previous.size == 0 else math.inf
                n = counts.visits[cell]
                if n > 0:
                    k = gather(counts, cell, after, weights, values, 1.0, end)
                    if bonus.kind == KL:
                        q = kl_upper(weights, values, k, float(n), q, bonus.radius[cell])
                    else:
                        q = min(q, _mean_and_bonus(counts, bonus, cell, h, weights, values, k))
                q += base
                if previous.size > 0:
                    q = min(q, previous[h, pair])
                Q[h, pair] = q
                if q > best:
                    best, chosen = q, a
            action[h, s] = chosen
            V[h, s] = min(best, limits.end) if not limits.over[s] else 0.0
        tied = spread and spread_ties(Q[h], h, limits.over, action[h])
        if not varies and h > 0 and _still(V[h], after):
            for earlier in range(h):
                V[earlier], Q[earlier], action[earlier] = V[h], Q[h], action[h]
                if tied:
                    spread_ties(Q[h], earlier, limits.over, action[earlier])
            return 0 if tied else h
    return 0


@jit
def spread_ties(Q: Array, h: int, over: NDArray[np.bool_], action: Integers) -> bool:
    """Fill the actions (S,) of a stage with one of the best of Q (S A,) each, by a hash of stage and state.

    If it always took the first of equals, a policy could return to a state again and again by the same action. Returns
    whether there were any ties.
    """
    n_actions, tied = Q.size // action.size, False
    for s in range(action.size):
        if over[s]:
            continue
        q = Q[s * n_actions : (s + 1) * n_actions]
        best, ties = q.max(), 0
        for a in range(n_actions):
            ties += q[a] == best
        x = (h * 2654435761 + s * 40503 + 12345) & 0xFFFFFFFF
        for _ in range(2):
            x = ((x ^ (x >> 16)) * 73244475) & 0xFFFFFFFF
        nth, tied = (x ^ (x >> 16)) % ties, tied or ties > 1
        for a in range(n_actions):
            if q[a] == best:
                if nth == 0:
                    action[s] = a
                nth -= 1
    return tied


@jit
def _mean_and_bonus(
    counts: Counts, bonus: Bonus, cell: int, h: int, weights: Array, values: Array, kinds: int
) -> float:
    n = float(counts.visits[cell])
    mean: float = 0.0
    for j in range(kinds):
        mean += float(weights[j] * values[j])
    mean /= n
    if bonus.kind == HOEFFDING:
        return mean + float(bonus.width[h] * bonus.radius[cell])
    variance, second = 0.0, 0.0
    e = counts.first[cell]
    for j in range(kinds):
        variance += weights[j] * (values[j] - mean) ** 2
        if bonus.second.size > 0 and counts.following[e] >= 0:
            second += weights[j] * bonus.second[h + 1, counts.following[e]]
        e = counts.other[e]
    first = math.sqrt(8.0 * bonus.radius[cell] * variance / n)
    third = math.sqrt(8.0 * second / n / n)
    return mean + first + 14.0 / 3.0 * float(bonus.width[h] * bonus.radius[cell]) + third


@jit
def _still(V: Array, after: Array) -> bool:
    change, size = 0.0, 0.0
    for s in range(V.size):
        change = max(change, abs(V[s] - after[s]))
        size = max(size, abs(V[s]))
    return change <= STILL * size


@jit
def pessimistic(
    counts: Counts, thresholds: Array, one_less: bool, limits: Limits, action: Integers, stage: int, V: Array
) -> None:
    """Fill the lower values ``V`` (H + 1, S) of a policy, which is the same at all stages up to ``stage``.

    ``thresholds`` (C,) are those of balls around the frequencies, or, if ``one_less``, those of counts less one.
    """
    H, n_states = action.shape
    pairs = limits.extreme.size
    n_actions = pairs // n_states
    pooled = counts.visits.size == pairs
    most = counts.kinds.max()
    weights, values = np.empty(most), np.empty(most)
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        after = V[h + 1]
        floor = min(0.0, after.min())
        for s in range(n_states):
            pair = s * n_actions + action[h, s]
            cell = pair if pooled else h * pairs + pair
            base = limits.base[min(h, limits.base.shape[0] - 1), pair]
            end = limits.end - limits.sure * base
            q = max(limits.extreme[pair] + floor, end)
            n = counts.visits[cell] - (counts.kinds[cell] if one_less else 0)
            if n > 0:
                k = gather(counts, cell, after, weights, values, -1.0, -end)
                if one_less:
                    for j in range(k):
                        weights[j] -= 1.0
                q = kl_lower(weights, values, k, float(n), q, thresholds[cell])
            V[h, s] = max(q + base, limits.end) if not limits.over[s] else 0.0
        if pooled and limits.base.shape[0] == 1 and 0 < h < stage and _still(V[h], after):
            for earlier in range(h):
                V[earlier] = V[h]
            return


@jit
def estimated(counts: Counts, limits: Limits, action: Integers, V: Array) -> int:
    """Fill the ``action`` (H, S) that is best in expectation under the frequencies, and its values ``V`` (H + 1, S).

    A pair never visited has the lower limits. Returns the last of the first stages that are all the same.
    """
    H, n_states = action.shape
    pairs = limits.extreme.size
    n_actions = pairs // n_states
    pooled = counts.visits.size == pairs
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        after = V[h + 1]
        floor = min(0.0, after.min())
        for s in range(n_states):
            best = -math.inf
            for a in range(n_actions):
                pair = s * n_actions + a
                cell = pair if pooled else h * pairs + pair
                q, n, e = 0.0, counts.visits[cell], counts.first[cell]
                while e >= 0:
                    t = counts.following[e]
                    q += counts.times[e] / n * (counts.value[e] + (after[t] if t >= 0 else 0.0))
                    e = counts.other[e]
                if n == 0:
                    q = limits.extreme[pair] + floor
                q += limits.base[min(h, limits.base.shape[0] - 1), pair]
                if q > best:
                    best, action[h, s] = q, a
            V[h, s] = best if not limits.over[s] else 0.0
        if pooled and limits.base.shape[0] == 1 and h > 0 and _still(V[h], after):
            for earlier in range(h):
                V[earlier], action[earlier] = V[h], action[h]
            return h
    return 0
