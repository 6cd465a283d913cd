"""Agents whose bounds need to hold for V* alone: UPACLSVI over levels, MonotoneLSVI on one set of all data."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._parameters import ArrayParameter
from unipac._warnings import warn
from unipac.envs import FiniteMDP
from unipac.envs.play.simulation import World
from unipac.mdp.linear.features import check_same, checked_features, told_by
from unipac.mdp.linear.values import plan as kernels, state as states_of
from unipac.mdp.linear.values.blocks import layout
from unipac.mdp.linear.values.bounds import Rules
from unipac.mdp.linear.values.plan import FRESH, INITIAL_LEVELS, STALE, State
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.play import room_for
from unipac.mdp.protocol.records import EpisodeTrace, StageLevel
from unipac.theory.upac_lsvi import Sizes, log_failures


@agent
class ValueAgent(EpisodicAgent):
    """Certified value iteration with linear features and finitely many states; the algorithms derive from it.

    {parameters}
    """

    refutation: ClassVar[str] = "the rewards of a feature differ at one stage: nothing is certified any more"
    _levelled: ClassVar[bool]
    """Whether data are spread over levels."""

    features: ArrayParameter = parameter(words="φ, (states, actions, d), norms at most 1", kw_only=False)
    regularization: float = declare.regularization()
    terminates: bool = parameter(
        default=True,
        check=check.flag,
        words="whether episodes may end before H; bounds are a little smaller if not",
    )
    delta: float = declare.delta()
    radius: str = parameter(
        default="monotone",
        check=check.choice("monotone", "vertex"),
        words='"monotone": bounds for V* alone; "vertex": simpler ones for all V',
    )
    bonus_scale: float = declare.bonus_scale()
    replan: str = declare.replan("lazy")
    replan_factor: float = declare.replan_factor(1.05)

    def _check_parameters(self) -> None:
        self.features = checked_features(self.features)
        self.n_states, self.n_actions, self.dim = self.features.shape
        places = layout(self.features, self.radius == "auto")
        outcomes = self.n_states + self.terminates
        alone, features = int((places.block < 0).sum()), len(places.block)
        blocks = tuple(places.sizes.tolist())
        self._sizes = Sizes(self.horizon, self.dim, outcomes, blocks, places.cells, alone, features)
        logs = log_failures(self._sizes, self.delta, self.radius)
        low, high = self.reward_range
        lazy = self.replan == "lazy"
        self._rules = Rules(
            layout=places,
            horizon=self.horizon,
            dim=self.dim,
            outcomes=outcomes,
            end=min(max(-low / (high - low), 0.0), 1.0) * np.arange(self.horizon, -1, -1.0),
            regularization=self.regularization,
            levelled=self._levelled,
            monotone=self.radius != "vertex",
            scale=self.bonus_scale,
            factor=self.replan_factor if lazy else 1.0,
            rise=math.log(self.replan_factor) + 1e-9 if lazy else -1.0,
            log_counted=logs.counted,
            log_sets=logs.sets,
            log_every=logs.every,
            low=low,
            unit=high - low,
        )
        self._no_level = np.zeros((self.horizon, 1, self.n_states), dtype=np.int64)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return told_by(mdp)

    @property
    def consistent(self) -> bool:
        """Whether the rewards of every feature were always the same at a stage."""
        return bool(self.state.refuted[0] == 0)

    @property
    def _proven(self) -> bool:
        """True, however actions are chosen, unless the rewards of a feature were seen to differ."""
        return self.consistent

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and largest radius of each level of each stage, all blocks together."""
        with self._lock:
            return states_of.levels(self.state.data, self._rules)

    # -- state ---------------------------------------------------------------------------------

    def _empty(self) -> State:
        states_of.check_room(self._rules, INITIAL_LEVELS)
        return kernels.empty(self._rules)

    def _saved(self) -> State:
        return states_of.saved(self.state)

    def _restored(self, saved: State) -> State:
        return states_of.restored(saved, self._rules, self.episodes)

    # -- the protocol --------------------------------------------------------------------------

    def _plan(self) -> Plan:
        state: State = self.state
        if state.age[0] == STALE:
            kernels.plan(state, self._rules)
        action = state.action[:, None].copy()
        fresh = bool(state.age[0] == FRESH)
        return Plan(action, self._no_level, state.bound.copy(), state.lower.copy(), fresh)

    def _learn(self, episode: Episode) -> Change:
        self.state = states_of.with_room(self.state, self._rules)
        state, action, _, reward, following = episode
        return kernels.learn, (self.state, self._rules, state, action, reward, following)

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        """Play in parts: each time more room is needed, continue where it stopped."""
        played, done, sure = room_for(trace, self.horizon, self.n_states), 0, self.consistent
        while done < len(states):
            self.state = states_of.with_room(self.state, self._rules)
            arguments = self.state, self._rules, world, states, uniforms, done, played
            done += self._ledger.run(kernels.play, *arguments)
        if sure and not self.consistent:
            warn(self.refutation, RuntimeWarning)

    # -- checks --------------------------------------------------------------------------------

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        check.require(mdp.arrival_rewards is None, "mdp", "one whose rewards depend on (s, a) only", mdp)
        check_same(mdp, self.features)
        self._check_end(0, bool(mdp.terminal.any()))

    def _check_end(self, h: int, terminated: bool) -> None:
        if terminated and h < self.horizon - 1:
            check.require(self.terminates, "terminates", "True if episodes end before H", False)
            low, high = self.reward_range
            around = "(low, high) around 0 if episodes terminate"
            check.require(low <= 0.0 <= high, "reward_range", around, self.reward_range)
