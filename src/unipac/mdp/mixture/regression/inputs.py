"""The input of agents for linear mixture MDPs: features of triples, and known rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._inputs import floats, read_only
from unipac._memory import require_room
from unipac._parameters import ArrayParameter
from unipac.envs import FiniteMDP, MixtureMDP
from unipac.mdp.protocol.agent import EpisodicAgent


@agent
class MixtureInputs(EpisodicAgent):
    """An agent for a linear mixture MDP with known rewards.

    {parameters}
    """

    features: ArrayParameter = parameter(
        words="φ, (states, actions, next states, d), where P_h(s' | s, a) = ⟨φ, θ_h⟩",
        kw_only=False,
    )
    rewards: ArrayParameter = parameter(words="r, the expected rewards, which are known: (S, A) or (H, S, A)")
    delta: float = declare.delta()
    norm: float = parameter(default=1.0, check=check.nonnegative, words="a bound on the norm of θ_h")

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        low, high = mdp.reward_range
        usual = low >= 0.0 and high <= 1.0
        arguments = {"horizon": mdp.horizon, "rewards": np.array(mdp.rewards)}
        arguments |= {} if usual else {"reward_range": (min(low, 0.0), max(high, 0.0))}
        if isinstance(mdp, MixtureMDP):
            return {**arguments, "features": mdp.features, "norm": max(1.0, mdp.norm)}
        S, A = mdp.n_states, mdp.n_actions  # a table: one feature for each triple
        require_room("mdp", f"a feature for each of {S * A * S} triples", 8 * (S * A * S) ** 2)
        return {**arguments, "features": np.eye(S * A * S).reshape(S, A, S, -1), "norm": math.sqrt(S * A)}

    def _check_parameters(self) -> None:
        phi = floats("features", self.features).copy()
        fits = phi.ndim == 4 and phi.size > 0 and phi.shape[0] == phi.shape[2]
        check.require(fits, "features", "of shape (S, A, S, d)", phi.shape)
        finite = bool((np.abs(phi) <= check.LARGEST).all())
        check.require(finite, "features", f"finite and within ±{check.LARGEST:g}", "others")
        self.n_states, self.n_actions, _, self.dim = phi.shape
        shape = (self.n_states, self.n_actions)
        r = floats("rewards", self.rewards)
        whole = (self.horizon, *shape)
        check.require(r.shape in (shape, whole), "rewards", f"of shape {shape} or {whole}", r.shape)
        low, high = self.reward_range
        within = bool(((low <= r) & (r <= high)).all())
        expected = f"in [{low:g}, {high:g}] (reward_range)"
        check.require(within, "rewards", expected, (float(r.min()), float(r.max())))
        self.features, self.rewards = read_only(phi), read_only(r.copy())
        self._paid = np.array(np.broadcast_to(r, whole))
        self._no_level = np.zeros((self.horizon, 1, self.n_states), dtype=np.int64)
        self._value_norm = value_norm(phi)
        check.require(self._value_norm > 0.0, "features", "not all 0", 0.0)

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        needed = self._told(mdp)
        fits = np.array_equal(needed["features"], self.features)
        check.require(fits, "mdp", "one with the features of this agent", mdp)
        paid = np.array_equal(needed["rewards"], self._paid)
        check.require(paid, "mdp", "one with the rewards of this agent", mdp)


def value_norm(features: Array) -> float:
    """X, a bound on ‖Σ_t φ(s, a, t) W(t)‖ for all W in [0, 1]; it is attained if no feature is negative.

    >>> value_norm(np.array([[[[0.5, 1.0]]]]) * -1)
    1.118034
    """
    above, below = np.maximum(features, 0.0).sum(axis=2), np.maximum(-features, 0.0).sum(axis=2)
    return float(np.linalg.norm(np.maximum(above, below), axis=-1).max())
