"""CertVI: value iteration on counts, optimistic for V*, with a certificate before every episode.

    pseudo-code                                                                           here
    cells (h, s, a), or (s, a) if homogeneous: outcomes (s', r) with their counts          base.counts
    U(p̂, c, V) = max{q V : KL(p̂ ‖ q) ≤ c}, L = −U(p̂, c, −V)                              base.kl
    for h = H, ..., 1:                                                                    base.backward
      Q_h(s, a) = U(p̂, scale (log(SH'/0.9δ) + kt(n))/n, r + Vup_{h+1})
                  at most r_max + max Vup_{h+1}, which it is if n = 0
      π_h(s) = argmax_a Q_h(s, a), the first of equals, or spread;  Vup_h(s) = max_a Q_h(s, a)
      Vlow_h(s) = L(p̃, c̃, r + Vlow_{h+1}) at π_h(s); r_min + min Vlow_{h+1} if n = 0
    certificate(s) = Vup_1(s) − Vlow_1(s), where Vup is taken with scale 1
    a new plan when the visits of some cell have grown by the factor f = 1.02, and the    base.certified
      last plan was in use for min(replan_every, (f − 1) · episodes before it) episodes

c̃ is the ball of a Dirichlet mixture for all V, with failure 0.1δ/J for each of J cells: ``theory.dirichlet_threshold``
where rewards are known, else ``theory.open_threshold``. H' = H − 1 if rewards are known, else H. After the end of an
episode the value is 0. Theorem: ``docs/agents/cert_vi.md``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check
from unipac import _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac.envs.play.simulation import World
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.mdp.protocol.play import room_for
from unipac.mdp.protocol.policy import Recommendation, TablePolicy
from unipac.mdp.protocol.records import EpisodeTrace
from unipac.mdp.tabular.cert_vi import kernels as compiled
from unipac.mdp.tabular.cert_vi.ends import AgentWithEnds
from unipac.mdp.tabular.cert_vi.rules import rules_of
from unipac.mdp.tabular.counting.agent import steps
from unipac.mdp.tabular.counting.counts import has_several_rewards
from unipac.theory.tabular import certvi_mistake_bound


@agent
class CertVI(AgentWithEnds):
    """Certified value iteration for finite MDPs: uniform-PAC, with a certificate before every episode.

    {parameters}

    Example:
        >>> from unipac.envs import river_swim
        >>> mdp = river_swim(n_states=3, horizon=3)
        >>> agent = CertVI(3, 2, horizon=3, homogeneous=True)
        >>> trace = agent.play(mdp, episodes=2000, seed=0)
        >>> bool((trace.certificate >= trace.gap).all()), agent.certificate(0) < 0.2
        (True, True)
    """

    theorem: ClassVar[str] = "uniform-PAC"

    delta: float = declare.delta()
    bonus_scale: float = parameter(
        default=1.0,
        check=check.nonnegative,
        words="multiplies the thresholds when choosing; bounds and certificates stay proven",
    )
    reward_values: str = parameter(
        default="few",
        check=check.choice("few", "many"),
        words='"few" rewards after each (s, a), which are counted; or "many"',
    )
    return_range: tuple[float, float] | None = parameter(
        default=None,
        check=check.optional_range,
        words="(low, high) of the sum of rewards from any stage and state to the end",
    )
    replan: str = parameter(
        default="lazy", check=check.choice("lazy", "always"), words='when to plan anew: "lazy" or "always"'
    )
    replan_factor: float = parameter(
        default=1.02, check=check.at_least_one, words="growth of visits that asks for a new plan"
    )
    replan_every: int = parameter(
        default=1,
        check=lambda name, value: check.count(name, value, most=check.LARGEST_COUNT),
        words="a plan lasts for at least so many episodes, or ``replan_factor`` − 1 times those before "
        "it if these are fewer",
    )
    ties: str = parameter(
        default="first",
        check=check.choice("first", "spread"),
        words='which of equally good actions to take: the "first"; or "spread", another one at another stage and state',
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._rules = rules_of(self)

    def _empty(self) -> compiled.State:
        return compiled.empty(self._cells, self.horizon, self.n_states)

    def _plan(self) -> Plan:
        state = self._renewed(self.state)
        fresh = bool(state.age[0] == compiled.FRESH)
        return self._planned(state.action.copy(), state.bound.copy(), state.lower.copy(), fresh)

    def _renewed(self, state: compiled.State) -> compiled.State:
        """The state with a plan for the next episode."""
        H, S = self.horizon, self.n_states
        if state.age[0] == compiled.STALE:
            compiled.plan(state, self._rules, np.empty((H, S * self.n_actions)), np.empty((H + 1, S)))
        return state

    def recommended(self) -> Recommendation:
        """The policy that is best under the frequencies alone: it explores nothing, and its bounds are proven, too."""
        with self._lock:
            state = self._renewed(compiled.copied(self.state))
        lower = compiled.recommend(state, self._rules, state.action)
        return Recommendation(TablePolicy(state.action), state.bound, lower)

    def _learn(self, episode: Episode) -> None:
        self.state = compiled.with_more_room(self.state, self.horizon)
        compiled.learn(self.state, self._rules, *steps(episode))

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        played, k = room_for(trace, self.horizon, self.n_states), 0
        while k < len(states):
            self.state, before = compiled.with_more_room(self.state, self.horizon), k
            k = compiled.play(self.state, self._rules, world, states, uniforms, k, played)
            self._episodes += k - before

    @property
    def certified(self) -> bool:
        """True: bounds and certificates are proven, however actions are chosen."""
        return True

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − 2δ, for all ε at once, no more episodes have a certificate above ε; or infinity.

        That is the answer once counted rewards were seen not to be a function of (s, a, s').
        """
        eps = check.positive("eps", eps) / self._unit
        if self.bonus_scale != 1.0 or has_several_rewards(self.state.counts):
            return math.inf
        sizes = self.n_states, self.n_actions, self.horizon
        return certvi_mistake_bound(
            eps,
            *sizes,
            self.delta,
            rewards=("known", "few", "many")[self._rules.rewards],
            replan_factor=max(1.0, self._rules.factor),
            replan_every=self.replan_every,
        )

    def _saved(self) -> Any:
        return compiled.saved(self.state)

    def _restored(self, saved: Any) -> compiled.State:
        self._sound_counts(saved.counts)
        return compiled.restored(saved, self._empty(), self._rules, self.n_states, self.n_actions)
