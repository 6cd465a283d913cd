"""OLIVE: Algorithm 1 of Jiang, Krishnamurthy, Agarwal, Langford and Schapire (2017), for functions that are listed.

    pseudo-code, for functions f (H, S, A) with π_f greedy, V_f = max_a f     here
    n_est episodes: V̂_f = mean of V_f(s_1), for all f                         pac.olive.olive.OLIVE._steps
    for t = 1, 2, ...:
      f = argmax V̂ of those that are left
      n_eval episodes of π_f: Ẽ_h = mean of f(s_h, a_h) − r_h − V_f(s_{h+1})  pac.olive.olive.OLIVE._residual
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
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._inputs import read_only
from unipac.envs import FiniteMDP
from unipac.envs.play.visits import RANDOM, visits
from unipac.pac.olive import episodes
from unipac.pac.planning import MOST_SAMPLES, Found, PolicySearch
from unipac.pac.protocol.records import Batch, Request, Steps


@agent
class OLIVE(PolicySearch):
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

    samples: ClassVar[str] = "episodes"

    functions: ArrayLike = parameter(words="(N, H, S, A), candidates for Q*, from 0 to 1", kw_only=False)
    rewards: ArrayLike = parameter(words="(H, S, A), at least 0; no episode brings more than 1 in all")
    rank: int = parameter(default=1, check=check.count, words="M, the Bellman rank: at most S")
    scale: float = parameter(
        default=1.0, check=check.positive, words="multiplies the numbers of episodes; only 1 is proven"
    )

    def _check_parameters(self) -> None:
        self._F, self._r = episodes.checked(self.functions, self.rewards)
        self.functions, self.rewards = read_only(self._F), read_only(self._r)
        N, self._H, self._S, self._A = self._F.shape
        self._greedy = self._F.argmax(axis=3)
        self._V = np.concatenate([self._F.max(axis=3), np.zeros((N, 1, self._S))], axis=1)
        expected = "such that at most 2^50 episodes are needed at once"
        check.require(self._sizes(100)[2] <= MOST_SAMPLES, "eps", expected, self.eps)

    @property
    def _proven(self) -> bool:
        """Whether the certificate is proven, if Q* is one of the functions."""
        return self.scale == 1.0

    def _steps(self) -> Steps:
        H, A, left = self._H, self._A, np.ones(len(self._F), dtype=bool)
        phi = self.eps / (12 * H * math.sqrt(self.rank))
        n, start = self._sizes(1)[0], Found(self._greedy[0], self._V[0, 0], np.zeros(self._S))
        first = (yield Request([0], [n], start, self._said(1.0)))[0, 0].sum(axis=(1, 2)) / n
        promised = self._V[:, 0] @ first
        t = 0
        while left.any():
            t += 1
            _, n_eval, n = self._sizes(t)
            f = int(np.where(left, promised, -np.inf).argmax())
            arm, here = f * (H + 1), Found(self._greedy[f], self._V[f, 0], np.zeros(self._S))
            steps = (yield Request([arm], [n_eval], here, self._said(1.0)))[0]
            errors = np.array([(steps[h] * self._residual(f, h)).sum() / n_eval for h in range(H)])
            if errors.sum() <= 5 * self.eps / 8:
                return here, self._said(max(float(errors.sum()) + 3 * self.eps / 8, 0.0))
            h = int(errors.argmax())
            steps = (yield Request([arm + h + 1], [n], here, self._said(1.0)))[0, h]
            for g in np.flatnonzero(left).tolist():
                mine = np.arange(self._S), self._greedy[g, h]
                left[g] = abs(A / n * (steps[mine] * self._residual(g, h)[mine]).sum()) <= phi
            left[f] = False
        return here, self._said(1.0)  # none is Q*: the assumption is refuted

    def _residual(self, f: int, h: int) -> Array:
        """f(s, a) − r − V_f(s'), (S, A, S)."""
        residual: Array = (self._F[f, h] - self._r[h])[..., None] - self._V[f, h + 1]
        return residual

    def _said(self, certificate: float) -> float:
        return certificate if self.certified else math.nan

    def _sizes(self, t: int) -> tuple[int, int, int]:
        """n_est, and in round t n_eval and n."""
        return episodes.sizes(t, self._F.shape, self.rank, self.delta, self.scale / self.eps**2)

    @classmethod
    def made_for(
        cls, instance: FiniteMDP, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """A search that fits a finite MDP: its rewards, and its ``candidates``; ``functions`` if it has none."""
        episodes.check_mdp(instance)
        listed = episodes.candidates(instance, parameters.get("functions"))
        return cls(**{"rewards": instance.rewards, **listed, **parameters})

    def policy_of(self, arm: int) -> Integers:
        """The policy that an arm stands for, (H, S); -1 is an action that is drawn uniformly."""
        f, h = divmod(check.count("arm", arm, least=0, most=self._n_arms() - 1), self._H + 1)
        policy: Integers = self._greedy[f].copy()
        policy[h - 1 : h] = RANDOM  # nothing if h = 0
        return policy

    def _n_arms(self) -> int:
        return int(len(self._F) * (self._H + 1))

    def _nothing(self) -> Integers:
        return np.empty((0, self._H, self._S, self._A, self._S), dtype=np.int64)

    def _check_instance(self, instance: Any) -> None:
        episodes.check_mdp(instance)
        fits = np.array_equal(instance.rewards, self._r)
        check.require(fits, "instance", "a FiniteMDP with these rewards", instance)

    def _sample(self, instance: Any, seed: int) -> Integers:
        arm, count = (int(part[0]) for part in self.ask())
        return visits(instance, self.policy_of(arm), count, batch=len(self.state), seed=seed)[None]

    def _read(self, sums: Any, batch: Batch) -> Integers:
        arm, count = (int(part[0]) for part in batch)
        return episodes.checked_steps(sums, count, self.policy_of(arm), self._nothing().shape[1:])
