"""UCB-Advantage: Algorithm 1 of Zhang, Zhou and Ji (NeurIPS 2020), Q-learning with a reference value.

    pseudo-code                                                                          here
    V_h = Q_h = H − h + 1, Vref = H; stages of e_1 = H, e_{i+1} = ⌊(1 + 1/H)e_i⌋ visits  mdp.tabular.ucb_advantage.State
    after (s, a, s') at stage h, v = V_{h+1}(s'), w = Vref_{h+1}(s'):                    mdp.tabular.ucb_advantage.learn
      n, ň += 1;  μ += w, σ += w²;  μ̌ += v − w, σ̌ += (v − w)², υ̌ += v
      if n ends a stage of (h, s, a):
        b = 2 √(H² ι/ň)
        b̄ = 2 √((σ/n − (μ/n)²) ι/n) + 2 √((σ̌/ň − (μ̌/ň)²) ι/ň) + 5 H (ι/n + ι/ň + (ι/n)^¾ + (ι/ň)^¾)
        Q ← min(r + υ̌/ň + b, r + μ/n + μ̌/ň + b̄, Q);  V_h(s) ← max_a Q;  ň, μ̌, σ̌, υ̌ ← 0
      if Σ_a n_h(s, a) = N_0: Vref_h(s) ← V_h(s)
    a_h = argmax_a Q_h(s_h, a)
    ι = log(8T(H²T³ + 3)/δ), T = K H;  N_0 = c_4 S A H⁵ ι H

With probability 1 − δ no Q is below Q* (p = δ/(4T(H²T³ + 3)) in the paper), for deterministic rewards and K known
beforehand, and the regret is O~(√(H²SAT)). The paper wants c_4 "large enough" and does not give it;
any c_4 keeps Q above Q*. No model is kept: an episode takes O(H) time. Bounds are vacuous below about 10⁶ episodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.tabular.counting.agent import TabularAgent, steps


class State(NamedTuple):
    """Tables; the last axes are those of (h, s, a)."""

    Q: Array
    """(H, S, A)."""
    V: Array
    """(2, H + 1, S): V, and the reference."""
    visits: Integers
    """(3, H, S, A): n, ň, and the n that ends the stage under way."""
    length: Integers
    """(H, S, A): of the stage under way."""
    sums: Array
    """(6, H, S, A): sums of rewards, and μ, σ, μ̌, σ̌, υ̌."""


@jit
def learn(
    x: State, unit: float, iota: float, settled: int, s: Integers, a: Integers, r: Array, following: Integers
) -> None:
    """Learn from an episode; bonuses are multiples of ``unit``, the range of a reward."""
    H = x.Q.shape[0]
    for h in range(s.size):
        i = (h, s[h], a[h])
        v, w = 0.0, 0.0
        if following[h] >= 0:
            v, w = x.V[0, h + 1, following[h]], x.V[1, h + 1, following[h]]
        x.visits[0][i] += 1
        x.visits[1][i] += 1
        for j, term in enumerate((r[h], w, w * w, v - w, (v - w) ** 2, v)):
            x.sums[j][i] += term
        if x.visits[0][i] == x.visits[2][i]:
            n, m = float(x.visits[0][i]), float(x.visits[1][i])
            mean = x.sums[0][i] / n
            old, new = x.sums[2][i] / n - (x.sums[1][i] / n) ** 2, x.sums[4][i] / m - (x.sums[3][i] / m) ** 2
            bonus = 2.0 * math.sqrt(max(0.0, old) * iota / n) + 2.0 * math.sqrt(max(0.0, new) * iota / m)
            bonus += 5.0 * H * unit * (iota / n + iota / m + (iota / n) ** 0.75 + (iota / m) ** 0.75)
            first = mean + x.sums[5][i] / m + 2.0 * H * unit * math.sqrt(iota / m)
            second = mean + x.sums[1][i] / n + x.sums[3][i] / m + bonus
            x.Q[i] = min(first, second, x.Q[i])
            x.V[0, h, s[h]] = x.Q[h, s[h]].max()
            x.visits[1][i] = 0
            for j in range(3, 6):
                x.sums[j][i] = 0.0
            x.length[i] += x.length[i] // H
            x.visits[2][i] += x.length[i]
        if x.visits[0, h, s[h]].sum() == settled:
            x.V[1, h, s[h]] = x.V[0, h, s[h]]


@agent
class UCBAdvantage(TabularAgent):
    """Q-learning with optimism and a reference value, for a known number of episodes.

    {parameters}

    Example:
        >>> from unipac.envs import river_swim
        >>> mdp = river_swim(n_states=3, horizon=3)
        >>> trace = UCBAdvantage(3, 2, horizon=3, total_episodes=300).play(mdp, episodes=300, seed=0)
        >>> bool((trace.bound >= mdp.optimal_value()[0]).all())
        True
    """

    theorem: ClassVar[str] = "regret"
    certified = False  # nothing bounds the value of the policy from below

    delta: float = declare.delta()
    total_episodes: int = parameter(check=check.count, words=declare.EPISODES_FOR_BONUS)
    moved: ClassVar[Mapping[str, str]] = declare.EPISODES_MOVED
    reference_factor: float = parameter(
        default=1.0, check=check.positive, words="c_4, factor of the visits after which a reference settles"
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.rewards is not None or self.homogeneous
        check.require(
            not given, "rewards and homogeneous", "left out: every stage is learned by itself", "given"
        )

    def _empty(self) -> State:
        H, S, A = self.horizon, self.n_states, self.n_actions
        Q = np.zeros((H, S, A)) + self._largest * np.arange(H, 0, -1)[:, None, None]
        V = np.zeros((2, H + 1, S))
        V[0, :H], V[1, :H] = Q.max(axis=2), H * self._largest
        visits = np.zeros((3, H, S, A), dtype=np.int64)
        visits[2] = H
        return State(Q, V, visits, np.full((H, S, A), H), np.zeros((6, H, S, A)))

    def _plan(self) -> Plan:
        return self._planned(self.state.Q.argmax(axis=2), self.state.V[0, 0].copy())

    def _learn(self, episode: Episode) -> Change:
        H, T = self.horizon, self.total_episodes * self.horizon
        iota = math.log(8 * T * (H**2 * T**3 + 3) / self.delta)
        settled = min(
            2**62, math.ceil(self.reference_factor * self.n_states * self.n_actions * H**5 * iota * H)
        )
        return learn, (self.state, self._unit, iota, settled, *steps(episode))

    @property
    def _proven(self) -> bool:
        """Whether the bound is proven, for deterministic rewards and ``total_episodes`` episodes."""
        return self.episodes <= self.total_episodes

    def _restored(self, saved: Any) -> State:
        state: State = super()._restored(saved)
        counts = bool((state.visits >= 0).all() and (state.length > 0).all())
        check.require(counts, "visits", "counts", "others")
        start: State = self.state  # values only fall; squares of huge ones would be no numbers
        sound = (state.Q <= start.Q).all() and (state.V <= start.V).all() and state.V.min() >= -1e54
        check.require(bool(sound), "values", "at most those at the start", "others")
        return state
