"""Q-learning with ε-greedy choices (Watkins 1989): what everyone tries first.

    pseudo-code                                                                   here
    ε_k = max(ε_end, ε_start (1 − k/decay)) in episode k = 0, 1, ...              mdp.tabular.q_learning.QLearning._plan
    a = a random one with probability ε_k, else argmax_a Q(s, a), ties at random  mdp.tabular.q_learning.table
    after (s, a, r, s'), n the visits of (s, a):                                  mdp.tabular.q_learning.learn
      Q(s, a) += α_n (r + γ max_a' Q(s', a') − Q(s, a)), α_n = rate n^-power

The choices of an episode are drawn before it: each stage meets one state, so the law is the same. What an
episode teaches takes effect in the next one; its steps are learned in order. ``homogeneous`` (the default) keeps
one Q for all stages, as is usual; otherwise one for each. Nothing is proven of these schedules.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.policy import Policy, TablePolicy
from unipac.mdp.tabular.counting.agent import TabularAgent, steps


class State(NamedTuple):
    """What Q-learning keeps."""

    Q: Array
    """(H, S, A), or (1, S, A)."""
    visits: Integers
    """(H, S, A), or (1, S, A)."""
    learned: Integers
    """(1,): the number of episodes."""


@jit
def table(Q: Array, epsilon: float, uniforms: Array, action: Integers) -> None:
    """Draw an action for every stage and state; each takes at most two uniforms, or as many as there are actions."""
    drawn = 0
    for h in range(action.shape[0]):
        for s in range(action.shape[1]):
            q = Q[h if Q.shape[0] > 1 else 0, s]
            drawn += 1
            if uniforms[drawn - 1] < epsilon:
                drawn, action[h, s] = drawn + 1, int(uniforms[drawn] * q.size)
                continue
            best, ties = -math.inf, 0
            for a in range(q.size):
                if q[a] > best:
                    best, ties, action[h, s] = q[a], 1, a
                elif q[a] == best:
                    ties += 1
                    drawn += 1
                    if uniforms[drawn - 1] * ties < 1.0:
                        action[h, s] = a


@jit
def learn(
    x: State,
    rate: float,
    power: float,
    discount: float,
    s: Integers,
    a: Integers,
    r: Array,
    following: Integers,
) -> None:
    """Learn from the steps of an episode, in order."""
    stages = x.Q.shape[0]
    for h in range(s.size):
        now = h if stages > 1 else 0
        target = r[h]
        if following[h] >= 0 and (stages == 1 or h + 1 < stages):
            target += discount * x.Q[now + (stages > 1), following[h]].max()
        x.visits[now, s[h], a[h]] += 1
        step = rate * float(x.visits[now, s[h], a[h]]) ** -power
        x.Q[now, s[h], a[h]] += step * (target - x.Q[now, s[h], a[h]])
    x.learned[0] += 1


def _share(name: str, value: float) -> float:
    check.require(0.0 <= (number := check.real(name, value)) <= 1.0, name, "from 0 to 1", value)
    return number


@agent
class QLearning(TabularAgent):
    """Q-learning with ε-greedy choices and schedules to be tuned; nothing is proven.

    {parameters}

    Example:
        >>> from unipac.envs import river_swim
        >>> mdp = river_swim(n_states=3, horizon=3)
        >>> agent = QLearning(3, 2, horizon=3, homogeneous=False, learning_rate=1.0, learning_power=0.6)
        >>> trace = agent.play(mdp, episodes=3000, seed=0)
        >>> agent.policy()(0, stage=1)              # to the right
        1
    """

    theorem: ClassVar[str] = "none"
    draws = True

    homogeneous: bool = parameter(default=True, check=check.flag, words="whether one Q serves all stages")
    learning_rate: float = parameter(default=0.1, check=_share, words="the rate of α_n = rate n^-power")
    learning_power: float = parameter(default=0.0, check=_share, words="the power of α_n = rate n^-power")
    epsilon_start: float = parameter(default=1.0, check=_share, words="ε of the first episode")
    epsilon_end: float = parameter(default=0.01, check=_share, words="the least ε")
    epsilon_decay: int = parameter(default=1000, check=check.count, words="episodes until ε would be 0")
    discount: float = parameter(default=1.0, check=_share, words="γ, the factor of the next value")
    initial_value: float = parameter(default=0.0, check=check.real, words="of every Q; a large one explores")
    seed: int = declare.seed("for the draws")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check.require(self.rewards is None, "rewards", "None: Q-learning learns them", "an array")

    def _empty(self) -> State:
        shape = (1 if self.homogeneous else self.horizon, self.n_states, self.n_actions)
        zeros = np.zeros(shape, dtype=np.int64)
        return State(np.full(shape, self.initial_value), zeros, np.zeros(1, dtype=np.int64))

    def _plan(self) -> Plan:
        k = int(self.state.learned[0])
        epsilon = max(self.epsilon_end, self.epsilon_start * (1 - k / self.epsilon_decay))
        return self._planned(self._drawn(epsilon), self.state.Q[0].max(axis=1))

    def _drawn(self, epsilon: float) -> Integers:
        action = np.zeros((self.horizon, self.n_states), dtype=np.int64)
        rng = np.random.default_rng([self.seed, int(self.state.learned[0])])
        table(self.state.Q, epsilon, rng.random(action.size * max(2, self.n_actions)), action)
        return action

    def policy(self) -> Policy:
        """The greedy policy: (observation, stage) to action; ``np.asarray(policy)`` is its table (H, S)."""
        with self._lock:
            return TablePolicy(self._drawn(0.0))

    def _learn(self, episode: Episode) -> Change:
        return learn, (self.state, self.learning_rate, self.learning_power, self.discount, *steps(episode))

    def _restored(self, saved: Any) -> State:
        check.require(bool((saved.visits >= 0).all() and saved.learned[0] >= 0), "visits", "counts", "others")
        return State(*super()._restored(saved))
