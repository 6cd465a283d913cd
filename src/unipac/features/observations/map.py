"""What all feature maps have in common, and the spaces of Gymnasium, which need not be installed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array

MOST_FEATURES = 100_000
"""Maps of a larger dimension d are refused: agents keep d × d matrices."""


class FeatureMap(ABC):
    """A function of observations: (n_actions, dim) features, float64, with norms of at most 1.

    A map does not change. It can be written to JSON by the name of its class and its `parameters`, and
    rebuilt with `unipac.registry.FEATURE_MAPS`.

    Attributes:
        n_actions: number A of actions.
        state_dim: dimension of the features ψ(s) of a state.
        dim: dimension of the features φ(s, a), A · ``state_dim``.

    Example:
        >>> import json
        >>> from unipac.features import OneHot
        >>> from unipac.registry import FEATURE_MAPS
        >>> saved = json.dumps({"name": "OneHot", "parameters": OneHot(n_states=2, n_actions=3).parameters})
        >>> read = json.loads(saved)
        >>> FEATURE_MAPS[read["name"]](**read["parameters"])
        <OneHot: 2 states, 3 actions, dimension 6>
    """

    n_actions: int
    state_dim: int
    dim: int

    def __init__(self, n_actions: int) -> None:
        self.n_actions = check.count("n_actions", n_actions, most=MOST_FEATURES)

    @classmethod
    @abstractmethod
    def from_env(cls, env: Any, **settings: Any) -> Self:
        """The map for a Gymnasium environment, by its spaces of observations and actions."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that build this map again, of types that JSON knows."""

    def __call__(self, observation: ArrayLike) -> Array:
        """Features φ(s, a) of one observation for every action, (n_actions, dim).

        Raises:
            ValueError: if the observation has another shape or is not finite.
        """
        features = self._in_blocks(self._states("observation", observation, one=True))
        return features.reshape(self.n_actions, self.dim)

    def batch(self, observations: ArrayLike) -> Array:
        """Features of m observations, (m, n_actions, dim); bit for bit those of single calls.

        Raises:
            ValueError: if the observations have another shape or are not finite.
        """
        return self._in_blocks(self._states("observations", observations, one=False))

    def state_features(self, observations: ArrayLike) -> Array:
        """Features ψ(s) of m observations, before they are placed in blocks, (m, state_dim).

        Raises:
            ValueError: if the observations have another shape or are not finite.
        """
        return self._states("observations", observations, one=False)

    @abstractmethod
    def _states(self, name: str, observations: ArrayLike, *, one: bool) -> Array:
        """ψ of checked observations, (m, state_dim); of a single one, (1, state_dim).

        Every row must depend on its own observation only, to the last bit: no matrix products, whose
        rounding follows the number of rows.
        """

    def _in_blocks(self, states: Array) -> Array:
        m, each = len(states), np.arange(self.n_actions)
        features = np.zeros((m, self.n_actions, self.n_actions, self.state_dim))
        features[:, each, each] = states[:, None]
        return features.reshape(m, self.n_actions, self.dim)

    def _set_size(self, state_dim: int, name: str, value: object) -> None:
        """Set the dimensions, or name the argument that makes them too large."""
        expected = f"so small that there are at most {MOST_FEATURES} features for {self.n_actions} actions"
        check.require(state_dim * self.n_actions <= MOST_FEATURES, name, expected, value)
        self.state_dim = state_dim
        self.dim = state_dim * self.n_actions


def is_discrete(space: object) -> bool:
    """Whether it is a space of numbers."""
    return hasattr(space, "n") and hasattr(space, "start")


def spaces(env: Any) -> tuple[Any, int]:
    """The space of observations and the number of actions."""
    if not (hasattr(env, "observation_space") and hasattr(env, "action_space")):
        raise ValueError(f"env must have an observation_space and an action_space, got {env!r}")
    actions = env.action_space
    if not is_discrete(actions) or actions.start != 0:
        raise ValueError(f"env.action_space must be a Discrete space from 0 on, got {actions!r}")
    return env.observation_space, actions.n
