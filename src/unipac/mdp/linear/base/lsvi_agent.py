"""What agents with linear features and finitely many states do beside their bounds; UPACLSVI derives from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._inputs import check_norms, floats, read_only
from unipac._warnings import warn
from unipac.envs import FiniteMDP
from unipac.envs.simulation import World
from unipac.mdp.base.agent import EpisodicAgent
from unipac.mdp.base.plan import Episode, Plan
from unipac.mdp.base.records import EpisodeTrace, StageLevel
from unipac.mdp.linear.base import lsvi, lsvi_state
from unipac.mdp.linear.base.levelled import LinearAgent
from unipac.mdp.linear.base.playing import play
from unipac.mdp.linear.base.value_bounds import Rules

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@agent
class LSVIAgent(EpisodicAgent):
    """An agent whose plan is that of ``base.lsvi``; the algorithm writes ``_make_rules``.

    {parameters}
    """

    features: Any = parameter(check=None, words="φ, (states, actions, d), norms at most 1", positional=True)
    regularization: float = parameter(1.0, check.positive, "λ > 0 of the ridge regressions")
    terminates: bool = parameter(
        True, check.flag, "whether episodes may end before H; bounds are a little smaller if not"
    )

    def _make_rules(self) -> Rules:
        raise NotImplementedError

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return LinearAgent._told(mdp)

    def _check_parameters(self) -> None:
        phi = floats("features", self.features).copy()
        check.require(phi.ndim == 3 and phi.size > 0, "features", "of shape (states, actions, d)", phi.shape)
        check_norms("features", phi, 1.0)
        LinearAgent.refuse_negligible("features", phi)
        self.features = read_only(phi)
        self.n_states, self.n_actions, self.dim = phi.shape
        self._no_level = np.zeros((self.horizon, 1, self.n_states), dtype=np.int64)
        self._rules = self._make_rules()

    def _ends(self) -> Array:
        """(H + 1,): what the end of an episode is worth at each stage, rewards being scaled to [0, 1]."""
        low, high = self.reward_range
        left = np.arange(self.horizon, -1, -1.0)
        ends: Array = min(max(-low / (high - low), 0.0), 1.0) * left
        return ends

    def _empty(self) -> lsvi.State:
        lsvi_state.check_room(self._rules, lsvi.INITIAL_LEVELS)
        return lsvi.empty(self._rules)

    def _plan(self) -> Plan:
        state = self.state
        if state.age[0] == lsvi.STALE:
            lsvi.plan(state, self._rules)
        fresh = bool(state.age[0] == lsvi.FRESH)
        return Plan(
            state.action[:, None].copy(), self._no_level, state.bound.copy(), state.lower.copy(), fresh
        )

    def _learn(self, episode: Episode) -> None:
        self.state = lsvi_state.with_room(self.state, self._rules)
        state, action, _, reward, following = episode
        sure = self.state.refuted[0] == 0
        lsvi.learn(self.state, self._rules, state, action, reward, following)
        if sure and self.state.refuted[0]:
            warn(
                "the rewards of a feature differ at one stage: nothing is certified any more", RuntimeWarning
            )

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        if world.terminal.any():  # the compiled episodes have H stages
            super()._play(world, states, uniforms, trace)
            return
        out, k = np.empty((4, len(states))), 0
        while k < len(states):
            self.state = lsvi_state.with_room(self.state, self._rules)
            before, k = k, play(self.state, self._rules, world, states, uniforms, k, out, trace.replanned)
            self._episodes += k - before
        trace.gap[:], trace.reward[:], trace.bound[:], trace.certificate[:] = out
        trace.level[:] = 1
        if not self.certified:
            trace.certificate[:] = np.nan

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and largest radius of each level of each stage, all blocks together."""
        with self._lock:
            return lsvi_state.levels(self.state.data, self._rules)

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        check.require(mdp.arrival_rewards is None, "mdp", "one whose rewards depend on (s, a) only", mdp)
        fits = np.array_equal(self._told(mdp)["features"], self.features)
        check.require(fits, "mdp", "one with the features of this agent", mdp)

    def _check_end(self, h: int, terminated: bool) -> None:
        if terminated and h < self.horizon - 1:
            check.require(self.terminates, "terminates", "True if episodes end before H", False)
            low, high = self.reward_range
            around = "(low, high) around 0 if episodes terminate"
            check.require(low <= 0.0 <= high, "reward_range", around, self.reward_range)

    def _saved(self) -> Any:
        return lsvi_state.saved(self.state)

    def _restored(self, saved: Any) -> lsvi.State:
        return lsvi_state.restored(saved, self._rules, self._episodes)
