"""What agents for linear mixture MDPs share, apart from their choice of levels and radii."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._constants import LARGEST_GROWTH, NEGLIGIBLE, SMALLEST_RATIO
from unipac._memory import require_room
from unipac._warnings import warn
from unipac.envs.play.simulation import World
from unipac.linalg import ridge
from unipac.linalg.levels import MOST_LEVELS, NESTED, REFRESH_EVERY, SINGLE
from unipac.linalg.soundness import check_factors, check_shape
from unipac.mdp.mixture.regression import kernels, planning
from unipac.mdp.mixture.regression.inputs import MixtureInputs
from unipac.mdp.mixture.regression.kernels import Rules, State
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.records import EpisodeTrace, StageLevel
from unipac.theory.bounds import level_size
from unipac.theory.vtr import vtr_mistake_bound

SUMS = 1e-9
"""How far the sums of kernels may be from 1."""


def radius_of(default: str) -> Any:
    """The parameter β."""
    words = '"determinant" as in Abbasi-Yadkori et al. (2011), or the smaller "mixture"'
    return parameter(default=default, check=check.choice("mixture", "determinant"), words=words)


def scaling_of(default: str) -> Any:
    """The parameter u."""
    words = 'values are scaled to [0, 1] by their own range ("span"), or by that of all sums of rewards ("horizon")'
    return parameter(default=default, check=check.choice("span", "horizon"), words=words)


@agent
class MixtureAgent(MixtureInputs):
    """Value-targeted regression; the algorithms derive from it.

    {parameters}
    """

    _rule: ClassVar[int]
    """How visits are spread over levels, as in ``linalg.levels``."""
    absorbs = True
    counts_many = True  # if H ≤ 2: else the values of next states change as it learns
    refutation: ClassVar[str] = "an episode refutes the mixture: nothing is certified any more"

    homogeneous: bool = parameter(
        default=False,
        check=check.flag,
        words="whether θ is the same at all stages: then one regression serves them all",
    )
    regularization: float = declare.regularization()
    radius: str = radius_of("mixture")
    scaling: str = scaling_of("span")
    bonus_scale: float = declare.bonus_scale()

    # -- parameters ----------------------------------------------------------------------------

    def _extensions(self) -> tuple[bool, bool]:
        """Whether rounds are of upper or lower values, whichever are wider; whether there is a likelihood set."""
        return False, False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        least = SMALLEST_RATIO * self._value_norm**2
        expected = f"at least {least:g}, or widths are lost to rounding"
        check.require(self.regularization >= least, "regularization", expected, self.regularization)
        widest, likelihood = self._extensions()
        if likelihood:
            phi = self.features
            kernel = (phi.min() >= 0.0) and np.abs(phi.sum(axis=2) - 1.0).max() <= SUMS
            check.require(bool(kernel), "likelihood", "False unless features are given kernels", True)
        self._rules = self._make_rules(widest, likelihood)

    def _make_rules(self, widest: bool, likelihood: bool) -> Rules:
        share = self.delta / self._stacks / (2.0 if likelihood else 1.0)
        nested = self._rule == NESTED
        low, high = self.reward_range
        return Rules(
            features=self.features.copy(),
            rewards=self._paid,
            rule=self._rule,
            radius=kernels.MIXTURE if self.radius == "mixture" else kernels.DETERMINANT,
            pooled=self.homogeneous,
            span=self.scaling == "span",
            widest=widest,
            likelihood=likelihood,
            delta=share / 2.0 if nested else share,
            outer_delta=share / 2.0 if nested else 0.0,
            log_likelihood=math.log(2.0 * self._stacks / self.delta),
            norm=self.norm,
            regularization=self.regularization,
            scale=self.bonus_scale,
            trust=1.0,
            low=low,
            unit=high - low,
            shortest=NEGLIGIBLE * self._value_norm,
        )

    @property
    def _stacks(self) -> int:
        """The number of regressions over levels: one for each stage but the last, or one for all."""
        return 1 if self.homogeneous else max(self.horizon - 1, 1)

    # -- questions to the agent ----------------------------------------------------------------

    @property
    def consistent(self) -> bool:
        """False once an episode contradicts the mixture."""
        return bool(self.state.refuted[0] == 0)

    @property
    def _proven(self) -> bool:
        """True, however actions are chosen, unless an episode refuted the assumptions."""
        return self.consistent

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − 3δ/2, for all ε at once, at most this many episodes have a gap above ε; or infinity."""
        eps = check.positive("eps", eps) / self._rules.unit
        if self.guarantee != "uniform-PAC" or self.radius != "mixture":
            return math.inf
        return vtr_mistake_bound(
            eps,
            self.dim,
            self.horizon,
            self.delta,
            nested=self._rule == NESTED,
            norm=self.norm,
            regularization=self.regularization,
            value_norm=self._value_norm,
            homogeneous=self.homogeneous,
            scaling=self.scaling,
            likelihood=self._rules.likelihood,
        )

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage; stage 1 stands for all if pooled."""
        with self._lock:
            state: State = self.state
            return [
                StageLevel(
                    m + 1, i + 1, int(state.size[m, i]), self._size_bound(i + 1), float(state.beta[m, i])
                )
                for m in range(self._stacks)
                for i in range(kernels.levels_of(state, m))
            ]

    def _size_bound(self, level: int) -> float:
        if self._rule == SINGLE:
            return math.inf
        return float(level_size(self.dim, level, self.regularization, self._value_norm))

    # -- the protocol --------------------------------------------------------------------------

    def _empty(self) -> State:
        S, A, d, M = self.n_states, self.n_actions, self.dim, self._stacks
        levels = kernels.INITIAL_LEVELS + (self.horizon if self.homogeneous else 0)
        numbers = M * levels * d * (d + 2) + 4 * self.horizon * S + self._rules.likelihood * M * S * S * A
        require_room("features", f"{M} stacks of {levels} levels", 8 * numbers)
        return kernels.empty(self._rules, M, levels)

    def _make_room(self, needed: int = 0) -> None:
        C = self.state.size.shape[1]
        if needed > C or not planning.has_room(self.state, self._rules):
            self.state = kernels.with_levels(self.state, max(2 * C, needed))

    def _plan(self) -> Plan:
        state: State = self.state
        if state.planned[0] == 0:
            planning.plan(state, self._rules)
        return Plan(
            state.action[:, None].copy(), self._no_level, state.bound.copy(), state.lower[0].copy(), True
        )

    def _learn(self, episode: Episode) -> Change:
        self._plan()
        self._make_room()
        steps = episode.state, episode.action, episode.following
        return kernels.learn, (self.state, self._rules, *steps)

    def _absorb(self, episode: Episode, shares: Array, times: int) -> Change:
        if times > 1:
            expected = "1 where values of next states change as it learns, that is, unless H <= 2"
            check.require(self.horizon <= 2, "times", expected, times)
            most = LARGEST_GROWTH * self.regularization / self._value_norm**2
            check.require(times <= most, "times", f"at most {most:g}, or widths are lost to rounding", times)
        self._plan()
        longest = (
            self.regularization + (self.episodes + times) * self._value_norm**2
        ) / self._rules.shortest**2
        self._make_room(min(math.ceil(math.log(longest, 4)) + 2, MOST_LEVELS) if times > 1 else 0)
        return kernels.absorb, (self.state, self._rules, episode.state, episode.action, shares, times)

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        if world.terminal.any():  # the compiled episodes have H stages
            super()._play(world, states, uniforms, trace)
            return
        trace.level[:], trace.replanned[:] = 1, True
        played, k = (trace.gap, trace.reward, trace.bound, trace.certificate), 0
        sure = self.consistent
        while k < len(states):
            self._make_room()
            k += self._ledger.run(planning.play, self.state, self._rules, world, states, uniforms, k, played)
        if sure and not self.consistent:
            warn(self.refutation, RuntimeWarning)

    # -- files ---------------------------------------------------------------------------------

    def _saved(self) -> Any:
        state: State = kernels.with_levels(self.state, kernels.most_levels(self.state))
        derived = ("logdet", "beta", "planned", "action", "upper", "lower", "bound")
        return state._replace(**{name: getattr(state, name)[:0] for name in derived})

    def _restored(self, saved: Any) -> State:
        M, L = saved.size.shape
        like = kernels.empty(self._rules, self._stacks, max(L, 1))
        for name in ("rows", "size", "rotations", "counts", "theta", "refuted"):
            check_shape(getattr(saved, name), getattr(like, name).shape)
        most = self.episodes * (max(self.horizon - 1, 1) if self.homogeneous else 1)
        sound = (
            1 <= L <= (1 if self._rule == SINGLE else MOST_LEVELS)
            and saved.size.min() >= 0
            and sum(saved.size.sum(axis=1).tolist()) <= most * M
            and 0 <= saved.rotations.min() <= saved.rotations.max() <= max(REFRESH_EVERY, self.dim)
            and saved.refuted[0] in (0, 1)
            and saved.counts.min(initial=0.0) >= 0.0
            and saved.counts.sum() <= self.episodes * self.horizon * (1 + 1e-9)
            and bool((saved.theta > 0.0).all() and np.abs(saved.theta.sum(axis=1) - 1.0).max() <= SUMS)
        )
        if sound and self._rules.likelihood:  # no kernel leads there
            sound = not bool((saved.counts[:, self._rules.features.max(axis=3) <= 0.0] > 0.0).any())
        check.require(sound, "state", "one that data led to", "another")
        state: State = like._replace(
            **{n: getattr(saved, n) for n in like._fields[:7] if n not in ("logdet", "beta")}
        )
        state.refuted[:] = saved.refuted
        members = np.cumsum(state.size, axis=1) if self._rule == NESTED else state.size
        for m in range(M):
            S = kernels.levels_of(state, m)
            for i in range(S):
                check_factors(
                    state.rows[m, i], self.regularization, float(members[m, i]), self._value_norm, 1.0
                )
                state.logdet[m, i] = ridge.log_determinant(state.rows[m, i], self.regularization)
            check.require(
                not state.size[m, S:].any() and (S < 2 or state.size[m, S - 1] > 0), "size", "sound", S
            )
            kernels.set_radii(state, self._rules, m)
        return kernels.with_levels(state, max(L, self._empty().size.shape[1]))
