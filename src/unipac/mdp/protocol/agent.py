"""The protocol of agents for MDPs: act and observe, learn, play.

This is what users call. What an algorithm writes is in ``algorithm``; the episode under way is kept in ``ledger``.
"""

from __future__ import annotations

import math
from typing import Any, SupportsFloat, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._progress import shown
from unipac.envs import FiniteMDP
from unipac.envs.play.simulation import EPISODE_BLOCK, episode_uniforms, first_states, world_of
from unipac.mdp.protocol.algorithm import EpisodicAlgorithm
from unipac.mdp.protocol.inputs import given_starts, whole_episode
from unipac.mdp.protocol.ledger import TERMINAL, Step
from unipac.mdp.protocol.plan import Episode
from unipac.mdp.protocol.policy import Policy, TablePolicy
from unipac.mdp.protocol.records import EpisodeTrace, empty_trace

LARGEST_TRACE = 2**36


@agent
class EpisodicAgent(EpisodicAlgorithm):
    """An agent for episodes of H stages; the algorithms derive from it.

    {parameters}

    >>> from unipac import CertVI, envs
    >>> mdp = envs.river_swim(n_states=3, horizon=3)
    >>> agent = CertVI.made_for(mdp)
    >>> isinstance(agent, EpisodicAgent), agent.horizon, agent.guarantee
    (True, 3, 'uniform-PAC')
    """

    # -- what is known -------------------------------------------------------------------------

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
        sizes = (self.horizon, self.n_states, self.n_actions)
        given, shares = whole_episode(episode, *sizes, self.reward_range)
        with self._lock:
            self._between_episodes("absorb")
            self._check_total("times", count)
            possible = count == 1 or self.counts_many
            check.require(possible, "times", "1 where values at the next state change as it learns", times)
            self._absorb(given, shares, count)
            self._episodes += count

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
        starts = given_starts(initial_states, K, mdp)
        if starts is not None:
            self._check_starts(starts)
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

    # -- checks --------------------------------------------------------------------------------

    def _check_starts(self, states: NDArray[np.int64]) -> None:
        """An agent may know that no episode begins in some states."""

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

    n_states: int = parameter(check=check.count, words="S, the number of states", kw_only=False)
    n_actions: int = parameter(check=check.count, words="A, the number of actions", kw_only=False)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return {"n_states": mdp.n_states, "n_actions": mdp.n_actions, "horizon": mdp.horizon}
