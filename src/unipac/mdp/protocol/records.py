"""What agents for MDPs return: traces of episodes played or learned, and the states of levels."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _notebook as notebook
from unipac._arrays import Array

_PLAYED = ("reward", "gap", "certificate", "bound", "replanned", "explored")
_LEARNED = ("returns", "lengths", "terminated", "truncated")


class StageLevel(NamedTuple):
    """The state of one level of one stage.

    >>> from unipac import NestedFLUTE, envs
    >>> mdp = envs.river_swim(n_states=3, horizon=3)
    >>> agent = NestedFLUTE(mdp.features, horizon=3)
    >>> trace = agent.play(mdp, episodes=10, seed=0)
    >>> first = agent.levels()[0]
    >>> first.stage, first.level, first.size
    (1, 1, 3)
    """

    stage: int
    """From 1."""
    level: int
    """From 1."""
    size: int
    """How many transitions belong to it."""
    bound: float
    """A proven bound on ``size`` at all times; infinite where there is none."""
    radius: float
    """β of its regression."""


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeTrace:
    """What happened in K episodes of H stages.

    >>> from unipac import CertVI, envs
    >>> mdp = envs.river_swim(n_states=3, horizon=3)
    >>> trace = CertVI(mdp.n_states, mdp.n_actions, horizon=3).play(mdp, episodes=100, seed=0)
    >>> len(trace), trace.level.shape, bool((trace.gap <= trace.certificate + 1e-9).all())
    (100, (100, 3), True)
    """

    gap: Array
    """(K,): V*_1(s_1) − V^π_1(s_1) of the policy executed in each episode, exact."""
    level: NDArray[np.int64]
    """(K, H); 0 at stages after an early end."""
    reward: Array
    """(K,): the sum of the rewards received."""
    bound: Array
    """(K,): the agent's upper bound on V*_1(s_1) before the episode."""
    certificate: Array
    """(K,): how much worse than the best the policy can be, proven before the episode.

    NaN if nothing is proven, and for FLUTE, NestedFLUTE and LSVIUCB, where one costs more than an episode: there
    ``agent.certificate(state)`` computes it when it is asked for.
    """
    replanned: NDArray[np.bool_]
    """(K,): whether the agent planned anew before the episode."""
    explored: NDArray[np.bool_]
    """(K,): whether the agent played the episode to explore, by another policy than that of its certificates."""

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        return (
            f"<EpisodeTrace: {len(self):,} episodes, reward {self.reward.sum():.6g}, "
            f"regret {self.gap.sum():.6g}, {self.replanned.sum():,} plans>"
        )

    def to_frame(self) -> Any:
        """A polars frame with a column for each array but ``level``, and ``episode`` from 0."""
        return notebook.frame(self, "episode", _PLAYED)

    def plot(self, what: str = "overview") -> Any:
        """An Altair chart; ``.save("trace.svg")`` and ``.save("trace.png")`` write it.

        Args:
            what: "overview": rewards, certificates and gaps, the bound on the best value, and the shares of episodes
                that were planned anew and explored, over the episodes; "gaps": each certificate against the gap that it
                bounds; "levels": how many stages each level has.
        """
        return notebook.charts().episodes(self, what)

    def _repr_html_(self) -> str:
        return notebook.trace_table(self, "episode", _PLAYED)

    def part(self, begin: int, end: int) -> EpisodeTrace:
        """A view of the episodes from ``begin`` to ``end``."""
        cut = slice(begin, end)
        return EpisodeTrace(**{f.name: getattr(self, f.name)[cut] for f in dataclasses.fields(self)})


@dataclass(frozen=True, slots=True, eq=False)
class LearningTrace:
    """What happened in K episodes of an environment: each was terminated, truncated, or had all H stages.

    >>> import gymnasium
    >>> from unipac import CertVI
    >>> agent = CertVI(16, 4, horizon=100, homogeneous=True, return_range=(0, 1))
    >>> trace = agent.learn(gymnasium.make("FrozenLake-v1"), episodes=50, seed=0)
    >>> len(trace), len(trace[-10:]), trace.truncated.sum()
    (50, 10, np.int64(0))
    >>> trace
    <LearningTrace: 50 episodes, mean return 0.2, lengths 2 to 100, 48 terminated, 0 truncated before stage 100>
    """

    horizon: int
    """H of the agent."""
    returns: Array
    """(K,): the sum of the rewards received."""
    lengths: NDArray[np.int64]
    """(K,): how many steps were taken."""
    terminated: NDArray[np.bool_]
    """(K,): whether the environment said that the task was over."""
    truncated: NDArray[np.bool_]
    """(K,): whether the environment stopped the episode before stage H, although the task was not over."""

    def __len__(self) -> int:
        return len(self.returns)

    def __repr__(self) -> str:
        parts = [f"{len(self):,} episodes"]
        if len(self) > 0:
            parts += [
                f"mean return {self.returns.mean():.4g}",
                f"lengths {self.lengths.min()} to {self.lengths.max()}",
            ]
        parts += [
            f"{self.terminated.sum():,} terminated",
            f"{self.truncated.sum():,} truncated before stage {self.horizon}",
        ]
        return f"<LearningTrace: {', '.join(parts)}>"

    def to_frame(self) -> Any:
        """A polars frame with a column for each array, and ``episode`` from 0."""
        return notebook.frame(self, "episode", _LEARNED)

    def plot(self) -> Any:
        """An Altair chart over the episodes: returns, lengths, shares terminated and truncated."""
        return notebook.charts().learning(self)

    def _repr_html_(self) -> str:
        return notebook.trace_table(self, "episode", _LEARNED)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The returns."""
        return np.array(self.returns, dtype=dtype)

    def __getitem__(self, cut: slice) -> LearningTrace:
        """A view of some episodes: ``trace[-100:]``."""
        if not isinstance(cut, slice):
            raise ValueError(f"episodes must be a slice such as trace[-100:], got {cut!r}")
        return LearningTrace(
            self.horizon, self.returns[cut], self.lengths[cut], self.terminated[cut], self.truncated[cut]
        )


def empty_trace(episodes: int, horizon: int) -> EpisodeTrace:
    """A trace to be filled."""
    return EpisodeTrace(
        gap=np.empty(episodes),
        level=np.empty((episodes, horizon), dtype=np.int64),
        reward=np.empty(episodes),
        bound=np.empty(episodes),
        certificate=np.full(episodes, np.nan),
        replanned=np.empty(episodes, dtype=np.bool_),
        explored=np.zeros(episodes, dtype=np.bool_),
    )
