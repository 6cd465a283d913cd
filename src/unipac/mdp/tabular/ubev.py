"""UBEV: Algorithm 1 of Dann, Lattimore and Brunskill, *Unifying PAC and Regret* (NeurIPS 2017).

    pseudo-code                                        here
    n(s, a, h), p̂ = n(s, a, s', h)/n, r̂ = mean reward  mdp.tabular.counting.counts.Counts
    for h = H, ..., 1 and all (s, a):                  mdp.tabular.counting.backward.optimistic
      φ = √((2 llnp(n) + ln(3SAH/δ'))/n)               theory.tabular.ubev_kernel
      EV = min(max V_{h+1}, p̂ V_{h+1} + (H − h) φ)
      Q_h(s, a) = min(1, r̂ + φ) + EV;  1 + max V_{h+1} if n = 0
    a_h = argmax_a Q_h(s_h, a)
    llnp(n) = ln ln max(n, e);  δ' = δ/9, or δ/7 where rewards are known

Theorem 4: uniform-PAC, N_ε = O~(S A H⁴ min(1 + ε S² A, S)/ε²) with probability 1 − δ.

``radius="stitched"`` replaces φ by the boundary of Howard et al. (2021), smaller by a factor of 1.44 or more where
φ < 1, which serves the proof as well; δ is shared by SAH values, and by as many rewards where they are
learned. ``homogeneous`` pools the stages: the V*_{h+1} are fixed functions, so the union over SAH is the same.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._jit import jit
from unipac.mdp.protocol.plan import Plan
from unipac.mdp.tabular.counting.agent import TabularAgent
from unipac.mdp.tabular.counting.backward import HOEFFDING, Bonus, optimistic
from unipac.mdp.tabular.counting.counts import Counts
from unipac.theory.tabular import stitched_kernel, ubev_kernel


@jit
def radii(counts: Counts, is_stitched: bool, log_failures: float, phi: Array) -> None:
    """Fill in φ of every cell in which something was seen."""
    for cell in range(phi.size):
        n = float(counts.visits[cell])
        if n > 0.0:
            phi[cell] = stitched_kernel(n, log_failures) if is_stitched else ubev_kernel(n, log_failures)


@agent
class UBEV(TabularAgent):
    """Optimistic value iteration on counts with bonuses that do not know how long it will run: uniform-PAC.

    {parameters}

    Example:
        >>> from unipac.envs import river_swim
        >>> mdp = river_swim(n_states=3, horizon=3)
        >>> trace = UBEV(3, 2, horizon=3, radius="stitched").play(mdp, episodes=300, seed=0)
        >>> bool((trace.bound >= mdp.optimal_value()[0]).all())
        True
    """

    theorem: ClassVar[str] = "uniform-PAC"
    _proven = True
    certified = False  # nothing bounds the value of the policy from below

    delta: float = declare.delta()
    radius: str = parameter(
        default="printed", check=check.choice("printed", "stitched"), words='φ: "printed" or "stitched"'
    )

    def _plan(self) -> Plan:
        H, S, pairs = self.horizon, self.n_states, self.n_states * self.n_actions
        learned = self._known is None
        if self.radius == "stitched":
            failures = (2 if learned else 1) * pairs * H / self.delta
        else:
            failures = (9 if learned else 7) * pairs * H / self.delta
        counts: Counts = self.state
        phi = np.zeros(self._cells)
        radii(counts, self.radius == "stitched", math.log(failures), phi)
        low, high = self.reward_range
        mean = counts.reward / np.maximum(counts.visits, 1)
        reward = np.where(counts.visits > 0, np.minimum(high, mean + (high - low) * phi), high)
        bonus = Bonus(HOEFFDING, phi, self._unit * np.arange(H - 1.0, -1.0, -1.0), np.empty((0, 0)))
        limits = self._apart(reward.reshape(-1, pairs))
        action, V = np.zeros((H, S), dtype=np.int64), np.empty((H + 1, S))
        optimistic(counts, bonus, limits, np.empty((0, 0)), False, action, np.empty((H, pairs)), V)
        return self._planned(action, V[0])
