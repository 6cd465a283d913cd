"""Bounds over the ellipsoid of all data cut with the ball ‖θ‖ ≤ S (Flynn et al. 2023): radius "ball".

    ucb(x) = max{⟨x, θ⟩: ‖θ − w‖_Σ ≤ β, ‖θ‖ ≤ S},  lcb(x) the minimum            base.ball.bound_all
    certificate = max_y ucb(y) − lcb(x)

μ* is in both, so in what they share: what is certified with the ellipsoid stays true and becomes smaller. The choice
is the agent's own, by the ellipsoid. It costs d³ and a bisection for each action, one by one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from unipac._arrays import Array
from unipac.bandits.levelled.ball import bound_all
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Trace
from unipac.linalg import ridge

if TYPE_CHECKING:
    _Base = BanditAgent
else:
    _Base = object  # it stands before the agent that it is mixed into, whose parameters it leaves alone


class BallBounds(_Base):
    """For an agent whose first regression has all data: bounds by the cut set, where ``_is_cut``."""

    norm: float
    _meets: bool = True

    def _is_cut(self) -> bool:
        return getattr(self, "radius", None) == "ball"

    def _all_data(self) -> tuple[Array, float]:
        """Factor and radius of the ellipsoid."""
        return self.state.rows[0], float(self.state.beta[0])

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        if not self._is_cut():
            return super()._bounds(X)
        out = np.empty((4, len(X)))
        self._meets = bound_all(*self._all_data(), self.norm, X, out)
        return out[0], out[1], out[2], out[3]

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        return BanditAgent._decide(self, X, fixed) if self._is_cut() else super()._decide(X, fixed)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        if self._is_cut():
            BanditAgent._play(self, X, y, truth, trace)
        else:
            super()._play(X, y, truth, trace)

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        if self._is_cut() and not self._meets:  # no parameter is left
            return math.nan, True
        return super()._certify(best, ucb, lcb)

    def _covers(self, truth: Array, X: Array) -> bool:
        if not self._is_cut():
            return super()._covers(truth, X)
        rows, radius = self._all_data()
        inside = ridge.distance(rows, truth) <= radius
        return bool(inside and np.linalg.norm(truth) <= self.norm * (1.0 + 1e-9))
