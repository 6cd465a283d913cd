"""UCRL-VTR+: value-targeted regression weighted by estimated variances, after Zhou, Gu and Szepesvári (COLT 2021).

    pseudo-code at stage h, V = Vup_{h+1}, x = φ_V, z = φ_{V²}, λ = B⁻²  here
    Σ̂ = λI + Σ xxᵀ/σ̄², θ̂ = Σ̂⁻¹ Σ x V(s')/σ̄²
    Σ̃ = λI + Σ zzᵀ, θ̃ = Σ̃⁻¹ Σ z V²(s')                                   mdp.mixture.ucrl_vtr_plus.UCRLVTRPlus._learn
    Qup_h = min(H, r + ⟨θ̂, x⟩ + β̂ ‖x‖_{Σ̂⁻¹}), greedy                     mdp.mixture.ucrl_vtr_plus.UCRLVTRPlus._values
    var = ⟨θ̃, z⟩ clipped to [0, H²] − (⟨θ̂, x⟩ clipped to [0, H])²        mdp.mixture.ucrl_vtr_plus.UCRLVTRPlus._variance
    σ̄² = max(H²/d, var + E)
    E = min(H², 2H β̌ ‖x‖_{Σ̂⁻¹}) + min(H², β̃ ‖z‖_{Σ̃⁻¹})
    with L = log(4k²H/δ)                                                 mdp.mixture.ucrl_vtr_plus.radii
    β̂ = 8 √(d log(1 + k/λ) L) + 4 √d L + √λ B
    β̌ = 8d √(log(1 + k/λ) L) + 4 √d L + √λ B
    β̃ = 8 √(d H⁴ log(1 + kH⁴/(dλ)) L) + 4 H² L + √λ B

The constants were not checked against the paper: nothing is certified. One regression of each kind for each stage. For
comparison; the proven way to adapt to variances is ``NestedVTR(likelihood=True)``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent
from unipac._arrays import Array
from unipac.linalg.soundness import check_gram
from unipac.mdp.mixture.regression.inputs import MixtureInputs
from unipac.mdp.protocol.plan import Episode, Plan


class State(NamedTuple):
    """Sums of M = max(H − 1, 1) stages."""

    gram: Array
    """(M, d, d): Σ̂."""
    target: Array
    """(M, d)."""
    gram_square: Array
    """(M, d, d): Σ̃."""
    target_square: Array
    """(M, d)."""


def radii(k: int, d: int, H: int, delta: float, lam: float, norm: float) -> tuple[float, float, float]:
    """β̂, β̌ and β̃ of episode k, counted from 1."""
    L, bias = math.log(4 * k * k * H / delta), math.sqrt(lam) * norm
    root = math.sqrt(math.log1p(k / lam) * L)
    beta = 8 * math.sqrt(d) * root + 4 * math.sqrt(d) * L + bias
    check_beta = 8 * d * root + 4 * math.sqrt(d) * L + bias
    square = 8 * math.sqrt(d * H**4 * math.log1p(k * H**4 / (d * lam)) * L) + 4 * H**2 * L + bias
    return beta, check_beta, square


@agent
class UCRLVTRPlus(MixtureInputs):
    """Value-targeted regression weighted by estimated variances; constants recalled, nothing certified.

    {parameters}

    >>> from unipac.envs import mixture_swim
    >>> mdp = mixture_swim(n_states=3, horizon=4)
    >>> agent = UCRLVTRPlus(mdp.features, horizon=4, rewards=mdp.rewards, bonus_scale=0.02)
    >>> trace = agent.play(mdp, episodes=20, seed=0)
    >>> agent.certified, agent.guarantee
    (False, 'none')
    """

    theorem: ClassVar[str] = "regret"

    bonus_scale: float = declare.bonus_scale()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check.require(self.reward_range == (0.0, 1.0), "reward_range", "(0, 1)", self.reward_range)
        check.require(self.norm > 0.0, "norm", "> 0, as λ = 1/norm²", self.norm)

    def _empty(self) -> State:
        M, d = max(self.horizon - 1, 1), self.dim
        gram = np.tile(np.eye(d) / self.norm**2, (M, 1, 1))
        return State(gram, np.zeros((M, d)), gram.copy(), np.zeros((M, d)))

    def _radii(self) -> tuple[float, float, float]:
        lam = self.norm**-2
        return radii(self.episodes + 1, self.dim, self.horizon, self.delta, lam, self.norm)

    def _values(self) -> tuple[Array, NDArray[np.int64]]:
        """Vup (H + 1, S) and the greedy actions (H, S)."""
        H, S = self.horizon, self.n_states
        V, action = np.zeros((H + 1, S)), np.zeros((H, S), dtype=np.int64)
        beta = self.bonus_scale * self._radii()[0]
        for h in range(H - 1, -1, -1):
            Q = self._paid[h].copy()
            if h < H - 1:
                x = (self.features * V[h + 1][:, None]).sum(axis=2)
                solved = np.linalg.solve(self.state.gram[h], x.reshape(-1, self.dim).T).T.reshape(x.shape)
                Q += solved @ self.state.target[h] + beta * np.sqrt(np.maximum((solved * x).sum(axis=2), 0.0))
            Q = np.minimum(Q, H)
            action[h], V[h] = Q.argmax(axis=1), Q.max(axis=1)
        return V, action

    def _plan(self) -> Plan:
        V, action = self._values()
        return Plan(action[:, None], self._no_level, V[0], None, True)

    def _variance(self, h: int, x: Array, z: Array) -> float:
        """σ̄²."""
        H, state = self.horizon, self.state
        _, wide, square = self._radii()
        by_x, by_z = np.linalg.solve(state.gram[h], x), np.linalg.solve(state.gram_square[h], z)
        second = min(max(float(by_z @ state.target_square[h]), 0.0), H**2)
        first = min(max(float(by_x @ state.target[h]), 0.0), H)
        error = min(H**2, 2 * H * wide * math.sqrt(max(float(by_x @ x), 0.0)))
        error += min(H**2, square * math.sqrt(max(float(by_z @ z), 0.0)))
        return float(max(H**2 / self.dim, second - first**2 + error))

    def _learn(self, episode: Episode) -> State:
        V, _ = self._values()
        gram, target, gram_square, target_square = (array.copy() for array in self.state)
        steps = list(zip(episode.state, episode.action, episode.following, strict=True))[: self.horizon - 1]
        for h, (s, a, t) in enumerate(steps):
            value = V[h + 1]
            x, z = value @ self.features[s, a], value**2 @ self.features[s, a]
            y = 0.0 if t < 0 else float(value[t])
            weight = 1.0 / self._variance(h, x, z)
            gram[h] += weight * np.outer(x, x)
            target[h] += weight * y * x
            gram_square[h] += np.outer(z, z)
            target_square[h] += y**2 * z
        return State(gram, target, gram_square, target_square)

    def _restored(self, saved: Any) -> State:
        state: State = super()._restored(saved)
        for gram in (*state.gram, *state.gram_square):
            check_gram(gram, self.norm**-2)
        return state
