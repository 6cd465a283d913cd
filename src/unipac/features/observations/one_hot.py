"""A feature for every pair of state and action."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.features.observations.map import FeatureMap, is_discrete, spaces


class OneHot(FeatureMap):
    """A feature for every pair of state and action: for observations that are numbers of states.

    An MDP with finitely many states is linear in these features.

    Args:
        n_states: number of states.
        n_actions: number of actions.
        start: number of the first state.

    Raises:
        ValueError: for counts that are not positive integers, or more than 100 000 features.

    Example:
        >>> f = OneHot(n_states=2, n_actions=2)
        >>> f(1)
        array([[0., 1., 0., 0.],
               [0., 0., 0., 1.]])
    """

    def __init__(self, n_states: int, n_actions: int, *, start: int = 0) -> None:
        super().__init__(n_actions)
        self.n_states = check.count("n_states", n_states)
        self.start = check.count("start", start, least=-(2**61), most=2**61)
        self._set_size(self.n_states, "n_states", n_states)

    @classmethod
    def from_env(cls, env: Any, **settings: Any) -> Self:
        """The map for a Gymnasium environment with ``Discrete`` observations and actions.

        Args:
            env: the environment.
            **settings: further arguments; the spaces leave none to be set.

        Raises:
            ValueError: if the spaces are of another kind.
        """
        space, n_actions = spaces(env)
        if not is_discrete(space):
            hint = "a Discrete space (Aggregation, TileCoding, Fourier, RandomFourier take a Box)"
            raise ValueError(f"env.observation_space must be {hint}, got {space!r}")
        return cls(space.n, n_actions, start=space.start, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that build this map again, of types that JSON knows."""
        return {"n_states": self.n_states, "n_actions": self.n_actions, "start": self.start}

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        return f"<OneHot: {self.n_states} states, {self.n_actions} actions, dimension {self.dim}{start}>"

    def _states(self, name: str, observations: ArrayLike, *, one: bool) -> Array:
        try:
            numbers = np.asarray(observations)
        except ValueError:  # nested sequences of different lengths
            numbers = np.empty((), dtype=object)
        if numbers.dtype.kind not in "iu" or numbers.ndim != (0 if one else 1):
            expected = "an integer" if one else "an array of integers of shape (m,)"
            raise ValueError(f"{name} must be {expected}, got {observations!r}")
        numbers = numbers.reshape(-1)
        last = self.start + self.n_states - 1
        outside = (numbers < self.start) | (numbers > last)
        if outside.any():
            bad = int(np.argmax(outside))
            where = "" if one else f"{name}[{bad}] = "
            raise ValueError(f"{name} must be from {self.start} to {last}, got {where}{numbers[bad]}")
        states = np.zeros((len(numbers), self.n_states))
        states[np.arange(len(numbers)), numbers.astype(np.int64) - self.start] = 1.0
        return states
