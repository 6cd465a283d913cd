"""OLIVE: Algorithm 1 of Jiang, Krishnamurthy, Agarwal, Langford and Schapire (2017), for functions that are listed.

    pseudo-code, for functions f (H, S, A) with π_f greedy, V_f = max_a f                        here
    n_est episodes: V̂_f = mean of V_f(s_1), for all f                                            OLIVE._steps
    for t = 1, 2, ...:
      f = argmax V̂ of those that are left
      n_eval episodes of π_f: Ẽ_h = mean of f(s_h, a_h) − r_h − V_f(s_{h+1})                     _residual
      stop with π_f if Σ_h Ẽ_h ≤ 5ε/8
      n episodes of π_f, with an action drawn uniformly at the stage h of the largest Ẽ_h
      drop each f' with |mean of A 1[a_h = π_f'(s_h)] (f'(s_h, a_h) − r_h − V_f'(s_{h+1}))| > φ, and f

φ = ε/(12H √M), n_est = 32 log(6N/δ)/ε², n_eval = 288 H² log(6H t(t+1)/δ)/ε², n = 32 A log(6N t(t+1)/δ)/φ²: the paper's
but for the logarithms, which hold for all t at once. If Q* is among the functions and returns lie in [0, 1], then with
probability 1 − δ it is never dropped, V̂ is off by at most ε/8 and Ẽ_h by ε/(8H): the answer loses at most
Σ_h Ẽ_h + 3ε/8 ≤ ε on average over first states. The rank M only decides how many rounds that takes.
"""

from __future__ import annotations

import math

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.pac.base import Request, Steps
from unipac.pac.episodes import FunctionSearch
from unipac.pac.planning import MOST_SAMPLES, Found


@agent
class OLIVE(FunctionSearch):
    """Drop functions whose Bellman errors show; a reference for a few functions, which needs very many episodes.

    Arm f(H + 1) + h is the policy of function f, with an action drawn uniformly at stage h (none if h = 0): see
    ``policy_of``. ``tell`` takes the steps that were taken, (1, H, S, A, S).

    {parameters}

    >>> import numpy as np
    >>> from unipac.envs import FiniteMDP
    >>> mdp = FiniteMDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[0, 0], [0, 0.5]], horizon=2)
    >>> functions = [mdp.optimal_q(), 0 * mdp.optimal_q() + [1, 0.5]]    # the truth, and one that promises more
    >>> search = OLIVE.made_for(mdp, functions=functions, eps=0.5)
    >>> answer = search.run(mdp, seed=0)
    >>> search.done, answer.policy.tolist(), answer.certificate <= 0.5
    (True, [[1, 1], [0, 1]], True)
    """

    rank: int = parameter(
        default=1, check=check.count, words="M, the Bellman rank: at most the number of states"
    )
    scale: float = parameter(
        default=1.0,
        check=check.positive,
        words="factor of the numbers of episodes; nothing is proven but at 1",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        most = self._episodes(100)[2]
        check.require(
            most <= MOST_SAMPLES, "eps", "such that at most 2^50 episodes are needed at once", self.eps
        )

    @property
    def certified(self) -> bool:
        """Whether the certificate is proven, if Q* is one of the functions."""
        return self.scale == 1.0

    def _steps(self) -> Steps:
        F, H, A = self.functions, self._H, self._A
        left = np.ones(len(F), dtype=bool)
        phi = self.eps / (12 * H * math.sqrt(self.rank))
        n, start = self._episodes(1)[0], Found(self._greedy[0], self._V[0, 0], np.zeros(self._S))
        first = (yield Request([0], [n], start, self._proven(1.0)))[0, 0].sum(axis=(1, 2)) / n
        promised = self._V[:, 0] @ first
        t = 0
        while left.any():
            t += 1
            _, n_eval, n = self._episodes(t)
            f = int(np.where(left, promised, -np.inf).argmax())
            arm, here = f * (H + 1), Found(self._greedy[f], self._V[f, 0], np.zeros(self._S))
            steps = (yield Request([arm], [n_eval], here, self._proven(1.0)))[0]
            errors = np.array([(steps[h] * self._residual(f, h)).sum() / n_eval for h in range(H)])
            if errors.sum() <= 5 * self.eps / 8:
                return here, self._proven(max(float(errors.sum()) + 3 * self.eps / 8, 0.0))
            h = int(errors.argmax())
            steps = (yield Request([arm + h + 1], [n], here, self._proven(1.0)))[0, h]
            every = np.arange(self._S)
            for g in np.flatnonzero(left).tolist():
                mine = every, self._greedy[g, h]
                left[g] = abs(A / n * (steps[mine] * self._residual(g, h)[mine]).sum()) <= phi
            left[f] = False
        return here, self._proven(1.0)  # none is Q*: the assumption is refuted

    def _residual(self, f: int, h: int) -> Array:
        """f(s, a) − r − V_f(s'), (S, A, S)."""
        found: Array = (self.functions[f, h] - self.rewards[h])[..., None] - self._V[f, h + 1]
        return found

    def _proven(self, certificate: float) -> float:
        return certificate if self.certified else math.nan

    def _episodes(self, t: int) -> tuple[int, int, int]:
        """n_est, and in round t n_eval and n."""
        N, H = len(self.functions), self._H
        union, unit = 6 * t * (t + 1) / self.delta, self.scale / self.eps**2
        sizes = 32 * math.log(6 * N / self.delta), 288 * H**2 * math.log(H * union)
        cut = 4608 * H**2 * self.rank * self._A * math.log(N * union)
        found = [math.ceil(min(unit * size, 2.0**60)) for size in (*sizes, cut)]
        return found[0], found[1], found[2]
