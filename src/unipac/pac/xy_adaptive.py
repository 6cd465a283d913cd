"""XY-adaptive: Algorithm 2 of Soare, Lazaric and Munos (2014).

    pseudo-code                                                                     here
    active = all; v_0 = 1; for j = 1, 2, ...:                                       pac.xy_adaptive.XYAdaptive._steps
      λ = argmin max over pairs of active arms of ‖z − z'‖²_{A(λ)⁻¹}, ρ its value   linalg.design.design
      pull ⌈λ_x N⌉ times each arm, N = ρ/(α v_{j−1}): the widest pair shrinks by α  pac.best_arm.BestArm._batch
      v_j = max over these pairs of ‖z − z'‖²_{V⁻¹}, as reached
      θ̂: least squares of this phase alone; drop what is surely worse               linalg.fit.Fit.eliminate

The test is that of RAGE: strict, with lg = log(2(m − 1) j(j+1)/δ) over pairs of active arms with the best one. The
phases do not depend on the noise level, so the first of them do not profit from small noise.
"""

from __future__ import annotations

import itertools

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.linalg.design import design, differences
from unipac.pac.best_arm import BestArm, better
from unipac.pac.protocol.records import Steps
from unipac.theory.elimination import phase_log


@agent
class XYAdaptive(BestArm):
    """Phases of optimal designs for what is left, each a given factor more precise than the last.

    {parameters}

    {example}
    """

    shrink: float = parameter(
        default=0.1, check=check.probability, words="α < 1, by how much the widest pair shrinks in a phase"
    )

    def _steps(self) -> Steps:
        Z, best, active, reached = self._Z, self._trivial(), np.arange(len(self._Z)), 1.0
        for j in itertools.count(1):
            if best[1] <= self.eps:
                break
            lg = phase_log(len(active), j, self.delta)
            pairs = differences(Z[active])
            optimal = design(self._X, pairs)
            pulls = optimal.value / (self.shrink * reached)
            fit = self._fit(*(yield from self._batch(optimal.weights, pulls, best)))
            reached = float(fit.width2(pairs).max())
            active, answer, certificate = fit.eliminate(Z, active, lg)
            best = better(best, answer, certificate)
        return best
