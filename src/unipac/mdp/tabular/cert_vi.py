"""CertVI: value iteration on counts, optimistic for V*, with a certificate before every episode.

    pseudo-code                                                                           here
    cells (h, s, a), or (s, a) if homogeneous: outcomes (s', r) with their counts          base.counts
    U(p̂, c, V) = max{q V : KL(p̂ ‖ q) ≤ c}, L = −U(p̂, c, −V)                              base.kl
    for h = H, ..., 1:                                                                    base.backward
      Q_h(s, a) = U(p̂, scale (log(SH'/0.9δ) + kt(n))/n, r + Vup_{h+1})
                  at most r_max + max Vup_{h+1}, which it is if n = 0
      π_h(s) = argmax_a Q_h(s, a), the first of equals;  Vup_h(s) = max_a Q_h(s, a)
      Vlow_h(s) = L(p̃, c̃, r + Vlow_{h+1}) at π_h(s); r_min + min Vlow_{h+1} if n = 0
    certificate(s) = Vup_1(s) − Vlow_1(s), where Vup is taken with scale 1
    a new plan when the visits of some cell have grown by the factor 1.02                 base.certified

c̃ is the ball of a Dirichlet mixture for all V, with failure 0.1δ/J for each of J cells: ``theory.dirichlet_threshold``
where rewards are known, else ``theory.open_threshold``. H' = H − 1 if rewards are known, else H. After the end of an
episode the value is 0. Theorem: ``docs/agents/cert_vi.md``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.envs.simulation import World
from unipac.mdp.base.plan import Episode, Plan
from unipac.mdp.base.playing import room_for
from unipac.mdp.base.policy import Recommendation, TablePolicy
from unipac.mdp.base.records import EpisodeTrace
from unipac.mdp.tabular.base import certified as compiled
from unipac.mdp.tabular.base.agent import Array, Integers, TabularAgent, steps
from unipac.mdp.tabular.base.backward import Limits
from unipac.mdp.tabular.base.counts import has_several_rewards
from unipac.theory.tabular import EXPLORING, certvi_mistake_bound


@agent
class CertVI(TabularAgent):
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

    delta: float = parameter(0.05, check.probability, "δ, the probability that some bound fails")
    bonus_scale: float = parameter(
        1.0, check.nonnegative, "multiplies the thresholds when choosing; bounds and certificates stay proven"
    )
    reward_values: str = parameter(
        "few", check.choice("few", "many"), '"few" rewards after each (s, a), which are counted; or "many"'
    )
    return_range: tuple[float, float] | None = parameter(
        None, check.optional_range, "(low, high) of the sum of rewards from any stage and state to the end"
    )
    replan: str = parameter("lazy", check.choice("lazy", "always"), 'when to plan anew: "lazy" or "always"')
    replan_factor: float = parameter(1.02, check.at_least_one, "growth of visits that asks for a new plan")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        S, A, stages = self.n_states, self.n_actions, self._stages
        many = self.rewards is None and self.reward_values == "many"
        counted = compiled.OUTCOMES if self._known is None else compiled.GIVEN
        kind = compiled.MEANS if many else counted
        base = np.zeros((1, S * A)) if self._known is None else self._known
        least, most = self._outcome_rewards(kind == compiled.OUTCOMES)
        cells = S * A * (1 if self.homogeneous else stages)
        exploring = EXPLORING * self.delta * (0.5 if many else 1.0)
        ends = (-math.inf, math.inf) if self.return_range is None else self.return_range
        if many:  # rewards are apart from what follows them, which may be nothing
            ends = min(ends[0], 0.0), max(ends[1], 0.0)
        self._rules = compiled.Rules(
            rewards=kind,
            scale=self.bonus_scale,
            factor=self.replan_factor if self.replan == "lazy" else 0.0,
            log_upper=math.log(S * stages / exploring),  # of each state one optimal action
            log_lower=math.log(cells / ((1 - EXPLORING) * self.delta)),
            log_reward=math.log(cells / exploring),
            low=self.reward_range[0],
            high=self.reward_range[1],
            upper=Limits(base, most, 1.0, ends[1]),
            lower=Limits(base, least, 1.0, ends[0]),
        )

    def _empty(self) -> compiled.State:
        return compiled.empty(self._cells, self.horizon, self.n_states)

    def _plan(self) -> Plan:
        state, H, S = self.state, self.horizon, self.n_states
        if state.age[0] == compiled.STALE:
            compiled.plan(state, self._rules, np.empty((H, S * self.n_actions)), np.empty((H + 1, S)))
        fresh = bool(state.age[0] == compiled.FRESH)
        return self._planned(state.action.copy(), state.bound.copy(), state.lower.copy(), fresh)

    def recommended(self) -> Recommendation:
        """The policy that is best under the frequencies alone: it explores nothing, and its bounds are proven, too."""
        plan = (twin := self._clone())._plan()
        lower = compiled.recommend(twin.state, self._rules, plan.action[:, 0])
        return Recommendation(TablePolicy(plan.action[:, 0]), plan.bound, lower)

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
        rewards, factor = ("known", "few", "many")[self._rules.rewards], max(1.0, self._rules.factor)
        return certvi_mistake_bound(eps, *sizes, self.delta, rewards=rewards, replan_factor=factor)

    def _saved(self) -> Any:
        return compiled.saved(self.state)

    def _restored(self, saved: Any) -> compiled.State:
        self._sound_counts(saved.counts)
        return compiled.restored(saved, self._empty(), self._rules, self.n_states, self.n_actions)
