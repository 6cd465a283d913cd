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

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._inputs import floats
from unipac.bandits.base.agent import BanditAgent
from unipac.bandits.base.records import Decision, Trace
from unipac.bandits.base.verdict import Verdict
from unipac.envs import BanditInstance
from unipac.linalg.design import Span, allocate, g_optimal
from unipac.linalg.fit import Fit
from unipac.theory.elimination import phase_log, phased_elimination_mistake_bound

Array = NDArray[np.float64]
TOLERANCE = 0.05


class Phases(NamedTuple):
    """The present phase and the one before, which tells what is known."""

    number: NDArray[np.int64]
    """(1,): l."""
    active: NDArray[np.bool_]
    sums: Array
    counts: NDArray[np.int64]
    earlier: NDArray[np.bool_]
    """(n,): what was active in phase l − 1."""
    earlier_sums: Array
    earlier_counts: NDArray[np.int64]


@agent
class PhasedElimination(BanditAgent):
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
    absorbs: ClassVar[bool] = False

    dim: int = dataclasses.field(init=False, default=0)
    fixed_actions: Any = dataclasses.field(init=False, default=None)
    arms: Any = parameter(words="(n, d), the arms, offered in every round", positional=True)
    delta: float = parameter(0.05, check.probability, "δ, the probability that the certificates may fail")
    noise: float = parameter(1.0, check.nonnegative, "R, the sub-Gaussian scale of the noise")
    norm: float = parameter(1.0, check.nonnegative, "S, a bound on the norm of the unknown parameter")

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """An agent for the arms of an instance, with its noise and norm unless they are given."""
        fits = isinstance(instance, BanditInstance) and instance.actions is not None
        check.require(fits, "instance", "a BanditInstance with fixed actions", instance)
        return cls(**{"arms": instance.actions, "noise": instance.noise, "norm": instance.norm, **parameters})

    def _check_parameters(self) -> None:
        X = floats("arms", self.arms)
        check.require(X.ndim == 2 and X.size > 0, "arms", "of shape (n, d), not empty", X.shape)
        self.dim, self.fixed_actions = X.shape[1], X
        super()._check_parameters()
        self.arms = self.fixed_actions
        self._lengths = np.linalg.norm(self._arms, axis=1)

    # -- phases --------------------------------------------------------------------------------

    def _empty(self) -> Phases:
        n = len(self._arms)
        nothing, none = np.zeros(n), np.zeros(n, dtype=np.int64)
        start = Phases(np.ones(1, dtype=np.int64), np.ones(n, dtype=bool), nothing, none,
                       np.ones(n, dtype=bool), nothing.copy(), none.copy())  # fmt: skip
        return self._begin_phase(start)

    def _restored(self, saved: Phases) -> Phases:
        state = super()._restored(saved)
        sound = state.number[0] >= 1 and (state.active <= state.earlier).all() and state.active.any()
        state = self._begin_phase(state) if sound else state
        if (
            not sound
            or (state.counts < 0).any()
            or ((self._plan > 0).any() and (state.counts > self._plan).any())
        ):
            raise ValueError("the phases are not those of any data")
        return state

    def _begin_phase(self, state: Phases) -> Phases:
        """What follows from the state: the plan of the phase, and what is known from the one before."""
        X, active, phase = self._arms, np.flatnonzero(state.active), int(state.number[0])
        away = [X[active] - x for x in X]
        self._gaps = np.array([self.norm * float(np.linalg.norm(rows, axis=1).max()) for rows in away])
        self._fit = None
        if phase > 1:
            self._fit = Fit(X, state.earlier_counts, state.earlier_sums, self.noise, self.norm)
            lg = phase_log(int(state.earlier.sum()), phase - 1, self.delta)
            known = np.array([max(0.0, float(self._fit.upper(rows, lg).max())) for rows in away])
            self._gaps = np.minimum(self._gaps, known)
        self._plan = np.zeros(len(X), dtype=np.int64)
        if len(active) > 1:
            accuracy = self.norm * float(self._lengths.max()) * 2.0 ** -(phase - 1)
            found = g_optimal(Span.of(X[active]).arms, TOLERANCE)
            lg = phase_log(len(active), phase, self.delta)
            pulls = 2.0 * found.value * lg * (self.noise / accuracy) ** 2 if accuracy > 0 else 0.0
            self._plan[active] = allocate(found.weights, pulls)
        else:
            self._gaps[active] = 0.0
        return state

    def _add(self, k: int, rewards: Array) -> None:
        """Rewards of an arm, within its plan; the phase ends when all have come."""
        state: Phases = self.state
        state.sums[k] = np.add.accumulate(np.append(state.sums[k], rewards))[-1]
        state.counts[k] += len(rewards)
        if (state.counts >= self._plan).all():
            active = np.flatnonzero(state.active)
            fit = Fit(self._arms, state.counts, state.sums, self.noise, self.norm)
            left, _, _ = fit.eliminate(
                self._arms, active, phase_log(len(active), int(state.number[0]), self.delta)
            )
            after = np.zeros_like(state.active)
            after[left] = True
            fresh = (np.zeros_like(state.sums), np.zeros_like(state.counts))
            self.state = self._begin_phase(
                Phases(state.number + 1, after, *fresh, state.active, state.sums, state.counts)
            )

    def _next(self) -> int:
        """The arm to pull: the first that has been handed out less than planned."""
        if not self._plan.any():
            return int(self.state.active.argmax())
        handed = self.state.counts.copy()
        for decision in self._pending.values():
            handed[decision.index] += decision.level == self.state.number[0]
        planned = self._plan > 0
        again = int((handed[planned] // self._plan[planned]).min()) + 1
        return int(np.flatnonzero(handed < self._plan * again)[0])

    # -- the protocol --------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether certificates are proven under the assumptions given."""
        return True

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """The estimate of the last phase; the bounds are S ‖x‖: only differences of arms are known better."""
        trivial = self.norm * np.linalg.norm(X, axis=1)
        if self._fit is None:
            return np.zeros(len(X)), np.full(len(X), math.inf), trivial, -trivial
        return self._fit.mean(X), np.sqrt(self._fit.width2(X)), trivial, -trivial

    def _check_arms(self, X: Array) -> None:
        same = X.shape[-2:] == self._arms.shape and bool((self._arms == X).all())
        check.require(
            same, "actions", "the arms that this agent was made with", f"others, of shape {X.shape}"
        )

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if not fixed:
            self._check_arms(X)
        k = self._next()
        mean, width, ucb, lcb = (float(column[0]) for column in self._clipped(X[k : k + 1]))
        return Verdict(k, int(self.state.number[0]), mean, width, ucb, lcb, float(self._gaps[k]), False)

    def _reward(self, waiting: Decision, value: float, times: int) -> None:
        k = waiting.index
        if waiting.level == self.state.number[0] and self.state.counts[k] < self._plan[k]:
            self._add(k, np.array([value]))

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        self._check_arms(X)
        done = 0
        if trace.covered is not None:
            trace.covered[:] = True  # S ‖x‖ bounds every reward
        while done < len(y):
            k = self._next()
            free = self.state.counts[k] >= self._plan[k]  # alone, or the rest of the phase is outstanding
            rest = 1 if free and self._plan.any() else len(y)
            end = min(done + (rest if free else int(self._plan[k] - self.state.counts[k])), len(y))
            part = slice(done, end)
            trace.index[part], trace.level[part] = k, self.state.number[0]
            trace.certificate[part], trace.reward[part] = self._gaps[k], y[part, k]
            if not free:
                self._add(k, y[part, k])
            self._rounds += end - done
            done = end

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        return phased_elimination_mistake_bound(
            eps, len(self._arms), Span.of(self._arms).rank, self.delta, noise=self.noise,
            largest_gap=2.0 * self.norm * float(self._lengths.max()) or 1.0, tolerance=TOLERANCE,
        )  # fmt: skip
