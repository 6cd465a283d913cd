"""Cert-LSVI-UCB: Algorithms 1 and 2 of Zhang, Fan, He and Gu (2024), for finitely many states.

    pseudo-code, before episode k                                         here
    L = max(⌈log₄(k/d)⌉, 0); for h = H, ..., 1, for l = 1, ..., L + 1:    mdp.linear.cert_lsvi_ucb.CertLSVIUCB._stage
      U_l = λI + Σ φφᵀ, w_l = U_l⁻¹ Σ φ (r + V̂_{h+1}(s')) over the transitions of level l; both rounded up to κ_l
    for each state: A_1 = all, V̌_0 = 0, V̂_0 = H; for l = 1, 2, ...:        mdp.linear.cert_lsvi_ucb.CertLSVIUCB._decide
      Q_l = ⟨w_l, φ⟩, V_l = max Q_l over A_l, attained by π_l
      if l > L: V̂_{l−1}, play π_{l−1}, store at level l
      if γ_l max ‖φ‖_{U_l⁻¹} over A_l is at least 2^−l: V̂_{l−1}, play the widest, store at level l
      if max(V_l − 3·2^−l, V̌_{l−1}) > min(V_l + 3·2^−l, V̂_{l−1}): V̂_{l−1}, play π_{l−1}, store nothing
      V̂_l = min(V_l + 3·2^−l, V̂_{l−1}), V̌_l = max(V_l − 3·2^−l, V̌_{l−1}), A_{l+1} = {a ∈ A_l: Q_l ≥ V_l − 4·2^−l}

``radius="finite"``: γ for finitely many states, proven with its constants (theory.cert_lsvi), nothing is rounded,
margins are 1, 1, 2, not 3, 3, 4, V̂_0 = H − h + 1. On its event |Q_l − (r + PV̂)| ≤ 2^−l on A_l where level l was
passed; so V_l ± 2^−l brackets max_a r + PV̂, whose maximiser stays in A_{l+1}, and V̂ ≥ V*. The event is for all V: so
it bounds V^π from below, too. Why it is uniform-PAC: ``docs/agents/cert_lsvi_ucb.md``.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac.mdp.linear.tables import Regression, TableAgent
from unipac.mdp.protocol.plan import Plan
from unipac.mdp.protocol.records import StageLevel
from unipac.theory import cert_lsvi


class Made(NamedTuple):
    """A plan, and at which level its transitions are stored."""

    action: Integers
    stored: Integers
    upper: Array
    lower: Array


@agent
class CertLSVIUCB(TableAgent):
    """Eliminate actions level by level, with one value for all levels; a reference, far from use.

    {parameters}

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = CertLSVIUCB(mdp.features, horizon=3, radius="finite")
    >>> trace = agent.play(mdp, episodes=50, seed=0)
    >>> bool((trace.bound >= mdp.optimal_value()[0]).all()), bool((trace.certificate >= trace.gap).all())
    (True, True)
    """

    theorem: ClassVar[str] = "uniform-PAC"

    regularization: float = parameter(
        default=16.0, check=check.positive, words="λ > 0 of the ridge regressions; 16 in the paper"
    )
    radius: str = parameter(
        default="finite",
        check=check.choice("theorem", "finite"),
        words='"theorem" as printed, second-hand and never certified, or "finite", proven for finitely many states',
    )
    bonus_scale: float = declare.bonus_scale()

    @property
    def _proven(self) -> bool:
        """Whether V̂ is proven to stay above V*, and certificates above gaps, with probability 1 − δ."""
        return self.radius == "finite" and self.bonus_scale == 1.0

    def _n_levels(self, episodes: int) -> int:
        """L + 1 of the next episode."""
        return next(L for L in range(64) if 4**L * self.dim > episodes) + 1

    def _gamma(self, h: int, level: int, fit: Regression) -> float:
        if self.radius == "theorem":
            return self.bonus_scale * cert_lsvi.cert_lsvi_printed(self.dim, self.horizon, level, self.delta)
        sizes = {
            name: getattr(self, name) for name in ("dim", "n_states", "horizon", "delta", "regularization")
        }
        largest = float(self.horizon - h - 1)
        proven = cert_lsvi.cert_lsvi_finite(fit.logdet, fit.members, level, largest=largest, **sizes)
        return self.bonus_scale * proven

    def _made(self) -> Made:
        if self._planned is None or self._planned[0] is not self.state:
            none = np.zeros((2, self.horizon, self.n_states), dtype=np.int64)
            made = Made(*none, *np.zeros((2, self.n_states)))
            for h, fits in reversed([*enumerate(self._regressions())]):
                made = self._stage(h, fits, made)
            self._planned = self.state, made
        cached: Made = self._planned[1]
        return cached

    def _stage(self, h: int, fits: list[Regression], made: Made) -> Made:
        """The stage of entry h, from the values of the next one."""
        L, S, A = len(fits) - 1, self.n_states, self.n_actions
        Q, width, lower = np.empty((3, L + 1, S, A))
        for i, fit in enumerate(fits):
            w, inverse, kappa = fit.weights(made.upper), fit.inverse, 0.01 * 2.0 ** (-4 * (i + 1)) / self.dim
            if self.radius == "theorem":
                w, inverse = kappa * np.ceil(w / kappa), kappa * np.ceil(inverse / kappa)
            Q[i] = (self._rows @ w).reshape(S, A)
            width[i] = self._gamma(h, i + 1, fit) * self._widths(inverse)
            lower[i] = (self._rows @ fit.weights(made.lower)).reshape(S, A) - width[i]
        upper = np.empty(S)
        for s in range(S):
            upper[s], made.action[h, s], made.stored[h, s] = self._decide(h, L, Q[:, s], width[:, s])
        proven = lower[:, np.arange(S), made.action[h]].max(axis=0)
        return made._replace(upper=upper, lower=np.clip(proven, 0.0, self.horizon - h))

    def _decide(self, h: int, L: int, Q: Array, width: Array) -> tuple[float, int, int]:
        """V̂, action and the level to store at, 0 for none, from Q and γ‖φ‖ by level and action."""
        around, drop, later = (3.0, 4.0, 0) if self.radius == "theorem" else (1.0, 2.0, h)
        low, high, action, left = 0.0, float(self.horizon - later), 0, np.arange(Q.shape[1])
        for level in range(1, L + 1):
            unit, q = 2.0**-level, Q[level - 1, left]
            wide = width[level - 1, left]
            if wide.max() >= unit:
                return high, int(left[wide.argmax()]), level
            best = float(q.max())
            if max(best - around * unit, low) > min(best + around * unit, high):
                return high, action, 0
            low, high = max(best - around * unit, low), min(best + around * unit, high)
            action = int(left[q.argmax()])
            left = left[q >= best - drop * unit]
        return high, action, L + 1

    def _stored(self) -> Integers:
        return self._made().stored

    def _plan(self) -> Plan:
        made = self._made()
        lower = made.lower if self.certified else None
        return Plan(made.action[:, None], self._no_level, made.upper, lower, True)

    def levels(self) -> list[StageLevel]:
        """Size and radius of each level of each stage; no bound on the size is computed."""
        with self._lock:
            rows = []
            for h, fits in enumerate(self._regressions()):
                for i, fit in enumerate(fits):
                    rows.append(StageLevel(h + 1, i + 1, fit.members, math.inf, self._gamma(h, i + 1, fit)))
            return rows
