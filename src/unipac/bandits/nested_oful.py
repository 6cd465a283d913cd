"""NestedOFUL: UPAC-OFUL with nested levels and the set of all data; what we recommend.

It differs from Algorithm 1 (``upac_oful``) in three ways, none of which touches Theorem 1:

    1. Level l regresses on D^l = C^1 ∪ ... ∪ C^l instead of C^l. A round of level l is one for which
       ‖x‖_{Σ⁻¹} > 2^-l in the larger Σ of D^l, hence also in that of C^l alone: |C^l| keeps its bound.
       Whether a round belongs to D^l is known before its reward, so the radius stays valid.
    2. All data form one more set, with δ/2; the levels share the other δ/2. Any further valid upper bound may
       enter the minimum of line 8. Since D^S is all data, both are the same regression and only the smaller
       of the two radii counts.
    3. The radius is "mixture": it follows the data instead of the worst case.

    line  pseudo-code                                                           here
    4-5   Σ^l, w^l from D^l = C^1 ∪ ... ∪ C^l                                   linalg.ridge
    8     x_k = argmax_x min_{l ≤ S, all data} ⟨w^l, x⟩ + β_l ‖x‖_{(Σ^l)⁻¹}      linalg.fast.argmax.select
    9-12  l_k = the first l ≤ S with ‖x_k‖_{(Σ^l)⁻¹} > 2^-l, else S + 1          linalg.levels.level_of
    13    C^{l_k} ← C^{l_k} ∪ {k}: every D^j with j ≥ l_k learns the round      linalg.levels.add
          β_l = √(R² [log det(Σ^l/λ) + 2 log(1/δ_l)] + λS²)                     theory.radii.mixture
          δ_l = (δ/2)/(l(l+1)), and δ/2 for all data                            bandits.levelled.confidence.set_radii

``docs/agents/nested_oful.md`` has the proof in full and what was measured.
"""

from __future__ import annotations

from typing import ClassVar

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.bandits.levelled.tight import TightAgent
from unipac.linalg.levels import NESTED


@agent
class NestedOFUL(TightAgent):
    """Optimism over nested levels of data and all data: converges, at the regret of OFUL.

    {parameters}

    >>> agent = NestedOFUL(2, delta=0.05, noise=0.1)
    >>> for _ in range(1000):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index, decision.certified, decision.certificate < 0.1
    (1, True, True)
    """

    rule: ClassVar[int] = NESTED
    theorem: ClassVar[str] = "uniform-PAC"

    radius: str = parameter(
        default="mixture",
        check=check.choice("theorem", "determinant", "mixture"),
        words='"mixture", "determinant", or the paper\'s "theorem" (all data then use "determinant")',
    )
    all_data: bool = parameter(
        default=True, check=check.flag, words="whether all data form a set of their own, with half of δ"
    )
