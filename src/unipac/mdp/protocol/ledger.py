"""The ledger of an agent for MDPs: how many episodes are over, and the stages of the one under way.

It is bookkeeping, not learning: an algorithm does not see it. It goes to files beside the state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._atomic import Change, commit
from unipac.mdp.protocol.plan import Plan

TERMINAL = -1


class Step(NamedTuple):
    """One stage of an episode under way."""

    seen: Any
    """The observation as the agent keeps it, such as the number of a state."""
    action: int
    level: int
    reward: float = math.nan
    following: Any = None


class Ledger:
    """Plain attributes, which the changes of the protocol class set."""

    __slots__ = ("counted", "plan", "played", "steps", "waiting")

    def __init__(self) -> None:
        self.counted = 0
        """Episodes that are over, without those of ``played``."""
        self.played: list[int] = []
        """How many episodes the blocks had that were played just now; ``ended`` empties it."""
        self.steps: list[Step] = []
        """The stages of the episode under way that are over."""
        self.waiting: Step | None = None
        """The stage whose reward is still to come."""
        self.plan: Plan | None = None
        """The plan of the episode under way."""

    @property
    def episodes(self) -> int:
        """Episodes that are over."""
        return self.counted + sum(self.played)

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> int:
        """Let a kernel play episodes, and count them at the same moment: it returns how many.

        The list is extended in C, so nothing is raised between the last episode and its count.
        """
        self.played.extend(starmap(kernel, (arguments,)))
        count = self.played[-1]
        commit(self.ended(0))
        return count

    def ended(self, episodes: int) -> list[Change]:
        """The changes by which ``episodes`` more are over, and none is under way."""
        over = setattr, self, "counted", self.episodes + episodes
        none = (setattr, self, "waiting", None), (setattr, self, "plan", None)
        return [over, (self.played.clear,), (setattr, self, "steps", []), *none]

    def under_way(self) -> list[Step]:
        """All stages of the episode under way."""
        return self.steps if self.waiting is None else [*self.steps, self.waiting]


def to_file(ledger: Ledger) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Numbers for JSON, and arrays."""
    steps, done = ledger.under_way(), ledger.steps
    progress = {"episodes": ledger.episodes, "waiting": ledger.waiting is not None}
    arrays: dict[str, NDArray[Any]] = {
        "episode.seen": np.array([step.seen for step in steps]),
        "episode.choice": np.array([[s.action, s.level] for s in steps], dtype=np.int64).reshape(-1, 2),
        "episode.reward": np.array([step.reward for step in done], dtype=np.float64),
        "episode.following": np.array([step.following for step in done]),
    }
    return progress, arrays


def from_file(
    progress: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    horizon: int,
    reward_range: tuple[float, float],
    observed: Callable[[str, Any], Any],
) -> Ledger:
    """The ledger from a file; ``observed`` checks an observation. A ``ValueError`` if it is not sound."""
    ledger = Ledger()
    waiting = check.flag("waiting", progress["waiting"])
    choice, reward = arrays["episode.choice"], arrays["episode.reward"]
    seen, following = arrays["episode.seen"], arrays["episode.following"]
    n = len(seen)
    most = check.LARGEST_COUNT - min(n, 1)  # the episode under way counts too
    ledger.counted = check.count("episodes", progress["episodes"], least=0, most=most)
    sound = (
        choice.shape == (n, 2)
        and choice.dtype == np.int64
        and len(reward) == len(following) == n - waiting
        and n <= horizon
        and n - waiting < horizon
    )
    check.require(sound, "episode", "one that can be under way", (choice.shape, reward.shape, n))
    low, high = reward_range
    check.require(bool(((low <= reward) & (reward <= high)).all()), "reward", "in reward_range", reward)
    for h in range(n):
        step = Step(observed("seen", seen[h]), int(choice[h, 0]), int(choice[h, 1]))
        if h < len(reward):
            after = observed("following", following[h])
            ledger.steps.append(step._replace(reward=float(reward[h]), following=after))
        else:
            ledger.waiting = step
    return ledger
