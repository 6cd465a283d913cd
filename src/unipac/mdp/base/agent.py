"""The protocol of agents for MDPs: act and observe, learn, play.

Before an episode every algorithm fixes a table, the action for each stage and state. So with finitely many states an
algorithm writes three methods; nothing here knows of regressions or radii:

    _empty()           the state before the first episode, a named tuple of arrays
    _plan()            the Plan of the next episode; asked twice without learning in between, the same one
    _learn(episode)    learn from a finished episode

Agents with other observations than numbers of states replace ``_seen``, ``_action`` and ``_finish``; those that must be
faster replace ``_play``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self, SupportsFloat, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._agents import Agent, agent, parameter
from unipac._progress import shown
from unipac.envs import FiniteMDP
from unipac.envs.planning import level_values_into
from unipac.envs.simulation import EPISODE_BLOCK, World, episode_uniforms, first_states, simulate, world_of
from unipac.mdp.base.plan import Episode, Plan
from unipac.mdp.base.policy import Policy, TablePolicy
from unipac.mdp.base.records import EpisodeTrace, StageLevel, empty_trace

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_TRACE = 2**36
TERMINAL = -1


class Step(NamedTuple):
    """One stage of an episode under way."""

    seen: Any
    """The observation as the agent keeps it: the number of a state."""
    action: int
    level: int
    reward: float = math.nan
    following: Any = None


class _Sized(Agent):
    """What is known of every agent for MDPs; parameters of some, derived by others."""

    n_states: int
    """0 where observations are no numbers of states."""
    n_actions: int


@agent
class EpisodicAgent(_Sized):
    """An agent for episodes of H stages; the algorithms derive from it.

    {parameters}

    >>> from unipac import CertVI, envs
    >>> mdp = envs.river_swim(n_states=3, horizon=3)
    >>> agent = CertVI.made_for(mdp)
    >>> isinstance(agent, EpisodicAgent), agent.horizon, agent.guarantee
    (True, 3, 'uniform-PAC')
    """

    kind: ClassVar[str] = "mdp"
    absorbs: ClassVar[bool] = False
    """Whether ``absorb`` takes episodes that somebody else chose."""

    horizon: int = parameter(
        check=lambda name, value: check.count(name, value, most=10_000), words="H, stages of an episode"
    )
    reward_range: tuple[float, float] = parameter(
        (0.0, 1.0), check.value_range, "(low, high) of the rewards to observe"
    )

    def _begin(self) -> None:
        self._episodes = 0
        self._steps: list[Step] = []
        self._waiting: Step | None = None
        self._current: Plan | None = None  # of the episode under way

    # -- what an algorithm writes --------------------------------------------------------------

    def _plan(self) -> Plan:
        raise NotImplementedError

    def _learn(self, episode: Episode) -> None:
        raise NotImplementedError

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
        return cls(
            **{**cls._told(mdp), **_accepted(cls, {"total_episodes": rounds, "seed": seed}), **parameters}
        )

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        """The arguments that an MDP tells."""
        return {"horizon": mdp.horizon}

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

    # -- what is known -------------------------------------------------------------------------

    @property
    def episodes(self) -> int:
        """Episodes finished so far."""
        return self._episodes

    def _summary(self) -> str:
        under_way = f", stage {len(self._steps) + 1} of another" if self._steps or self._waiting else ""
        return f"{self._episodes:,} episodes{under_way}"

    def policy(self) -> Policy:
        """The policy to use after learning: (observation, stage) to action.

        With finitely many states ``np.asarray(policy)`` is its table (H, S).
        """
        twin = self._clone()  # a question changes nothing: the plan is made by another
        return TablePolicy(twin._plan().action[:, -1].copy())

    def certificate(self, observation: SupportsIndex) -> float:
        """How much the policy of the next episode can be worse than the best, if it starts in this state.

        It holds with probability 1 − δ for all episodes at once; NaN where nothing is proven. To be asked between
        episodes; it changes no choice.
        """
        with self._lock:
            self._between_episodes("certificate")
            s = self._seen("observation", observation)
            if not self.certified:
                return math.nan
            return self._certificate(s)

    def _certificate(self, s: Any) -> float:
        plan = self._plan()
        return math.nan if plan.lower is None else float(plan.bound[s] - plan.lower[s])

    # -- one stage at a time -------------------------------------------------------------------

    def act(self, observation: Any) -> int:
        """The action for an observation; the first one after the end of an episode begins the next."""
        with self._lock:
            if self._waiting is not None:
                raise ValueError("act must be followed by observe, got a second act")
            seen = self._seen("observation", observation)
            if not self._steps:
                self._check_total("act", 1)
                self._prepare()
            action, level = self._action(
                len(self._steps), self._steps[-1].level if self._steps else None, seen
            )
            self._waiting = Step(seen, action, level)
            return action

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

    def observe(
        self,
        reward: SupportsFloat,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Take note of what followed the last action; at the end of an episode, learn from it.

        After ``terminated`` all later values are 0; an episode ``truncated`` before H keeps the value of
        the next state.
        """
        low, high = self.reward_range
        value = check.real("reward", reward)
        check.require(low <= value <= high, "reward", f"in [{low:g}, {high:g}] (reward_range)", reward)
        terminated = check.flag("terminated", terminated)
        truncated = check.flag("truncated", truncated)
        with self._lock:
            if self._waiting is None:
                raise ValueError("observe must follow act, got no action to observe")
            h = len(self._steps)
            self._check_end(h, terminated)
            following = TERMINAL if terminated else self._seen("next_observation", next_observation)
            step = self._waiting._replace(reward=value, following=following)
            over = terminated or truncated or h == self.horizon - 1
            if over:
                self._finish([*self._steps, step])
                self._episodes += 1
                self._current = None
            self._steps = [] if over else [*self._steps, step]
            self._waiting = None

    def _check_end(self, h: int, terminated: bool) -> None:
        """Refuse an end of the episode with which the agent cannot deal."""

    def _finish(self, steps: list[Step]) -> None:
        """Learn from a finished episode."""
        columns = [np.array([step[i] for step in steps]) for i in (0, 1, 2, 4)]
        state, action, level, following = (column.astype(np.int64) for column in columns)
        self._learn(Episode(state, action, level, np.array([step.reward for step in steps]), following))

    def learn(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        episodes: SupportsIndex,
        seed: int | None = None,
        progress: bool = False,
    ) -> Array:
        """Play episodes of a Gymnasium environment, of at most H steps each.

        Args:
            env: with the observations and the actions of this agent.
            episodes: how many.
            seed: of the environment's first reset.
            progress: show a bar with episodes/s and the time left.

        Returns:
            The sum of rewards of each episode.
        """
        usable = callable(getattr(env, "reset", None)) and callable(getattr(env, "step", None))
        check.require(usable, "env", "a Gymnasium environment", env)
        count = check.count("episodes", episodes, least=0)
        returns = np.zeros(count)
        with self._lock:
            self._between_episodes("learn")
            for k in shown(range(count), "learning", check.flag("progress", progress)):
                observation, _ = env.reset(seed=seed if k == 0 else None)
                before = self._episodes
                while self._episodes == before:
                    action = self.act(observation)
                    observation, reward, terminated, truncated, _ = env.step(action)
                    self.observe(float(reward), observation, bool(terminated), bool(truncated))
                    returns[k] += float(reward)
        return returns

    # -- episodes of others --------------------------------------------------------------------

    @property
    def counts_many(self) -> bool:
        """Whether ``absorb`` takes many equal episodes in one step."""
        return False

    def absorb(self, episode: Episode | tuple[ArrayLike, ...], *, times: SupportsIndex = 1) -> None:
        """Learn from an episode that somebody else chose: one of a log, or one without a choice.

        Args:
            episode: state, action, level (not used), reward and following of n ≤ H stages from the first on, as a
                ``unipac.mdp.Episode``; in place of following (n,), shares (n, S): of many episodes so many of a hundred
                came to each next state.
            times: so many equal episodes in one exact step, where ``counts_many``; for killers.
        """
        if not self.absorbs:
            raise ValueError(f"absorb must be asked of an agent that absorbs, got {type(self).__name__}")
        count = check.count("times", times, most=check.LARGEST_COUNT)
        given, shares = self._read_episode(episode)
        with self._lock:
            self._between_episodes("absorb")
            self._check_total("times", count)
            possible = count == 1 or self.counts_many
            check.require(possible, "times", "1 where values at the next state change as it learns", times)
            self._absorb(given, shares, count)
            self._episodes += count

    def _absorb(self, episode: Episode, shares: Array, times: int) -> None:
        """Learn from an episode, its next states as shares (n, S); where ``absorbs``."""
        raise NotImplementedError

    def _read_episode(self, episode: Episode | tuple[ArrayLike, ...]) -> tuple[Episode, Array]:
        """An episode from a user, and its next states as shares (n, S)."""
        parts = isinstance(episode, tuple) and len(episode) == 5
        check.require(parts, "episode", "an Episode", episode)
        state, action, _, reward, following = (np.asarray(part) for part in episode)
        n = len(state) if state.ndim == 1 else 0
        check.require(1 <= n <= self.horizon, "episode", f"of 1 to {self.horizon} stages", state.shape)
        for name, array, most in (("state", state, self.n_states), ("action", action, self.n_actions)):
            sound = (
                array.shape == (n,) and array.dtype.kind in "iu" and 0 <= array.min() <= array.max() < most
            )
            check.require(sound, f"episode.{name}", f"{n} integers from 0 to {most - 1}", array)
        low, high = self.reward_range
        sound = (
            reward.shape == (n,)
            and reward.dtype.kind in "biuf"
            and bool(((low <= reward) & (reward <= high)).all())
        )
        check.require(sound, "episode.reward", f"{n} numbers in [{low:g}, {high:g}]", reward)
        shares = following
        if following.ndim == 1 and following.dtype.kind in "iu":
            sound = following.shape == (n,) and 0 <= following.min() <= following.max() < self.n_states
            shares = np.eye(self.n_states)[following] if sound else np.zeros((0, 0))
        fits = shares.shape == (n, self.n_states) and shares.dtype.kind in "biuf"
        sound = fits and bool((shares >= 0.0).all() and (np.abs(shares.sum(axis=1) - 1.0) <= 1e-9).all())
        expected = f"{n} states from 0 to {self.n_states - 1}, or {n} distributions over them"
        check.require(sound, "episode.following", expected, following)
        states, actions = (np.ascontiguousarray(array, dtype=np.int64) for array in (state, action))
        arrived, no_level = shares.argmax(axis=1).astype(np.int64), np.zeros(n, dtype=np.int64)
        read = Episode(states, actions, no_level, reward.astype(np.float64), arrived)
        return read, np.ascontiguousarray(shares, dtype=np.float64)

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
        """Play whole episodes, in compiled code where it can be.

        Args:
            mdp: an MDP that fits this agent.
            episodes: K.
            seed: of the transitions; episode k is a function of (seed, k).
            initial_states: (K,) the first state of each episode; drawn from ``mdp.initial`` by default.
            start: the number of the first episode; by default ``agent.episodes``: two calls are one run.

        Returns:
            What happened, with the exact gap of every episode's policy.
        """
        self._check_mdp(mdp)
        K = check.count("episodes", episodes, least=0, most=LARGEST_TRACE)
        starts = self._initial_states(initial_states, K)
        if starts is not None:
            over = starts[mdp.terminal[starts]]
            check.require(over.size == 0, "initial_states", "states that are not terminal", over[:1].tolist())
        world = world_of(mdp)
        with self._lock:
            self._between_episodes("play")
            self._check_total("episodes", K)
            first = self._episodes if start is None else check.count("start", start, least=0)
            trace = empty_trace(K, self.horizon)
            done = 0
            while done < K:
                block, offset = divmod(first + done, EPISODE_BLOCK)
                count = min(K - done, EPISODE_BLOCK - offset)
                uniforms = episode_uniforms(seed, block, self.horizon)[offset : offset + count]
                states = first_states(mdp, uniforms[:, 0]) if starts is None else starts[done : done + count]
                part = trace.part(done, done + count)
                self._play(world, states, np.ascontiguousarray(uniforms[:, 1:]), part)
                done += count
        return trace

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

    # -- checks --------------------------------------------------------------------------------

    def _between_episodes(self, what: str) -> None:
        if self._waiting is not None or self._steps:
            raise ValueError(f"{what} must come between episodes, got one under way")

    def _check_total(self, name: str, count: int) -> None:
        expected = f"such that there are at most {check.LARGEST_COUNT} episodes"
        check.require(self._episodes + count <= check.LARGEST_COUNT, name, expected, count)

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        shape = (self.horizon, self.n_states, self.n_actions)
        fits = isinstance(mdp, FiniteMDP) and (mdp.horizon, mdp.n_states, mdp.n_actions) == shape
        expected = "a FiniteMDP with horizon {}, {} states and {} actions".format(*shape)
        check.require(fits, "mdp", expected, mdp)
        low, high = mdp.reward_range
        within = self.reward_range[0] <= low and high <= self.reward_range[1]
        check.require(
            within, "reward_range", f"wide enough for rewards from {low:g} to {high:g}", self.reward_range
        )

    def _initial_states(self, states: ArrayLike | None, count: int) -> Integers | None:
        if states is None:
            return None
        array = np.asarray(states)
        sound = array.shape == (count,) and array.dtype.kind in "iu"
        if not sound or (count > 0 and (array.min() < 0 or array.max() >= self.n_states)):
            raise ValueError(
                f"initial_states must be {count} integers from 0 to {self.n_states - 1}, "
                f"got shape {array.shape} of type {array.dtype}"
            )
        return np.ascontiguousarray(array, dtype=np.int64)


def _accepted(cls: type[Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments that a class takes."""
    names = {entry.name for entry in dataclasses.fields(cls) if entry.init}
    return {name: value for name, value in known.items() if name in names and value is not None}


@agent
class FiniteAgent(EpisodicAgent):
    """An agent for states and actions that are numbers; the algorithms derive from it.

    {parameters}

    >>> from unipac import CertVI
    >>> agent = CertVI(2, 2, horizon=1)
    >>> action = agent.act(0)                                   # state 0
    >>> agent.observe(1.0, 1, terminated=True)                  # reward, next state
    >>> isinstance(agent, FiniteAgent), agent.episodes
    (True, 1)
    """

    n_states: int = parameter(check=check.count, words="S, the number of states", positional=True)
    n_actions: int = parameter(check=check.count, words="A, the number of actions", positional=True)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return {"n_states": mdp.n_states, "n_actions": mdp.n_actions, "horizon": mdp.horizon}
