"""NestedVTR: value-targeted regression over nested levels, with a certificate before every episode.

    pseudo-code, M stacks of levels: one, or one for each stage but the last  here
    before an episode, for h = H, ..., 1, V = Vup_{h+1}, u = max V − min V:   mdp.mixture.regression.planning.choose
      W = (V − min V)/u,  x(s, a) = Σ_t φ(s, a, t) W(t)                       mdp.mixture.regression.kernels.integrate
      Qup_h = r + clip(min V + u min_l [⟨θ^l, x⟩ + β_l ‖x‖_{(Σ^l)⁻¹}], min V, max V)
      π_h = argmax_a Qup_h, Vup_h = max_a Qup_h: one V for all levels
    Vlow_h of π the same with max_l [⟨θ^l, x⟩ − β_l ‖x‖]                      mdp.mixture.regression.planning.certify
    certificate(s) = Vup_1(s) − Vlow_1(s)
    after (s, a, s') at stage h < H: add (x, W(s')) to the levels from l on   linalg.levels.add
      l = the first level with ‖x‖_{(Σ^l)⁻¹} > 2^-l, else a new one           linalg.levels.level_of
    β_l = √(¼ [log det(Σ^l/λ) + 2 log(1/δ_l)] + λB²)                          theory.radii.mixture
    δ_l = δ/(2M l(l+1)), and δ/(2M) for all data, which are the last level    mdp.mixture.regression.kernels.set_radii
    likelihood: δ/2 for all this, δ/(2M) for the likelihood set of a stack    mdp.mixture.regression.likelihood.Sets

``targets="widest"`` compares the x of Vup and that of Vlow at the level where the test of either first fails, and adds
the wider one with its own target. Theorem: ``docs/agents/nested_vtr.md``.
"""

from __future__ import annotations

from typing import ClassVar

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.linalg.levels import NESTED
from unipac.mdp.mixture.regression.agent import MixtureAgent


@agent
class NestedVTR(MixtureAgent):
    """Certified value-targeted regression for linear mixture MDPs: uniform-PAC, one V for all levels.

    {parameters}

    Example:
        >>> from unipac.envs import mixture_swim
        >>> mdp = mixture_swim()
        >>> agent = NestedVTR(mdp.features, horizon=8, rewards=mdp.rewards, homogeneous=True, likelihood=True)
        >>> trace = agent.play(mdp, episodes=1000, seed=0)
        >>> bool((trace.certificate >= trace.gap).all()), agent.certificate(0) < 0.5
        (True, True)
    """

    _rule: ClassVar[int] = NESTED
    theorem: ClassVar[str] = "uniform-PAC"

    targets: str = parameter(
        default="up",
        check=check.choice("up", "widest"),
        words='whether the regressions are of upper values ("up"), or of upper or lower ones, whichever are wider '
        '("widest")',
    )
    likelihood: bool = parameter(
        default=False,
        check=check.flag,
        words="whether to add the likelihood set; features must be the probabilities of d known kernels, "
        "and θ their weights",
    )

    def _extensions(self) -> tuple[bool, bool]:
        return self.targets == "widest", self.likelihood
