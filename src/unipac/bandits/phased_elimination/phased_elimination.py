"""PhasedElimination: fixed arms, phases of G-optimal designs; uniform-PAC with d log n instead of d².

    pseudo-code (Lattimore and Szepesvári, Bandit Algorithms, ch. 22)    here
    active A = all; e_1 = S max ‖x‖, e_l = e_1 2^-(l−1)
    phase l: m = |A|, lg = log(2(m − 1) l(l+1)/δ)                         theory.elimination.phase_log
      λ: G-optimal design on A, v ≤ (1 + tolerance) rank(A) its value     linalg.design.g_optimal
      pull x ∈ A ⌈(2R² v lg/e_l²) λ_x⌉ times, once where λ_x > 0      bandits.phased_elimination.phases.Planner.begun
      θ̂: least squares of this phase alone                               linalg.fit.Fit
      drop x if some y ∈ A has ⟨θ̂, y − x⟩ > R ‖y − x‖_{V⁻¹} √(2 lg)      bandits.phased_elimination.phases.Planner.added
    one is left: play it for ever
    certificate of x in phase l > 1: max_{y ∈ A} ⟨θ̂_{l−1}, y − x⟩ + R ‖y − x‖ √(2 lg_{l−1}); 0 if alone

Given the start of a phase its design is fixed; only pairs with the best arm matter. Rounding up makes ‖x‖²_{V⁻¹}
at most v/N, so a pair is known up to 2 e_l: the best arm stays, what is left has a gap of at most 4 e_l. While
rewards of a phase are outstanding, choices go on through the same plan. Of each arm the first rewards count, as many
as planned. A forgotten pull is handed out again.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Self

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._atomic import commit
from unipac._inputs import floats
from unipac._parameters import ArrayParameter
from unipac._state import check_like
from unipac.bandits.phased_elimination import phases
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import learned
from unipac.bandits.protocol.records import Trace
from unipac.bandits.protocol.verdict import Verdict
from unipac.envs import BanditInstance
from unipac.linalg.design import Span
from unipac.theory.elimination import phased_elimination_mistake_bound


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
    absorbs = False
    _proven = True
    dim: int = dataclasses.field(init=False, default=0)
    fixed_actions: Any = dataclasses.field(init=False, default=None)
    arms: ArrayParameter = parameter(words="(n, d), the arms, offered in every round", kw_only=False)
    delta: float = declare.delta()
    noise: float = declare.noise()
    norm: float = declare.norm()

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """An agent for the arms of an instance, with its noise and norm, unless you pass others."""
        fits = isinstance(instance, BanditInstance) and instance.actions is not None
        check.require(fits, "instance", "a BanditInstance with fixed actions", instance)
        return cls(**{"arms": instance.actions, "noise": instance.noise, "norm": instance.norm, **parameters})

    def _check_parameters(self) -> None:
        X = floats("arms", self.arms)
        check.require(X.ndim == 2 and X.size > 0, "arms", "of shape (n, d), not empty", X.shape)
        self.dim, self.fixed_actions = X.shape[1], X
        super()._check_parameters()
        self.arms = self.fixed_actions
        self._planner = phases.Planner(self._arms, self.delta, self.noise, self.norm)

    def _empty(self) -> phases.Phases:
        return self._planner.start()

    def _saved(self) -> phases.Saved:
        return phases.Saved(*self.state[:7])

    def _restored(self, saved: phases.Saved) -> phases.Phases:
        check_like(saved, self._saved())
        return self._planner.restored(saved)

    def _check_arms(self, X: Array) -> None:
        same = X.shape[-2:] == self._arms.shape and bool((self._arms == X).all())
        found = f"others, of shape {X.shape}"
        check.require(same, "actions", "the arms that this agent was made with", found)

    def _check_logged(self, X: Array) -> None:
        for x in X:
            known = bool((self._arms == x).all(axis=1).any())
            check.require(known, "actions", "arms that this agent was made with", x)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """The estimate of the last phase; the bounds are S ‖x‖: only differences of arms are known better."""
        trivial, fit = self.norm * np.linalg.norm(X, axis=1), self._planner.fit_before(self.state)
        if fit is None:
            return np.zeros(len(X)), np.full(len(X), math.inf), trivial, -trivial
        return fit.mean(X), np.sqrt(fit.width2(X)), trivial, -trivial

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if not fixed:
            self._check_arms(X)
        k = phases.next_arm(self.state, self._ledger.pending.values())
        mean, width, ucb, lcb = (float(column[0]) for column in self._clipped(X[k : k + 1]))
        return Verdict(k, int(self.state.number[0]), mean, width, ucb, lcb, float(self.state.gaps[k]), False)

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> phases.Phases:
        """A reward counts for the first arm equal to x whose plan has room for it: equal arms are one arm."""
        state: phases.Phases = self.state
        room = (self._arms == x).all(axis=1) & (state.counts < state.plan)
        if level != state.number[0] or not room.any():
            return state
        return self._planner.added(state, room.argmax(keepdims=True), np.array([y]))

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        self._check_arms(X)
        done = 0
        if trace.covered is not None:
            trace.covered[:] = True  # S ‖x‖ bounds every reward
        while done < len(y):
            state: phases.Phases = self.state
            arms = phases.arms_ahead(state, self._ledger.pending.values(), len(y) - done)
            trace.level[part := slice(done, done + len(arms))] = state.number[0]
            gaps = state.gaps if self.consistent else np.full_like(state.gaps, np.nan)
            phases.pull(arms, y[part], gaps, trace.index[part], trace.certificate[part], trace.reward[part])
            if self._ledger.pending:
                state = self._learn(self._arms[arms[0]], float(y[done, arms[0]]), int(state.number[0]), 1)
            elif state.plan.any():
                state = self._planner.added(state, arms, trace.reward[part])
            commit(learned(self, state, len(arms)))
            done += len(arms)

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        return phased_elimination_mistake_bound(
            eps, len(self._arms), Span.of(self._arms).rank, self.delta, noise=self.noise,
            largest_gap=2.0 * self.norm * self._planner.longest or 1.0, tolerance=phases.TOLERANCE,
        )  # fmt: skip
