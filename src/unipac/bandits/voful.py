"""VOFUL: a confidence set that adapts to an unknown variance, after Zhang, Yang, Ji and Du (2021); two dimensions only.

    pseudo-code                                                                              here
    c_v(u, j) = clip(⟨x_v, u⟩/(L 2^-j), ±1)/B  for unit vectors u ∈ M and j = 0, ..., J − 1    VOFUL._learn
    Θ: all ‖θ‖ ≤ S with, for all u, j and λ ∈ Λ, and ε_v(θ) = r_v − ⟨x_v, θ⟩,                 VOFUL._possible
      |Σ_v c_v ε_v(θ)| ≤ (ψ(λ) Σ_v c_v² ε_v(θ)² + log(2 |M| J |Λ|/δ))/λ,  ψ(λ) = −log(1 − λ) − λ
    x_k = argmax_{x ∈ D_k} max_{θ ∈ Θ} ⟨x, θ⟩                                                 VOFUL._choose

Noise must be bounded by B. Then exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ for ξ ≥ −1 and 0 ≤ λ < 1 (Fan, Grama and Liu 2015) makes
each inequality one of a supermartingale in ξ = ±c_v η_v: by Ville, θ* is in Θ at all times with probability 1 − δ, for
any finite M, J and Λ; the paper's rate is not proven for them. All sums are quadratic in θ: their coefficients are the
state. Cells of a grid cover Θ, which is not convex; it is meshed again as Θ shrinks. A reference, not for practice.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.bandits.protocol.agent import BanditAgent

LAMBDAS = 2.0 ** -np.arange(1, 9)
ROUNDING = 1e-12  # relative to the terms of a sum


class Sums(NamedTuple):
    """For every (u, j), of all rounds."""

    linear: Array
    """(K, 3): Σ c r and Σ c x."""
    square: Array
    """(K, 6): Σ c² r², Σ c² r x and Σ c² (x_1², x_1 x_2, x_2²)."""


@agent
class VOFUL(BanditAgent):
    """Optimism over all parameters whose weighted sums of residuals are as small as their variation allows.

    {parameters}

    >>> agent = VOFUL(2, noise=0.1)
    >>> for _ in range(300):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index, decision.certified
    (1, True)
    """

    only_dim: ClassVar[int | None] = 2
    bounded_noise: ClassVar[bool] = True
    _proven = True

    noise: float = parameter(default=1.0, check=check.positive, words="B, a bound on the noise")
    norm: float = declare.norm()
    delta: float = declare.delta()
    directions: int = parameter(
        default=8, check=lambda name, v: check.count(name, v, most=256), words="how many u there are"
    )
    depth: int = parameter(
        default=3, check=lambda name, v: check.count(name, v, most=16), words="J, how many scales"
    )
    cells: int = parameter(
        default=16,
        check=lambda name, v: check.count(name, v, least=4, most=128),
        words="cells on a side of the grid",
    )

    def _check_parameters(self) -> None:
        check.require(self.dim == 2, "dim", "2 for VOFUL, whose set is covered by a grid", self.dim)
        super()._check_parameters()
        angles = math.pi * np.arange(self.directions) / self.directions
        self._units = np.stack([np.cos(angles), np.sin(angles)])

    def _empty(self) -> Sums:
        self._cover: tuple[Sums | None, Array, float] = None, np.empty((0, 2)), 0.0
        count = self.directions * self.depth
        return Sums(np.zeros((count, 3)), np.zeros((count, 6)))

    def _restored(self, saved: Any) -> Sums:
        state: Sums = super()._restored(saved)
        if (state.square[:, [0, 3, 5]] < 0).any():
            raise ValueError("a sum of squares is negative")
        return state

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Sums:
        along = (x @ self._units)[:, None] / (self.action_norm * 2.0 ** -np.arange(self.depth))
        c = np.clip(along, -1.0, 1.0).ravel() / self.noise
        products = [y * y, y * x[0], y * x[1], x[0] ** 2, x[0] * x[1], x[1] ** 2]
        linear, square = self.state
        return Sums(linear + np.outer(c, [y, *x]), square + np.outer(c * c, products))

    def _possible(self, G: Array, reach: float) -> NDArray[np.bool_]:
        """For each row of G, whether some point within ``reach`` of it may be possible."""
        (a, *b), (rr, r0, r1, q00, q01, q11) = self.state.linear.T, self.state.square.T
        size = np.hypot(*b)
        off = np.abs(a - G @ np.array(b)) - reach * size - ROUNDING * (np.abs(a) + self.norm * size)
        g0, g1 = G[:, :1], G[:, 1:]
        spread2 = rr - 2.0 * (g0 * r0 + g1 * r1) + g0**2 * q00 + 2.0 * g0 * g1 * q01 + g1**2 * q11
        spread2 = np.maximum(spread2, 0.0) + ROUNDING * (rr + self.norm**2 * (q00 + q11))
        spread2 = (np.sqrt(spread2) + reach * np.sqrt(q00 + q11)) ** 2
        log = math.log(2.0 * len(a) * len(LAMBDAS) / self.delta)
        inside = np.hypot(g0, g1)[:, 0] <= self.norm + reach
        for rate in LAMBDAS.tolist():
            psi = -math.log1p(-rate) - rate
            inside &= (off <= (psi * spread2 + log) / rate).all(axis=1)
        return np.asarray(inside)

    def _covering(self) -> tuple[Array, float]:
        """Centres of cells that cover all possible parameters, and their half-diagonal; no centre if there are none."""
        low, high = np.full(2, -self.norm), np.full(2, self.norm)
        while self._cover[0] is not self.state:
            step = (high - low) / self.cells
            ticks = [low[i] + step[i] * (np.arange(self.cells) + 0.5) for i in range(2)]
            G = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
            reach = 0.5 * float(np.hypot(*step))
            G = G[self._possible(G, reach)]
            area = float(np.prod(high - low))
            if len(G):
                low, high = G.min(axis=0) - step / 2, G.max(axis=0) + step / 2
            if len(G) == 0 or not np.prod(high - low) < 0.5 * area or reach < 1e-6 * self.norm:
                self._cover = self.state, G, reach
        return self._cover[1:]

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Mean: for the θ with the least weighted sums Σ c ε(θ); width: half the range; ±S ‖x‖ if nothing is left."""
        G, reach = self._covering()
        lengths = np.hypot(X[:, 0], X[:, 1])
        ucb, lcb = self.norm * lengths, -self.norm * lengths
        if len(G):
            values = X @ G.T
            ucb = np.minimum(ucb, values.max(axis=1) + reach * lengths)
            lcb = np.maximum(lcb, values.min(axis=1) - reach * lengths)
        estimate = np.linalg.lstsq(self.state.linear[:, 1:], self.state.linear[:, 0])[0]
        return np.clip(X @ estimate, lcb, ucb), (ucb - lcb) / 2.0, ucb, lcb

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        if len(self._covering()[0]) == 0:  # no parameter is left
            return math.nan, True
        return super()._certify(best, ucb, lcb)

    def _choose(self, X: Array) -> tuple[int, int]:
        return int(self._bounds(X)[2].argmax()), 1
