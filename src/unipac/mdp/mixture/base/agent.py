"""What agents for linear mixture MDPs do beside their choice of levels and radii."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._constants import LARGEST_GROWTH, NEGLIGIBLE, SMALLEST_RATIO
from unipac._inputs import floats, read_only
from unipac._memory import require_room
from unipac._warnings import warn
from unipac.envs import FiniteMDP, MixtureMDP
from unipac.envs.simulation import World
from unipac.linalg import ridge
from unipac.linalg.levels import MOST_LEVELS, NESTED, REFRESH_EVERY, SINGLE, top
from unipac.linalg.soundness import check_factors, check_shape
from unipac.mdp.base.agent import EpisodicAgent
from unipac.mdp.base.plan import Episode, Plan
from unipac.mdp.base.records import EpisodeTrace, StageLevel
from unipac.mdp.mixture.base import planning, regression
from unipac.mdp.mixture.base.regression import Rules, State
from unipac.theory.bounds import level_size
from unipac.theory.vtr import vtr_mistake_bound

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

SUMS = 1e-9
"""Kernels may miss the sum 1 by so much."""


@agent
class MixtureAgent(EpisodicAgent):
    """Value-targeted regression; the algorithms derive from it.

    {parameters}
    """

    rule: ClassVar[int]
    """How visits are spread over levels, as in ``linalg.levels``."""
    absorbs: ClassVar[bool] = True
    widest = False
    """Whether rounds are those of upper or of lower values; NestedVTR's ``targets`` says."""
    likelihood = False
    """Whether there is a likelihood set; a parameter of NestedVTR."""

    features: Any = parameter(
        check=None,
        words="φ, (states, actions, next states, d), where P_h(s' | s, a) = ⟨φ, θ_h⟩",
        positional=True,
    )
    rewards: Any = parameter(
        check=None, words="r, the expected rewards, which are known: (S, A) or (H, S, A)"
    )
    delta: float = parameter(0.05, check.probability, "δ, the probability that some bound fails")
    norm: float = parameter(1.0, check.nonnegative, "a bound on the norm of θ_h")
    homogeneous: bool = parameter(
        False, check.flag, "whether θ is the same at all stages: then one regression serves them all"
    )
    regularization: float = parameter(1.0, check.positive, "λ > 0 of the ridge regressions")
    radius: str = parameter(
        "mixture",
        check.choice("mixture", "determinant"),
        '"determinant" as in Abbasi-Yadkori et al. (2011), or the smaller "mixture"',
    )
    scaling: str = parameter(
        "span",
        check.choice("span", "horizon"),
        'values are scaled to [0, 1] by their own range ("span"), or by that of all sums of rewards ("horizon")',
    )
    bonus_scale: float = parameter(
        1.0, check.nonnegative, "multiplies the radii when choosing; bounds and certificates stay proven"
    )

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        low, high = mdp.reward_range
        usual = low >= 0.0 and high <= 1.0
        told = {"horizon": mdp.horizon, "rewards": np.array(mdp.rewards)}
        told |= {} if usual else {"reward_range": (min(low, 0.0), max(high, 0.0))}
        if isinstance(mdp, MixtureMDP):
            return {**told, "features": mdp.features, "norm": max(1.0, mdp.norm)}
        S, A = mdp.n_states, mdp.n_actions  # a table: one feature for each triple
        require_room("mdp", f"a feature for each of {S * A * S} triples", 8 * (S * A * S) ** 2)
        return {**told, "features": np.eye(S * A * S).reshape(S, A, S, -1), "norm": math.sqrt(S * A)}

    # -- parameters ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        phi = floats("features", self.features).copy()
        fits = phi.ndim == 4 and phi.size > 0 and phi.shape[0] == phi.shape[2]
        check.require(fits, "features", "of shape (S, A, S, d)", phi.shape)
        finite = bool((np.abs(phi) <= check.LARGEST).all())
        check.require(finite, "features", f"finite and within ±{check.LARGEST:g}", "others")
        self.n_states, self.n_actions, _, self.dim = phi.shape
        shape = (self.n_states, self.n_actions)
        r = floats("rewards", self.rewards)
        whole = (self.horizon, *shape)
        check.require(r.shape in (shape, whole), "rewards", f"of shape {shape} or {whole}", r.shape)
        low, high = self.reward_range
        within = bool(((low <= r) & (r <= high)).all())
        expected = f"in [{low:g}, {high:g}] (reward_range)"
        check.require(within, "rewards", expected, (float(r.min()), float(r.max())))
        self.features, self.rewards = read_only(phi), read_only(r.copy())
        self.value_norm = value_norm(phi)
        check.require(self.value_norm > 0.0, "features", "not all 0", 0.0)
        least = SMALLEST_RATIO * self.value_norm**2
        expected = f"at least {least:g}, or widths are lost to rounding"
        check.require(self.regularization >= least, "regularization", expected, self.regularization)
        if self.likelihood:
            kernels = (phi.min() >= 0.0) and np.abs(phi.sum(axis=2) - 1.0).max() <= SUMS
            check.require(bool(kernels), "likelihood", "False unless features are given kernels", True)
        self._no_level = np.zeros((self.horizon, 1, self.n_states), dtype=np.int64)
        self._rules = self._make_rules(phi, np.array(np.broadcast_to(r, whole)))

    def _make_rules(self, phi: Array, rewards: Array) -> Rules:
        share = self.delta / self._stacks / (2.0 if self.likelihood else 1.0)
        nested = self.rule == NESTED
        low, high = self.reward_range
        return Rules(
            features=phi,
            rewards=rewards,
            rule=self.rule,
            radius=regression.MIXTURE if self.radius == "mixture" else regression.DETERMINANT,
            pooled=self.homogeneous,
            span=self.scaling == "span",
            widest=self.widest,
            likelihood=self.likelihood,
            delta=share / 2.0 if nested else share,
            outer_delta=share / 2.0 if nested else 0.0,
            log_likelihood=math.log(2.0 * self._stacks / self.delta),
            norm=self.norm,
            regularization=self.regularization,
            scale=self.bonus_scale,
            trust=1.0,
            low=low,
            unit=high - low,
            shortest=NEGLIGIBLE * self.value_norm,
        )

    @property
    def _stacks(self) -> int:
        """Regressions over levels: one for each stage whose next value is not known, or one for all."""
        return 1 if self.homogeneous else max(self.horizon - 1, 1)

    # -- what is known -------------------------------------------------------------------------

    @property
    def counts_many(self) -> bool:
        """Whether ``absorb`` takes many equal episodes in one step: with H ≤ 2 values at the next state are known."""
        return self.horizon <= 2

    @property
    def certified(self) -> bool:
        """True, however actions are chosen, unless an episode refuted the assumptions."""
        return bool(self.state.refuted[0] == 0)

    @property
    def guarantee(self) -> str:
        """As ``theorem`` unless the bonus is scaled or nothing is certified."""
        return self.theorem if self.certified and self.bonus_scale == 1.0 else "none"

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − 3δ/2, for all ε at once, no more episodes have a gap above ε; or infinity."""
        eps = check.positive("eps", eps) / self._rules.unit
        if self.guarantee != "uniform-PAC" or self.radius != "mixture":
            return math.inf
        names = ("norm", "regularization", "value_norm", "homogeneous", "likelihood")
        given = {name: getattr(self, name) for name in names}
        return vtr_mistake_bound(eps, self.dim, self.horizon, self.delta, nested=self.rule == NESTED, **given)

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage; stage 1 if all are one."""
        with self._lock:
            state: State = self.state
            return [
                StageLevel(
                    m + 1, i + 1, int(state.size[m, i]), self._size_bound(i + 1), float(state.beta[m, i])
                )
                for m in range(self._stacks)
                for i in range(top(regression.stack(state, m)))
            ]

    def _size_bound(self, level: int) -> float:
        if self.rule == SINGLE:
            return math.inf
        return float(level_size(self.dim, level, self.regularization, self.value_norm))

    # -- the protocol --------------------------------------------------------------------------

    def _empty(self) -> State:
        S, A, d, M = self.n_states, self.n_actions, self.dim, self._stacks
        levels = regression.INITIAL_LEVELS + (self.horizon if self.homogeneous else 0)
        numbers = M * levels * d * (d + 2) + 4 * self.horizon * S + self.likelihood * M * S * S * A
        require_room("features", f"{M} stacks of {levels} levels", 8 * numbers)
        return regression.empty(self._rules, M, levels)

    def _make_room(self, needed: int = 0) -> None:
        C = self.state.size.shape[1]
        if needed > C or not planning.has_room(self.state, self._rules):
            self.state = regression.with_levels(self.state, max(2 * C, needed))

    def _plan(self) -> Plan:
        state: State = self.state
        if state.planned[0] == 0:
            planning.plan(state, self._rules)
        return Plan(
            state.action[:, None].copy(), self._no_level, state.bound.copy(), state.lower[0].copy(), True
        )

    def _learn(self, episode: Episode) -> None:
        self._plan()
        self._make_room()
        sure = self.state.refuted[0] == 0
        regression.learn(self.state, self._rules, episode.state, episode.action, episode.following)
        if sure and self.state.refuted[0]:
            warn("an episode refutes the mixture: nothing is certified any more", RuntimeWarning)

    def _absorb(self, episode: Episode, shares: Array, times: int) -> None:
        if times > 1:
            most = LARGEST_GROWTH * self.regularization / self.value_norm**2
            check.require(times <= most, "times", f"at most {most:g}, or widths are lost to rounding", times)
        self._plan()
        longest = (
            self.regularization + (self._episodes + times) * self.value_norm**2
        ) / self._rules.shortest**2
        self._make_room(min(math.ceil(math.log(longest, 4)) + 2, MOST_LEVELS) if times > 1 else 0)
        for h, (s, a) in enumerate(zip(episode.state.tolist(), episode.action.tolist(), strict=True)):
            if h < self.horizon - 1:
                regression.learn_step(self.state, self._rules, h, s, a, shares[h], times)
            else:
                regression.learn_last(self.state, self._rules, s, a, shares[h], times)
        regression.refit(self.state, self._rules, len(episode.state))

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        if world.terminal.any():  # the compiled episodes have H stages
            super()._play(world, states, uniforms, trace)
            return
        out, k = np.empty((4, len(states))), 0
        while k < len(states):
            self._make_room()
            before, k = k, planning.play(self.state, self._rules, world, states, uniforms, k, out)
            self._episodes += k - before
        trace.gap[:], trace.reward[:], trace.bound[:], trace.certificate[:] = out
        trace.level[:], trace.replanned[:] = 1, True
        if not self.certified:
            trace.certificate[:] = np.nan

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        told = self._told(mdp)
        fits = np.array_equal(told["features"], self.features)
        check.require(fits, "mdp", "one with the features of this agent", mdp)
        paid = np.array_equal(told["rewards"], self._rules.rewards)
        check.require(paid, "mdp", "one with the rewards of this agent", mdp)

    # -- files ---------------------------------------------------------------------------------

    def _saved(self) -> Any:
        state: State = regression.with_levels(self.state, regression.most_levels(self.state))
        derived = ("logdet", "beta", "planned", "action", "upper", "lower", "bound")
        return state._replace(**{name: getattr(state, name)[:0] for name in derived})

    def _restored(self, saved: Any) -> State:
        M, L = saved.size.shape
        like = regression.empty(self._rules, self._stacks, max(L, 1))
        for name in ("rows", "size", "rotations", "counts", "theta", "refuted"):
            check_shape(getattr(saved, name), getattr(like, name).shape)
        most = self._episodes * (max(self.horizon - 1, 1) if self.homogeneous else 1)
        sound = (
            1 <= L <= (1 if self.rule == SINGLE else MOST_LEVELS)
            and saved.size.min() >= 0
            and sum(saved.size.sum(axis=1).tolist()) <= most * M
            and 0 <= saved.rotations.min() <= saved.rotations.max() <= max(REFRESH_EVERY, self.dim)
            and saved.refuted[0] in (0, 1)
            and saved.counts.min(initial=0.0) >= 0.0
            and saved.counts.sum() <= self._episodes * self.horizon * (1 + 1e-9)
            and bool((saved.theta > 0.0).all() and np.abs(saved.theta.sum(axis=1) - 1.0).max() <= SUMS)
        )
        if sound and self.likelihood:  # no kernel leads there
            sound = not bool((saved.counts[:, self._rules.features.max(axis=3) <= 0.0] > 0.0).any())
        check.require(sound, "state", "one that data led to", "another")
        state: State = like._replace(
            **{n: getattr(saved, n) for n in like._fields[:7] if n not in ("logdet", "beta")}
        )
        state.refuted[:] = saved.refuted
        members = np.cumsum(state.size, axis=1) if self.rule == NESTED else state.size
        for m in range(M):
            S = top(regression.stack(state, m))
            for i in range(S):
                check_factors(
                    state.rows[m, i], self.regularization, float(members[m, i]), self.value_norm, 1.0
                )
                state.logdet[m, i] = ridge.log_determinant(state.rows[m, i], self.regularization)
            check.require(
                not state.size[m, S:].any() and (S < 2 or state.size[m, S - 1] > 0), "size", "sound", S
            )
            regression.set_radii(state, self._rules, m)
        return regression.with_levels(state, max(L, self._empty().size.shape[1]))


def value_norm(features: Array) -> float:
    """X: no ‖Σ_t φ(s, a, t) W(t)‖ with W in [0, 1] is larger; it is reached if no feature is negative.

    >>> value_norm(np.array([[[[0.5, 1.0]]]]) * -1)
    1.118034
    """
    above, below = np.maximum(features, 0.0).sum(axis=2), np.maximum(-features, 0.0).sum(axis=2)
    return float(np.linalg.norm(np.maximum(above, below), axis=-1).max())
