"""Guarded: any bandit heuristic made uniform-PAC.

    pseudo-code                                                                       here
    level l is open in round k while k ≤ g d 4^l, then closed for ever                bandits.guarded.kernels.close
    D^l = {k ≤ g d 4^l} ∪ {later rounds explored at some level j ≤ l}; Σ_l, θ_l: ridge  bandits.guarded.kernels.learn
    b_l = √(R² [log det(Σ_l/λ) + 2 log(1/δ_l)] + λS²),  δ_l = (δ/2)/(l(l+1))          bandits.guarded.kernels.set_radii
    round k: A = D_k; for the closed levels l = 1, 2, ...:                            bandits.guarded.kernels.guard
      A ← {x ∈ A: ⟨θ_l, ŷ − x⟩ ≤ b_l ‖ŷ − x‖},  ŷ = argmax_A ⟨θ_l, y⟩;  one is left: play it
      if max_{x ∈ A} ‖x‖_{Σ_l⁻¹} > 2^-l: explored, play the widest
    all passed: free, play what the heuristic picks from A; it learns from every round
    certificate: the least of max_y ucb(y) − lcb(x) over all data (with δ/2), 2SL, and  bandits.guarded.kernels.verdict
      for every closed level that eliminated: max_{y ∈ A_l} ⟨θ_l, y − x⟩ + b_l ‖y − x‖

A level learns from rounds that are chosen before their rewards are seen, so its set is valid at all times. Mistakes
above ε are confined to the first g d 4^l* rounds and the explored ones; the proof is in ``docs/agents/guarded.md``.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._inputs import check_norms
from unipac._parameters import Converted
from unipac.bandits.guarded import kernels, state
from unipac.bandits.levelled.kernels import record
from unipac.bandits.protocol.agent import BanditAgent, Step
from unipac.bandits.protocol.records import Level, Trace
from unipac.envs import BanditInstance
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import check_growth


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

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """As for all agents; the heuristic is LinUCB with α = 1 unless given, as an agent or by name."""
        heuristic = state.heuristic_for(parameters.pop("heuristic", None), instance, rounds=rounds, seed=seed)
        return cls(**{"heuristic": heuristic, "noise": instance.noise, "norm": instance.norm, **parameters})

    def _check_parameters(self) -> None:
        state.check_parameters(self.heuristic, self.regularization, self.action_norm)
        self.heuristic = given = copy.copy(self.heuristic)
        self.dim, self.counts_many, self.draws = given.dim, given.counts_many, given.draws
        self._single = vars(type(given)).get("single_regression", False) and given.fixed_actions is None
        self._shared = self._single and given.regularization == self.regularization  # that of the guard
        super()._check_parameters()
        self._rules = state.rules_of(self)

    def __repr__(self) -> str:
        return state.shown(super().__repr__(), self.heuristic)

    def _empty(self) -> Levels:
        self._scratch = state.Scratch()
        self._inner = copy.copy(self.heuristic)
        state.give(self._ledger, self._inner)
        return state.empty(self.dim, self._rules)

    def _own_what_is_learned(self) -> None:
        super()._own_what_is_learned()
        self._inner = self._inner._twin()
        state.give(self._ledger, self._inner)

    def _saved(self) -> state.Saved:
        return state.saved(self.state, self._inner._saved())

    def _restored(self, saved: state.Saved) -> Levels:
        levels = state.restored(saved, self.dim, self._rules, self.rounds)
        self._inner.state = self._inner._restored(saved.heuristic)
        return levels

    def _has_level(self, level: int) -> bool:
        return level <= kernels.closed_levels(self.state.rows)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        return state.bounds(self.state, X)

    def _covers(self, truth: Array, X: Array) -> bool:
        return bool(kernels.covers(self.state, kernels.closed_levels(self.state.rows), truth))

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if not fixed:
            check_norms("actions", X, self.action_norm)
        work = self._scratch.choosing(self.state, len(X))
        if self._shared:
            return kernels.decide(self.state, self._rules, self._inner._confidence, X, work)
        k, level, count, last = kernels.look_and_guard(self.state, X, work)
        k = state.picked(self._inner, X, work.alive[:count]) if k < 0 else k
        return k, level, *kernels.verdict(self.state, self._rules, k, last, work)

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        check_growth(times, self.regularization, self.action_norm)
        inner = [] if self._shared else state.learning(self, x, y, times)
        levels = self.state = state.with_room(self.state, self._rules, self.rounds + times)
        arguments = levels, self._rules, x, y, level, times, self._scratch.learning(levels)
        return [*inner, (kernels.learn_one, *arguments)]

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        if not self._single or len(y) == 0:
            super()._play(X, y, truth, trace)
            return
        levels = self.state = state.with_room(self.state, self._rules, self.rounds + len(y))
        rounds = self._inner._memory, self._shared, X[None] if X.ndim == 2 else X, y, truth
        sound = self.consistent
        _, refuted = self._ledger.run(kernels.play, levels, self._rules, *rounds, not sound, record(trace))
        if refuted and sound:
            self._warn_of_refutation()

    def levels(self) -> list[Level]:
        """Explored rounds, the proven bound on them, and radius of each closed level."""
        with self._lock:
            return state.listed(self.state, self._rules)

    @property
    def explored(self) -> int:
        """In how many rounds the guard chose, to explore, and not the heuristic."""
        return sum(level.size for level in self.levels())

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        return state.mistake_bound(eps, self)
