"""ELEANOR: Algorithm 1 of Zanette, Lazaric, Kochenderfer and Brunskill (2020), for tiny MDPs.

    pseudo-code, before an episode that starts in s_1                           here
    maximise V_1(s_1) over ξ_1, ..., ξ_H, ‖ξ_h‖_{Σ_h} ≤ √α_h, where for h = H, ..., 1
      θ_h = Σ_h⁻¹ Σ φ (r + V_{h+1}(s')) + ξ_h,
      V_h = clip(max_a ⟨φ, θ_h⟩, 0, H − h + 1)                                  mdp.linear.eleanor.ELEANOR._forward
    play a_h = argmax_a ⟨φ(s_h, a), θ_h⟩                                        mdp.linear.eleanor.ELEANOR._plan
    α_h                                                                         theory.cert_lsvi.eleanor

The programme is not convex, and no algorithm is known that solves it in polynomial time. Here: subgradient ascent over
the u_h of ξ_h = √α_h Σ_h^{−1/2} u_h, ‖u_h‖ ≤ 1, from several starts, separately for every first state. Its result may
be smaller than the maximum, so nothing is proven.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac.mdp.linear.tables import Regression, TableAgent
from unipac.mdp.protocol.plan import Plan
from unipac.theory import cert_lsvi


class Stage(NamedTuple):
    """Q = base + V @ carry + u @ reach of one stage, (S A,): what the regression makes of V and u."""

    base: Array
    carry: Array
    """(S, S A)."""
    reach: Array
    """(d, S A): √α Σ^{−1/2} φ."""


def _repeated(name: str, value: int) -> int:
    return check.count(name, value, most=10_000)  # a file must not keep a process busy for ever


@agent
class ELEANOR(TableAgent):
    """Optimism over all stages at once, by ascent from several starts; for tiny MDPs, nothing proven.

    {parameters}

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=2)
    >>> agent = ELEANOR.made_for(mdp, bonus_scale=0.1)
    >>> trace = agent.play(mdp, episodes=20, seed=0)
    >>> agent.guarantee, bool(np.isnan(trace.certificate).all())
    ('none', True)
    """

    theorem: ClassVar[str] = "none"

    bonus_scale: float = parameter(default=1.0, check=check.nonnegative, words="multiplies the radius √α")
    ascents: int = parameter(default=6, check=_repeated, words="the number of starts")
    ascent_steps: int = parameter(default=25, check=_repeated, words="steps of each ascent")
    seed: int = declare.seed("for the starts")

    def _plan(self) -> Plan:
        if self._planned is None or self._planned[0] is not self.state:
            self._planned = self.state, self._make()
        plan: Plan = self._planned[1]
        return plan

    def _make(self) -> Plan:
        """A policy for each first state p, remembered as a level; the last level is for the mean over them all."""
        S = self.n_states
        stages = [self._stage(h, fits[0]) for h, fits in enumerate(self._regressions())]
        aims = np.vstack([np.eye(S), np.full((1, S), 1 / S)])
        value, greedy = self._ascend(stages, aims)
        action = greedy.transpose(1, 0, 2).copy()
        level = np.broadcast_to(np.arange(S + 1)[:, None], action.shape).copy()
        every = np.arange(S)
        action[0, -1], level[0, -1] = greedy[every, 0, every], every
        return Plan(action, level, value[:S], None, True)

    def _stage(self, h: int, fit: Regression) -> Stage:
        largest = float(self.horizon - h - 1)
        sizes = {name: getattr(self, name) for name in ("dim", "horizon", "delta", "regularization")}
        radius = self.bonus_scale * cert_lsvi.eleanor(fit.logdet, fit.members, largest=largest, **sizes)
        size, axes = np.linalg.eigh(fit.inverse)
        root = (axes * np.sqrt(np.maximum(size, 0.0))) @ axes.T
        X = self._rows.T
        return Stage(fit.base @ X, fit.to_weights.T @ X, radius * root @ X)

    def _ascend(self, stages: list[Stage], aims: Array) -> tuple[Array, Integers]:
        """The best ⟨aim, V_1⟩ of each aim, and its greedy policy (aims, H, S)."""
        n, H, S, m = len(aims), self.horizon, self.n_states, self.ascents
        rng = np.random.default_rng([self.seed, int(self.state.episodes[0])])
        u = np.repeat(rng.standard_normal((1, m, H, self.dim)), n, axis=0).reshape(n * m, H, self.dim)
        u = _in_balls(u)
        u[::m] = 0.0  # the first start is the estimate itself
        weight = np.repeat(aims, m, axis=0)
        best, policy = np.full(n, -np.inf), np.zeros((n, H, S), dtype=np.int64)
        for t in range(self.ascent_steps + 1):
            V, greedy, inside = self._forward(stages, u)
            values = (weight * V).sum(axis=1).reshape(n, m)
            first = values.argmax(axis=1)
            better = values[np.arange(n), first] > best + 1e-12
            best = np.where(better, values[np.arange(n), first], best)
            policy[better] = greedy.reshape(n, m, H, S)[np.arange(n), first][better]
            gradient = self._backward(stages, weight, greedy, inside)
            length = np.sqrt((gradient**2).sum(axis=(1, 2), keepdims=True))
            u = _in_balls(u + 2.0 * np.sqrt(H) / (t + 1) * gradient / np.maximum(length, 1e-300))
        return best, policy

    def _forward(self, stages: list[Stage], u: Array) -> tuple[Array, Integers, Array]:
        """V_1 (B, S), greedy actions and whether V was within its clip, (B, H, S)."""
        B, H, S = len(u), self.horizon, self.n_states
        greedy, inside = np.empty((B, H, S), dtype=np.int64), np.empty((B, H, S))
        V = np.zeros((B, S))
        for h in reversed(range(H)):
            q = stages[h].base + V @ stages[h].carry + u[:, h] @ stages[h].reach
            q = q.reshape(B, S, self.n_actions)
            greedy[:, h] = q.argmax(axis=2)
            top = q.max(axis=2)
            inside[:, h] = (top >= 0.0) & (top <= H - h)
            V = np.clip(top, 0.0, H - h)
        return V, greedy, inside

    def _backward(self, stages: list[Stage], weight: Array, greedy: Integers, inside: Array) -> Array:
        """The subgradient of ⟨weight, V_1⟩ in u, (B, H, d)."""
        gradient = np.empty((len(weight), self.horizon, self.dim))
        first = np.arange(self.n_states) * self.n_actions
        for h, stage in enumerate(stages):
            weight = weight * inside[:, h]
            pairs = first + greedy[:, h]
            gradient[:, h] = np.einsum("bs,dbs->bd", weight, stage.reach[:, pairs])
            weight = np.einsum("bs,tbs->bt", weight, stage.carry[:, pairs])
        return gradient


def _in_balls(u: Array) -> Array:
    """Each u_h made no longer than 1."""
    scaled: Array = u / np.maximum(np.linalg.norm(u, axis=2, keepdims=True), 1.0)
    return scaled
