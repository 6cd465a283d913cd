"""The ledger of an agent for MDPs: how many episodes are over, and the stages of the one under way.

All of it is counted, not learned: an algorithm does not see it. It goes to files beside the state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import Agent

TERMINAL = -1


class Step(NamedTuple):
    """One stage of an episode under way."""

    seen: Any
    """The observation as the agent keeps it: the number of a state."""
    action: int
    level: int
    reward: float = math.nan
    following: Any = None


class EpisodeLedger(Agent):
    """Counts episodes and keeps the stages of the one under way."""

    horizon: int
    reward_range: tuple[float, float]
    n_states: int
    """0 where observations are no numbers of states; a parameter of some agents, derived by others."""
    n_actions: int

    def _begin(self) -> None:
        self._episodes = 0
        self._steps: list[Step] = []
        self._waiting: Step | None = None

    @property
    def episodes(self) -> int:
        """Episodes finished so far."""
        return self._episodes

    def _summary(self) -> str:
        under_way = f", stage {len(self._steps) + 1} of another" if self._steps or self._waiting else ""
        return f"{self._episodes:,} episodes{under_way}"

    def _between_episodes(self, what: str) -> None:
        if self._waiting is not None or self._steps:
            raise ValueError(f"{what} must come between episodes, got one under way")

    def _check_total(self, name: str, count: int) -> None:
        expected = f"such that there are at most {check.LARGEST_COUNT} episodes"
        check.require(self._episodes + count <= check.LARGEST_COUNT, name, expected, count)

    # -- what an algorithm says of observations ------------------------------------------------

    def _seen(self, name: str, observation: Any) -> Any:
        """An observation as the agent keeps it, checked."""
        raise NotImplementedError

    def _action(self, h: int, level: int | None, seen: Any) -> tuple[int, int]:
        """The action at entry h and the level to remember, given that of the stage before."""
        raise NotImplementedError

    # -- files ---------------------------------------------------------------------------------

    def _progress(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        steps = [*self._steps, *([] if self._waiting is None else [self._waiting])]
        done = self._steps
        progress = {"episodes": self._episodes, "waiting": self._waiting is not None}
        arrays: dict[str, NDArray[Any]] = {
            "episode.seen": np.array([step.seen for step in steps]),
            "episode.choice": np.array([[s.action, s.level] for s in steps], dtype=np.int64).reshape(-1, 2),
            "episode.reward": np.array([step.reward for step in done], dtype=np.float64),
            "episode.following": np.array([step.following for step in done]),
        }
        return progress, arrays

    def _resume(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._episodes = check.count("episodes", progress["episodes"], least=0, most=check.LARGEST_COUNT)
        waiting = check.flag("waiting", progress["waiting"])
        choice, reward = arrays["episode.choice"], arrays["episode.reward"]
        seen, following = arrays["episode.seen"], arrays["episode.following"]
        n = len(seen)
        self._check_total("episodes", min(n, 1))  # that under way
        sound = (
            choice.shape == (n, 2)
            and choice.dtype == np.int64
            and len(reward) == len(following) == n - waiting
            and n <= self.horizon
            and n - waiting < self.horizon
        )
        check.require(sound, "episode", "a sound one under way", (choice.shape, reward.shape, n))
        low, high = self.reward_range
        check.require(bool(((low <= reward) & (reward <= high)).all()), "reward", "in reward_range", reward)
        steps = []
        for h in range(n):
            step = Step(self._seen("seen", seen[h]), int(choice[h, 0]), int(choice[h, 1]))
            if h < len(reward):
                after = self._seen("following", following[h])
                step = step._replace(reward=float(reward[h]), following=after)
            steps.append(step)
        self._waiting = steps.pop() if waiting else None
        self._steps = steps

    def _resumed(self) -> None:
        """The choices of an episode under way must be those that this agent makes."""
        level = None
        for h, step in enumerate([*self._steps, *([] if self._waiting is None else [self._waiting])]):
            if (step.action, step.level) != self._action(h, level, step.seen):
                raise ValueError("the episode under way is not one of this agent")
            level = step.level
