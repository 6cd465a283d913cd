"""Finite MDPs as Gymnasium environments.

``import gymnasium, unipac`` registers the ids in ``unipac.envs.gymnasium.IDS``. Gymnasium may also import them itself:
``gymnasium.make("unipac:unipac/RiverSwim-v0")``. Where ``unipac`` came before Gymnasium, which it does not import,
``import unipac.envs.gymnasium`` registers them.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.catalogue import MDPS
from unipac.envs.gymnasium.inputs import checked_action, checked_options, mdp_of
from unipac.envs.mdps.finite_mdp import FiniteMDP


class LinearMDPEnv(gymnasium.Env[np.int64, np.int64]):
    """A `FiniteMDP`, linear or not, played one step at a time.

    Observations are states and actions are actions, both ``Discrete``. An episode ends in a terminal state
    of the MDP or after `horizon` steps, with ``terminated`` = True, not ``truncated``: the sum of rewards
    ends there by the definition of the problem, and the value of what follows is 0. ``info["stage"]`` is
    the stage, from 1, at which the next action will be taken; it is horizon + 1 at the end. So an episode ends
    otherwise at the last stage than before: agents that pool the stages must ``play(mdp)`` instead.

    Args:
        mdp: any FiniteMDP, or the name of one in ``unipac.envs.MDPS``.
        render_mode: None; there is nothing to draw.
        arguments: arguments of the factory, if the MDP is given by name.

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
        self.mdp = mdp = mdp_of(FiniteMDP, MDPS, mdp, render_mode, arguments)
        self.render_mode = None
        self.observation_space = gymnasium.spaces.Discrete(mdp.n_states)
        self.action_space = gymnasium.spaces.Discrete(mdp.n_actions)
        self._state = 0
        self._stage = mdp.horizon + 1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode; the first state is drawn, or given as ``options={"state": s}``."""
        given = checked_options(options)
        state = None
        if "state" in given:
            state = check.count("state", given["state"], least=0, most=self.mdp.n_states - 1)
            check.require(not self.mdp.terminal[state], "state", "one that is not terminal", state)
        super().reset(seed=seed)
        self._state = self._draw(self.mdp.initial) if state is None else state
        self._stage = 1
        return np.int64(self._state), {"stage": 1}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take an action; see the class for the end of the episode."""
        chosen = checked_action(self.mdp, self._stage, action)
        here = (self._stage - 1, self._state, chosen)
        self._state = self._draw(self.mdp.transitions[here])
        reward = float(self.mdp.rewards[here])
        if self.mdp.arrival_rewards is not None:
            kept = self.mdp.arrival_rewards
            reward = float(kept[min(here[0], len(kept) - 1), here[1], chosen, self._state])
        self._stage = self.mdp.horizon + 1 if self.mdp.terminal[self._state] else self._stage + 1
        return np.int64(self._state), reward, self._stage > self.mdp.horizon, False, {"stage": self._stage}

    def _draw(self, probabilities: Array) -> int:
        return int(self.np_random.choice(len(probabilities), p=probabilities))
