"""RAGE: Algorithm 1 of Fiez, Jain, Jamieson and Ratliff (2019), for arms X and targets Z.

    pseudo-code                                                            here
    Z_1 = Z; for t = 1, 2, ...:                                            pac.rage.RAGE._steps
      λ = argmin max_{z, z' ∈ Z_t} ‖z − z'‖²_{A(λ)⁻¹}, ρ its value         linalg.design.design
      N = 2 · 4^t R² ρ lg,  lg = log(2(m − 1) t(t+1)/δ),  m = |Z_t|        theory.elimination.phase_log
      pull ⌈λ_x N⌉ times each arm x; θ̂: least squares of this phase alone  linalg.fit.Fit
      drop z if some z' ∈ Z_t has ⟨θ̂, z' − z⟩ > R ‖z' − z‖_{V⁻¹} √(2 lg)   linalg.fit.Fit.eliminate
      stop with z if max_{z' ∈ Z_{t+1}} ⟨θ̂, z' − z⟩ + R ‖z' − z‖_{V⁻¹} √(2 lg) ≤ ε

It differs from the paper in the union, which is over pairs of active targets with the best one instead of all pairs,
and in rounding up, which costs at most one pull for each arm of the design instead of a factor. With probability 1 − δ
the best target stays, and all that is left after phase t is within 2 · 2^-t of it.
"""

from __future__ import annotations

import itertools

import numpy as np

from unipac._agents import agent
from unipac.linalg.design import design, differences
from unipac.pac.best_arm import BestArm, better
from unipac.pac.protocol.records import Steps
from unipac.theory.elimination import phase_log


@agent
class RAGE(BestArm):
    """Phases of optimal designs for what is left, each twice as fine.

    {parameters}

    {example}
    """

    def _steps(self) -> Steps:
        return self._explore(self.delta)

    def _explore(self, delta: float) -> Steps:
        Z, best, active = self._Z, self._trivial(), np.arange(len(self._Z))
        for t in itertools.count(1):
            if best[1] <= self.eps:
                break
            lg = phase_log(len(active), t, delta)
            optimal = design(self._X, differences(Z[active]))
            pulls = 2.0 * 4.0**t * self.noise**2 * optimal.value * lg
            fit = self._fit(*(yield from self._batch(optimal.weights, pulls, best)))
            active, answer, certificate = fit.eliminate(Z, active, lg)
            best = better(best, answer, certificate)
        return best
