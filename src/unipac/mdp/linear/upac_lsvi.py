"""UPACLSVI: optimism for V* alone, over nested levels of data, with a certificate before every episode.

    pseudo-code, X the distinct features, V = V_{h+1}                           here
    for h = H, ..., 1 and every x in X:                                         mdp.linear.values.plan.choose
      rplus = upper bound on the reward, exact if the data fix it               mdp.linear.values.rewards.reward_bounds
      U = max V
      x alone in its block:  U = K_inf bound on the counts of x                 mdp.linear.values.bounds.counted_upper
      else, for every level l:                                                  mdp.linear.values.bounds.upper_bounds
        U = min(U, layer cake of the positive ridge weights, with a radius)
      Q_h(x) = min(H − h + 1, rplus + max(U, min V));  V_h(s) = max_a Q_h(φ(s, a))
    π_h(s) = argmax_a Q_h(φ(s, a)), the first of equals
    Vlow of π with bounds for all V;  certificate(s) = V_1(s) − Vlow_1(s)       mdp.linear.values.plan.certify
    at x in the episode: l = the first level whose test w_l(x) ≤ 2^-l fails;    linalg.levels.level_in
      if all pass, a new one, a copy of the last;                               linalg.levels.open_level
      add (x, s') to the levels from l on, and to the counts                    mdp.linear.values.plan.learn
    a new plan when a feature was new, a level was opened, or some det Σ or λ + n rose by the factor f

Levels are nested as in ``linalg.levels``, separate in every block; the protocol is in ``mdp.linear.values.agent``.
Theorem: ``docs/agents/upac_lsvi.md``.
"""

from __future__ import annotations

import math
from typing import ClassVar

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.mdp.linear.values.agent import ValueAgent
from unipac.theory.upac_lsvi import upac_lsvi_mistake_bound


@agent
class UPACLSVI(ValueAgent):
    """Certified value iteration with linear features and finitely many states: uniform-PAC, small radii.

    {parameters}

    Example:
        >>> from unipac.envs import random_simplex
        >>> mdp = random_simplex(dim=4)
        >>> agent = UPACLSVI(mdp.features, horizon=4)
        >>> trace = agent.play(mdp, episodes=2000, seed=0)
        >>> bool((trace.certificate >= trace.gap).all()), bool(trace.gap[1000:].mean() < 0.01)
        (True, True)
    """

    theorem: ClassVar[str] = "uniform-PAC"
    _levelled: ClassVar[bool] = True

    radius: str = parameter(
        default="monotone",
        check=check.choice("monotone", "vertex", "auto"),
        words='"monotone": bounds for V* alone; "vertex": simpler ones for all V; "auto": monotone, and '
        "counts also where a "
        "block has at most twice as many features as its rank",
    )

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − 3δ, for all ε at once, at most this many episodes have a gap above ε; or infinity."""
        eps = check.positive("eps", eps) / self._rules.unit
        if self.guarantee == "none":
            return math.inf
        return upac_lsvi_mistake_bound(
            eps,
            self._sizes,
            self.delta,
            radius=self.radius,
            regularization=self.regularization,
            replan_factor=self._rules.factor,
        )
