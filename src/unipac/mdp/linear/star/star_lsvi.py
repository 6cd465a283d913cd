"""StarLSVI: two-sided bounds on V* alone, for linear MDPs with any states, with a certificate before every episode.

    pseudo-code; x features, [lo, hi] bounds on V*_{h+1}, c the middle    here
    PLAN from all transitions (φ_i, s'_i); for h = H, ..., 1:             mdp.linear.star.planning.plan.make_plan
      at s'_i: U = max_a U_{h+1}, L = max_a L_{h+1},                      mdp.linear.star.planning.plan.fill_bounds
        π = argmax of Q̂ in [L, U], adv_i at least V*(s'_i) − Q*(s'_i, π)  mdp.linear.star.planning.plan.advantage
      ω̂ = Σ⁻¹ sum φ_i (Q̂(s'_i, π) + adv_i/2 − c);  Q̂_h = r + c + x'ω̂     mdp.linear.star.chains.fit
      PU, PL = the best of [lo, hi], regressed [L, U], Q̂ ± its error      mdp.linear.star.chains.following
      U_h = r⁺ + PU, L_h = r⁻ + PL;  hi, lo of stage h at the corners     mdp.linear.star.planning.plan.bounds
    ACT: argmax of Q̂ + scale (U − Q̂) over actions not proven worse;       mdp.linear.star.planning.plan.decide
      f_h(s) = a bound on what that loses
    CERTIFICATE of a plan, from episodes after it: bounds on              mdp.linear.star.planning.evaluate.certificate
      Σ f along its policy, and on U_1 − its value                        mdp.linear.star.planning.evaluate.evaluate
    after an episode: evaluate again if episodes since the plan grew by 5 %;     mdp.linear.star.episodes.learn
      execute the plan that waits if its certificate is lower;
      a new plan if some Σ doubled in a direction or a reward is new; it waits if that in use has a small certificate
    with a fallback: it plays episode k if the certificate exceeds H 2^−l,       mdp.linear.star.fallback.Guard
      l the largest with N(H 2^−l) < k

Theorems: ``docs/agents/star_lsvi.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._parameters import OptionalArrayParameter
from unipac.envs import ContinuousMDP, FiniteMDP
from unipac.mdp.linear.features import told_by
from unipac.mdp.linear.levelled.agent import FeatureFunction
from unipac.mdp.linear.star import continuous, episodes as kernels, fallback, given, state as states
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.ledger import Step
from unipac.mdp.protocol.plan import Change
from unipac.mdp.protocol.records import EpisodeTrace


@agent
class StarLSVI(EpisodicAgent):
    """Certified value iteration for linear MDPs with any states, numbered or given by a feature map.

    {parameters}

    Example:
        >>> from unipac.envs import random_simplex
        >>> mdp = random_simplex(dim=4)
        >>> agent = StarLSVI(mdp.features, horizon=4, mixture=True)
        >>> trace = agent.play(mdp, episodes=2000, seed=0)
        >>> bool((trace.certificate >= trace.gap).all()), agent.certificate(0) < 4
        (True, True)
    """

    refutation: ClassVar[str] = (
        "bounds or rewards contradict the assumptions: nothing is certified any more; rewards that vary need "
        'rewards="noisy"'
    )

    features: OptionalArrayParameter = parameter(default=None, words=given.FEATURES, kw_only=False)
    feature_map: FeatureFunction | None = given.FEATURE_MAP
    n_actions: int | None = given.N_ACTIONS  # type: ignore[assignment]
    dim: int | None = given.DIM
    mixture: bool = given.MIXTURE
    rewards: Any = given.REWARDS
    terminates: bool = given.TERMINATES
    delta: float = declare.delta()
    regularization: float = declare.regularization()
    bonus_scale: float = given.BONUS_SCALE
    explore: int = given.EXPLORE
    wait: bool = given.WAIT
    replan_factor: float = given.REPLAN_FACTOR
    fallback: str | None = given.FALLBACK

    def _check_parameters(self) -> None:
        self._table, self._rules = given.checked(self)
        self.n_states = len(self._table)

    def _begin(self) -> None:
        super()._begin()
        self._guard = None if self.fallback is None else fallback.Guard(self)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return told_by(mdp)

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        stages = arrays["state.reward_features"].shape[0]
        check.require(stages == parameters["horizon"], "horizon", "that of the file", parameters["horizon"])

    @property
    def consistent(self) -> bool:
        """Whether no lower bound exceeded an upper one, and rewards were as announced."""
        return bool(self.state.counters[kernels.REFUTED] == 0)

    @property
    def _proven(self) -> bool:
        """Always True: the proofs hold however actions are chosen."""
        return True

    @property
    def guarantee(self) -> str:
        """What is proven of the number of mistakes: "uniform-PAC" with a fallback, else "none"."""
        return "none" if self._guard is None else "uniform-PAC"

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, at most this many gaps exceed ε; infinite without a fallback."""
        return super().mistake_bound(eps) if self._guard is None else self._guard.mistake_bound(eps)

    def regret_certificate(self, failure: float = 0.01) -> float:
        """A bound on the sum of all gaps, for all numbers of episodes at once with probability 1 − ¾δ − ``failure``."""
        with self._lock:
            return given.regret_certificate(self, check.probability("failure", failure))

    def policy(self) -> given.PlannedPolicy:
        """The policy of the plan in use, which later learning does not change; it has certificates, too."""
        return given.PlannedPolicy(self._clone())

    recommended = policy

    def play(self, mdp: FiniteMDP | ContinuousMDP, **rest: Any) -> EpisodeTrace:
        """As for all agents; with a feature map, that of a ``ContinuousMDP``: ``initial_states`` are (K, k) then."""
        return super().play(mdp, **rest) if isinstance(mdp, FiniteMDP) else continuous.play(self, mdp, **rest)

    def _empty(self) -> kernels.State:
        return states.empty(self._rules, self.n_states)

    def _saved(self) -> states.Saved:
        return states.saved(self.state, self._rules, fallback.log_of(self))

    def _restored(self, saved: Any) -> kernels.State:
        fallback.replay(self, saved.log)
        return states.restored(saved, self._rules, self._table, self.episodes)

    def _seen(self, name: str, observation: Any) -> Any:
        return super()._seen(name, observation) if self.n_states else given.seen(self, name, observation)

    def _prepare(self) -> None:
        """Nothing: there is a plan at all times."""

    def _finish(self, steps: list[Step]) -> Change:
        return super()._finish(steps) if self.n_states else given.change(self, *given.walked(steps))

    _action, _plan, _learn, _certificate = given.action, given.plan_of, given.learn, given.certificate
    _play, _check_end, _check_mdp = continuous.play_part, given.check_end, given.check_mdp
