"""Guarded: any bandit heuristic made uniform-PAC.

    pseudo-code                                                                            here
    level l is open in round k while k ≤ g d 4^l, then closed for ever                      base.guard.close
    D^l = {k ≤ g d 4^l} ∪ {later rounds explored at some level j ≤ l}; Σ_l, θ_l: ridge      base.guard.learn
    b_l = √(R² [log det(Σ_l/λ) + 2 log(1/δ_l)] + λS²),  δ_l = (δ/2)/(l(l+1))                base.guard.set_radii
    round k: A = D_k; for the closed levels l = 1, 2, ...:                                  base.guard.guard
      A ← {x ∈ A: ⟨θ_l, ŷ − x⟩ ≤ b_l ‖ŷ − x‖},  ŷ = argmax_A ⟨θ_l, y⟩;  one is left: play it
      if max_{x ∈ A} ‖x‖_{Σ_l⁻¹} > 2^-l: explored, play the widest
    all passed: free, play what the heuristic picks from A; it learns from every round
    certificate: the least of max_y ucb(y) − lcb(x) over all data (with δ/2), 2SL, and      base.guard.verdict
      for every closed level that eliminated: max_{y ∈ A_l} ⟨θ_l, y − x⟩ + b_l ‖y − x‖

Which rounds a level learns from is decided before the reward is seen, so each level has an ellipsoid that is valid
at all times. The best action survives; what survives has a gap of at most 4 b_l 2^-l; a level explores at most
``theory.level_size`` rounds. So mistakes above ε are confined to the first g d 4^l* rounds and the explored ones, for
all ε at once, whatever the heuristic does (``docs/agents/guarded.md``).
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._inputs import LARGEST_REWARD, check_norms
from unipac.bandits.base import guard as kernels
from unipac.bandits.base.agent import BanditAgent, Verdict
from unipac.bandits.base.levelled import LevelledAgent
from unipac.bandits.base.records import Level, Trace
from unipac.bandits.base.rounds import Record
from unipac.bandits.linucb import LinUCB
from unipac.bandits.oful import OFUL
from unipac.envs import BanditInstance
from unipac.linalg import levels as stack
from unipac.linalg import ridge
from unipac.linalg.fast import argmax
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import check_factors
from unipac.registry import AGENTS
from unipac.theory.bounds import level_size
from unipac.theory.elimination import guarded_mistake_bound

Array = NDArray[np.float64]


class Saved(NamedTuple):
    """What goes to a file: all data, then the closed levels; and what the heuristic has learned."""

    rows: Array
    size: NDArray[np.int64]
    rotations: NDArray[np.int64]
    logdet: Array
    heuristic: Any


@agent
class Guarded(BanditAgent):
    """Lets a heuristic choose among the actions that are not ruled out: its reward, and uniform-PAC.

    {parameters}

    >>> from unipac import LinUCB
    >>> agent = Guarded(LinUCB(2, alpha=0.0), noise=0.1, gate=1.0)       # greedy would stay with the first arm
    >>> for _ in range(1000):
    ...     decision = agent.choose([[1.0, 0.0], [0.0, 1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.5, 0.6])
    >>> decision.index, decision.certificate, [level.size for level in agent.levels()]
    (1, 0.0, [3, 7, 48, 101])
    """

    theorem: ClassVar[str] = "uniform-PAC"
    counts_many: ClassVar[bool] = True

    dim: int = dataclasses.field(init=False, default=0)
    heuristic: Any = parameter(words="a fresh bandit agent; it is copied", positional=True)
    delta: float = parameter(0.05, check.probability, "δ, the probability that the bounds may fail")
    noise: float = parameter(1.0, check.nonnegative, "R, the sub-Gaussian scale of the noise")
    norm: float = parameter(1.0, check.nonnegative, "S, a bound on the norm of the unknown parameter")
    regularization: float = parameter(1.0, check.positive, "λ > 0 of the ridge regressions")
    gate: float = parameter(16.0, check.positive, "g: level l is closed after g d 4^l rounds")

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """As for all agents; the heuristic is LinUCB with α = 1 unless given, as an agent or by name."""
        check.require(isinstance(instance, BanditInstance), "instance", "a BanditInstance", instance)
        told = parameters.pop("heuristic", {"agent": "LinUCB", "alpha": 1.0})
        if isinstance(told, Mapping):
            words = dict(told)
            told = AGENTS[words.pop("agent")].made_for(instance, rounds=rounds, seed=seed, **words)
        return cls(told, **{"noise": instance.noise, "norm": instance.norm, **parameters})

    def _check_parameters(self) -> None:
        given = self.heuristic
        fresh = isinstance(given, BanditAgent) and given.rounds == 0 and not given.pending
        check.require(fresh and given.absorbs, "heuristic", "a fresh bandit agent that absorbs rounds", given)
        self.dim, self.heuristic = given.dim, copy.copy(given)
        self.__dict__["counts_many"] = given.counts_many
        super()._check_parameters()
        low, high = self.reward_range or (-math.inf, math.inf)
        self._rules = kernels.Rules(
            self.gate * self.dim,
            self.delta / 2,
            self.noise,
            self.norm,
            self.regularization,
            self.action_norm,
            low,
            high,
        )

    # -- state ---------------------------------------------------------------------------------

    def _empty(self) -> Levels:
        self._inner = copy.copy(self.heuristic)
        levels = stack.empty(self._most_closed(0) + 1, self.dim, self.regularization)
        kernels.set_radii(levels, self._rules, 0, 0)
        self._closed = kernels.close(levels, 0, 0, self._rules)
        return levels

    def _most_closed(self, rounds: int) -> int:
        """How many levels are closed after so many rounds, or one more."""
        return max(0, math.floor(math.log((rounds + 1) / self._rules.gate, 4))) + 1

    def _make_room(self, times: int) -> None:
        needed = self._most_closed(self._rounds + times) + 1
        if needed > len(self.state.size):
            self.state = stack.grown(self.state, needed + 2)

    def _saved(self) -> Saved:
        used = self._closed + 1
        levels: Levels = self.state
        own = (levels.rows, levels.size, levels.rotations, levels.logdet)
        return Saved(*(array[:used] for array in own), self._inner._saved())

    def _restored(self, saved: Saved) -> Levels:
        levels = stack.empty(self._most_closed(self._rounds) + 1, self.dim, self.regularization)
        self._closed = kernels.close(levels, 0, self._rounds, self._rules)
        used = self._closed + 1
        shapes = [array.shape for array in saved[:4]]
        sound = shapes == [(used, self.dim, self.dim + 2), (used,), (used,), (used,)]
        if not sound or saved.size.min() < 0 or saved.size[0] != self._rounds or saved.rotations.min() < 0:
            raise ValueError("the levels are not those of any data")
        levels.rows[:used], levels.size[:used], levels.rotations[:used], levels.logdet[:used] = saved[:4]
        for i in range(used):
            check_factors(levels.rows[i], self.regularization, self._rounds, self.action_norm, LARGEST_REWARD)
            exact = ridge.log_determinant(levels.rows[i], self.regularization)
            if not abs(levels.logdet[i] - exact) <= 1e-9 * (1.0 + abs(exact)):
                raise ValueError("a log-determinant is not that of its regression")
        kernels.set_radii(levels, self._rules, 0, self._closed)
        self._inner._rounds = self._rounds
        self._inner.state = self._inner._restored(saved.heuristic)
        return levels

    # -- the protocol --------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given."""
        return True

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, width2 = np.empty(len(X)), np.empty(len(X))
        evaluate_all(self.state.rows, 1, 1, X, 0, len(X), mean, width2)
        width = np.sqrt(width2)
        bonus = self.state.beta[0] * width
        return mean, width, mean + bonus, mean - bonus

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if not fixed:
            check_norms("actions", X, self.action_norm)
        work = kernels.workspace(len(X), self.dim)
        k, level, alive, last = kernels.guard(self.state, self._closed, X, work)
        if k < 0:
            k = int(work.index[self._inner._decide(work.rows[:alive], False)[0]])
        race = argmax.workspace(len(X), self.dim, len(self.state.size))
        *values, certificate, refuted = kernels.verdict(self.state, self._rules, X, k, last, work, race)
        return Verdict(k, level, *values, certificate if self._consistent else math.nan, refuted)

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        self._make_room(times)
        self._closed = kernels.learn(self.state, self._closed, self._rounds, self._rules, x, y, level, times)
        self._inner._learn(x, y, 0, times)
        self._inner._rounds += times

    def _covers(self, truth: Array, X: Array) -> bool:
        return bool(kernels.covers(self.state, self._closed, truth))

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        inner = self._inner
        if type(inner) not in (LinUCB, OFUL) or inner.fixed_actions is not None or len(y) == 0:
            super()._play(X, y, truth, trace)
            return
        self._make_room(len(y))
        inner._evaluated = -1
        covered = np.empty(0, dtype=np.bool_) if trace.covered is None else trace.covered
        record = Record(trace.index, trace.level, trace.certificate, trace.reward, covered)
        actions = X[None] if X.ndim == 2 else X
        self._closed, refuted = kernels.play(
            self.state, self._closed, self._rounds, self._rules, inner._memory, actions, y, truth, record
        )
        if not self._consistent:
            trace.certificate[:] = math.nan
        self._rounds += len(y)
        inner._rounds += len(y)
        if refuted:
            self._refute()

    # -- what is known -------------------------------------------------------------------------

    def levels(self) -> list[Level]:
        """Explored rounds, the proven bound on them, and radius of each closed level."""
        with self._lock:
            found = []
            for i in range(1, self._closed + 1):
                bound = level_size(self.dim, i, self.regularization, self.action_norm)
                found.append(Level(i, int(self.state.size[i]), bound, float(self.state.beta[i])))
            return found

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        names = ("delta", "gate", "noise", "norm", "regularization", "action_norm")
        return guarded_mistake_bound(eps, self.dim, **{name: getattr(self, name) for name in names})
