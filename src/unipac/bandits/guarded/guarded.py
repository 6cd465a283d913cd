"""Guarded: any bandit heuristic made uniform-PAC.

    pseudo-code                                                                       here
    level l is open in round k while k ≤ g d 4^l, then closed for ever                bandits.guarded.learning.close
    D^l = {k ≤ g d 4^l} ∪ {later rounds explored at some level j ≤ l}; Σ_l, θ_l: ridge  bandits.guarded.learning.learn
    b_l = √(R² [log det(Σ_l/λ) + 2 log(1/δ_l)] + λS²),  δ_l = (δ/2)/(l(l+1))          bandits.guarded.learning.set_radii
    round k: A = D_k; for the closed levels l = 1, 2, ...:                            bandits.guarded.kernels.guard
      A ← {x ∈ A: ⟨θ_l, ŷ − x⟩ ≤ b_l ‖ŷ − x‖ (+ 2ζ)},  ŷ = argmax_A ⟨θ_l, y⟩;  one is left: play it
      if max_{x ∈ A} ‖x‖_{Σ_l⁻¹} > 2^-l: explored, play the widest
    all passed: free, play what the heuristic picks from A; it learns from every round
    certificate: least of 2SL, max_y bound on ⟨θ*, y−x⟩ by A, B (3δ/16 each), C (δ/8) bandits.sets.certify.certificate
      and, for every closed level that eliminated: max_{y ∈ A_l} ⟨θ_l, y−x⟩ + b_l ‖y−x‖bandits.guarded.kernels.verdict

A level learns from rounds chosen before their rewards are seen: its set is valid at all times (``docs/agents``).
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._parameters import Converted
from unipac.bandits.guarded import learning, state
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import Step, twin_of
from unipac.bandits.protocol.records import Level, Trace
from unipac.bandits.sets.agent import assumes
from unipac.bandits.sets.state import State
from unipac.envs import BanditInstance
from unipac.linalg.soundness import check_growth


@assumes
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
    _proven = True
    counts_many = True
    moved: ClassVar[Mapping[str, str]] = {"radius": "BallOFUL cuts its set with the ball"}

    dim: int = dataclasses.field(init=False, default=0)
    learns_in = ("state", "_inner")
    heuristic: Converted[BanditAgent, Any] = parameter(words="a fresh bandit agent, copied", kw_only=False)
    delta: float = declare.delta()
    noise: float = declare.noise()
    norm: float = declare.norm()
    regularization: float = declare.regularization()
    gate: float = parameter(default=16.0, check=check.positive, words="g: level l has g d 4^l rounds")
    tight: bool = declare.tight()
    blocks: int = declare.blocks()
    misspecification: declare.Misspecification = declare.misspecification()
    rewards_within: tuple[float, float] | None = declare.rewards_within()

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """As for all agents; ``heuristic`` is an agent or a table with its name, by default LinUCB with α = 1."""
        return cls(**state.fitting(instance, parameters, rounds=rounds, seed=seed))

    def _check_parameters(self) -> None:
        state.check_parameters(self.heuristic, self.regularization, self.action_norm)
        self.heuristic = given = copy.copy(self.heuristic)
        self.dim, self.counts_many, self.draws = given.dim, given.counts_many, given.draws
        self._single, self._shared = state.regressions(given, self.regularization)
        super()._check_parameters()
        self._rules = state.rules_of(self)

    def __repr__(self) -> str:
        return state.shown(super().__repr__(), self.heuristic)

    def _empty(self) -> State:
        self._inner = state.inner_of(self.heuristic, self._ledger)
        self._scratch = state.Scratch(*state.kinds(self))
        return State(state.empty(self, self._rules), state.empty_sets(self))

    def _own_what_is_learned(self) -> None:
        super()._own_what_is_learned()
        self._inner = twin_of(self._inner)
        state.give(self._ledger, self._inner)

    def _saved(self) -> state.Saved:
        return state.saved(self.state, self._inner._saved())

    def _restored(self, saved: state.Saved) -> State:
        self._inner.state = self._inner._restored(saved.heuristic)
        return state.restored(saved, self)

    def _has_level(self, level: int) -> bool:
        return level <= learning.closed_levels(self.state.levels.rows)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        return state.bounds(self, X)

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        return state.refutation(self.state) or super()._certify(best, ucb, lcb)

    def _covers(self, truth: Array, X: Array) -> bool:
        return state.covers(self, truth)

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        return state.decide(self, X, fixed)

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        check_growth(times, self.regularization, self.action_norm)
        inner = [] if self._shared else state.learning(self, x, y, times)
        return [*inner, state.learned(self, x, float(y), level, times)]

    def _check_logged(self, X: Array) -> None:
        state.check_actions(X, self)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        self._check_logged(X)
        if self._single and len(y) > 0:
            state.play(self, X, y, truth, trace)
        else:
            super()._play(X, y, truth, trace)

    def levels(self) -> list[Level]:
        """Explored rounds, the proven bound on them, and radius of each closed level."""
        with self._lock:
            return state.listed(self.state.levels, self._rules, self.misspecification)

    @property
    def explored(self) -> int:
        """In how many rounds the guard explored, instead of letting the heuristic choose."""
        return sum(level.size for level in self.levels())

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        return state.mistake_bound(eps, self)
