"""MDPs with states in the unit cube as Gymnasium environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from unipac.envs.gymnasium.inputs import checked_action, checked_options, mdp_of
from unipac.envs.mdps.continuous import ContinuousMDP, continuous_swim, random_continuous

CONTINUOUS: dict[str, Callable[..., ContinuousMDP]] = {
    "continuous_swim": continuous_swim,
    "random_continuous": random_continuous,
}
"""Factories of MDPs with continuous states, by name."""


class ContinuousMDPEnv(gymnasium.Env[NDArray[np.float64], np.int64]):
    """A `ContinuousMDP`, played one step at a time; an episode is terminated after ``horizon`` steps.

    Args:
        mdp: a ContinuousMDP, or the name of a factory: "continuous_swim" or "random_continuous".
        render_mode: None; there is nothing to draw.
        arguments: arguments of the factory, if the MDP is given by name.

    Attributes:
        mdp: the MDP.
        observation_space: [0, 1]^k.
        action_space: the actions.

    Example:
        >>> env = gymnasium.make("unipac/ContinuousSwim-v0", dim=3, horizon=2)
        >>> observation, info = env.reset(seed=0)
        >>> observation, info
        (array([0.3]), {'stage': 1})
        >>> env.step(2)[1:4]
        (0.12, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's declaration

    def __init__(self, mdp: ContinuousMDP | str, *, render_mode: str | None = None, **arguments: Any) -> None:
        self.mdp = mdp = mdp_of(ContinuousMDP, CONTINUOUS, mdp, render_mode, arguments)
        self.render_mode = None
        shape = (mdp.n_coordinates,)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, shape, dtype=np.float64)
        self.action_space = gymnasium.spaces.Discrete(mdp.n_actions)
        self._state = mdp.initial.copy()
        self._stage = mdp.horizon + 1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Begin an episode at the first state of the MDP, or as in ``options={"state": s}``."""
        given = checked_options(options)
        state = self.mdp._state("state", given["state"]) if "state" in given else self.mdp.initial
        super().reset(seed=seed)
        self._state, self._stage = state.copy(), 1
        return self._state.copy(), {"stage": 1}

    def step(self, action: np.int64) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Take an action."""
        chosen = checked_action(self.mdp, self._stage, action)
        reward, self._state = self.mdp.sample(self._stage, self._state, chosen, self.np_random)
        self._stage += 1
        return self._state.copy(), reward, self._stage > self.mdp.horizon, False, {"stage": self._stage}
