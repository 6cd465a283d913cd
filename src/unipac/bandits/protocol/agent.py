"""The protocol of bandit agents: decisions, rewards that come late, traces.

This is what users call. What an algorithm writes is in ``algorithm``; which decisions wait for a reward, in ``ledger``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac import _notebook as notebook
from unipac._actions import Actions
from unipac._agents import agent
from unipac._arrays import Array
from unipac._inputs import LARGEST_REWARD, action_array, check_norms
from unipac.bandits.protocol.algorithm import BanditAlgorithm
from unipac.bandits.protocol.inputs import logged_levels, logged_rounds, truth_vector
from unipac.bandits.protocol.play import instance_rounds, play_arrays, play_instance, refuse, traces
from unipac.bandits.protocol.records import Bounds, Decision, Level, Trace
from unipac.envs import BanditInstance, Rounds

ONCE = 1


@agent
class BanditAgent(BanditAlgorithm):
    """A linear bandit agent; the algorithms derive from it.

    {parameters}

    >>> from unipac import OFUL, LinUCB
    >>> [isinstance(agent, BanditAgent) for agent in (OFUL(3), LinUCB(3))]
    [True, True]
    >>> OFUL(3).guarantee, LinUCB(3).guarantee
    ('regret', 'none')
    """

    # -- what is known -------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        with self._lock:
            facts = (self._rounds, len(self._pending), self._consistent, self.guarantee)
            levels = self.levels()
        names = ("rounds", "pending", "consistent", "guarantee")
        text = notebook.table(repr(self).strip("<>"), ("", ""), zip(names, facts, strict=True))
        return text + (notebook.table("Levels", Level._fields, levels) if levels else "")

    def bounds(self, actions: ArrayLike | Actions | None = None) -> Bounds:
        """Mean and bounds of every action; of the fixed ones if none are given."""
        X = self._action_set(actions)
        check_norms("actions", X, self.action_norm)
        with self._lock:
            mean, _, ucb, lcb = self._clipped(X)
        return Bounds(mean, ucb, lcb)

    # -- one round at a time -------------------------------------------------------------------

    def choose(self, actions: ArrayLike | Actions | None = None) -> Decision:
        """Choose one of n actions, the rows of an (n, d) array; learns nothing.

        Without an argument the choice is among ``fixed_actions``.
        """
        X = self._action_set(actions)
        known = actions.labels if type(actions) is Actions else None
        with self._lock:
            chosen, level, mean, width, ucb, lcb, certificate, refuted = self._decide(X, actions is None)
            if refuted:
                self._refute()
            action = X[chosen].copy()
            action.setflags(write=False)
            certified = self._consistent and self.certified
            id_ = self._next_id
            named = None if known is None else known[chosen]
            fields = (id_, chosen, action, level, mean, width, ucb, lcb, certificate, certified, named)
            decision = tuple.__new__(Decision, (*fields, None, False, 0))
            self._pending[id_] = decision
            self._next_id = id_ + 1
        return decision

    def update(
        self,
        decision: Decision | SupportsIndex,
        reward: SupportsFloat,
        *,
        times: SupportsIndex = ONCE,
        noise: SupportsFloat | None = None,
    ) -> None:
        """Learn the reward of a decision, given as such or by its id, now or later, in any order.

        With ``times`` it counts as that many rounds with this action and this reward, in one exact step, where
        ``counts_many``. For the bounds to stay valid the reward must then be the mean over so many rounds, or free
        of noise. With ``noise``, where ``weighs``, its noise has this scale instead of the agent's own.
        """
        value = reward if type(reward) is float else check.real("reward", reward)
        if not -LARGEST_REWARD <= value <= LARGEST_REWARD:
            check.real("reward", reward)
            raise ValueError(f"reward must be within ±{LARGEST_REWARD:g}, got {reward!r}")
        count = ONCE
        if times is not ONCE:
            count = check.count("times", times, most=check.LARGEST_COUNT)
            check.require(
                count == 1 or self.counts_many,
                "times",
                f"1 for {type(self).__name__}, which counts one by one",
                times,
            )
        scales = None if noise is None else self._noise("noise", check.real("noise", noise), ())
        with self._lock:
            waiting = self._waiting(decision)
            self._check_total("times", count)
            if scales is None:
                self._reward(waiting, value, count)
            else:
                self._weigh(np.array(waiting.action), value, waiting.level, count, float(scales))
            del self._pending[waiting.id]
            self._rounds += count
            self._surplus -= count - 1

    def absorb(
        self,
        actions: ArrayLike,
        rewards: ArrayLike,
        *,
        noise: ArrayLike | None = None,
        levels: ArrayLike | None = None,
    ) -> None:
        """Learn from m logged rounds: the actions taken, (m, d), their rewards, (m,), and perhaps noise, (m,).

        The bounds stay valid if the rounds come in the order in which they were taken, each action was chosen
        without knowledge of its own noise, and none was left out or kept because of its reward.

        With ``levels``, (m,), those of the decisions, the rounds are ones that an equal agent decided: then the
        same is learned, bit for bit, as by its updates in this order. Every agent takes these.
        """
        check.require(
            self.absorbs or levels is not None,
            "absorb",
            f"left alone with {type(self).__name__}, whose proof forbids it",
            "rounds",
        )
        X, y = logged_rounds(actions, rewards, self.dim, self.action_norm)
        self._check_logged(X)
        scales = None if noise is None else self._noise("noise", noise, y.shape)
        told = [0] * len(y) if levels is None else logged_levels(levels, len(y), *self._level_range())
        with self._lock:
            self._check_total("actions", len(y))
            if scales is None and levels is None:
                self._absorb(X, y)
                return
            for k, (x, value) in enumerate(zip(X, y.tolist(), strict=True)):
                if scales is None:
                    self._learn(x.copy(), value, told[k], 1)
                else:
                    self._weigh(x.copy(), value, told[k], 1, float(scales[k]))
                self._rounds += 1

    # -- many rounds at once -------------------------------------------------------------------

    def play(
        self,
        actions: ArrayLike | BanditInstance | Rounds,
        rewards: ArrayLike | None = None,
        *,
        rounds: SupportsIndex | None = None,
        seed: int | np.random.SeedSequence = 0,
        start: SupportsIndex | None = None,
        truth: ArrayLike | None = None,
        noise: ArrayLike | None = None,
    ) -> Trace:
        """Choose and learn for T rounds: the same as a loop of choose and update, compiled where it can be.

        Args:
            actions: (T, n, d), or (n, d) if every round offers the same actions; or an instance from
                ``unipac.envs``, or ``Rounds`` of one.
            rewards: (T, n), what each action would bring in each round; with arrays only.
            rounds: T, with an instance.
            seed: of the instance's contexts and noise. Round k of an instance is a function of (seed, k).
            start: the first round of the instance to be played; by default ``agent.rounds``, so that
                ``play(instance, rounds=a)`` and then ``play(instance, rounds=b)`` is one run.
            truth: μ*; then the trace says in which rounds it was in all confidence sets.
            noise: (T,), the scale of the noise of each round, where ``weighs``; with arrays only. An instance
                whose rounds differ in it hands it on by itself.

        Returns:
            What happened in each round.
        """
        if isinstance(actions, BanditInstance):
            refuse("an instance", rewards=rewards, noise=noise)
            return play_instance(self, actions, rounds, seed, start, truth)
        means = None
        if isinstance(actions, Rounds):
            refuse("rounds", rewards=rewards, noise=noise)
            noise = actions.noise if self.weighs else None
            actions, means, rewards = actions
        if rewards is None:
            raise ValueError("rewards must be given with an array of actions, got None")
        for name, value in (("rounds", rounds), ("start", start)):
            if value is not None:
                raise ValueError(f"{name} goes with an instance, not with an array of actions")
        return play_arrays(self, actions, rewards, means, noise, truth)

    def stream(
        self,
        instance: BanditInstance,
        *,
        rounds: SupportsIndex,
        seed: int | np.random.SeedSequence = 0,
        start: SupportsIndex | None = None,
        truth: ArrayLike | None = None,
    ) -> Iterator[Trace]:
        """As ``play(instance, ...)``, but in traces of a few thousand rounds: memory does not grow."""
        length, first = instance_rounds(self, instance, rounds, start)
        return traces(self, instance, first, length, seed, truth_vector(truth, self.dim))

    # -- checks --------------------------------------------------------------------------------

    def _action_set(self, actions: ArrayLike | Actions | None) -> Array:
        if actions is None:
            if self.fixed_actions is None:
                raise ValueError("actions must be given: this agent has no fixed_actions, got None")
            return self._arms
        given = actions.vectors if type(actions) is Actions else actions
        return action_array("actions", given, self.dim)
