"""Linear MDPs as Gymnasium environments.

``import unipac`` registers the ids in `IDS`; or Gymnasium imports it itself, if the id says so:
``gymnasium.make("unipac:unipac/RiverSwim-v0")``. (Since version 1.0 Gymnasium looks for no entry points.)
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from unipac import _checks as check
from unipac.envs.instance import FloatArray
from unipac.envs.linear_mdp import LinearMDP

IDS = {
    "unipac/RiverSwim-v0": "river_swim",
    "unipac/RandomSimplex-v0": "random_simplex",
    "unipac/DeepSea-v0": "deep_sea",
    "unipac/GridWorld-v0": "grid_world",
    "unipac/FrozenLake-v0": "frozen_lake",
    "unipac/Hypercube-v0": "hypercube",
    "unipac/LSVIKiller-v0": "lsvi_killer",
}
"""Gymnasium's id of each factory in ``unipac.envs.MDPS``."""


class LinearMDPEnv(gymnasium.Env[np.int64, np.int64]):
    """A `LinearMDP` played one step at a time.

    Observations are states and actions are actions, both ``Discrete``. An episode ends after `horizon`
    steps with ``terminated`` = True, not ``truncated``: the sum of rewards ends there by the definition of
    the problem, and the value of what follows is 0. ``info["stage"]`` is the stage, from 1, at which the
    next action will be taken; it is horizon + 1 at the end.

    Args:
        mdp: the MDP, or its name in ``unipac.envs.MDPS``.
        render_mode: None; there is nothing to draw.
        arguments: arguments of the factory, if the MDP is given by name.

    Attributes:
        mdp: the MDP.

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

    def __init__(self, mdp: LinearMDP | str, *, render_mode: str | None = None, **arguments: Any) -> None:
        from unipac.envs import MDPS

        check.require(render_mode is None, "render_mode", "None", render_mode)
        if isinstance(mdp, str):
            mdp = MDPS[check.one_of("mdp", mdp, tuple(MDPS))](**arguments)
        else:
            check.require(isinstance(mdp, LinearMDP), "mdp", "a LinearMDP or the name of one", mdp)
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
        """Begin an episode; the first state is drawn, or given as ``options={"state": s}``."""
        options = options or {}
        unknown = sorted(map(str, options.keys() - {"state"}))
        check.require(not unknown, "options", "a dict with at most the key 'state'", options)
        state = None
        if "state" in options:
            state = check.count("state", options["state"], least=0, most=self.mdp.n_states - 1)
        super().reset(seed=seed)
        self._state = self._draw(self.mdp.initial) if state is None else state
        self._stage = 1
        return np.int64(self._state), {"stage": 1}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take an action; see the class for the end of the episode."""
        if self._stage > self.mdp.horizon:
            raise gymnasium.error.ResetNeeded("reset the environment before the first step of an episode")
        chosen = check.count("action", action, least=0, most=self.mdp.n_actions - 1)
        here = (self._stage - 1, self._state, chosen)
        reward = float(self.mdp.rewards[here])
        self._state = self._draw(self.mdp.transitions[here])
        self._stage += 1
        return np.int64(self._state), reward, self._stage > self.mdp.horizon, False, {"stage": self._stage}

    def _draw(self, probabilities: FloatArray) -> int:
        return int(self.np_random.choice(len(probabilities), p=probabilities))


def register() -> None:
    """Register all `IDS` with Gymnasium; those that are registered already stay as they are."""
    for name, factory in IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=f"{__name__}:LinearMDPEnv", kwargs={"mdp": factory})


def frozen_lake_tables(map_name: str, is_slippery: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Transitions (S, A, S), expected rewards (S, A) and first states (S,) of Gymnasium's FrozenLake-v1."""
    env: Any = gymnasium.make("FrozenLake-v1", map_name=map_name, is_slippery=is_slippery).unwrapped
    n_states, n_actions = int(env.observation_space.n), int(env.action_space.n)
    transitions = np.zeros((n_states, n_actions, n_states))
    rewards = np.zeros((n_states, n_actions))
    for state in range(n_states):
        for action in range(n_actions):
            for chance, following, reward, _ in env.P[state][action]:
                transitions[state, action, following] += chance
                rewards[state, action] += chance * reward
    initial = np.array(env.initial_state_distrib, dtype=np.float64)
    env.close()
    return transitions, np.minimum(rewards, 1.0), initial


register()
