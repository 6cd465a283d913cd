"""The protocol of agents for MDPs: act and observe, learn, play; nothing here depends on regressions or radii.

Before an episode every algorithm fixes a table: the action for each stage and state. With finitely many states, an
algorithm therefore declares its parameters and capabilities, and writes three methods:

    _empty()           the state before the first episode, a named tuple of arrays
    _plan()            the Plan of the next episode; the same one if called again before learning
    _learn(episode)    what a finished episode changes: a new state, or a kernel and its arguments (``Change``)

Neither ``_plan`` nor ``_learn`` changes what was learned; ``_commit`` makes the change. Agents whose observations are
not numbers of states override ``_seen``, ``_prepare``, ``_action`` and ``_finish``; those that must be faster override
``_play``. The episode under way is kept in ``ledger``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar, Self, SupportsFloat, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check, _forks as forks, _notebook as notebook
from unipac._agents import Agent, accepted, agent, parameter
from unipac._arrays import Array, Integers
from unipac._atomic import commit
from unipac._warnings import warn
from unipac.envs import FiniteMDP
from unipac.envs.play.simulation import World, world_of
from unipac.mdp.protocol.inputs import check_fit, given_starts, whole_episode
from unipac.mdp.protocol.learning import learn_from
from unipac.mdp.protocol.ledger import TERMINAL, Ledger, Step, from_file, to_file
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.play import in_blocks, play_in_turn
from unipac.mdp.protocol.policy import Policy, TablePolicy
from unipac.mdp.protocol.records import EpisodeTrace, LearningTrace, StageLevel, empty_trace

LARGEST_TRACE = 2**36


@agent
class EpisodicAgent(Agent):
    """An agent for episodes of H stages; the algorithms derive from it.

    {parameters}

    >>> from unipac import CertVI, envs
    >>> mdp = envs.river_swim(n_states=3, horizon=3)
    >>> agent = CertVI.made_for(mdp)
    >>> isinstance(agent, EpisodicAgent), agent.horizon, agent.guarantee
    (True, 3, 'uniform-PAC')
    """

    kind: ClassVar[str] = "mdp"
    refutation: ClassVar[str] = ""
    """The warning when an episode makes ``consistent`` False; "" if there is none."""

    traces_certificates: ClassVar[bool] = True
    """Whether ``play`` records certificates, if ``certified``; not where one costs more than an episode."""

    horizon: int = parameter(
        check=lambda name, value: check.count(name, value, most=10_000), words="H, stages of an episode"
    )
    reward_range: tuple[float, float] = parameter(
        default=(0.0, 1.0), check=check.value_range, words="(low, high), the range of the rewards"
    )
    n_states: int = field(init=False, default=0)  # a parameter of some agents, derived by others
    """0 where observations are not numbers of states."""
    n_actions: int = field(init=False, default=0)
    """How many actions there are; a parameter of some agents, derived by others."""

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
        """The arguments of the constructor that an MDP determines."""
        return {"horizon": mdp.horizon}

    # -- what an algorithm writes --------------------------------------------------------------

    def _plan(self) -> Plan:
        raise NotImplementedError

    def _learn(self, episode: Episode) -> Change:
        raise NotImplementedError

    def _absorb(self, episode: Episode, shares: Array, times: int) -> Change:
        """What ``times`` equal episodes change, with next states as shares (n, S); only if ``absorbs``."""
        raise NotImplementedError

    def mistake_bound(self, eps: float) -> float:
        """With high probability, for all ε at once, at most this many episodes have a gap above ε; or infinity."""
        check.positive("eps", eps)
        return math.inf

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage; empty if there are none."""
        return []

    def _repr_html_(self) -> str:
        with self._lock:
            facts = {name: getattr(self, name) for name in ("episodes", "consistent", "guarantee")}
            return notebook.agent_table(repr(self), facts, self.levels())

    # -- what follows from it, if observations are numbers of states ---------------------------

    def _certificate(self, s: Any) -> float:
        plan = self._plan()
        return math.nan if plan.lower is None else float(plan.bound[s] - plan.lower[s])

    def _seen(self, name: str, observation: Any) -> Any:
        """An observation as the agent keeps it, checked."""
        return check.count(name, observation, least=0, most=self.n_states - 1)

    def _prepare(self) -> None:
        """Make the plan, before the first action of an episode."""
        self._ledger.plan = self._plan()

    def _action(self, h: int, level: int | None, seen: Any) -> tuple[int, int]:
        """The action at entry h and the level to remember; ``level`` is that of the stage before."""
        if self._ledger.plan is None:  # after loading in the middle of an episode
            self._prepare()
        plan = self._ledger.plan
        assert plan is not None
        p = plan.action.shape[1] - 1 if level is None else level
        return int(plan.action[h, p, seen]), int(plan.level[h, p, seen])

    def _finish(self, steps: list[Step]) -> Change:
        """What a finished episode changes."""
        columns = [np.array([step[i] for step in steps]) for i in (0, 1, 2, 4)]
        state, action, level, following = (column.astype(np.int64) for column in columns)
        return self._learn(
            Episode(state, action, level, np.array([step.reward for step in steps]), following)
        )

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        """Play episodes from these states, with uniforms (K, H) for the transitions; record and count them."""
        play_in_turn(self, world, states, uniforms, trace)

    def _commit(self, change: Change, episodes: int) -> None:
        """Make a change that ends ``episodes`` more episodes; all of it is made or none."""
        sure = self.refutation and self.consistent
        if type(change) is tuple:
            kernel, arguments = change
            learned = (kernel, *arguments)
        else:
            learned = (setattr, self, "state", change)
        commit([learned, *self._ledger.ended(episodes)])
        if sure and not self.consistent:
            warn(self.refutation, RuntimeWarning)

    # -- questions to the agent ----------------------------------------------------------------

    @property
    def episodes(self) -> int:
        """Episodes finished so far."""
        return self._ledger.episodes

    def policy(self) -> Policy:
        """The policy to use after learning: (observation, stage) to action.

        With finitely many states ``np.asarray(policy)`` is its table (H, S).
        """
        twin = self._clone()  # a question must not change the agent, so a copy plans
        return TablePolicy(twin._plan().action[:, -1].copy())

    def certificate(self, observation: SupportsIndex) -> float:
        """How much worse than the best the policy of the next episode can be, if it starts in this state.

        It holds with probability 1 − δ for all episodes at once; NaN where nothing is proven. Call it between
        episodes; it changes no choice.
        """
        with self._lock:
            self._between_episodes("certificate")
            s = self._seen("observation", observation)
            if not self.certified:
                return math.nan
            return self._certificate(s)

    # -- one stage at a time -------------------------------------------------------------------

    def act(self, observation: Any) -> int:
        """The action for an observation; the first call after the end of an episode begins the next one."""
        with self._lock:
            ledger = self._ledger
            if ledger.waiting is not None:
                raise ValueError("act must be followed by observe, got a second act")
            seen = self._seen("observation", observation)
            h = len(ledger.steps)
            if h == 0:
                self._check_total("act", 1)
                self._prepare()
            action, level = self._action(h, ledger.steps[-1].level if h else None, seen)
            ledger.waiting = Step(seen, action, level)
            return action

    def observe(
        self,
        reward: SupportsFloat,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Record what followed the last action; at the end of an episode, learn from it.

        After ``terminated`` all later values are 0; an episode ``truncated`` before H keeps the value of
        the next state.
        """
        low, high = self.reward_range
        value = check.real("reward", reward)
        check.require(low <= value <= high, "reward", f"in [{low:g}, {high:g}] (reward_range)", reward)
        terminated = check.flag("terminated", terminated)
        truncated = check.flag("truncated", truncated)
        with self._lock:
            ledger = self._ledger
            if ledger.waiting is None:
                raise ValueError("observe must follow act, got no action to observe")
            h = len(ledger.steps)
            self._check_end(h, terminated)
            following = TERMINAL if terminated else self._seen("next_observation", next_observation)
            steps = [*ledger.steps, ledger.waiting._replace(reward=value, following=following)]
            if terminated or truncated or h == self.horizon - 1:
                self._commit(self._finish(steps), 1)
            else:
                ledger.steps, ledger.waiting = steps, None

    def learn(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        episodes: SupportsIndex,
        seed: int | None = None,
        progress: bool = False,
    ) -> LearningTrace:
        """Play episodes of a Gymnasium environment, of at most H steps each.

        It warns if the environment stops episodes before stage H, and if an observation that no action leaves is not
        called ``terminated``. If it is interrupted, the episode under way is dropped, and what came before is the
        attribute ``trace`` of the exception.

        Args:
            env: with the observations and the actions of this agent.
            episodes: how many.
            seed: of the environment's first reset.
            progress: show a bar with episodes/s and the time left.

        Returns:
            Of each episode the sum of its rewards, its length, and how it ended.
        """
        usable = callable(getattr(env, "reset", None)) and callable(getattr(env, "step", None))
        check.require(usable, "env", "a Gymnasium environment", env)
        count = check.count("episodes", episodes, least=0)
        visible = check.flag("progress", progress)
        with self._lock:
            self._between_episodes("learn")
            return learn_from(self, env, count, seed, visible)

    # -- episodes of others --------------------------------------------------------------------

    def absorb(self, episode: Episode | tuple[ArrayLike, ...], *, times: SupportsIndex = 1) -> None:
        """Learn from an episode that somebody else chose: one of a log, or one without a choice.

        Args:
            episode: state, action, level (not used), reward and following of n ≤ H stages from the first on, as a
                ``unipac.mdp.Episode``; in place of following (n,), it may have shares (n, S), the fractions of many
                equal episodes that came to each next state.
            times: the number of equal episodes, learned in one exact step; more than 1 only if ``counts_many``.
        """
        if not self.absorbs:
            raise ValueError(f"absorb must be asked of an agent that absorbs, got {type(self).__name__}")
        count = check.count("times", times)
        sizes = (self.horizon, self.n_states, self.n_actions)
        checked, shares = whole_episode(episode, *sizes, self.reward_range)
        with self._lock:
            self._between_episodes("absorb")
            self._check_total("times", count)
            check.require(
                count == 1 or self.counts_many, "times", "1 for agents that do not count many", times
            )
            self._commit(self._absorb(checked, shares, count), count)

    # -- many episodes at once -----------------------------------------------------------------

    def play(
        self,
        mdp: FiniteMDP,
        *,
        episodes: SupportsIndex,
        seed: int | np.random.SeedSequence = 0,
        initial_states: ArrayLike | None = None,
        start: SupportsIndex | None = None,
    ) -> EpisodeTrace:
        """Play whole episodes, in compiled code where possible.

        Args:
            mdp: an MDP that fits this agent.
            episodes: K.
            seed: of the transitions; episode k is a function of (seed, k).
            initial_states: (K,) the first state of each episode; drawn from ``mdp.initial`` by default.
            start: the number of the first episode; by default ``agent.episodes``, so that two calls make one run.

        Returns:
            What happened, with the exact gap of every episode's policy.
        """
        self._check_mdp(mdp)
        K = check.count("episodes", episodes, least=0, most=LARGEST_TRACE)
        starts = given_starts(initial_states, K, mdp)
        if starts is not None:
            self._check_starts(starts)
        world = world_of(mdp)
        with self._lock:
            self._between_episodes("play")
            self._check_total("episodes", K)
            first = self.episodes if start is None else check.count("start", start, least=0)
        trace, proven = empty_trace(K, self.horizon), self._proven
        blocks = in_blocks(mdp, starts, trace, first, seed)
        try:
            forks.in_turns(
                self, lambda: self.episodes, lambda _: self._play_blocks(world, blocks), trace, "episodes"
            )
        finally:
            if not proven:
                trace.certificate[:] = np.nan
        return trace

    def _play_blocks(self, world: World, blocks: Iterator[tuple[EpisodeTrace, Integers, Array]]) -> bool:
        """Play blocks of episodes until a fork waits; whether all are played."""
        self._between_episodes("play")
        for part, states, uniforms in blocks:
            self._play(world, states, uniforms, part)
            if forks.is_waiting():
                return False
        return True

    # -- checks --------------------------------------------------------------------------------

    def _between_episodes(self, what: str) -> None:
        if self._ledger.under_way():
            raise ValueError(f"{what} must come between episodes, got one under way")

    def _check_total(self, name: str, count: int) -> None:
        expected = f"such that there are at most {check.LARGEST_COUNT} episodes"
        check.require(self.episodes + count <= check.LARGEST_COUNT, name, expected, count)

    def _check_end(self, h: int, terminated: bool) -> None:
        """Refuse an end of the episode that the agent cannot handle."""

    def _check_starts(self, states: NDArray[np.int64]) -> None:
        """Refuse first states in which, as the agent knows, no episode begins."""

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        check_fit(mdp, (self.horizon, self.n_states, self.n_actions), self.reward_range)

    # -- the ledger, and files -----------------------------------------------------------------

    def _begin(self) -> None:
        self._ledger = Ledger()

    def _summary(self) -> str:
        stage = len(self._ledger.steps) + 1
        under_way = f", stage {stage} of another" if self._ledger.under_way() else ""
        return f"{self.episodes:,} episodes{under_way}"

    def _progress(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return to_file(self._ledger)

    def _resume(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._ledger = from_file(progress, arrays, self.horizon, self.reward_range, self._seen)

    def _resumed(self) -> None:
        """Check that the choices of an episode under way are those that this agent makes."""
        level = None
        for h, step in enumerate(self._ledger.under_way()):
            if (step.action, step.level) != self._action(h, level, step.seen):
                raise ValueError("the episode under way is not one of this agent")
            level = step.level
