"""Policies to use after learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unipac.mdp.linear.base.stored import Stored


class Policy(Protocol):
    """An action for an observation at a stage, counted from 1."""

    def __call__(self, observation: Any, stage: int) -> int:
        """The action."""


class TablePolicy:
    """A policy on finitely many states; ``np.asarray(policy)`` is its table (H, S)."""

    def __init__(self, actions: NDArray[np.int64]) -> None:
        self.actions = actions

    def __call__(self, observation: Any, stage: int) -> int:
        """The action at a state."""
        return int(self.actions[stage - 1, observation])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.actions.astype(dtype or np.int64)


class FeaturePolicy:
    """A policy on any observations, from the estimates of stored transitions."""

    def __init__(self, stored: Stored, features: Callable[[str, Any], NDArray[np.float64]]) -> None:
        self._stored = stored
        self._features = features

    def __call__(self, observation: Any, stage: int) -> int:
        """The action for an observation."""
        q = self._stored.q_values(stage - 1, self._features("observation", observation))
        return int(q.min(axis=0).argmax())
