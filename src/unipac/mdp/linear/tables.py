"""Linear MDPs with finitely many states in plain NumPy: transitions counted by stage, level and pair.

For reference algorithms that need not be fast. The counts give the regression on targets r + V(s') for any V.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._memory import require_room
from unipac._parameters import ArrayParameter
from unipac.envs import FiniteMDP
from unipac.linalg.soundness import check_shape
from unipac.mdp.linear.features import check_regularization, check_same, checked_features, told_by
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Episode


class Tables(NamedTuple):
    """All that was learned."""

    counts: Integers
    """(H, L, S, A, S + 1): transitions; the last next state is the end of an episode."""
    paid: Array
    """(H, L, S, A): sums of rewards."""
    episodes: Integers
    """(1,)."""


class Regression(NamedTuple):
    """Ridge regression of one stage and level."""

    inverse: Array
    """U⁻¹, (d, d), U = λI + Σ φφᵀ."""
    logdet: float
    """Of U/λ."""
    members: int
    to_weights: Array
    """(d, S): w = base + to_weights @ V."""
    base: Array

    def weights(self, V: Array) -> Array:
        """The weights w = U⁻¹ Σ φ (r + V(s'))."""
        w: Array = self.base + self.to_weights @ V
        return w


@agent
class TableAgent(EpisodicAgent):
    """An agent for linear MDPs with finitely many states, not compiled; the algorithms derive from it.

    {parameters}
    """

    features: ArrayParameter = parameter(words="φ, (states, actions, d), norms at most 1", kw_only=False)
    delta: float = declare.delta()
    regularization: float = declare.regularization()

    def _check_parameters(self) -> None:
        self.features = checked_features(self.features)
        self.n_states, self.n_actions, self.dim = self.features.shape
        check_regularization(self.regularization)
        check.require(self.reward_range == (0.0, 1.0), "reward_range", "(0, 1)", self.reward_range)
        S, A, H = self.n_states, self.n_actions, self.horizon
        require_room(
            "features", f"tables of {S} states, {A} actions and {H} stages", 400 * S * A * H * (S + 1)
        )
        self._rows = np.ascontiguousarray(self.features.reshape(S * A, self.dim))
        self._no_level = np.zeros((H, 1, S), dtype=np.int64)
        self._planned: tuple[Tables, Any] | None = None

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return told_by(mdp)

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        check_same(mdp, self.features)

    # -- what an algorithm writes --------------------------------------------------------------

    def _n_levels(self, episodes: int) -> int:
        """How many levels there are after ``episodes`` episodes."""
        return 1

    def _stored(self) -> Integers:
        """(H, S): the level, from 1, at which the present plan stores a transition from a state; 0: not at all."""
        return np.ones((self.horizon, self.n_states), dtype=np.int64)

    # -- state ---------------------------------------------------------------------------------

    def _empty(self) -> Tables:
        shape = (self.horizon, self._n_levels(0), self.n_states, self.n_actions)
        counts = np.zeros((*shape, self.n_states + 1), dtype=np.int64)
        return Tables(counts, np.zeros(shape), np.zeros(1, dtype=np.int64))

    def _learn(self, episode: Episode) -> Tables:
        stored = self._stored()
        more = self._n_levels(int(self.state.episodes[0]) + 1) - self.state.counts.shape[1]
        counts, paid = (
            np.pad(array, [(0, 0), (0, more)] + [(0, 0)] * (array.ndim - 2)) for array in self.state[:2]
        )
        for h, s in enumerate(episode.state.tolist()):
            level = int(stored[h, s]) - 1
            if level >= 0:
                a, following = int(episode.action[h]), int(episode.following[h])
                counts[h, level, s, a, following] += 1  # the end, -1, is the last entry
                paid[h, level, s, a] += episode.reward[h]
        return Tables(counts, paid, self.state.episodes + 1)

    def _restored(self, saved: Any) -> Tables:
        check.require(
            saved.episodes.shape == (1,) and saved.episodes[0] >= 0, "episodes", "one", saved.episodes
        )
        levels = self._n_levels(int(saved.episodes[0]))
        shape = (self.horizon, levels, self.n_states, self.n_actions)
        check_shape(saved.paid, shape)
        check_shape(saved.counts, (*shape, self.n_states + 1))
        check.require(bool((saved.counts >= 0).all()), "counts", ">= 0", saved.counts.min())
        seen = bool((saved.counts <= saved.episodes[0]).all())
        check.require(seen, "counts", "no more than episodes", saved.counts.max())
        return Tables(*saved)

    def _resumed(self) -> None:
        same = int(self.state.episodes[0]) == self.episodes
        check.require(same, "episodes", "those of the state", self.episodes)
        super()._resumed()

    # -- regressions ---------------------------------------------------------------------------

    def _regressions(self) -> list[list[Regression]]:
        """The regressions by stage and level, both from 0."""
        H, L, S, A, ends = self.state.counts.shape
        counts = self.state.counts.reshape(H, L, S * A, ends)
        paid = self.state.paid.reshape(H, L, S * A, 1)
        n, X = counts.sum(axis=3), self._rows
        U = self.regularization * np.eye(self.dim) + np.matmul(X.T * n[:, :, None], X)
        inverse = np.linalg.inv(U)
        inverse = (inverse + inverse.swapaxes(2, 3)) / 2
        logdet = np.maximum(np.linalg.slogdet(U)[1] - self.dim * np.log(self.regularization), 0.0)
        weights = inverse @ (X.T @ np.concatenate([counts[..., :-1], paid], axis=3))
        members = n.sum(axis=2).tolist()
        return [
            [
                Regression(
                    inverse[h, i],
                    float(logdet[h, i]),
                    members[h][i],
                    weights[h, i, :, :-1],
                    weights[h, i, :, -1],
                )
                for i in range(L)
            ]
            for h in range(H)
        ]

    def _widths(self, inverse: Array) -> Array:
        """‖φ‖ in the norm of a matrix, (S, A)."""
        squares = np.maximum(((self._rows @ inverse) * self._rows).sum(axis=1), 0.0)
        widths: Array = np.sqrt(squares).reshape(self.n_states, self.n_actions)
        return widths
