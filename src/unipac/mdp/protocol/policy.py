"""Policies to use after learning."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check


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
        horizon, n_states = self.actions.shape
        h = check.count("stage", stage, most=horizon) - 1
        return int(self.actions[h, check.count("observation", observation, least=0, most=n_states - 1)])

    def __repr__(self) -> str:
        horizon, n_states = self.actions.shape
        return f"<policy: {horizon} stages, {n_states} states; np.asarray gives its table>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.actions.astype(dtype or np.int64)


class Recommendation(NamedTuple):
    """A policy to use after learning; ``bound − lower`` is its certificate."""

    policy: TablePolicy
    bound: NDArray[np.float64]
    """(S,): upper bound on V*_1."""
    lower: NDArray[np.float64]
    """(S,): lower bound on the value of the policy."""
