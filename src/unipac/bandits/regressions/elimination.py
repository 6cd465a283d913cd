"""The family of SupLinUCB: a round descends through levels or stages, each of which leaves fewer actions.

``EliminatingAgent`` turns the way down into a decision and its certificate. ``StagedAgent`` has the stages of a known
number of rounds, as Auer (2002) and Chu et al. (2011) have them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._inputs import check_norms
from unipac.bandits.protocol.changes import Step
from unipac.bandits.protocol.verdict import Verdict
from unipac.bandits.regressions.agent import RegressionsAgent

Rows = NDArray[np.intp]


@agent
class EliminatingAgent(RegressionsAgent):
    """Decides on the way down through levels; certifies by those that it passed.

    {parameters}
    """

    _proven = True

    def _descend(self, X: Array) -> tuple[int, int, list[Any]]:
        """The row chosen, the level that learns from it (0 if none), and what was passed."""
        raise NotImplementedError

    def _gap(self, passed: Any, X: Array, k: int) -> float:
        """The bound on the gap of row k that a passed level proves."""
        raise NotImplementedError

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if not fixed:
            check_norms("actions", X, self.action_norm)
        k, level, used = self._descend(X)
        values = self._clipped(X)
        mean, width, ucb, lcb = (float(column[k]) for column in values)
        certificate, refuted = self._certify(float(values[2].max()), ucb, lcb)
        for passed in used:
            certificate = min(certificate, max(0.0, self._gap(passed, X, k)))
        return Verdict(k, level, mean, width, ucb, lcb, certificate, refuted)


class Stage(NamedTuple):
    """A stage on the way down: the rows that reached it, their means, and bounds on the errors of these."""

    alive: Rows
    mean: Array
    error: Array


@agent
class StagedAgent(EliminatingAgent):
    """Goes down the stages for a known number T of rounds; each stage bounds every action by itself.

        stage s = 1, ..., ⌈½ log₂ T⌉ + 1, A = D_t; means and errors w of stage s on A
          all w ≤ 1/√T, or the last stage: play argmax ucb, no stage learns
          some w > 2^-s: play the largest w, stage s learns
          else A ← {x ∈ A: ucb(x) ≥ max ucb − 2^{1−s}}, s ← s + 1

    The errors hold for T rounds whose actions do not depend on rewards, with independent noise: then the rewards of a
    stage have no influence on what the stage learns from. After T decisions nothing but S ‖y − x‖ is certified.

    {parameters}
    """

    theorem: ClassVar[str] = "regret"
    absorbs = False

    moved: ClassVar[Mapping[str, str]] = {"horizon": "T is total_rounds"}

    total_rounds: int = parameter(check=check.count, words="T, how many rounds there will be")
    delta: float = declare.delta()

    def _entries(self) -> int:
        return math.ceil(0.5 * math.log2(self.total_rounds)) + 1

    def _level_range(self) -> tuple[int, int]:
        return 0, self._entries()

    def _stage(self, stage: int, X: Array, failure: float) -> tuple[Array, Array]:
        """Means of the rows of X in a stage, and their errors; each side of each fails with probability ``failure``."""
        raise NotImplementedError

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and width of the first stage; the bounds are S ‖x‖, as errors hold for offered actions alone."""
        mean, width = self._values(0, X)
        trivial = self.norm * np.linalg.norm(X, axis=1)
        return mean, width, trivial, -trivial

    def _gap(self, passed: Stage, X: Array, k: int) -> float:
        trivial = self.norm * float(np.linalg.norm(X - X[k], axis=1).max())
        if self._ledger.number() >= self.total_rounds:
            return trivial
        lower = (passed.mean - passed.error)[passed.alive == k]
        return min(trivial, float((passed.mean + passed.error).max() - lower[0]))

    def _descend(self, X: Array) -> tuple[int, int, list[Stage]]:
        last, used = self._entries(), []
        alive: Rows = np.arange(len(X))
        failure = self.delta / (2.0 * self.total_rounds * len(X) * last)
        for stage in range(1, last + 1):
            mean, error = self._stage(stage, X[alive], failure)
            used.append(Stage(alive, mean, error))
            upper = mean + error
            if stage == last or (error <= 1.0 / math.sqrt(self.total_rounds)).all():
                break
            if (error > 2.0**-stage).any():
                return int(alive[int(error.argmax())]), stage, used
            alive = alive[upper >= upper.max() - 2.0 ** (1 - stage)]
        return int(alive[int(upper.argmax())]), 0, used

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        return self._insertion((level - 1,), x, y, times) if level > 0 else self.state
