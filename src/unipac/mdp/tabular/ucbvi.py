"""UCBVI: Azar, Osband and Munos, *Minimax Regret Bounds for Reinforcement Learning* (ICML 2017).

    pseudo-code                                                      here
    N(x, a) pooled over stages, p̂; N'_h(y) = visits of y at stage h  mdp.tabular.ucbvi.learn
    L = ln(5SAT/δ), T = K H                                          mdp.tabular.ucbvi.UCBVI._plan
    for h = H, ..., 1 and all (x, a) with N > 0:                     mdp.tabular.counting.backward.optimistic
      Q_h = min(Q_h of the episode before, H, r + p̂ V_{h+1} + b);  Q_h = H at first
    "hoeffding":  b = 7 H L/√N
    "bernstein":  b = √(8 L Var_p̂(V_{h+1})/N) + 14 H L/(3N)
                      + √(8 p̂ min(100² H³ S² A L²/N'_{h+1}(y), H²)/N), the root H² where N' = 0

Theorems 1 and 2: regret O~(H^{3/2} √(SAK)) and O~(H √(SAK)) with probability 1 − δ, for K known beforehand, the same
transitions at all stages and known rewards. Not uniform-PAC: L grows with K.

Beyond the paper, and not proven: rewards that are learned (their mean plus √(L/2N) replaces r), and
``third_term=False``, the usual form in practice, as the third term does not fall below its cap for a very long time.
``homogeneous=False`` counts every stage by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac._state import check_like
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.tabular.counting.agent import TabularAgent
from unipac.mdp.tabular.counting.backward import BERNSTEIN, HOEFFDING, Bonus, optimistic
from unipac.mdp.tabular.counting.counts import Counts, count_episode, no_counts, with_room


class State(NamedTuple):
    """What UCBVI keeps."""

    counts: Counts
    at_stage: Integers
    """(H + 1, S): visits of each state at each stage; the last row stays 0."""
    Q: Array
    """(H, S A)."""


@jit
def learn(state: State, states: Integers, counted: tuple[Any, ...]) -> None:
    """Count an episode, and the visits of states by stage."""
    count_episode(state.counts, *counted)
    for h in range(states.size):
        state.at_stage[h, states[h]] += 1


@agent
class UCBVI(TabularAgent):
    """Optimistic value iteration with a bonus of Hoeffding's or Bernstein's kind, for a known number of episodes.

    {parameters}

    Example:
        >>> from unipac.envs import river_swim
        >>> mdp = river_swim(n_states=3, horizon=3)
        >>> agent = UCBVI(3, 2, horizon=3, total_episodes=300, rewards=mdp.rewards[0])
        >>> trace = agent.play(mdp, episodes=300, seed=0)
        >>> bool((trace.bound >= mdp.optimal_value()[0]).all())
        True
    """

    theorem: ClassVar[str] = "regret"
    certified = False  # nothing bounds the value of the policy from below

    delta: float = declare.delta()
    total_episodes: int = parameter(check=check.count, words=declare.EPISODES_FOR_BONUS)
    moved: ClassVar[Mapping[str, str]] = declare.EPISODES_MOVED
    bonus: str = parameter(
        default="bernstein", check=check.choice("hoeffding", "bernstein"), words='"hoeffding" or "bernstein"'
    )
    third_term: bool = parameter(
        default=True, check=check.flag, words="whether the bonus of Bernstein's kind has its third term"
    )
    homogeneous: bool = parameter(
        default=True,
        check=check.flag,
        words="whether all stages have the same transitions: then they are pooled",
    )

    def _empty(self) -> State:
        H, S = self.horizon, self.n_states
        Q = np.full((H, S * self.n_actions), H * self._largest)
        return State(no_counts(self._cells), np.zeros((H + 1, S), dtype=np.int64), Q)

    def _plan(self) -> Plan:
        H, S, A = self.horizon, self.n_states, self.n_actions
        state: State = self.state
        L = math.log(5 * S * A * self.total_episodes * H / self.delta)
        N = np.maximum(state.counts.visits, 1)
        width, second = np.full(H, self._unit * H), np.empty((0, 0))
        if self.bonus == "hoeffding":
            bonus = Bonus(HOEFFDING, L / np.sqrt(N), 7 * width, second)
        else:
            if self.third_term:
                most = (self._unit * H) ** 2
                with np.errstate(divide="ignore"):
                    second = np.minimum(1e4 * H * S**2 * A * L**2 * most / state.at_stage, most)
            bonus = Bonus(BERNSTEIN, L / N, width, second)
        low, high = self.reward_range
        mean = state.counts.reward / N + (high - low) * np.sqrt(L / (2 * N))
        limits = self._apart(np.minimum(mean, high).reshape(-1, S * A))
        action, V = np.zeros((H, S), dtype=np.int64), np.empty((H + 1, S))
        optimistic(state.counts, bonus, limits, state.Q, False, action, state.Q, V)  # repeating it keeps Q
        return self._planned(action, V[0])

    def _learn(self, episode: Episode) -> Change:
        self.state = self.state._replace(counts=with_room(self.state.counts, self.horizon))
        return learn, (self.state, episode.state, self._counted(episode))

    @property
    def _proven(self) -> bool:
        """Whether the bound is proven, with probability 1 − δ for ``total_episodes`` episodes."""
        covered = self._known is not None and len(self._known) == 1 and self.homogeneous
        return covered and self.third_term and self.episodes <= self.total_episodes

    def _restored(self, saved: Any) -> State:
        state: State = saved
        self._sound_counts(state.counts)
        check_like(state._replace(counts=self.state.counts), self.state)
        check.require(bool((state.at_stage >= 0).all()), "at_stage", "counts", state.at_stage)
        return state
