"""CertifiedPlanning: plan in the model of all samples, then let fresh samples say how good the plan is.

    pseudo-code                                                       here
    n = first samples of each anchor
    for i = 1, 2, ...:                                                pac.certified_planning.CertifiedPlanning._steps
      V, π: optimal value, greedy policy of the model of all samples  pac.planning.Planner._planned
      as many fresh samples: w_j = mean of V at anchor j, off by e_j  pac.planning.means
        each side of each of the K anchors at probability δ/(2K i(i+1))
      up   = max_s [max_a r + γ⟨λ, w⟩ + γ⟨|λ|, e⟩] − V                pac.planning.Planner._q
      down = max_s V − [r + γ⟨λ, w⟩ − γ⟨|λ|, e⟩ at a = π(s)]
      certificate = (up + down)/(1 − γ); stop if it is at most ε

V does not depend on the fresh samples, so with probability 1 − δ, for all i at once, TV ≤ V + up and T^π V ≥ V − down.
T and T^π are monotone, and adding c to V adds γc to both: hence V* ≤ V + up/(1 − γ), V^π ≥ V − down/(1 − γ), and the
certificate is no smaller than max_s V*(s) − V^π(s), whatever the signs of the λ and however wrong the model.
"""

from __future__ import annotations

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.pac.planning import Found, Planner, means
from unipac.pac.protocol.records import Request, Steps


@agent
class CertifiedPlanning(Planner):
    """Plan in a model made of samples; fresh samples certify the plan.

    {parameters}

    >>> from unipac.envs import random_anchors
    >>> mdp = random_anchors(discount=0.8)
    >>> search = CertifiedPlanning.made_for(mdp, eps=0.3)
    >>> answer = search.run(mdp, seed=0)
    >>> bool(max(mdp.optimal_value() - mdp.policy_value(answer.policy)) <= answer.certificate <= 0.3)
    True
    >>> search.done, answer.pulls
    (True, 40960)
    """

    first: int = parameter(
        default=32, check=check.count, words="samples of each anchor in the first two batches"
    )

    def _steps(self) -> Steps:
        best, certificate = self._start, self._largest_gap
        if certificate <= self.eps:
            return best, certificate
        every = np.arange(len(self._r))
        arms, each = self._each(self.first)
        counts = yield Request(arms, each, best, certificate)
        i = 0
        while certificate > self.eps:
            i += 1
            value, policy = self._planned(counts)
            arms, each = self._each(int(counts[0].sum()))
            fresh = yield Request(arms, each, best, certificate)
            w, e = means(fresh, value, self.delta / (2 * len(arms) * i * (i + 1)))
            q, error = self._q(w), self._error(e)
            up = float(((q + error).max(axis=1) - value).max())
            down = float((value - (q - error)[every, policy]).max())
            proven = max((up + down) / (1 - self.discount), 0.0)
            if proven < certificate:
                certificate = proven
                best = Found(policy, value, value - down / (1 - self.discount))
            counts = counts + fresh
        return best, certificate
