"""RLSVI: Algorithm 1 of Russo, *Worst-Case Regret Bounds ... via Randomized Value Functions* (NeurIPS 2019).

    pseudo-code                                                            here
    D_h: what was seen at stage h, n = n_k(h, s, a) times (s, a)           mdp.tabular.counting.counts.Counts
    perturb: Q̃_h ~ N(0, β_k I), and N(0, β_k) on every reward of D_h       mdp.tabular.rlsvi.RLSVI._plan
      β_k = ½ S H³ log(2HSAk) in episode k = 1, 2, ...                     mdp.tabular.rlsvi.variance
    Q_{H+1} = 0; for h = H, ..., 1:                                        mdp.tabular.rlsvi.perturbed
      Q_h = argmin_Q Σ_{D_h} (Q(s, a) − r − max_a' Q_{h+1}(s', a'))² + ‖Q − Q̃_h‖²
          = Σ_{D_h} [r + max_a' Q_{h+1}(s', a')]/(n + 1) + w, w ~ N(0, β_k/(n + 1)), for every (s, a)
    a_h = argmax_a Q_h(s_h, a)

The n + 1 normals of (h, s, a) enter Q_h as their mean alone: one normal w of variance β_k/(n + 1) has the same law.

Theorem 1: the *expected* regret is O~(H³ S^{3/2} √(AK)) in every MDP with rewards in [0, 1]. Nothing is proven with
probability 1 − δ, nothing about single episodes, and nothing unless ``noise_scale`` is 1.

Other rewards are scaled: with L = min(0, low) and U = max(0, high), (r − L)/(U − L) is in [0, 1], where an episode that
is over earns −L/(U − L) per stage. In the units of r, w is U − L times as large, and the observation 0 of the prior is
(H − h + 1) L, the least return from stage h on.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.mdp.protocol.plan import Plan
from unipac.mdp.tabular.counting.agent import TabularAgent
from unipac.mdp.tabular.counting.counts import Counts


def variance(n_states: int, n_actions: int, horizon: int, k: int) -> float:
    """β_k of Theorem 1, for episode k = 1, 2, ..."""
    return 0.5 * n_states * horizon**3 * math.log(2.0 * horizon * n_states * n_actions * k)


@jit
def perturbed(counts: Counts, noise: Array, least: float, action: Integers, V: Array) -> None:
    """Fill the greedy ``action`` (H, S) and ``V`` (H + 1, S); ``noise`` (H, S A) is √(n + 1) w, ``least`` is L."""
    H, n_states = action.shape
    pairs = noise.shape[1]
    n_actions = pairs // n_states
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(n_states):
            best = -math.inf
            for a in range(n_actions):
                pair = s * n_actions + a
                cell = h * pairs + pair
                total, e = counts.reward[cell] + (H - h) * least, counts.first[cell]
                while e >= 0:
                    if counts.following[e] >= 0:
                        total += counts.times[e] * V[h + 1, counts.following[e]]
                    e = counts.other[e]
                n = counts.visits[cell]
                q = total / (n + 1.0) + noise[h, pair] / math.sqrt(n + 1.0)
                if q > best:
                    best = q
                    action[h, s] = a
            V[h, s] = best


@agent
class RLSVI(TabularAgent):
    """Randomized value functions: value iteration on counts with normal noise; its expected regret is bounded.

    {parameters}

    With noise of the size of its theorem it learns slowly; with a hundredth of it, soon:

    >>> from unipac import envs
    >>> mdp = envs.river_swim(n_states=3, horizon=3)
    >>> trace = RLSVI(3, 2, horizon=3, noise_scale=0.01, seed=1).play(mdp, episodes=1000, seed=0)
    >>> bool(trace.gap[-100:].mean() < 0.02)
    True
    """

    theorem: ClassVar[str] = "regret"
    draws = True

    noise_scale: float = parameter(
        default=1.0,
        check=check.nonnegative,
        words="factor of the standard deviation of the noise; nothing is proven unless it is 1",
    )
    seed: int = declare.seed("of the draws")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.rewards is not None or self.homogeneous
        check.require(
            not given, "rewards and homogeneous", "left out: every stage is learned by itself", "given"
        )

    def _plan(self) -> Plan:
        H, S, A = self.horizon, self.n_states, self.n_actions
        rng = np.random.default_rng([self.seed, self.episodes])
        scale = self.noise_scale * self._unit * math.sqrt(variance(S, A, H, self.episodes + 1))
        action, V = np.zeros((H, S), dtype=np.int64), np.empty((H + 1, S))
        noise = scale * rng.standard_normal((H, S * A))
        perturbed(self.state, noise, min(self.reward_range[0], 0.0), action, V)
        return self._planned(action, V[0])
