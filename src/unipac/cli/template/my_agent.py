"""An agent of your own: an experiment needs only its ``choose`` and ``update``."""

from __future__ import annotations

from typing import Any

import numpy as np


class MyAgent:
    """Takes the action with the best estimate, or a random one with probability ``epsilon``.

    ``dim`` and ``seed`` come from the experiment, as would ``noise``, ``norm``, ``n_actions`` and ``rounds`` if they
    were arguments, too; ``epsilon`` is set in config.toml.
    """

    def __init__(self, dim: int, epsilon: float = 0.1, seed: int = 0) -> None:
        self.epsilon = epsilon
        self.rng = np.random.default_rng(seed)
        self.gram = np.eye(dim)
        self.moment = np.zeros(dim)
        self.estimate: np.ndarray = np.zeros(dim)
        self.actions = np.zeros((0, dim))

    def choose(self, actions: Any) -> int:
        """Choose a row of an (n, d) array, which has one action in each row."""
        self.actions = np.asarray(actions, dtype=np.float64)
        if self.rng.random() < self.epsilon:
            return int(self.rng.integers(len(self.actions)))
        return int(np.argmax(self.actions @ self.estimate))

    def update(self, index: int, reward: float) -> None:
        """Learn the reward of the row that was chosen: ridge regression."""
        action = self.actions[index]
        self.gram += np.outer(action, action)
        self.moment += reward * action
        self.estimate = np.linalg.solve(self.gram, self.moment)
