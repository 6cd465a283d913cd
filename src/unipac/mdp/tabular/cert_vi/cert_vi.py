"""CertVI: value iteration on counts, optimistic for V*, with a certificate before every episode.

    pseudo-code                                                               here
    cells (h, s, a), or (s, a) if homogeneous: outcomes (s', r) with counts   mdp.tabular.counting.counts.Counts
    U(p̂, c, V) = max{q V : KL(p̂ ‖ q) ≤ c}, L = −U(p̂, c, −V)                   mdp.tabular.counting.kl.kl_upper
    for h = H, ..., 1:                                                        mdp.tabular.cert_vi.kernels.plan
      Q_h(s, a) = U(p̂, scale (log(SH'/0.9δ) + kt(n))/n, r + Vup_{h+1})        mdp.tabular.counting.backward.optimistic
                  at most r_max + max Vup_{h+1}, which it is if n = 0
      π_h(s) = argmax_a Q_h(s, a), the first of equals, or spread;  Vup_h(s) = max_a Q_h(s, a)
      Vlow_h(s) = L(p̃, c̃, r + Vlow_{h+1}) at π_h(s); n = 0: r_min + min Vlow  mdp.tabular.counting.backward.pessimistic
    certificate(s) = Vup_1(s) − Vlow_1(s), where Vup is taken with scale 1
    a new plan when the visits of a cell have grown by the factor f = 1.02,   mdp.tabular.cert_vi.kernels.learn
      and the last plan was in use for min(replan_every, (f − 1) · episodes before it) episodes

c̃ is the ball of a Dirichlet mixture for all V, with failure 0.1δ/J for each of J cells: ``theory.dirichlet_threshold``
where rewards are known, else ``theory.open_threshold``. H' = H − 1 if rewards are known, else H. After the end of an
episode the value is 0. Theorem: ``docs/agents/cert_vi.md``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._parameters import OptionalArrayParameter
from unipac.envs import FiniteMDP
from unipac.envs.play.simulation import World
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.play import room_for
from unipac.mdp.protocol.policy import Recommendation, TablePolicy
from unipac.mdp.protocol.records import EpisodeTrace
from unipac.mdp.tabular.cert_vi import kernels, rules
from unipac.mdp.tabular.counting.agent import TabularAgent, steps
from unipac.mdp.tabular.counting.counts import has_several_rewards


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
    _proven = True
    certified = True  # whatever rewards are seen: what they may refute is the bound on the number of mistakes

    ends: OptionalArrayParameter = parameter(
        default=None, words="states in which an episode is over, worth 0: numbers, or booleans (S,)"
    )
    delta: float = declare.delta()
    bonus_scale: float = declare.bonus_scale()
    reward_values: str = parameter(
        default="few",
        check=check.choice("few", "many"),
        words='"few": each reward of (s, a) is counted; "many": only the mean is learned',
    )
    return_range: tuple[float, float] | None = parameter(
        default=None, check=check.optional_range, words="(low, high) of the return from any stage and state"
    )
    replan: str = declare.replan("lazy")
    replan_factor: float = declare.replan_factor(1.02)
    replan_every: int = parameter(
        default=1,
        check=check.count,
        words="a plan lasts this many episodes, or ``replan_factor`` − 1 times those before it if that is fewer",
    )
    ties: str = parameter(
        default="first",
        check=check.choice("first", "spread"),
        words='which of equally good actions to take: "first", or "spread": it varies with stage and state',
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._over, self.ends = rules.ends_of(self.ends, self.n_states)
        self._rules = rules.rules_of(self)

    def _seen(self, name: str, observation: Any) -> int:
        s: int = super()._seen(name, observation)
        wrong = self._over[s] and name in ("observation", "seen")  # the next state may be an end
        check.require(not wrong, name, "a state that is none of the ends", observation)
        return s

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        rules.check_ends(mdp, self._over)

    def _check_starts(self, states: Integers) -> None:
        wrong = states[self._over[states]][:1].tolist()
        check.require(not wrong, "initial_states", "states that are none of the ends", wrong)

    def _empty(self) -> kernels.State:
        return kernels.empty(self._cells, self.horizon, self.n_states)

    def _plan(self) -> Plan:
        state = kernels.renewed(self.state, self._rules)
        fresh = bool(state.age[0] == kernels.FRESH)
        return self._planned(state.action.copy(), state.bound.copy(), state.lower.copy(), fresh)

    def _learn(self, episode: Episode) -> Change:
        self.state = kernels.with_more_room(self.state, self.horizon)
        return kernels.learn, (self.state, self._rules, *steps(episode))

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        played, k = room_for(trace, self.horizon, self.n_states), 0
        while k < len(states):
            self.state = kernels.with_more_room(self.state, self.horizon)
            k += self._ledger.run(kernels.play, self.state, self._rules, world, states, uniforms, k, played)

    @property
    def consistent(self) -> bool:
        """False once counted rewards are not a function of (s, a, s'): then the number of mistakes is not bounded."""
        return not has_several_rewards(self.state.counts)

    def mistake_bound(self, eps: float) -> float:
        """A bound on episodes with a certificate above ε, for all ε at once with probability 1 − 2δ; or infinity."""
        return rules.mistake_bound(self, check.positive("eps", eps))

    def recommended(self) -> Recommendation:
        """The policy that is best under the frequencies alone: it does not explore, and its bounds are proven."""
        with self._lock:
            state = kernels.renewed(kernels.copied(self.state), self._rules)
        lower = np.empty(self.n_states)
        kernels.recommend(state, self._rules, state.action, lower)
        return Recommendation(TablePolicy(state.action), state.bound, lower)

    def _saved(self) -> kernels.State:
        return kernels.saved(self.state)

    def _restored(self, saved: Any) -> kernels.State:
        self._sound_counts(saved.counts)
        return kernels.restored(saved, self._empty(), self._rules)
