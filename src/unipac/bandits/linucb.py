"""LinUCB: the heuristic everyone knows, Li, Chu, Langford and Schapire (2010).

    pseudo-code                                                       here
    Σ = λI + Σ_i x_i x_iᵀ,  w = Σ⁻¹ Σ_i x_i r_i   over all rounds     linalg.ridge
    x_k = argmax_{x ∈ D_k} ⟨w, x⟩ + α ‖x‖_{Σ⁻¹}                       linalg.fast.argmax.select

α is a constant to be tuned: for data chosen by the agent itself no theorem backs it, so nothing is certified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.bandits.levelled.agent import LevelledAgent
from unipac.bandits.levelled.confidence import RADII, Confidence


@agent
class LinUCB(LevelledAgent):
    """Mean plus α times width; bounds without a guarantee.

    {parameters}

    >>> agent = LinUCB(2, alpha=0.5, regularization=4.0)
    >>> agent.choose([[1.0, 0.0]]).ucb      # 0 + 0.5 · 1/√4
    0.25
    """

    single_regression = True
    moved: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("disjoint", "n_actions"), "DisjointLinUCB has a model for each action"
    )

    alpha: float = parameter(default=1.0, check=check.nonnegative, words="α ≥ 0, how much to explore")

    def _sets(self) -> Confidence:
        low, high = self.reward_range or (-math.inf, math.inf)
        return Confidence(
            certified=False,
            rule=self.rule,
            radius=RADII["constant"],
            delta=0.5,
            outer_delta=0.0,
            noise=1.0,
            norm=1.0,
            regularization=self.regularization,
            action_norm=self.action_norm,
            constant=self.alpha,
            scale=1.0,
            low=low,
            high=high,
        )
