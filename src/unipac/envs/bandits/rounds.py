"""Rounds of a bandit instance, as arrays."""

from __future__ import annotations

from typing import NamedTuple

from unipac._arrays import Array


class _Arrays(NamedTuple):
    actions: Array
    means: Array
    rewards: Array


class Rounds(_Arrays):
    """Consecutive rounds of an instance, in arrays that belong to the caller; a tuple of the first three.

    Attributes:
        actions: the action sets, (T, n, d); (n, d) if the set is the same in all rounds.
        means: expected reward of each action, (T, n); (n,) if the set is the same in all rounds.
        rewards: the reward that each action would bring, (T, n). The noise of a round is drawn
            once and shared by its actions.
        noise: the scale of the noise of each round, (T,), which may be told with its reward; None if
            it is the instance's ``noise`` in all rounds.

    Example:
        >>> from unipac.envs import sphere
        >>> actions, means, rewards = sphere(dim=3, n_actions=4).rounds(0, 10, seed=1)
        >>> actions.shape, means.shape, rewards.shape
        ((10, 4, 3), (10, 4), (10, 4))
    """

    noise: Array | None

    def __new__(cls, actions: Array, means: Array, rewards: Array, noise: Array | None = None) -> Rounds:
        """With the noise beside the tuple: it unpacks to three arrays with and without."""
        made = super().__new__(cls, actions, means, rewards)
        made.noise = noise
        return made
