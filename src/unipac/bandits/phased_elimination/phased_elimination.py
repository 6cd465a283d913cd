"""PhasedElimination: fixed arms, phases of G-optimal designs; uniform-PAC with d log n instead of d².

    pseudo-code (Lattimore and Szepesvári, Bandit Algorithms, ch. 22, with certificates)      here
    active A = all; e_1 = S max ‖x‖, e_l = e_1 2^-(l−1)
    phase l: m = |A|, lg = log(2(m − 1) l(l+1)/δ)                                             theory.elimination
      λ: G-optimal design on A, v ≤ (1 + tolerance) rank(A) its value                         linalg.design
      pull each x ∈ A ⌈(2R² v lg/e_l²) λ_x⌉ times, at least once where λ_x > 0                _begin_phase
      θ̂: least squares of this phase alone                                                    linalg.fit.Fit
      drop x if some y ∈ A has ⟨θ̂, y − x⟩ > R ‖y − x‖_{V⁻¹} √(2 lg)                           linalg.fit.Fit.eliminate
    one is left: play it for ever
    certificate of x in phase l > 1: max_{y ∈ A} ⟨θ̂_{l−1}, y − x⟩ + R ‖y − x‖ √(2 lg_{l−1}); 0 if alone

Given the start of a phase its design is fixed; only pairs with the best arm matter. Rounding up makes ‖x‖²_{V⁻¹}
at most v/N, so a pair is known up to 2 e_l: the best arm stays, what is left has a gap of at most 4 e_l. While
rewards of a phase are outstanding, choices go on through the same plan; it is the first rewards of each arm, as many
as planned, that count. A forgotten pull is handed out again.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unipac._agents import agent
from unipac._arrays import Array
from unipac.bandits.phased_elimination.phases import PhasedAgent, Phases
from unipac.linalg.design import Design, Span, allocate, g_optimal
from unipac.linalg.fit import Fit
from unipac.theory.elimination import phase_log, phased_elimination_mistake_bound

TOLERANCE = 0.05


@agent
class PhasedElimination(PhasedAgent):
    """Plays all arms that may be best, in proportions that tell them apart, ever more precisely.

    {parameters}

    >>> agent = PhasedElimination([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]], noise=0.1)
    >>> for _ in range(3000):
    ...     decision = agent.choose()
    ...     agent.update(decision, reward=decision.action @ [0.5, 0.6])
    >>> decision.index, decision.certificate, decision.level
    (2, 0.0, 7)
    """

    theorem: ClassVar[str] = "uniform-PAC"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        # What a phase has found the next one asks for again: the last answer is kept.
        self._last_fit: tuple[bytes, Fit | None] = b"", None
        self._last_design: tuple[bytes, Design | None] = b"", None

    def _begin_phase(self, state: Phases) -> tuple[NDArray[np.int64], Array]:
        """What follows from the state: the plan of the phase, and what is known from the one before."""
        X, active, phase = self._arms, np.flatnonzero(state.active), int(state.number[0])
        away = np.linalg.norm(X[active] - X[:, None], axis=2)
        gaps = self.norm * away.max(axis=1)
        self._fit: Fit | None = None
        if phase > 1:
            self._fit = self._fitted(state.earlier_counts, state.earlier_sums)
            lg = phase_log(int(state.earlier.sum()), phase - 1, self.delta)
            mean, error = self._fit.pairs(X, X[active], lg)
            gaps = np.clip((mean + error).max(axis=1), 0.0, gaps)
        plan = np.zeros(len(X), dtype=np.int64)
        if len(active) > 1:
            accuracy = self.norm * float(self._lengths.max()) * 2.0 ** -(phase - 1)
            found = self._designed(state.active)
            lg = phase_log(len(active), phase, self.delta)
            pulls = 2.0 * found.value * lg * (self.noise / accuracy) ** 2 if accuracy > 0 else 0.0
            plan[active] = allocate(found.weights, pulls)
        else:
            gaps[active] = 0.0
        return plan, gaps

    def _survivors(self, state: Phases) -> NDArray[np.int64]:
        active = np.flatnonzero(state.active)
        lg = phase_log(len(active), int(state.number[0]), self.delta)
        left, _, _ = self._fitted(state.counts, state.sums).eliminate(self._arms, active, lg)
        return left

    def _fitted(self, counts: NDArray[np.int64], sums: Array) -> Fit:
        data, (of, fit) = counts.tobytes() + sums.tobytes(), self._last_fit
        if fit is None or of != data:
            fit = Fit(self._arms, counts, sums, self.noise, self.norm)
            self._last_fit = data, fit
        return fit

    def _designed(self, active: NDArray[np.bool_]) -> Design:
        mask, (of, found) = active.tobytes(), self._last_design
        if found is None or of != mask:
            found = g_optimal(Span.of(self._arms[active]).arms, TOLERANCE)
            self._last_design = mask, found
        return found

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """The estimate of the last phase; the bounds are S ‖x‖: only differences of arms are known better."""
        trivial = self.norm * np.linalg.norm(X, axis=1)
        if self._fit is None:
            return np.zeros(len(X)), np.full(len(X), math.inf), trivial, -trivial
        return self._fit.mean(X), np.sqrt(self._fit.width2(X)), trivial, -trivial

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        return phased_elimination_mistake_bound(
            eps, len(self._arms), Span.of(self._arms).rank, self.delta, noise=self.noise,
            largest_gap=2.0 * self.norm * float(self._lengths.max()) or 1.0, tolerance=TOLERANCE,
        )  # fmt: skip
