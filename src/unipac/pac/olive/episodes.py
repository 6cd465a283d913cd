"""The samples of OLIVE: episodes of policies, reported as counts of their steps; and checks of its inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._inputs import floats
from unipac.envs import CandidateMDP, FiniteMDP
from unipac.envs.play.visits import RANDOM, largest_return


def checked(functions: ArrayLike, rewards: ArrayLike) -> tuple[Array, Array]:
    """Candidates (N, H, S, A) and rewards (H, S, A), checked to be from 0 to 1."""
    F, r = floats("functions", functions).copy(), floats("rewards", rewards).copy()
    check.require(F.ndim == 4 and F.size > 0, "functions", "of shape (N, H, S, A), not empty", F.shape)
    check.require(r.shape == F.shape[1:], "rewards", f"of shape {F.shape[1:]}", r.shape)
    for name, array in (("functions", F), ("rewards", r)):
        check.require(bool(((array >= 0) & (array <= 1)).all()), name, "from 0 to 1", array)
    return F, r


def sizes(t: int, shape: tuple[int, ...], rank: int, delta: float, unit: float) -> tuple[int, int, int]:
    """The sizes n_est, and in round t n_eval and n, for functions (N, H, S, A); ``unit`` is scale/ε²."""
    N, H, _, A = shape
    union = 6 * t * (t + 1) / delta
    parts = 32 * math.log(6 * N / delta), 288 * H**2 * math.log(H * union)
    cut = 4608 * H**2 * rank * A * math.log(N * union)
    numbers = [math.ceil(min(unit * size, 2.0**60)) for size in (*parts, cut)]
    return numbers[0], numbers[1], numbers[2]


def check_mdp(instance: Any) -> None:
    """Refuse anything but a finite MDP whose episodes bring at most 1."""
    fits = (
        isinstance(instance, FiniteMDP) and instance.arrival_rewards is None and instance.reward_range[0] >= 0
    )
    check.require(fits, "instance", "a FiniteMDP with rewards of pairs that are at least 0", instance)
    most = largest_return(instance)
    check.require(most <= 1 + 1e-9, "instance", "an MDP whose episodes bring at most 1 in all", most)


def candidates(instance: FiniteMDP, functions: Any) -> dict[str, Any]:
    """The functions that an MDP lists, as an argument; if it lists none, the user must pass some."""
    listed = {"functions": instance.candidates} if isinstance(instance, CandidateMDP) else {}
    named = bool(listed) or functions is not None
    check.require(named, "functions", f"given for {instance.name}, which lists no candidates for Q*", None)
    return listed


def checked_steps(steps: Any, episodes: int, policy: Integers, shape: tuple[int, ...]) -> Integers:
    """How often each (s, a, s') was seen at each stage, (1, H, S, A, S), if these can be episodes of the policy."""
    n = floats("steps", steps)
    check.require(n.shape == (1, *shape), "steps", f"of shape {(1, *shape)}", n.shape)
    whole = bool(((n >= 0) & (n == np.floor(n)) & (n <= episodes)).all())
    check.require(whole, "steps", "numbers of steps", n)
    came, gone = n[0].sum(axis=(1, 2)), n[0].sum(axis=(2, 3))
    fits = bool((gone.sum(axis=1) == episodes).all()) and np.array_equal(came[:-1], gone[1:])
    check.require(fits, "steps", f"those of {episodes} episodes, each stage going on where the last ended", n)
    others = np.where((policy == RANDOM)[..., None], False, np.arange(shape[2]) != policy[..., None])
    check.require(not n[0].sum(axis=3)[others].any(), "steps", "those of the policy that was asked for", n)
    return n.astype(np.int64)
