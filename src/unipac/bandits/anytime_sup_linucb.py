"""AnytimeSupLinUCB: elimination over levels without a horizon, after Chu et al. (2011) and Takemura et al. (2021).

    round k: A = D_k; for l = 1, 2, ...:                                                   AnytimeSupLinUCB._choose
      (radius "mixture") A ← {x ∈ A: ⟨θ_l, ŷ − x⟩ ≤ b_l ‖ŷ − x‖}, ŷ = argmax_A ⟨θ_l, y⟩; one is left: play it
      if max_{x ∈ A} ‖x‖_{V_l⁻¹} > 2^-l: play the widest and store it in C^l (nested: in all levels from l on)
      if k ≤ g 4^l d: play argmax_A of the ucb of level l (exploit="all": of the lesser of it and that of all data)
      (other radii) A ← the same elimination, after the width test
    b_l, δ_l = δ/(l(l+1)), δ halved if exploit="all":                                      _radius
      mixture  √(R² [log det(V_l/λ) + 2 log(1/δ_l)] + λS²)      any contexts; nested allowed
      round    R √(2 log(2(2n − 1) k(k+1)/δ_l)) + √λ S          contexts fixed in advance, independent noise
      pool     R √(2 log(2N(m+1)(m+2)/δ_l)) + √λ S              likewise, from a pool: N pairs and vectors, m = |C^l|
      both     the lesser of mixture and round, each with δ_l/2
    certificate: the least over the levels used of max_{y ∈ A_l} ⟨θ_l, y − x⟩ + b_l ‖y − x‖, and 2SL

``round``, ``pool`` and ``both`` need the design of a level to be free of the level's own rewards, so they refuse nested
levels and logged rounds, and eliminate after the width test. Exploring by width loses to optimism in practice: it is
here for comparison; ``Guarded`` is built on the same idea.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._constants import TIE
from unipac._inputs import check_norms
from unipac.bandits.base.agent import BanditAgent
from unipac.bandits.base.verdict import Verdict
from unipac.linalg import levels as stack
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.theory import radii
from unipac.theory.elimination import fixed_design

Array = NDArray[np.float64]


@agent
class AnytimeSupLinUCB(BanditAgent):
    """Explores what is widest among what may be best, level by level.

    {parameters}

    >>> agent = AnytimeSupLinUCB(2, noise=0.1)
    >>> for _ in range(300):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index
    1
    """

    theorem: ClassVar[str] = "uniform-PAC"

    delta: float = parameter(0.05, check.probability, "δ, the probability that the bounds may fail")
    noise: float = parameter(1.0, check.nonnegative, "R, the sub-Gaussian scale of the noise")
    norm: float = parameter(1.0, check.nonnegative, "S, a bound on the norm of the unknown parameter")
    regularization: float = parameter(1.0, check.positive, "λ > 0 of the ridge regressions")
    radius: str = parameter("mixture", check.choice("mixture", "round", "pool", "both"), "as above")
    gate: float = parameter(64.0, check.positive, "g: how long a level exploits")
    nested: bool = parameter(True, check.flag, "whether levels learn from lower ones; with mixture only")
    exploit: str = parameter("all", check.choice("level", "all"), "whose upper bounds a level exploits")
    pool: int = parameter(
        0, lambda name, v: check.count(name, v, least=0), "vectors in the pool, for that radius"
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        fixed = self.radius != "mixture"
        check.require(
            not (fixed and self.nested), "nested", f"False with radius {self.radius!r}", self.nested
        )
        check.require(self.pool > 0 or self.radius != "pool", "pool", "given with radius 'pool'", self.pool)
        self.__dict__["absorbs"] = not fixed

    # -- state: all data, then the levels that have been opened ---------------------------------

    def _empty(self) -> Levels:
        return stack.empty(1, self.dim, self.regularization)

    def _restored(self, saved: Any) -> Levels:
        sound = (
            saved.rows.shape == (len(saved.size), self.dim, self.dim + 2)
            and len(saved.size) <= stack.MOST_LEVELS
        )
        shapes = all(len(part) == len(saved.size) and np.isfinite(part).all() for part in saved)
        if not sound or not shapes or saved.size.min() < 0 or saved.size[0] != self._rounds:
            raise ValueError("the levels are not those of any data")
        return Levels(*saved)

    def _entry(self, level: int) -> int:
        """Where the data of a level are; -1 if it has none. A nested level that is not open is the last that is."""
        last = len(self.state.size) - 1
        return level if level <= last else (last if self.nested and last > 0 else -1)

    def _values(self, entry: int, Y: Array) -> tuple[Array, Array]:
        """Means and widths in one of the regressions."""
        mean, width2 = np.zeros(len(Y)), (Y * Y).sum(axis=1) / self.regularization
        if entry >= 0:
            evaluate_all(
                self.state.rows, entry + 1, entry + 1, np.ascontiguousarray(Y), 0, len(Y), mean, width2
            )
        return mean, np.sqrt(width2)

    def _radius(self, level: int, n: int) -> float:
        entry, k = self._entry(level), self._rounds + 1
        logdet, m = (float(self.state.logdet[entry]), int(self.state.size[entry])) if entry >= 0 else (0.0, 0)
        share = radii.level_delta(self.delta / (2.0 if self.exploit == "all" else 1.0), level)
        known = {"noise": self.noise, "norm": self.norm, "regularization": self.regularization}
        if self.radius == "mixture":
            return radii.mixture(max(logdet, 0.0), share, **known)
        if self.radius == "pool":
            directions = self.pool * (self.pool - 1) / 2 + self.pool
            return fixed_design(share / (2.0 * directions * (m + 1.0) * (m + 2.0)), **known)
        part = share / 2.0 if self.radius == "both" else share
        by_round = fixed_design(part / (2.0 * (2 * n - 1) * k * (k + 1.0)), **known)
        return (
            by_round
            if self.radius == "round"
            else min(radii.mixture(max(logdet, 0.0), part, **known), by_round)
        )

    # -- the protocol --------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given."""
        return True

    @property
    def guarantee(self) -> str:
        """Uniform-PAC, but for "round", whose radius grows with the number of rounds."""
        return "regret" if self.radius == "round" else self.theorem

    def _outer(self) -> float:
        """The radius of all data, which have half of δ if they are used."""
        share = self.delta / 2.0 if self.exploit == "all" else self.delta
        return radii._mixture(
            max(float(self.state.logdet[0]), 0.0), share, self.noise, self.norm, self.regularization
        )

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, width = self._values(0, X)
        if self.exploit != "all":  # then no part of δ is left for all data
            trivial = self.norm * np.linalg.norm(X, axis=1)
            return mean, width, trivial, -trivial
        return mean, width, mean + self._outer() * width, mean - self._outer() * width

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if not fixed:
            check_norms("actions", X, self.action_norm)
        k, stored, used = self._descend(X)
        certificate = self._largest_gap()
        for level, kept in used:
            mean, width = self._values(self._entry(level), X[kept] - X[k])
            certificate = min(
                certificate, max(0.0, float((mean + self._radius(level, len(X)) * width).max()))
            )
        mean_k, width_k, ucb, lcb = (float(column[0]) for column in self._clipped(X[k : k + 1]))
        return Verdict(k, stored, mean_k, width_k, ucb, lcb, certificate, False)

    def _survivors(self, level: int, X: Array, alive: NDArray[np.intp]) -> NDArray[np.intp]:
        best = alive[int(self._values(self._entry(level), X[alive])[0].argmax())]
        mean, width = self._values(self._entry(level), X[best] - X[alive])
        return alive[mean <= self._radius(level, len(X)) * width]

    def _descend(self, X: Array) -> tuple[int, int, list[tuple[int, NDArray[np.intp]]]]:
        """The row chosen, the level that stores it (0 if none), and what each level used has left."""
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
            if self._rounds + 1 <= self.gate * 4.0**level * self.dim:
                upper = mean + self._radius(level, len(X)) * width
                if self.exploit == "all":
                    outer_mean, outer_width = self._values(0, X[alive])
                    upper = np.minimum(upper, outer_mean + self._outer() * outer_width)
                return int(alive[int(upper.argmax())]), 0, [*used, (level, alive)]
            if self.radius != "mixture":
                alive = self._survivors(level, X, alive)
                used.append((level, alive))
        return int(alive[0]), 0, used

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        while level >= len(self.state.size):  # open it: empty, or what the last one holds
            last = len(self.state.size) - 1
            self.state = stack.grown(self.state, last + 2)
            source = self.state if self.nested and last > 0 else stack.empty(1, self.dim, self.regularization)
            at = last if self.nested and last > 0 else 0
            for to, held in zip(self.state, source, strict=True):
                to[last + 1] = held[at]
        entries = [0, *range(level, len(self.state.size) if self.nested else level + 1)] if level else [0]
        means, width2, below = (
            np.empty(len(self.state.size)),
            np.empty(len(self.state.size)),
            np.empty(self.dim + 2),
        )
        evaluate_all(self.state.rows, 1, len(self.state.size), x[None], 0, 1, means, width2)
        for i in entries:
            stack._learn(self.state, i + 1, x, y, 1, width2, self.regularization, below)
            self.state.size[i] += 1
