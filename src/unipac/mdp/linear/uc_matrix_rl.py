"""UC-MatrixRL: regression of features of the next state, after Yang and Wang (ICML 2020).

    pseudo-code, P_h(s' | s, a) = φ(s, a)ᵀ M_h ψ(s')                        here
    A_h = λI + Σ φφᵀ,  M̂_h = A_h⁻¹ (Σ φ ψ(s')ᵀ) K⁻¹,  K = Σ_s ψ(s) ψ(s)ᵀ   mdp.linear.uc_matrix_rl.UCMatrixRL._learn
    Q_h = r̂ + φᵀ M̂_h Ψᵀ V_{h+1} + β ‖φ‖_{A_h⁻¹},
      clipped to [0, H − h + 1]; greedy                                     mdp.linear.uc_matrix_rl.UCMatrixRL._plan

Rewards are learned by the same regression, r̂ = c + ⟨φ, A_h⁻¹ Σ φ (r − c)⟩, c = (H − h)/2. With ψ one-hot, K = I and
M̂ V = A⁻¹ Σ φ V(s'): it decides exactly as LSVI-UCB, whose radius "finite" is proven. For other ψ the radius
has d' in place of S and is multiplied by the range of projected targets, ρ = max_{s,t} Σ_y [(ψ(s) − ψ(t))ᵀ K⁻¹ ψ(y)]₊;
nothing is proven then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._inputs import check_norms, floats, read_only
from unipac._parameters import ArrayParameter, OptionalArrayParameter
from unipac.envs import FiniteMDP
from unipac.linalg.soundness import check_gram
from unipac.mdp.linear.features import told_by
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.theory import mdp_radii


class State(NamedTuple):
    """Sums of each stage."""

    gram: Array
    """(H, d, d): A."""
    rewards: Array
    """(H, d): Σ φ r."""
    arrivals: Array
    """(H, d, d'): Σ φ ψ(s')ᵀ."""


@agent
class UCMatrixRL(EpisodicAgent):
    """Optimistic value iteration on a regression of features of the next state, for comparison.

    {parameters}

    >>> from unipac.envs import random_simplex
    >>> mdp = random_simplex(3, 2, 2, 2)
    >>> agent = UCMatrixRL(mdp.features, horizon=2, total_episodes=50)
    >>> trace = agent.play(mdp, episodes=50, seed=0)
    >>> bool((trace.bound + 1e-9 >= trace.gap).all()), agent.guarantee
    (True, 'regret')
    """

    theorem: ClassVar[str] = "regret"
    certified = False  # nothing bounds the value of the policy from below

    features: ArrayParameter = parameter(words="φ, (states, actions, d), norms at most 1", kw_only=False)
    psi: OptionalArrayParameter = parameter(
        default=None, words="ψ, (states, d'), of full column rank; None: one-hot"
    )
    delta: float = declare.delta()
    regularization: float = declare.regularization()
    total_episodes: int = parameter(check=check.count, words="K, for how many episodes the radius is made")
    moved: ClassVar[Mapping[str, str]] = declare.EPISODES_MOVED

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return told_by(mdp)

    def _check_parameters(self) -> None:
        phi = floats("features", self.features).copy()
        check.require(phi.ndim == 3 and phi.size > 0, "features", "of shape (states, actions, d)", phi.shape)
        check_norms("features", phi, 1.0)
        check.require(self.reward_range == (0.0, 1.0), "reward_range", "(0, 1)", self.reward_range)
        self.n_states, self.n_actions, self.dim = phi.shape
        psi = np.eye(self.n_states) if self.psi is None else floats("psi", self.psi).copy()
        fits = psi.ndim == 2 and len(psi) == self.n_states and 1 <= psi.shape[1] <= self.n_states
        fits = fits and bool(np.isfinite(psi).all()) and np.linalg.matrix_rank(psi) == psi.shape[1]
        check.require(fits, "psi", f"of shape ({self.n_states}, d') and of rank d'", psi.shape)
        self.features = read_only(phi)
        self.psi = None if self.psi is None else read_only(psi)
        self._psi = psi
        self._project = np.linalg.solve(psi.T @ psi, psi.T)  # K⁻¹ Ψᵀ
        weights = psi @ self._project
        self._range = max(float(np.maximum(weights[:, None] - weights, 0.0).sum(axis=2).max()), 1.0)
        named: dict[str, Any] = {"n_states": psi.shape[1], "regularization": self.regularization}
        named |= {"episodes": self.total_episodes}
        sizes = self.dim, self.horizon, 1, self.delta
        self._constants = [
            mdp_radii.finite_constants(*sizes, stage=stage, **named) for stage in range(1, self.horizon + 1)
        ]
        self._centre = 0.5 * np.arange(self.horizon - 1, -1, -1.0)

    def _empty(self) -> State:
        H, d = self.horizon, self.dim
        gram = np.tile(self.regularization * np.eye(d), (H, 1, 1))
        return State(gram, np.zeros((H, d)), np.zeros((H, d, self._psi.shape[1])))

    @property
    def _proven(self) -> bool:
        """Whether every bound is proven to stay above Q*: with ψ one-hot, for ``total_episodes`` episodes."""
        return self.psi is None and self.episodes <= self.total_episodes

    def _plan(self) -> Plan:
        H, S = self.horizon, self.n_states
        V, action = np.zeros((H + 1, S)), np.zeros((H, 1, S), dtype=np.int64)
        for h in range(H - 1, -1, -1):
            gram = self.state.gram[h]
            target = self.state.rewards[h] + self.state.arrivals[h] @ (self._project @ V[h + 1])
            solved = np.linalg.solve(gram, self.features.reshape(-1, self.dim).T).T.reshape(
                self.features.shape
            )
            width = np.sqrt(np.maximum((solved * self.features).sum(axis=2), 0.0))
            logdet = max(float(np.linalg.slogdet(gram / self.regularization)[1]), 0.0)
            beta = self._range * mdp_radii._flute_finite(logdet, H - 1 - h, *self._constants[h])
            estimate = self._centre[h] + self.features @ np.linalg.solve(gram, target)
            Q = np.clip(estimate + beta * width, 0.0, H - h)
            action[h, 0], V[h] = Q.argmax(axis=1), Q.max(axis=1)
        return Plan(action, np.zeros_like(action), V[0], None, True)

    def _learn(self, episode: Episode) -> State:
        gram, rewards, arrivals = (array.copy() for array in self.state)
        for h, (s, a, r, t) in enumerate(
            zip(episode.state, episode.action, episode.reward, episode.following, strict=True)
        ):
            phi = self.features[s, a]
            gram[h] += np.outer(phi, phi)
            rewards[h] += (r - self._centre[h]) * phi
            if t >= 0:
                arrivals[h] += np.outer(phi, self._psi[t])
        return State(gram, rewards, arrivals)

    def _restored(self, saved: Any) -> State:
        state: State = super()._restored(saved)
        for gram in state.gram:
            check_gram(gram, self.regularization)
        return state
