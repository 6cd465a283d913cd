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

Levels are nested as in ``linalg.levels``, separate in every block. Theorem: ``docs/agents/upac_lsvi.md``.
"""

from __future__ import annotations

import math
from typing import ClassVar

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.mdp.linear.base.blocks import layout
from unipac.mdp.linear.base.lsvi_agent import LSVIAgent
from unipac.mdp.linear.base.value_bounds import Rules
from unipac.theory.upac_lsvi import Sizes, log_failures, upac_lsvi_mistake_bound


@agent
class UPACLSVI(LSVIAgent):
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

    delta: float = parameter(0.05, check.probability, "δ, the probability that some bound fails")
    radius: str = parameter(
        "monotone",
        check.choice("monotone", "vertex", "auto"),
        '"monotone": bounds for V* alone; "vertex": simpler ones for all V; "auto": monotone, and counts also where a '
        "block has at most twice as many features as its rank",
    )
    bonus_scale: float = parameter(
        1.0, check.nonnegative, "multiplies the radii when choosing; bounds and certificates stay proven"
    )
    replan: str = parameter("lazy", check.choice("lazy", "always"), 'when to plan anew: "lazy" or "always"')
    replan_factor: float = parameter(1.05, check.at_least_one, "growth of a det Σ that asks for a new plan")

    def _make_rules(self) -> Rules:
        places, outcomes = layout(self.features, self.radius == "auto"), self.n_states + self.terminates
        alone, features = int((places.block < 0).sum()), len(places.block)
        blocks = tuple(places.sizes.tolist())
        self._sizes = Sizes(self.horizon, self.dim, outcomes, blocks, places.cells, alone, features)
        logs = log_failures(self._sizes, self.delta, self.radius)
        low, high = self.reward_range
        lazy = self.replan == "lazy"
        return Rules(
            layout=places,
            horizon=self.horizon,
            dim=self.dim,
            outcomes=outcomes,
            end=self._ends(),
            regularization=self.regularization,
            levelled=True,
            monotone=self.radius != "vertex",
            scale=self.bonus_scale,
            factor=self.replan_factor if lazy else 1.0,
            rise=math.log(self.replan_factor) + 1e-9 if lazy else -1.0,
            log_counted=logs.counted,
            log_sets=logs.sets,
            log_every=logs.every,
            low=low,
            unit=high - low,
        )

    @property
    def certified(self) -> bool:
        """True, however actions are chosen, unless the rewards of a feature were seen to differ."""
        return bool(self.state.refuted[0] == 0)

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − 3δ, for all ε at once, no more episodes have a gap above ε; or infinity."""
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
