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
from typing import Any, ClassVar, Self

import numpy as np

from unipac import _checks as check
from unipac._agents import agent
from unipac._arrays import Array
from unipac._inputs import check_norms
from unipac.bandits.guarded import kernels
from unipac.bandits.guarded.state import GuardAgent
from unipac.bandits.levelled.kernels import Record
from unipac.bandits.linucb import LinUCB
from unipac.bandits.oful import OFUL
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Trace
from unipac.bandits.protocol.verdict import Verdict
from unipac.envs import BanditInstance
from unipac.registry import AGENTS


@agent
class Guarded(GuardAgent):
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
        return cls(**{"heuristic": told, "noise": instance.noise, "norm": instance.norm, **parameters})

    def _check_parameters(self) -> None:
        given = self.heuristic
        fresh = isinstance(given, BanditAgent) and given.rounds == 0 and not given.pending
        check.require(fresh and given.absorbs, "heuristic", "a fresh bandit agent that absorbs rounds", given)
        check.require(
            given.action_norm >= self.action_norm,
            "heuristic",
            f"made for actions of norm {self.action_norm:g}, as its guard is",
            f"action_norm={given.action_norm:g}",
        )
        self.dim, self.heuristic = given.dim, copy.copy(given)
        self.__dict__.update(counts_many=given.counts_many, draws=given.draws)
        # One that is a single regression on all data has that of the guard, or one of its own.
        self._single = type(given) in (LinUCB, OFUL) and given.fixed_actions is None
        self._shared = self._single and given.regularization == self.regularization
        super()._check_parameters()

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if not fixed:
            check_norms("actions", X, self.action_norm)
        work = self._workspace(len(X))
        if self._shared:
            told = self.state, self._closed, self._rules, self._inner._confidence, X, work
            k, level, mean, width, ucb, lcb, certificate, refuted = kernels.decide(*told)
        else:
            kernels.look(self.state, X, work)
            k, level, count, last = kernels.guard(self.state, self._closed, X, work)
            if k < 0:
                self._inner._surplus = self._number() - self._inner._rounds  # it draws as the guard counts
                k = int(work.alive[self._inner._decide(X[work.alive[:count]], False)[0]])
            known = kernels.verdict(self.state, self._rules, k, last, work)
            mean, width, ucb, lcb, certificate, refuted = known
        if self._is_cut() and not refuted:
            _, _, upper, lower = self._clipped(X)
            ucb, lcb = float(upper[k]), float(lower[k])
            cut, refuted = self._certify(float(upper.max()), ucb, lcb)
            certificate = math.nan if refuted else min(certificate, cut)
        certificate = certificate if self._consistent else math.nan
        return Verdict(k, level, mean, width, ucb, lcb, certificate, refuted)

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        self._make_room(times)
        level = min(level, self._closed)  # of an honest round it is
        room = self._scratch()
        self._closed = kernels.learn(
            self.state, self._closed, self._rounds, self._rules, x, y, level, times, math.nan, room
        )
        if not self._shared:
            self._inner._learn(x, y, 0, times)
        self._inner._rounds += times

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        inner = self._inner
        if not self._single or self._is_cut() or len(y) == 0:
            BanditAgent._play(self, X, y, truth, trace)
            return
        self._make_room(len(y))
        inner._evaluated = -1
        covered = np.empty(0, dtype=np.bool_) if trace.covered is None else trace.covered
        record = Record(trace.index, trace.level, trace.certificate, trace.reward, covered)
        actions = X[None] if X.ndim == 2 else X
        told = self.state, self._closed, self._rounds, self._rules, inner._memory, self._shared
        self._closed, refuted = kernels.play(*told, actions, y, truth, record)
        if not self._consistent:
            trace.certificate[:] = math.nan
        self._rounds += len(y)
        inner._rounds += len(y)
        if refuted:
            self._refute()
