"""Counts of what was seen in a finite MDP; memory and time grow with that, not with S² A H.

A *cell* is a (stage, state, action), or a (state, action) where stages are pooled. Its *outcomes* are the pairs (next
state, reward) that followed, each with its count: a linked list through the arrays of all outcomes. Agents that
need only mean rewards store every outcome with reward 0 and use the sums of the cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit

END = -1
"""The next state after the end of an episode; all later values are 0."""


class Counts(NamedTuple):
    """C cells and room for E outcomes, in the order of their first appearance."""

    visits: Integers
    """(C,)."""
    reward: Array
    """(C,): sums of rewards."""
    kinds: Integers
    """(C,): number of different outcomes."""
    first: Integers
    """(C,): the newest outcome, -1 if there is none."""
    following: Integers
    """(E,): next state, or ``END``."""
    value: Array
    """(E,): reward."""
    times: Integers
    """(E,): how often it came."""
    other: Integers
    """(E,): another outcome of the same cell, -1 after the last."""
    used: Integers
    """(1,): number of outcomes."""


def no_counts(cells: int) -> Counts:
    """Before anything was seen."""

    def zeros(n: int) -> Integers:
        return np.zeros(n, dtype=np.int64)

    lists = (zeros(0), np.zeros(0), zeros(0), zeros(0))
    return Counts(zeros(cells), np.zeros(cells), zeros(cells), np.full(cells, -1), *lists, zeros(1))


def with_room(counts: Counts, steps: int) -> Counts:
    """The same counts with room for this many new outcomes; the arrays at least double when they grow."""
    needed = int(counts.used[0]) + steps
    if needed <= counts.times.size:
        return counts
    more = max(needed, 2 * counts.times.size) - counts.times.size
    names = ("following", "value", "times", "other")
    grown = {name: np.concatenate([a := getattr(counts, name), np.zeros(more, a.dtype)]) for name in names}
    return counts._replace(**grown)


def trimmed(counts: Counts) -> Counts:
    """The same counts without spare room, for a file."""
    used = int(counts.used[0])
    names = ("following", "value", "times", "other")
    return counts._replace(**{name: getattr(counts, name)[:used] for name in names})


def at(counts: Counts, times: Integers, reward: Array) -> Counts:
    """The counts at an earlier moment, from how often the first outcomes had come and the sums of rewards."""
    used = len(times)
    first, kinds, visits = counts.first.copy(), np.zeros_like(counts.kinds), np.zeros_like(counts.visits)
    _count_anew(counts.other, times, first, kinds, visits)
    return Counts(
        visits,
        reward.copy(),
        kinds,
        first,
        counts.following[:used].copy(),
        counts.value[:used].copy(),
        times.copy(),
        counts.other[:used].copy(),
        np.full(1, used),
    )


@jit
def _count_anew(other: Integers, times: Integers, first: Integers, kinds: Integers, visits: Integers) -> None:
    """Leave out outcomes that came later, and count the kinds and visits of the others."""
    for cell in range(first.size):
        while first[cell] >= times.size:  # outcomes that came later stand in front
            first[cell] = other[first[cell]]
        e = first[cell]
        while e >= 0:
            kinds[cell] += 1
            visits[cell] += times[e]
            e = other[e]


@jit
def count(counts: Counts, cell: int, following: int, value: float, reward: float) -> None:
    """Add an outcome, for which there must be room; ``value`` is the reward that distinguishes outcomes."""
    counts.visits[cell] += 1
    counts.reward[cell] += reward
    e = counts.first[cell]
    while e >= 0 and (counts.following[e] != following or counts.value[e] != value):
        e = counts.other[e]
    if e < 0:
        e = counts.used[0]
        counts.used[0] += 1
        counts.following[e], counts.value[e], counts.times[e] = following, value, 0
        counts.other[e] = counts.first[cell]
        counts.first[cell] = e
        counts.kinds[cell] += 1
    counts.times[e] += 1


@jit
def count_episode(
    counts: Counts,
    pairs: int,
    n_actions: int,
    states: Integers,
    actions: Integers,
    rewards: Array,
    following: Integers,
    with_rewards: bool,
) -> None:
    """Add an episode; outcomes hold their rewards if ``with_rewards``."""
    pooled = counts.visits.size == pairs
    for h in range(states.size):
        cell = (0 if pooled else h * pairs) + states[h] * n_actions + actions[h]
        count(counts, cell, following[h], rewards[h] if with_rewards else 0.0, rewards[h])


@jit
def has_several_rewards(counts: Counts) -> bool:
    """Whether two outcomes of a cell differ only in their reward, which then is not a function of (s, a, s')."""
    for cell in range(counts.visits.size):
        e = counts.first[cell]
        while e >= 0:
            other = counts.other[e]
            while other >= 0:
                if counts.following[other] == counts.following[e]:
                    return True
                other = counts.other[other]
            e = counts.other[e]
    return False


def check_counts(counts: Counts, n_states: int) -> None:
    """Refuse counts that no data could have led to; every entry that is used as an index is checked."""
    E, used = counts.times.size, int(counts.used[0]) if counts.used.shape == (1,) else -1
    by_cell = (counts.reward, counts.kinds, counts.first)
    sound = 0 <= used <= E and all(len(a) == E for a in (counts.following, counts.value, counts.other))
    sound = sound and all(len(a) == len(counts.visits) for a in by_cell) and bool((counts.first >= -1).all())
    sound = sound and int(counts.kinds.sum()) == used and bool((counts.kinds >= 0).all())
    sound = sound and bool(np.isfinite(counts.value).all() and np.isfinite(counts.reward).all())
    if sound:
        following, times, other = counts.following[:used], counts.times[:used], counts.other[:used]
        sound = bool(((following >= END) & (following < n_states) & (times > 0)).all())
        # An outcome points to an older one, so lists end; together they hold every outcome once.
        sound = sound and bool(((other >= -1) & (other < np.arange(used))).all())
        pointers = np.concatenate([counts.first, other])
        pointers = pointers[pointers >= 0]
        sound = sound and pointers.size == used and bool((np.sort(pointers) == np.arange(used)).all())
    if not sound or not _agree(counts):
        raise ValueError("the counts contradict each other")


@jit
def _agree(counts: Counts) -> bool:
    """Whether visits and kinds of every cell are those of its list."""
    for cell in range(counts.visits.size):
        visits, kinds, e = 0, 0, counts.first[cell]
        while e >= 0:
            visits, kinds, e = visits + counts.times[e], kinds + 1, counts.other[e]
        if visits != counts.visits[cell] or kinds != counts.kinds[cell]:
            return False
    return True
