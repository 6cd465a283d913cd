"""The phases of PhasedElimination: the plan of each, what was known before it, and which arms it leaves.

A phase has a plan, how often to pull every arm. Its pulls are handed out one by one; rewards may come late or never.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import jit
from unipac.bandits.protocol.records import Decision
from unipac.linalg.design import Design, Span, allocate, g_optimal
from unipac.linalg.fit import Fit
from unipac.theory.elimination import phase_log

Counts = NDArray[np.int64]

TOLERANCE = 0.05


class Saved(NamedTuple):
    """The present phase, and the one before, whose estimates are in use."""

    number: Counts
    """(1,): l."""
    active: NDArray[np.bool_]
    sums: Array
    counts: Counts
    earlier: NDArray[np.bool_]
    """(n,): what was active in phase l − 1."""
    earlier_sums: Array
    earlier_counts: Counts


class Phases(NamedTuple):
    """The same, and what follows from it."""

    number: Counts
    active: NDArray[np.bool_]
    sums: Array
    counts: Counts
    earlier: NDArray[np.bool_]
    earlier_sums: Array
    earlier_counts: Counts
    plan: Counts
    """(n,): how often this phase pulls each arm; zero if one arm is left."""
    gaps: Array
    """(n,): a proven bound on what each arm loses."""


class Planner:
    """Plans phases and eliminates arms; it keeps the last fit and the last design, which a phase needs again."""

    def __init__(self, arms: Array, delta: float, noise: float, norm: float) -> None:
        self.arms, self.delta, self.noise, self.norm = arms, delta, noise, norm
        self.longest = float(np.linalg.norm(arms, axis=1).max())
        self._last_fit: tuple[bytes, Fit | None] = b"", None
        self._last_design: tuple[bytes, Design | None] = b"", None

    def start(self) -> Phases:
        """The first phase."""
        n = len(self.arms)
        every, sums, counts = np.ones(n, dtype=bool), np.zeros(n), np.zeros(n, dtype=np.int64)
        first = Saved(
            np.ones(1, dtype=np.int64), every, sums, counts, every.copy(), sums.copy(), counts.copy()
        )
        return self.begun(first)

    def begun(self, saved: Saved) -> Phases:
        """A phase with its plan and the certificates of the arms."""
        X, active, phase = self.arms, np.flatnonzero(saved.active), int(saved.number[0])
        gaps = self.norm * np.linalg.norm(X[active] - X[:, None], axis=2).max(axis=1)
        fit = self.fit_before(saved)
        if fit is not None:
            lg = phase_log(int(saved.earlier.sum()), phase - 1, self.delta)
            mean, error = fit.pairs(X, X[active], lg)
            gaps = np.clip((mean + error).max(axis=1), 0.0, gaps)
        plan = np.zeros(len(X), dtype=np.int64)
        if len(active) > 1:
            accuracy = self.norm * self.longest * 2.0 ** -(phase - 1)
            found = self._design(saved.active)
            lg = phase_log(len(active), phase, self.delta)
            pulls = 2.0 * found.value * lg * (self.noise / accuracy) ** 2 if accuracy > 0 else 0.0
            plan[active] = allocate(found.weights, pulls)
        else:
            gaps[active] = 0.0
        return Phases(*saved, plan, gaps)

    def restored(self, saved: Saved) -> Phases:
        """The phase of a file; a ``ValueError`` if no data could have led there."""
        if saved.number[0] >= 1 and (saved.active <= saved.earlier).all() and saved.active.any():
            state = self.begun(saved)
            if (saved.counts >= 0).all() and not (state.plan.any() and (saved.counts > state.plan).any()):
                return state
        raise ValueError("the phases are not those of any data")

    def added(self, state: Phases, arms: Counts, rewards: Array) -> Phases:
        """The phase with more rewards of arms, within its plan; the next phase once all have come."""
        sums, counts = state.sums.copy(), state.counts.copy()
        _count(sums, counts, arms, rewards)
        if (counts < state.plan).any():
            return state._replace(sums=sums, counts=counts)
        after = np.zeros_like(state.active)
        active = np.flatnonzero(state.active)
        lg = phase_log(len(active), int(state.number[0]), self.delta)
        after[self._fit(counts, sums).eliminate(self.arms, active, lg)[0]] = True
        fresh = np.zeros_like(sums), np.zeros_like(counts)
        return self.begun(Saved(state.number + 1, after, *fresh, state.active, sums, counts))

    def fit_before(self, state: Saved | Phases) -> Fit | None:
        """Least squares of the phase before; None in the first."""
        return self._fit(state.earlier_counts, state.earlier_sums) if state.number[0] > 1 else None

    def _fit(self, counts: Counts, sums: Array) -> Fit:
        data, (of, fit) = counts.tobytes() + sums.tobytes(), self._last_fit
        if fit is None or of != data:
            fit = Fit(self.arms, counts, sums, self.noise, self.norm)
            self._last_fit = data, fit
        return fit

    def _design(self, active: NDArray[np.bool_]) -> Design:
        mask, (of, found) = active.tobytes(), self._last_design
        if found is None or of != mask:
            found = g_optimal(Span.of(self.arms[active]).arms, TOLERANCE)
            self._last_design = mask, found
        return found


def next_arm(state: Phases, pending: Collection[Decision]) -> int:
    """The arm to pull: the first that has been handed out less than planned."""
    if not state.plan.any():
        return int(state.active.argmax())
    handed = state.counts.copy()
    for decision in pending:
        handed[decision.index] += decision.level == state.number[0]
    planned = state.plan > 0
    again = int((handed[planned] // state.plan[planned]).min()) + 1
    return int(np.flatnonzero(handed < state.plan * again)[0])


def arms_ahead(state: Phases, pending: Collection[Decision], most: int) -> Counts:
    """The arms to pull next, from 1 to ``most``; up to the end of the phase if no reward is outstanding."""
    if not state.plan.any():
        return np.full(most, state.active.argmax())
    if pending:
        return np.array([next_arm(state, pending)])
    ends = np.minimum(np.cumsum(np.minimum(state.plan - state.counts, most)), most)
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))


@jit
def pull(arms: Counts, y: Array, gaps: Array, index: Counts, certificate: Array, reward: Array) -> None:
    """Record pulls of arms: index, certificate and reward."""
    for t in range(len(arms)):
        k = arms[t]
        index[t], certificate[t], reward[t] = k, gaps[k], y[t, k]


@jit
def _count(sums: Array, counts: Counts, arms: Counts, rewards: Array) -> None:
    for i in range(len(arms)):
        sums[arms[i]] += rewards[i]
        counts[arms[i]] += 1
