"""UCRL-VTR: value-targeted regression on all data, after Ayoub, Jia, Szepesvári, Wang and Yang (ICML 2020).

    pseudo-code of their Appendix C (linear mixtures, ellipsoids)  here
    before an episode, for h = H, ..., 1, with V = Vup_{h+1}:      mdp.mixture.regression.planning.choose
      x(s, a) = Σ_t φ(s, a, t) V(t)/u_h                            mdp.mixture.regression.kernels.integrate
      Qup_h = r + u_h [⟨θ̂, x⟩ + β ‖x‖_{Σ⁻¹}], clipped to r + [min V, max V]
      π_h = argmax_a Qup_h, Vup_h = max_a Qup_h
    after it, at every stage: Σ ← Σ + xxᵀ, b ← b + x V(s')/u_h     mdp.mixture.regression.kernels.learn_step
    β = ½ √(log det(Σ/λ) + 2 log(M/δ)) + √λ B                      theory.radii.determinant

u_h = H − h is the range of V_{h+1} and M = H − 1 the number of regressions, one for each stage; if ``homogeneous``, as
in the paper, u_h = H and M = 1. Noise of range 1 is ½-sub-Gaussian. The sets are for θ, so for every V at once: lower
values with −β are valid as well, and certificates cost no δ. Not uniform-PAC: the radius grows with all data, so that a
bad action is chosen again for ever (``envs.vtr_killer``).
"""

from __future__ import annotations

from typing import ClassVar

from unipac._agents import agent
from unipac.linalg.levels import SINGLE
from unipac.mdp.mixture.regression.agent import MixtureAgent, radius_of, scaling_of


@agent
class UCRLVTR(MixtureAgent):
    """Optimism over value-targeted regression on all data, for linear mixture MDPs.

    {parameters}

    >>> from unipac.envs import mixture_swim
    >>> mdp = mixture_swim(n_states=3, horizon=4)
    >>> agent = UCRLVTR(mdp.features, horizon=4, rewards=mdp.rewards, homogeneous=True)
    >>> trace = agent.play(mdp, episodes=500, seed=0)
    >>> bool((trace.certificate >= trace.gap).all())
    True
    """

    _rule: ClassVar[int] = SINGLE
    theorem: ClassVar[str] = "regret"

    radius: str = radius_of("determinant")
    scaling: str = scaling_of("horizon")
