"""What the tabular agents share: rewards that may be known, cells that may be pooled, counts.

An algorithm whose state is just the counts writes only ``_plan``. One that keeps more, or something else, also writes
``_empty``, ``_learn`` and ``_restored``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._inputs import floats, read_only
from unipac._memory import require_room
from unipac._parameters import OptionalArrayParameter
from unipac.envs import FiniteMDP
from unipac.mdp.protocol.finite import FiniteAgent
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.tabular.counting.backward import Limits
from unipac.mdp.tabular.counting.counts import (
    Counts,
    check_counts,
    count_episode,
    no_counts,
    trimmed,
    with_room,
)


@agent
class TabularAgent(FiniteAgent):
    """An agent that keeps tables; the algorithms derive from it. Unless they say otherwise, these are counts.

    {parameters}

    >>> from unipac import UBEV, envs
    >>> agent = UBEV.made_for(envs.river_swim(n_states=3, horizon=3))
    >>> isinstance(agent, TabularAgent), agent.state.visits.shape             # of (stage, state, action)
    (True, (18,))
    """

    homogeneous: bool = parameter(
        default=False,
        check=check.flag,
        words="whether all stages have the same transitions (and learned rewards): then they are pooled",
    )
    rewards: OptionalArrayParameter = parameter(
        default=None,
        words="the rewards if known: (S, A), (H, S, A), or (S, A, S) by next state; None: they are learned",
    )

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        low, high = mdp.reward_range
        usual = low >= 0.0 and high <= 1.0
        wider = {} if usual else {"reward_range": (min(low, 0.0), max(high, 0.0))}
        return {**super()._told(mdp), **wider}

    def _check_parameters(self) -> None:
        S, A, H = self.n_states, self.n_actions, self.horizon
        require_room("n_states", f"tables of {S} states, {A} actions and {H} stages", 64 * S * A * H)
        self._no_level = np.zeros((self.horizon, 1, self.n_states), dtype=np.int64)
        self._known: Array | None = None
        if self.rewards is None:
            return
        r = floats("rewards", self.rewards)
        by_stage, by_next = r.shape == (H, S, A), r.shape == (S, A, S)
        expected = f"of shape {(S, A)}, {(H, S, A)} or {(S, A, S)}"
        check.require(by_stage or by_next or r.shape == (S, A), "rewards", expected, r.shape)
        check.require(
            not (by_stage and by_next),
            "rewards",
            f"given as {(S, A)}: {r.shape} may mean two things",
            r.shape,
        )
        low, high = self.reward_range
        within = bool(((low <= r) & (r <= high)).all())
        check.require(
            within, "rewards", f"in [{low:g}, {high:g}] (reward_range)", (float(r.min()), float(r.max()))
        )
        self.rewards = read_only(r.copy())
        if not by_next:
            self._known = np.ascontiguousarray(r.reshape(-1, S * A))

    @property
    def _cells(self) -> int:
        return self.n_states * self.n_actions * (1 if self.homogeneous else self.horizon)

    @property
    def _stages(self) -> int:
        """Stages at which something must be learned: not the last one if its reward is known."""
        return self.horizon if self._known is None else max(self.horizon - 1, 1)

    @property
    def _largest(self) -> float:
        """The largest reward, or the 0 after the end of an episode if that is larger."""
        return max(self.reward_range[1], 0.0)

    @property
    def _unit(self) -> float:
        """The range of a reward, extended to the 0 after the end of an episode."""
        return self._largest - min(self.reward_range[0], 0.0)

    def _apart(self, unknown: Array) -> Limits:
        """Limits of upper values if outcomes hold no rewards: these are known, or bounded by ``unknown`` (.., SA)."""
        base = unknown if self._known is None else self._known
        return Limits(base, np.zeros(base.shape[1]), 0.0, math.inf, np.zeros(self.n_states, dtype=np.bool_))

    # -- the state, if it is the counts --------------------------------------------------------

    def _empty(self) -> Any:
        return no_counts(self._cells)

    def _learn(self, episode: Episode) -> Change:
        self.state = with_room(self.state, self.horizon)
        return count_episode, (self.state, *self._counted(episode))

    def _saved(self) -> Any:
        if isinstance(self.state, Counts):
            return trimmed(self.state)
        held = "counts" in self.state._fields
        return self.state._replace(counts=trimmed(self.state.counts)) if held else self.state

    def _restored(self, saved: Any) -> Any:
        if not isinstance(saved, Counts):
            return super()._restored(saved)
        self._sound_counts(saved)
        return saved

    # -- what the algorithms use ---------------------------------------------------------------

    def _counted(self, episode: Episode) -> tuple[Any, ...]:
        """The arguments of ``counts.count_episode`` after the counts, if outcomes hold no rewards."""
        return self.n_states * self.n_actions, self.n_actions, *steps(episode), False

    def _outcome_rewards(self, counted: bool) -> tuple[Array, Array]:
        """The least and the largest reward of an outcome of each pair, (S A,); 0 unless rewards are counted."""
        S, A = self.n_states, self.n_actions
        possible: Any = 0.0 * np.ones((1, S * A))
        if counted:
            by_next = self.rewards is not None
            possible = (
                self.rewards.reshape(S * A, S).T if by_next else np.outer(self.reward_range, np.ones(S * A))
            )
        return possible.min(axis=0), possible.max(axis=0)

    def _planned(
        self, action: Integers, bound: Array, lower: Array | None = None, fresh: bool = True
    ) -> Plan:
        """A plan from actions (H, S)."""
        return Plan(action[:, None], self._no_level, bound, lower, fresh)

    def _sound_counts(self, counts: Counts) -> None:
        """Refuse counts from a file that no data could have led to."""
        if counts.visits.shape != (self._cells,):
            raise ValueError(f"counts of {counts.visits.shape} cells instead of {self._cells}")
        check_counts(counts, self.n_states)


def steps(episode: Episode) -> tuple[Integers, Integers, Array, Integers]:
    """States, actions, rewards and next states, for kernels."""
    return episode.state, episode.action, episode.reward, episode.following
