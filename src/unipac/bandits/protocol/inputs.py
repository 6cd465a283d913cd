"""What users bring to a bandit agent, as checked arrays: rounds of a log or on offer, noise, levels, the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import LARGEST_REWARD, action_array, check_norms, check_rewards, floats
from unipac.bandits.protocol.records import Decision

if TYPE_CHECKING:
    from unipac.bandits.protocol.agent import BanditAgent


def truth_vector(truth: ArrayLike | None, dim: int) -> Array:
    """μ* as an array (d,), empty if it is not given."""
    if truth is None:
        return np.empty(0)
    mu = floats("truth", truth)
    if mu.shape != (dim,):
        raise ValueError(f"truth must have shape ({dim},), got {mu.shape}")
    check_rewards("truth", mu)
    return mu


def checked_reward(agent: BanditAgent, reward: SupportsFloat, name: str = "reward") -> float:
    """A reward, finite and not too large to be squared, and where the agent was told that all rewards are."""
    value = check.real(name, reward)
    if not -LARGEST_REWARD <= value <= LARGEST_REWARD:
        raise ValueError(f"{name} must be within ±{LARGEST_REWARD:g}, got {reward!r}")
    low, high = agent._least_reward, agent._largest_reward
    check.require(low <= value <= high, name, f"from {low:g} to {high:g} (rewards_within)", reward)
    return value


def check_all_rewards(agent: BanditAgent, name: str, y: Array) -> None:
    """The same for an array of rewards."""
    check_rewards(name, y)
    low, high = agent._least_reward, agent._largest_reward
    if high < LARGEST_REWARD and not ((low <= y) & (y <= high)).all():
        bad = tuple(int(i) for i in np.argwhere(~((low <= y) & (y <= high)))[0])
        words = f"from {low:g} to {high:g} (rewards_within)"
        raise ValueError(f"{name} must be {words}, got {name}{list(bad)} = {y[bad]}")


def as_decided(decision: Decision, dim: int) -> Decision:
    """The decision with its action as it was, though its user has since changed the array's shape or type in place."""
    action = decision.action
    words = "the array that choose returned, or one of the same bytes"
    check.require(action.nbytes == 8 * dim and action.flags.c_contiguous, "decision.action", words, action)
    return decision._replace(action=action.view(np.float64).reshape(dim))


def checked_times(agent: BanditAgent, times: SupportsIndex) -> int:
    """How many equal rounds an update counts for."""
    count = check.count("times", times)
    words = f"1 for {type(agent).__name__}, which counts one by one"
    check.require(count == 1 or agent.counts_many, "times", words, times)
    return count


def noise_scales(agent: BanditAgent, name: str, noise: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The noise of some rounds, none too small for the agent; of one round if the shape is ()."""
    words = f"left out with {type(agent).__name__}, whose rounds weigh the same"
    check.require(agent.weighs, name, words, noise)
    least = agent._least_noise
    scales = floats(name, noise)
    check.require(scales.shape == shape, name, f"of shape {shape}", scales.shape)
    sound = np.isfinite(scales) & (scales >= least) & (scales <= check.LARGEST)
    check.require(bool(sound.all()), name, f"finite, and at least {least:g}", noise)
    return scales


def logged_rounds(agent: BanditAgent, actions: ArrayLike, rewards: ArrayLike) -> tuple[Array, Array]:
    """The actions of m logged rounds, (m, d), and their rewards, (m,)."""
    X = action_array("actions", actions, agent.dim, least=0)
    check_norms("actions", X, agent.action_norm)
    y = floats("rewards", rewards)
    if y.shape != (len(X),):
        raise ValueError(
            f"rewards and actions must be as many, got rewards of shape {y.shape} for {len(X)} actions"
        )
    check_all_rewards(agent, "rewards", y)
    return X, y


def logged_levels(levels: ArrayLike, count: int, least: int, most: int) -> list[int]:
    """The levels of logged decisions."""
    array = np.asarray(levels)
    sound = array.shape == (count,) and (array.dtype.kind in "iu" or count == 0)
    check.require(sound, "levels", f"{count} integers", levels)
    told: list[int] = array.tolist()
    for value in told:
        check.count("levels", value, least=least, most=most)
    return told


def logged_order(late: ArrayLike, levels: ArrayLike | None, count: int) -> list[bool]:
    """Which of the rewards of logged decisions came after that of a younger one."""
    check.require(levels is not None, "late", "given with levels", late)
    array = np.asarray(late)
    check.require(
        array.shape == (count,) and (array.dtype == bool or count == 0), "late", f"{count} flags", late
    )
    told: list[bool] = array.tolist()
    return told


def offered_rounds(agent: BanditAgent, actions: ArrayLike, rewards: ArrayLike) -> tuple[Array, Array]:
    """The actions of T rounds, (T, n, d) or (n, d), and the rewards that each would bring, (T, n)."""
    X = action_array("actions", actions, agent.dim, sequence=True)
    check_norms("actions", X, agent.action_norm)
    y = floats("rewards", rewards)
    if y.ndim != 2 or y.shape[1] != X.shape[-2] or (X.ndim == 3 and len(y) != len(X)):
        shape = f"({'T' if X.ndim == 2 else len(X)}, {X.shape[-2]})"
        raise ValueError(f"rewards must have shape {shape}, got {y.shape}")
    check_all_rewards(agent, "rewards", y)
    return X, y
