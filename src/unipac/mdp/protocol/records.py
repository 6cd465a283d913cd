"""What agents for MDPs return: traces of episodes, and the states of levels."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array


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
    """(K,): how much worse than the best the policy can be, proven before the episode; NaN if nothing is proven."""
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

    def part(self, begin: int, end: int) -> EpisodeTrace:
        """A view of the episodes from ``begin`` to ``end``."""
        cut = slice(begin, end)
        return EpisodeTrace(**{f.name: getattr(self, f.name)[cut] for f in dataclasses.fields(self)})


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
