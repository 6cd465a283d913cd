"""AnytimeSupLinUCB: elimination over levels without a horizon, after Chu et al. (2011) and Takemura et al. (2021).

    round k: A = D_k; for l = 1, 2, ...:                                                   AnytimeSupLinUCB._descend
      (radius "mixture") A ← {x ∈ A: ⟨θ_l, ŷ − x⟩ ≤ b_l ‖ŷ − x‖}, ŷ = argmax_A ⟨θ_l, y⟩; one is left: play it
      if max_{x ∈ A} ‖x‖_{V_l⁻¹} > 2^-l: play the widest and store it in C^l (nested: in all levels from l on)
      if k ≤ g 4^l d: play argmax_A of the ucb of level l (exploit="all": of the lesser of it and that of all data)
      (other radii) A ← the same elimination, after the width test
    b_l, δ_l = δ/(l(l+1)), δ halved if exploit="all":                                      AnytimeSupLinUCB._radius
      mixture  √(R² [log det(V_l/λ) + 2 log(1/δ_l)] + λS²)      any contexts; nested allowed
      round    R √(2 log(2(2n − 1) k(k+1)/δ_l)) + √λ S          contexts fixed in advance, independent noise
      pool     R √(2 log(2N(m+1)(m+2)/δ_l)) + √λ S              likewise, from a pool: N pairs and vectors, m = |C^l|
      both     the lesser of mixture and round, each with δ_l/2
    certificate: the least over the levels used of max_{y ∈ A_l} ⟨θ_l, y − x⟩ + b_l ‖y − x‖, and what bounds and 2SL say

``round``, ``pool`` and ``both`` need the design of a level to be free of the level's own rewards, so they refuse nested
levels and logged rounds, and eliminate after the width test. Exploring by width loses to optimism in practice: it is
here for comparison; ``Guarded`` is built on the same idea.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._constants import TIE
from unipac.bandits.protocol.changes import Step
from unipac.bandits.regressions.agent import MISSING, insert, regressions
from unipac.bandits.regressions.elimination import EliminatingAgent, Rows
from unipac.linalg.levels import Levels
from unipac.theory import elimination, radii

RADII = check.choice("mixture", "round", "pool", "both")


@agent
class AnytimeSupLinUCB(EliminatingAgent):
    """Explores what is widest among what may be best, level by level.

    {parameters}

    >>> agent = AnytimeSupLinUCB(2, noise=0.1)
    >>> agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]]).level       # the first level explores
    1
    """

    theorem: ClassVar[str] = "uniform-PAC"
    delta: float = declare.delta()
    radius: str = parameter(default="mixture", check=RADII, words="as above")
    gate: float = parameter(default=64.0, check=check.positive, words="g: how long a level exploits")
    nested: bool = parameter(default=True, check=check.flag, words="whether levels learn from lower ones")
    exploit: str = parameter(default="all", check=check.choice("level", "all"), words="whose ucb counts")
    pool: int = parameter(default=0, check=lambda n, v: check.count(n, v, least=0, most=2**31), words="its N")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self.absorbs = self.radius == "mixture"
        apart = self.absorbs or not self.nested
        check.require(apart, "nested", f"False with radius {self.radius!r}", self.nested)
        check.require(self.pool > 0 or self.radius != "pool", "pool", "given with radius 'pool'", self.pool)
        self._share = self.delta / (2.0 if self.exploit == "all" else 1.0)  # the rest is for all data

    @property
    def guarantee(self) -> str:
        """Regret alone with radius "round", which grows with the number of rounds."""
        return "regret" if self.radius == "round" else super().guarantee

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        names = ("gate", "radius", "nested", "pool", "noise", "norm", "regularization", "action_norm")
        own = {name: getattr(self, name) for name in names} | {"all_data": self.exploit == "all"}
        return elimination.anytime_mistake_bound(eps, self.dim, self.delta, **own)

    def _entries(self) -> None:  # entry 0 has all data, entry l level l
        return None

    def _entry(self, level: int) -> int:
        """Where the data of a level are. A nested level that is not open is the last that is."""
        last = len(self.state.size) - 1
        return level if level <= last else (last if self.nested and last > 0 else MISSING)

    def _radius(self, level: int, n: int) -> float:
        entry, k = self._entry(level), self._ledger.number() + 1  # forgotten decisions count
        share = radii.level_delta(self._share, level)
        if self.radius == "mixture":
            return self._mixture(entry, share)
        if self.radius == "pool":
            m = int(self.state.size[entry]) if entry != MISSING else 0
            directions = self.pool * (self.pool - 1) / 2 + self.pool
            return self._fixed_design(share / (2.0 * directions * (m + 1.0) * (m + 2.0)))
        part = share / 2.0 if self.radius == "both" else share
        by_round = self._fixed_design(part / (2.0 * (2 * n - 1) * k * (k + 1.0)))
        return by_round if self.radius == "round" else min(self._mixture(entry, part), by_round)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, width = self._values(0, X)
        if self.exploit != "all":  # then no part of δ is left for all data
            trivial = self.norm * np.linalg.norm(X, axis=1)
            return mean, width, trivial, -trivial
        bonus = self._mixture(0, self._share) * width
        return mean, width, mean + bonus, mean - bonus

    def _gap(self, passed: tuple[int, Rows], X: Array, k: int) -> float:
        level, alive = passed
        mean, width = self._values(self._entry(level), X[alive] - X[k])
        return float((mean + self._radius(level, len(X)) * width).max())

    def _survivors(self, level: int, X: Array, alive: Rows) -> Rows:
        best = alive[int(self._values(self._entry(level), X[alive])[0].argmax())]
        mean, width = self._values(self._entry(level), X[best] - X[alive])
        return alive[mean <= self._radius(level, len(X)) * width]

    def _descend(self, X: Array) -> tuple[int, int, list[tuple[int, Rows]]]:
        alive, used = np.arange(len(X)), []
        for level in itertools.count(1):
            if self.radius == "mixture":
                alive = self._survivors(level, X, alive)
                used.append((level, alive))
                if len(alive) == 1:
                    break
            mean, width = self._values(self._entry(level), X[alive])
            if float(width.max()) ** 2 > 4.0**-level * (1.0 + TIE):
                return int(alive[int(width.argmax())]), level, used
            if self.rounds + 1 <= self.gate * 4.0**level * self.dim:
                upper = mean + self._radius(level, len(X)) * width
                if self.exploit == "all":
                    upper = np.minimum(upper, self._bounds(X[alive])[2])
                return int(alive[int(upper.argmax())]), 0, [*used, (level, alive)]
            if self.radius != "mixture":
                alive = self._survivors(level, X, alive)
                used.append((level, alive))
        return int(alive[0]), 0, used

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        levels: Any = self.state
        while level >= len(levels.size):  # open it: empty, or what the last one holds
            grows = self.nested and len(levels.size) > 1
            new = levels if grows else regressions(1, self.dim, self.regularization)
            levels = Levels(*(np.append(a, b[-1:], axis=0) for a, b in zip(levels, new, strict=True)))
        last = len(levels.size) if self.nested else level + 1
        entries = np.array([0, *range(level, last)] if level else [0])
        arguments = levels, entries, x, y, times, self.regularization
        if levels is not self.state:
            insert(*arguments)
        return (insert, arguments) if levels is self.state else levels
