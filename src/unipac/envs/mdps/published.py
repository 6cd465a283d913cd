"""MDPs from environments of Gymnasium that publish their table ``P``."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.mdps import tables
from unipac.envs.mdps.finite_mdp import FiniteMDP


def from_gymnasium(
    env: gymnasium.Env[Any, Any],
    horizon: int,
    *,
    initial: ArrayLike | None = None,
    name: str | None = None,
) -> FiniteMDP:
    """The MDP of an environment that publishes its table ``P``, as those of toy text do.

    - States: those of the environment, 0 to S - 1, and terminal ones from number S on: they are never left and
      pay nothing, and agents never see them. What the environment marks as terminated leads there. One is
      enough unless some action may end an episode with different rewards, as in FrozenLake 8x8 next to
      both a hole and the goal: then there are as many as such rewards, in increasing order.
    - Actions: those of the environment.
    - Rewards: r(s, a, s'), as published. Where an action may lead to the same next state, not terminal, with
      different rewards, their mean: all values stay the same, but not the spread of returns.
    - Horizon: given here; a time limit of the environment is not looked at.

    Args:
        env: the environment, wrapped or not, with ``P[state][action]`` a list of tuples (probability, next
            state, reward, terminated), and with states and actions numbered from 0.
        horizon: number H of stages.
        initial: distribution of the first state, (S,); by default ``env.initial_state_distrib``.
        name: name of the instance; by default the id of the environment.

    Returns:
        The MDP, with S + 1 states, or more, and one table for all stages.

    Raises:
        ValueError: if the environment has no such table, or it is too large.

    Example:
        >>> env = gymnasium.make("FrozenLake-v1", is_slippery=False)
        >>> mdp = from_gymnasium(env, horizon=6)
        >>> mdp
        <FrozenLake-v1: 17 states, 4 actions, horizon 6>
        >>> float(mdp.optimal_value()[0])
        1.0
    """
    check.require(isinstance(env, gymnasium.Env), "env", "a Gymnasium environment", env)
    horizon = check.count("horizon", horizon)
    bare: Any = env.unwrapped
    published = getattr(bare, "P", None)
    check.require(
        isinstance(published, (dict, list)),
        "env",
        "an environment that publishes its table P, as FrozenLake, CliffWalking and Taxi do",
        env,
    )
    n_states = _size("observation_space", env.observation_space)
    n_actions = _size("action_space", env.action_space)
    _check_size(n_states + 1, n_actions, horizon)
    if initial is None:
        initial = getattr(bare, "initial_state_distrib", None)
        if initial is None:
            raise ValueError("initial must be given, as env has no initial_state_distrib, got None")
    outcomes = _outcomes(published, n_states, n_actions)
    total = n_states + max(1, *(len(_ends(row)) for row in outcomes))
    _check_size(total, n_actions, horizon)
    transitions, rewards = _tables(outcomes, n_states, n_actions, total)
    start = np.zeros(total)
    start[:n_states] = tables.array("initial", initial, (n_states,))
    if name is None:
        name = type(bare).__name__ if env.spec is None else env.spec.id
    at_all_stages = np.broadcast_to(rewards, (horizon, *rewards.shape))
    terminal = np.arange(total) >= n_states
    return FiniteMDP(transitions, at_all_stages, start, horizon, name=name, terminal=terminal)


def _check_size(n_states: int, n_actions: int, horizon: int) -> None:
    entries = n_states * n_actions * (2 * n_states + horizon)
    tables.check_size(entries, f"{n_states} states, {n_actions} actions and horizon {horizon}")


def _size(name: str, space: gymnasium.Space[Any]) -> int:
    """How many members a space has; they must be 0, 1, ..."""
    if not isinstance(space, gymnasium.spaces.Discrete) or space.start != 0:
        raise ValueError(f"env.{name} must be Discrete, from 0 on, got {check.shown(space)}")
    return int(space.n)


Outcome = tuple[float, int, float, bool]
"""Probability, next state, reward, terminated."""


def _outcomes(published: Any, n_states: int, n_actions: int) -> list[list[Outcome]]:
    """The outcomes of each pair (state, action), checked."""
    rows = []
    for state in range(n_states):
        for action in range(n_actions):
            try:
                raw = [tuple(map(float, outcome)) for outcome in published[state][action]]
                sound = all(len(outcome) == 4 for outcome in raw)
            except (KeyError, IndexError, TypeError, ValueError):
                sound = False
            expected = "a list of (probability, next state, reward, terminated)"
            check.require(sound, f"env.P[{state}][{action}]", expected, _shown(published, state, action))
            for _, following, _, _ in raw:
                place = f"the next state in env.P[{state}][{action}]"
                valid = following in range(n_states)
                check.require(valid, place, f"an integer from 0 to {n_states - 1}", following)
            rows.append([(chance, int(t), reward, bool(over)) for chance, t, reward, over in raw])
    return rows


def _ends(row: list[Outcome]) -> list[float]:
    """The rewards with which an episode may end, in increasing order."""
    return sorted({reward for chance, _, reward, over in row if over and chance > 0})


def _tables(outcomes: list[list[Outcome]], n_states: int, n_actions: int, total: int) -> tuple[Array, Array]:
    """Transitions and mean rewards by next state, both (total, A, total)."""
    transitions = np.zeros((total, n_actions, total))
    rewards = np.zeros(transitions.shape)
    for pair, row in enumerate(outcomes):
        ends = _ends(row)
        for chance, following, reward, over in row:
            end = n_states + (ends.index(reward) if reward in ends else 0)  # where the probability is 0: any
            here = (*divmod(pair, n_actions), end if over else following)
            transitions[here] += chance
            if chance > 0:  # the mean so far: exact if the rewards are equal
                rewards[here] += (reward - rewards[here]) * (chance / transitions[here])
    for end in range(n_states, total):
        transitions[end, :, end] = 1.0
    return transitions, rewards


def _shown(published: Any, state: int, action: int) -> object:
    try:
        return published[state][action]
    except (KeyError, IndexError, TypeError):
        return None


def frozen_lake_tables(map_name: str, is_slippery: bool) -> tuple[Array, Array, Array]:
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
