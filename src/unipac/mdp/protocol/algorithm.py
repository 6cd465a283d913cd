"""What an algorithm for MDPs declares and writes; nothing here knows of regressions or radii.

Before an episode every algorithm fixes a table, the action for each stage and state. So with finitely many states it
declares its parameters and capabilities, and writes three methods:

    _empty()           the state before the first episode, a named tuple of arrays
    _plan()            the Plan of the next episode; asked twice without learning in between, the same one
    _learn(episode)    learn from a finished episode

Agents with other observations than numbers of states replace ``_seen``, ``_action`` and ``_finish``; those that must be
faster replace ``_play``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from unipac import _checks as check
from unipac._agents import accepted, agent, parameter
from unipac._arrays import Array, Integers
from unipac.envs import FiniteMDP
from unipac.envs.mdps.planning import level_values_into
from unipac.envs.play.simulation import World, simulate
from unipac.mdp.protocol.ledger import EpisodeLedger, Step
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.mdp.protocol.records import EpisodeTrace, StageLevel


@agent
class EpisodicAlgorithm(EpisodeLedger):
    """Parameters, capabilities, and what an episode is made of."""

    kind: ClassVar[str] = "mdp"
    absorbs: ClassVar[bool] = False
    """Whether ``absorb`` takes episodes that somebody else chose."""

    horizon: int = parameter(
        check=lambda name, value: check.count(name, value, most=10_000), words="H, stages of an episode"
    )
    reward_range: tuple[float, float] = parameter(
        default=(0.0, 1.0), check=check.value_range, words="(low, high) of the rewards to observe"
    )

    def _begin(self) -> None:
        super()._begin()
        self._current: Plan | None = None  # of the episode under way

    @classmethod
    def made_for(cls, mdp: FiniteMDP, *, rounds: int | None = None, seed: int = 0, **parameters: Any) -> Self:
        """An agent that fits an MDP.

        Args:
            mdp: from ``unipac.envs``.
            rounds: how many episodes will be played, for algorithms that must know it (their ``total_episodes``).
            seed: for algorithms that draw random numbers.
            parameters: further arguments of the agent.
        """
        check.require(isinstance(mdp, FiniteMDP), "mdp", "a FiniteMDP", mdp)
        return cls(**{**cls._told(mdp), **accepted(cls, total_episodes=rounds, seed=seed), **parameters})

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        """The arguments that an MDP tells."""
        return {"horizon": mdp.horizon}

    # -- what an algorithm writes --------------------------------------------------------------

    def _plan(self) -> Plan:
        raise NotImplementedError

    def _learn(self, episode: Episode) -> None:
        raise NotImplementedError

    @property
    def certified(self) -> bool:
        """Whether the bounds are proven: with probability 1 − δ they hold for all episodes at once."""
        return False

    def mistake_bound(self, eps: float) -> float:
        """With high probability, for all ε at once, no more episodes than this have a gap above ε.

        Infinite where nothing bounds the number.
        """
        check.positive("eps", eps)
        return math.inf

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage; empty if there are none."""
        return []

    @property
    def counts_many(self) -> bool:
        """Whether ``absorb`` takes many equal episodes in one step."""
        return False

    def _certificate(self, s: Any) -> float:
        plan = self._plan()
        return math.nan if plan.lower is None else float(plan.bound[s] - plan.lower[s])

    # -- what follows from it, with numbers of states ------------------------------------------

    def _seen(self, name: str, observation: Any) -> Any:
        """An observation as the agent keeps it, checked."""
        return check.count(name, observation, least=0, most=self.n_states - 1)

    def _prepare(self) -> None:
        """Before the first action of an episode."""
        self._current = self._plan()

    def _action(self, h: int, level: int | None, seen: Any) -> tuple[int, int]:
        """The action at entry h and the level to remember, given that of the stage before."""
        if self._current is None:  # after loading in the middle of an episode
            self._prepare()
        assert self._current is not None
        plan = self._current
        p = plan.action.shape[1] - 1 if level is None else level
        return int(plan.action[h, p, seen]), int(plan.level[h, p, seen])

    def _check_end(self, h: int, terminated: bool) -> None:
        """Refuse an end of the episode with which the agent cannot deal."""

    def _finish(self, steps: list[Step]) -> None:
        """Learn from a finished episode."""
        columns = [np.array([step[i] for step in steps]) for i in (0, 1, 2, 4)]
        state, action, level, following = (column.astype(np.int64) for column in columns)
        self._learn(Episode(state, action, level, np.array([step.reward for step in steps]), following))

    def _absorb(self, episode: Episode, shares: Array, times: int) -> None:
        """Learn from an episode, its next states as shares (n, S); where ``absorbs``."""
        raise NotImplementedError

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        """Episodes from these states, with uniforms (K, H) for the transitions, into a trace; counts them."""
        plan: Plan | None = None
        values = np.empty((0, 0, 0))
        certified = self.certified
        for k, s in enumerate(states.tolist()):
            last, plan = plan, self._plan()
            if plan is not last:
                values = np.zeros((self.horizon + 1, *plan.action.shape[1:]))
                level_values_into(
                    world.tables, world.rewards, plan.action, plan.level, self.horizon, values, world.reach
                )
            episode = Episode(*simulate(world, plan.action, plan.level, s, uniforms[k]))
            self._learn(episode)
            self._episodes += 1
            trace.gap[k] = world.optimal[s] - values[0, -1, s]
            trace.level[k, : len(episode.level)] = episode.level + 1
            trace.level[k, len(episode.level) :] = 0
            trace.reward[k] = episode.reward.sum()
            trace.bound[k] = plan.bound[s]
            trace.replanned[k] = plan.fresh
            if certified and plan.lower is not None:
                trace.certificate[k] = plan.bound[s] - plan.lower[s]
