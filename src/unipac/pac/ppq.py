"""PPQ: phased parametric Q-learning, Algorithm 1 of Yang and Wang (2019), with constants that are proven.

    pseudo-code                                                       here
    w = 0; V_w(s) = clip(max_a r + γ⟨λ(s, a), w⟩, 0, 1/(1 − γ))       pac.ppq.PPQ._steps
    for R phases: w_j = mean of V_w over m fresh samples of anchor j  theory.sampling.ppq_samples
    answer: π(s) = argmax_a r + γ⟨λ(s, a), w⟩

The paper leaves the constant of m free. With e = √(log(2KR/δ)/(2m))/(1 − γ), Hoeffding's width for all phases and
anchors, and L = max Σ_j |λ_j|, induction gives |Q_i − Q*| ≤ x_i = γ^i |V_0 − V*| + γLe(1 − γ^i)/(1 − γ): the answer of
phase i loses at most 2x_i/(1 − γ). R and m make that ε in the last one.
"""

from __future__ import annotations

import numpy as np

from unipac import _checks as check
from unipac._agents import agent
from unipac.pac.planning import MOST_SAMPLES, Found, Planner
from unipac.pac.protocol.records import Request, Steps
from unipac.theory import sampling


@agent
class PPQ(Planner):
    """Value iteration with fresh samples in every phase; a reference that needs very many of them.

    {parameters}

    >>> from unipac.envs import random_anchors
    >>> mdp = random_anchors(discount=0.5)
    >>> search = PPQ.made_for(mdp, eps=0.1)
    >>> answer = search.run(mdp, seed=0)
    >>> search.done, answer.pulls, bool(max(mdp.optimal_value() - mdp.policy_value(answer.policy)) <= 0.1)
    (True, 5418160, True)
    """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._size = sampling.ppq_samples(
            self.eps, self.delta, discount=self.discount, anchors=len(self._anchors), mass=self._mass
        )
        m = self._size.samples
        check.require(m <= MOST_SAMPLES, "eps", "such that at most 2^50 samples are needed at once", self.eps)

    def _steps(self) -> Steps:
        g, top = self.discount, 1 / (1 - self.discount)
        R, m = self._size
        K = len(self._anchors)
        e = sampling.hoeffding(m, self.delta / (2 * K * R), span=top)
        best, certificate = self._start, self._largest_gap
        if certificate <= self.eps:
            return best, certificate
        q, off = self._q(np.zeros(K)), g * top  # |V_0 − V*| ≤ γ/(1 − γ)
        for _ in range(R):
            value = np.clip(q.max(axis=1), 0.0, top)
            counts = yield Request(*self._each(m), best, certificate)
            q = self._q(counts @ value / m)
            off = g * off + g * self._mass * e
            loss = 2 * off * top
            if loss < certificate:
                certificate = loss
                best = Found(q.argmax(axis=1), q.max(axis=1), q.max(axis=1) - off - loss)
        return best, certificate
