"""SupLinUCB: stages for a known horizon, Chu, Li, Reyzin and Schapire (2011), Algorithm 3.

    pseudo-code                                                                      here
    S = ⌈½ log₂ T⌉ + 1 stages, Ψ^s empty; stage s: ridge V_s, θ_s on Ψ^s              base.regressions
    round t: s = 1, A = D_t; repeat:                                                 base.elimination.StagedAgent
      w(x) = α ‖x‖_{V_s⁻¹},  ucb = ⟨θ_s, x⟩ + w                                       SupLinUCB._stage
      all w ≤ 1/√T, or the last stage: play argmax ucb
      some w > 2^-s: play the largest w; t enters Ψ^s
      else A ← {x ∈ A: ucb(x) ≥ max ucb − 2^{1−s}}, s ← s + 1
    α = R √(2 log(2 T n S/δ)) + √λ S_θ, n actions in the round, ‖μ*‖ ≤ S_θ            theory.elimination.fixed_design

What a stage learns from depends on the actions and on rewards of lower stages alone, so given those the errors of a
fixed design hold: actions must be chosen without knowledge of rewards, and noise must be independent. Regret
O(√(dT) log^{3/2}(nT)); not uniform-PAC, since the first stage alone needs about 8R² log T mistakes.
"""

from __future__ import annotations

from unipac._agents import agent
from unipac._arrays import Array
from unipac.bandits.regressions.elimination import StagedAgent


@agent
class SupLinUCB(StagedAgent):
    """Explores what is widest among what may be best, stage by stage, for a known number of rounds.

    {parameters}

    >>> agent = SupLinUCB(2, horizon=1000, noise=0.1, regularization=0.01)
    >>> for _ in range(1000):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> decision.index, agent.state.size          # rounds that each stage has learned from
    (1, array([  4,  14,  50,  99, 384,   0]))
    """

    def _stage(self, stage: int, X: Array, failure: float) -> tuple[Array, Array]:
        mean, width = self._values(stage - 1, X)
        return mean, self._fixed_design(failure) * width
