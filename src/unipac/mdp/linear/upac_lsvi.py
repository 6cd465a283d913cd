"""UPACLSVI: optimism for V* alone, over nested levels of data, with a certificate before every episode.

    pseudo-code, X the distinct features, V = V_{h+1}                                     here
    for h = H, ..., 1 and every x in X:                                                   base.lsvi
      rplus = upper bound on the reward, exact if it follows from observed ones           base.recovered
      U = max V
      x alone in its block:  U = K_inf bound on the counts of x                           base.value_bounds
      else, for every level l:
        U = min(U, layer cake of the positive parts of the ridge weights, with a radius)
      Q_h(x) = min(H − h + 1, rplus + max(U, min V));  V_h(s) = max_a Q_h(φ(s, a))
    π_h(s) = argmax_a Q_h(φ(s, a)), the first of equals
    Vlow of π with bounds for all V;  certificate(s) = V_1(s) − Vlow_1(s)
    at x in the episode: l = the first level whose test w_l(x) ≤ 2^-l fails; if all pass, a new one, a copy of the last;
      add (x, s') to the levels from l on, and to the counts
    a new plan when a feature was new, a level was opened, or some det Σ or λ + n rose by the factor f

Levels are nested as in ``linalg.levels``, separate in every block; the protocol is in ``base.bounding``.
Theorem: ``docs/agents/upac_lsvi.md``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from unipac import _checks as check
from unipac import _declarations as declare
from unipac._agents import agent, parameter
from unipac._parameters import ArrayParameter
from unipac.envs import FiniteMDP
from unipac.mdp.linear.levelled.agent import LinearAgent
from unipac.mdp.linear.values.agent import Bounding
from unipac.mdp.linear.ways import ByWay
from unipac.mdp.protocol.records import StageLevel
from unipac.theory.upac_lsvi import upac_lsvi_mistake_bound


@agent
class UPACLSVI(ByWay):
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

    features: ArrayParameter = parameter(words="φ, (states, actions, d), norms at most 1", kw_only=False)
    regularization: float = declare.regularization()
    terminates: bool = parameter(
        default=True,
        check=check.flag,
        words="whether episodes may end before H; bounds are a little smaller if not",
    )
    delta: float = declare.delta()
    radius: str = parameter(
        default="monotone",
        check=check.choice("monotone", "vertex", "auto"),
        words='"monotone": bounds for V* alone; "vertex": simpler ones for all V; "auto": monotone, and '
        "counts also where a "
        "block has at most twice as many features as its rank",
    )
    bonus_scale: float = parameter(
        default=1.0,
        check=check.nonnegative,
        words="multiplies the radii when choosing; bounds and certificates stay proven",
    )
    replan: str = parameter(
        default="lazy", check=check.choice("lazy", "always"), words='when to plan anew: "lazy" or "always"'
    )
    replan_factor: float = parameter(
        default=1.05, check=check.at_least_one, words="growth of a det Σ that asks for a new plan"
    )

    def _check_parameters(self) -> None:
        self.features = LinearAgent.checked_features(self.features)
        self.n_states, self.n_actions, self.dim = self.features.shape
        self._way: Bounding = Bounding(self, levelled=True)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return LinearAgent._told(mdp)

    @property
    def certified(self) -> bool:
        """True, however actions are chosen, unless the rewards of a feature were seen to differ."""
        return self._way.certified

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − 3δ, for all ε at once, no more episodes have a gap above ε; or infinity."""
        eps = check.positive("eps", eps) / self._way.rules.unit
        if self.guarantee == "none":
            return math.inf
        return upac_lsvi_mistake_bound(
            eps,
            self._way.sizes,
            self.delta,
            radius=self.radius,
            regularization=self.regularization,
            replan_factor=self._way.rules.factor,
        )

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and largest radius of each level of each stage, all blocks together."""
        with self._lock:
            return self._way.stage_levels()

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        self._way.check_mdp(mdp, self._told(mdp)["features"])

    def _check_end(self, h: int, terminated: bool) -> None:
        self._way.check_end(h, terminated)
