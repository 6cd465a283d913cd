"""OFUL: optimism in the face of uncertainty, Abbasi-Yadkori, Pál and Szepesvári (2011), Figure 1.

    pseudo-code                                                       here
    Σ = λI + Σ_i x_i x_iᵀ,  w = Σ⁻¹ Σ_i x_i r_i   over all rounds     linalg.ridge
    x_k = argmax_{x ∈ D_k} ⟨w, x⟩ + β ‖x‖_{Σ⁻¹}                       linalg.fast.argmax.select
    β = R √(log det(Σ/λ) + 2 log(1/δ)) + √λ S                         theory.radii.determinant

The maximum over (x, θ) in D_k × {θ: ‖θ − w‖_Σ ≤ β} of ⟨x, θ⟩ has the closed form above. β grows with the
number of rounds, so bad actions are tried again and again: regret O(d √K log K), but no convergence
(``docs/agents/oful.md``).
"""

from __future__ import annotations

from typing import ClassVar

from unipac._agents import agent
from unipac.bandits.levelled.tight import TightAgent


@agent
class OFUL(TightAgent):
    """Optimism over one confidence set of all data; its certificates hold, but it need not converge.

    {parameters}

    >>> agent = OFUL(2, noise=0.1)
    >>> decision = agent.choose([[1.0, 0.0], [0.0, 0.5]])
    >>> decision.index, decision.width, decision.ucb   # before the first round: S ‖x‖
    (0, 1.0, 1.0)
    >>> OFUL(2, noise=0.1, tight=False).choose([[1.0, 0.0], [0.0, 0.5]]).ucb      # 0.1 √(2 log 20) + 1
    1.244775
    """

    theorem: ClassVar[str] = "regret"
    single_regression = True
