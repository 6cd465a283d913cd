"""Checks of what users pass to an agent for MDPs: an MDP, an episode that others chose, first states."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac.envs import FiniteMDP
from unipac.mdp.protocol.plan import Episode


def check_fit(mdp: FiniteMDP, shape: tuple[int, int, int], reward_range: tuple[float, float]) -> None:
    """Refuse an MDP of other sizes (H, S, A), or with rewards outside the range."""
    fits = isinstance(mdp, FiniteMDP) and (mdp.horizon, mdp.n_states, mdp.n_actions) == shape
    expected = "a FiniteMDP with horizon {}, {} states and {} actions".format(*shape)
    check.require(fits, "mdp", expected, mdp)
    low, high = mdp.reward_range
    within = reward_range[0] <= low and high <= reward_range[1]
    check.require(within, "reward_range", f"wide enough for rewards from {low:g} to {high:g}", reward_range)


def whole_episode(
    episode: Episode | tuple[ArrayLike, ...],
    horizon: int,
    n_states: int,
    n_actions: int,
    reward_range: tuple[float, float],
) -> tuple[Episode, Array]:
    """The episode, checked, and its next states as shares (n, S)."""
    parts = isinstance(episode, tuple) and len(episode) == 5
    check.require(parts, "episode", "an Episode", episode)
    state, action, _, reward, following = (np.asarray(part) for part in episode)
    n = len(state) if state.ndim == 1 else 0
    check.require(1 <= n <= horizon, "episode", f"of 1 to {horizon} stages", state.shape)
    for name, array, most in (("state", state, n_states), ("action", action, n_actions)):
        sound = array.shape == (n,) and array.dtype.kind in "iu" and 0 <= array.min() <= array.max() < most
        check.require(sound, f"episode.{name}", f"{n} integers from 0 to {most - 1}", array)
    low, high = reward_range
    sound = (
        reward.shape == (n,)
        and reward.dtype.kind in "biuf"
        and bool(((low <= reward) & (reward <= high)).all())
    )
    check.require(sound, "episode.reward", f"{n} numbers in [{low:g}, {high:g}]", reward)
    shares = following
    if following.ndim == 1 and following.dtype.kind in "iu":
        sound = following.shape == (n,) and 0 <= following.min() <= following.max() < n_states
        shares = np.eye(n_states)[following] if sound else np.zeros((0, 0))
    fits = shares.shape == (n, n_states) and shares.dtype.kind in "biuf"
    sound = fits and bool((shares >= 0.0).all() and (np.abs(shares.sum(axis=1) - 1.0) <= 1e-9).all())
    expected = f"{n} states from 0 to {n_states - 1}, or {n} distributions over them"
    check.require(sound, "episode.following", expected, following)
    states, actions = (np.ascontiguousarray(array, dtype=np.int64) for array in (state, action))
    arrived, no_level = shares.argmax(axis=1).astype(np.int64), np.zeros(n, dtype=np.int64)
    read = Episode(states, actions, no_level, reward.astype(np.float64), arrived)
    return read, np.ascontiguousarray(shares, dtype=np.float64)


def given_starts(states: ArrayLike | None, count: int, mdp: FiniteMDP) -> Integers | None:
    """The first states of ``count`` episodes, none of them terminal; None if the user passed none."""
    if states is None:
        return None
    array = np.asarray(states)
    sound = array.shape == (count,) and array.dtype.kind in "iu"
    if not sound or (count > 0 and (array.min() < 0 or array.max() >= mdp.n_states)):
        raise ValueError(
            f"initial_states must be {count} integers from 0 to {mdp.n_states - 1}, "
            f"got shape {array.shape} of type {array.dtype}"
        )
    starts = np.ascontiguousarray(array, dtype=np.int64)
    over = starts[mdp.terminal[starts]]
    check.require(over.size == 0, "initial_states", "states that are not terminal", over[:1].tolist())
    return starts
