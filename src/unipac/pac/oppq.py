"""OPPQ: parametric Q-learning with variance reduction from below, Algorithm 2 of Yang and Wang (2019), certified.

    pseudo-code                                                                 here
    V ≤ V^π: π greedy for the rewards alone                                     pac.planning.Planner
    for i = 1, 2, ...: failures δ/(K(R + 2) i(i+1)) for each side of each mean  pac.oppq.OPPQ._steps
      V0 = V; w0, e0: means of V0 over m fresh samples of each anchor           pac.planning.means
      certificate = max_s [max_a r + γ⟨λ, w0 + e0⟩ − V0]/(1 − γ); stop if at most ε
      R times: wd, ed: means of V − V0 over m1 fresh samples
               w = clip(w0 + wd − e0 − ed, min V, 1/(1 − γ))
               V = max(V, max_a r + γ⟨λ, w⟩), and π(s) is that a where V(s) rises

With λ ≥ 0 the w are lower bounds on the means of V, so V ≤ T^π V stays true, hence V ≤ V^π: the answer has a value
that is proven from below. The paper leaves constants C open and fixes the number of rounds i. Here the samples
that begin a round test V, and rounds continue until the test succeeds; after the R'-th, each round has twice the
samples of the last. m = 8(1 − γ)⁻³ l/ε², m1 = 32(1 − γ)⁻² l, R = ⌈2 log 2/(1 − γ)⌉, R' = ⌈log₂(1/(ε(1 − γ)))⌉ and
l = log(4/failure) decide how fast.
"""

from __future__ import annotations

import math

import numpy as np

from unipac import _checks as check
from unipac._agents import agent
from unipac.pac.planning import MOST_SAMPLES, Found, Planner, means
from unipac.pac.protocol.records import Request, Steps


@agent
class OPPQ(Planner):
    """Raise a proven lower bound on the value of a policy, with variance reduction; for convex combinations of anchors.

    {parameters}

    >>> from unipac.envs import random_anchors
    >>> mdp = random_anchors(discount=0.5)
    >>> search = OPPQ.made_for(mdp, eps=0.1)
    >>> answer = search.run(mdp, seed=0)
    >>> search.done, bool((answer.lower <= mdp.policy_value(answer.policy)).all())
    (True, True)
    """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        convex = self._weights is None or bool((self._weights >= 0).all())
        check.require(convex, "coefficients", ">= 0", self.coefficients)
        most = 8 * self._log(100) / ((1 - self.discount) ** 3 * self.eps**2)
        check.require(
            most <= MOST_SAMPLES, "eps", "such that at most 2^50 samples are needed at once", self.eps
        )

    @property
    def _inner(self) -> int:
        return math.ceil(2 * math.log(2) / (1 - self.discount))

    def _failure(self, i: int) -> float:
        return self.delta / (len(self._anchors) * (self._inner + 2) * i * (i + 1))

    def _log(self, i: int) -> float:
        return math.log(4 / self._failure(i))

    def _steps(self) -> Steps:
        left = 1 - self.discount
        full_rounds = max(1, math.ceil(math.log2(1 / (self.eps * left))))
        best, certificate = self._start, self._largest_gap
        policy, value = best.policy.copy(), best.value
        every = np.arange(len(policy))
        i = 0
        while certificate > self.eps:
            i += 1
            failure, log = self._failure(i), self._log(i)
            m = 2 ** min(max(0, i - full_rounds), 60) * math.ceil(8 * log / (left**3 * self.eps**2))
            base = value
            counts = yield Request(*self._each(m), best, certificate)
            w0, e0 = means(counts, base, failure)
            proven = max(float((self._q(w0 + e0).max(axis=1) - base).max()) / left, 0.0)
            if proven < certificate:
                certificate, best = proven, Found(policy.copy(), base, base)
            if certificate <= self.eps:
                break
            for _ in range(self._inner):
                counts = yield Request(*self._each(math.ceil(32 * log / left**2)), best, certificate)
                wd, ed = means(counts, value - base, failure)
                q = self._q(np.clip(w0 + wd - e0 - ed, value.min(), 1 / left))
                greedy = q.argmax(axis=1)
                higher = q[every, greedy]
                policy = np.where(higher > value, greedy, policy)
                value = np.maximum(value, higher)
        return best, certificate
