"""Fixed arms that are played in phases, each with a plan: how often to pull every arm.

The algorithm says what follows from the phases so far (``_begin_phase``) and what a full phase leaves (``_survivors``).
Here is what they share: handing the pulls of a plan out, rewards that come late or never, files, and play.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac import _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._inputs import floats
from unipac._jit import jit
from unipac._parameters import ArrayParameter
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Trace
from unipac.bandits.protocol.verdict import Verdict
from unipac.envs import BanditInstance


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
class PhasedAgent(BanditAgent):
    """Plays fixed arms by the plans of phases; the algorithms derive from it.

    {parameters}
    """

    absorbs: ClassVar[bool] = False

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

    # -- what an algorithm writes --------------------------------------------------------------

    def _begin_phase(self, state: Phases) -> tuple[NDArray[np.int64], Array]:
        """What follows from the phases so far: the plan of the present one, and the certificates of the arms."""
        raise NotImplementedError

    def _survivors(self, state: Phases) -> NDArray[np.int64]:
        """The arms that are left when all rewards of a phase have come."""
        raise NotImplementedError

    # -- phases --------------------------------------------------------------------------------

    def _empty(self) -> Phases:
        n = len(self._arms)
        nothing, none = np.zeros(n), np.zeros(n, dtype=np.int64)
        start = Phases(np.ones(1, dtype=np.int64), np.ones(n, dtype=bool), nothing, none,
                       np.ones(n, dtype=bool), nothing.copy(), none.copy())  # fmt: skip
        return self._begun(start)

    def _restored(self, saved: Phases) -> Phases:
        state = super()._restored(saved)
        sound = state.number[0] >= 1 and (state.active <= state.earlier).all() and state.active.any()
        state = self._begun(state) if sound else state
        if (
            not sound
            or (state.counts < 0).any()
            or ((self._plan > 0).any() and (state.counts > self._plan).any())
        ):
            raise ValueError("the phases are not those of any data")
        return state

    def _begun(self, state: Phases) -> Phases:
        self._plan, self._gaps = self._begin_phase(state)
        return state

    def _add(self, arms: NDArray[np.int64], rewards: Array) -> None:
        """Rewards of arms, within their plan; the phase ends when all have come."""
        state: Phases = self.state
        _count(state.sums, state.counts, arms, rewards)
        if (state.counts >= self._plan).all():
            after = np.zeros_like(state.active)
            after[self._survivors(state)] = True
            fresh = (np.zeros_like(state.sums), np.zeros_like(state.counts))
            self.state = self._begun(
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

    def _ahead(self, most: int) -> NDArray[np.int64]:
        """The arms to pull next, at most so many and at least one; all before the phase ends if none is outstanding."""
        if not self._plan.any():
            return np.full(most, self.state.active.argmax())
        if self._pending:
            return np.array([self._next()])
        ends = np.minimum(np.cumsum(np.minimum(self._plan - self.state.counts, most)), most)
        return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))

    def _certificates(self) -> Array:
        """What each arm can lose; NaN if the assumptions were refuted, which these agents cannot see themselves."""
        return self._gaps if self._consistent else np.full_like(self._gaps, np.nan)

    # -- the protocol --------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether certificates are proven under the assumptions given."""
        return True

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
        return Verdict(
            k, int(self.state.number[0]), mean, width, ucb, lcb, float(self._certificates()[k]), False
        )

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        """A reward counts for the first arm like x that its plan leaves room for: equal arms are one to it."""
        if level == self.state.number[0]:
            room = (self._arms == x).all(axis=1) & (self.state.counts < self._plan)
            if room.any():
                self._add(room.argmax(keepdims=True), np.array([y]))

    def _check_logged(self, X: Array) -> None:
        for x in X:
            known = bool((self._arms == x).all(axis=1).any())
            check.require(known, "actions", "arms that this agent was made with", x)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        self._check_arms(X)
        done = 0
        if trace.covered is not None:
            trace.covered[:] = True  # S ‖x‖ bounds every reward
        while done < len(y):
            arms = self._ahead(len(y) - done)
            part = slice(done, done + len(arms))
            trace.level[part] = self.state.number[0]
            told = arms, y[part], self._certificates()
            _pull(*told, trace.index[part], trace.certificate[part], trace.reward[part])
            if self._pending:
                self._learn(self._arms[arms[0]], float(y[done, arms[0]]), int(self.state.number[0]), 1)
            elif self._plan.any():
                self._add(arms, trace.reward[part])
            self._rounds += len(arms)
            done += len(arms)


@jit
def _pull(
    arms: NDArray[np.int64],
    y: Array,
    gaps: Array,
    index: NDArray[np.int64],
    certificate: Array,
    reward: Array,
) -> None:
    for t in range(len(arms)):
        k = arms[t]
        index[t], certificate[t], reward[t] = k, gaps[k], y[t, k]


@jit
def _count(sums: Array, counts: NDArray[np.int64], arms: NDArray[np.int64], rewards: Array) -> None:
    for i in range(len(arms)):
        sums[arms[i]] += rewards[i]
        counts[arms[i]] += 1
