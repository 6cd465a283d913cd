"""Finite MDPs as Gymnasium environments.

``import unipac.envs`` registers the ids in `IDS`. Gymnasium imports the module itself if the id names it:
``gymnasium.make("unipac:unipac/RiverSwim-v0")``. (Since version 1.0 Gymnasium ignores entry points.)
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from unipac import _checks as check
from unipac.envs.arrays import FloatArray
from unipac.envs.catalogue import MDPS
from unipac.envs.gymnasium.ids import IDS, register
from unipac.envs.mdps.finite_mdp import FiniteMDP

__all__ = ["IDS", "LinearMDPEnv", "register"]


class LinearMDPEnv(gymnasium.Env[np.int64, np.int64]):
    """A `FiniteMDP`, linear or not, played one step at a time.

    Observations are states; both states and actions are ``Discrete``. An episode ends in a terminal state
    of the MDP or after `horizon` steps, with ``terminated`` = True, not ``truncated``: by definition of the
    problem the sum of rewards ends there, and the value afterwards is 0. ``info["stage"]`` is the stage, from
    1, at which the next action will be taken; it is horizon + 1 at the end. So whether a step terminates
    depends on the stage, too: agents that pool the stages must ``play(mdp)`` instead.

    Args:
        mdp: any FiniteMDP, or the name of one in ``unipac.envs.MDPS``.
        render_mode: None; there is nothing to draw.
        arguments: arguments of the factory, if ``mdp`` is a name.

    Attributes:
        mdp: the MDP.
        observation_space: the states.
        action_space: the actions.

    Example:
        >>> env = gymnasium.make("unipac/RiverSwim-v0", n_states=3, horizon=2)
        >>> env.reset(seed=0)
        (np.int64(0), {'stage': 1})
        >>> env.step(0)
        (np.int64(0), 0.05, False, False, {'stage': 2})
        >>> env.step(0)
        (np.int64(0), 0.05, True, False, {'stage': 3})
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's declaration

    def __init__(self, mdp: FiniteMDP | str, *, render_mode: str | None = None, **arguments: Any) -> None:
        check.require(render_mode is None, "render_mode", "None", render_mode)
        if isinstance(mdp, str):
            mdp = MDPS[check.one_of("mdp", mdp, tuple(MDPS))](**arguments)
        else:
            check.require(isinstance(mdp, FiniteMDP), "mdp", "a FiniteMDP or the name of one", mdp)
            check.require(not arguments, "arguments", "given with a name only", arguments)
        self.mdp = mdp
        self.render_mode = None
        self.observation_space = gymnasium.spaces.Discrete(mdp.n_states)
        self.action_space = gymnasium.spaces.Discrete(mdp.n_actions)
        self._state = 0
        self._stage = mdp.horizon + 1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode; the first state is drawn unless ``options={"state": s}`` sets it."""
        options = options or {}
        unknown = sorted(map(str, options.keys() - {"state"}))
        check.require(not unknown, "options", "a dict with at most the key 'state'", options)
        state = None
        if "state" in options:
            state = check.count("state", options["state"], least=0, most=self.mdp.n_states - 1)
            check.require(not self.mdp.terminal[state], "state", "one that is not terminal", state)
        super().reset(seed=seed)
        self._state = self._draw(self.mdp.initial) if state is None else state
        self._stage = 1
        return np.int64(self._state), {"stage": 1}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take an action; the class docstring says when an episode ends."""
        if self._stage > self.mdp.horizon:
            raise gymnasium.error.ResetNeeded("reset the environment before the first step of an episode")
        chosen = check.count("action", action, least=0, most=self.mdp.n_actions - 1)
        here = (self._stage - 1, self._state, chosen)
        self._state = self._draw(self.mdp.transitions[here])
        reward = float(self.mdp.rewards[here])
        if self.mdp.arrival_rewards is not None:
            kept = self.mdp.arrival_rewards
            reward = float(kept[min(here[0], len(kept) - 1), here[1], chosen, self._state])
        self._stage = self.mdp.horizon + 1 if self.mdp.terminal[self._state] else self._stage + 1
        return np.int64(self._state), reward, self._stage > self.mdp.horizon, False, {"stage": self._stage}

    def _draw(self, probabilities: FloatArray) -> int:
        return int(self.np_random.choice(len(probabilities), p=probabilities))


register()
