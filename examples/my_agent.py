"""An agent of your own, for experiments: all it needs is choose and update."""

from __future__ import annotations

import numpy as np


class EpsilonGreedy:
    """The best estimate, but a random action with probability epsilon.

    ``dim`` comes from the instance, as would ``noise`` or ``norm``, and ``seed`` from the seed of the cell;
    the others stand in the TOML file.
    """

    def __init__(self, dim: int, epsilon: float = 0.1, regularization: float = 1.0, seed: int = 0) -> None:
        self.epsilon = epsilon
        self.rng = np.random.default_rng(seed)
        self.gram = regularization * np.eye(dim)
        self.moment = np.zeros(dim)
        self.estimate = np.zeros(dim)

    def choose(self, actions: np.ndarray) -> int:
        """The row of an (n, d) array."""
        self.actions = actions
        if self.rng.random() < self.epsilon:
            return int(self.rng.integers(len(actions)))
        return int(np.argmax(actions @ self.estimate))

    def update(self, index: int, reward: float) -> None:
        """Learn the reward of that row."""
        action = self.actions[index]
        self.gram += np.outer(action, action)
        self.moment += reward * action
        self.estimate = np.linalg.solve(self.gram, self.moment)
