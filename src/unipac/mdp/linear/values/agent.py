"""What an agent with the bounds of ``value_bounds`` does: UPACLSVI over levels, LSVIUCB on one set of all data."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._warnings import warn
from unipac.envs import FiniteMDP
from unipac.envs.play.simulation import World
from unipac.mdp.linear.values import plan as lsvi
from unipac.mdp.linear.values import state as lsvi_state
from unipac.mdp.linear.values.blocks import layout
from unipac.mdp.linear.values.bounds import Rules
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.mdp.protocol.play import room_for
from unipac.mdp.protocol.policy import TablePolicy
from unipac.mdp.protocol.records import EpisodeTrace, StageLevel
from unipac.theory.upac_lsvi import Sizes, log_failures


class Bounded(Protocol):
    """What such an agent is asked for: its parameters, sizes and state."""

    features: Any
    horizon: int
    reward_range: tuple[float, float]
    delta: float
    regularization: float
    radius: str
    bonus_scale: float
    replan: str
    replan_factor: float
    terminates: bool
    n_states: int
    dim: int
    state: Any

    @property
    def episodes(self) -> int:
        """Finished so far."""

    def _clone(self) -> Any: ...


class Bounding:
    """The agent's ``state`` is an ``lsvi.State``."""

    def __init__(self, agent: Bounded, *, levelled: bool) -> None:
        self.agent = agent
        places = layout(agent.features, agent.radius == "auto")
        outcomes = agent.n_states + agent.terminates
        alone, features = int((places.block < 0).sum()), len(places.block)
        blocks = tuple(places.sizes.tolist())
        self.sizes = Sizes(agent.horizon, agent.dim, outcomes, blocks, places.cells, alone, features)
        logs = log_failures(self.sizes, agent.delta, agent.radius)
        low, high = agent.reward_range
        lazy = agent.replan == "lazy"
        self.rules = Rules(
            layout=places,
            horizon=agent.horizon,
            dim=agent.dim,
            outcomes=outcomes,
            end=self._ends(),
            regularization=agent.regularization,
            levelled=levelled,
            monotone=agent.radius != "vertex",
            scale=agent.bonus_scale,
            factor=agent.replan_factor if lazy else 1.0,
            rise=math.log(agent.replan_factor) + 1e-9 if lazy else -1.0,
            log_counted=logs.counted,
            log_sets=logs.sets,
            log_every=logs.every,
            low=low,
            unit=high - low,
        )
        self._no_level = np.zeros((agent.horizon, 1, agent.n_states), dtype=np.int64)

    def _ends(self) -> Array:
        """(H + 1,): what the end of an episode is worth at each stage, rewards being scaled to [0, 1]."""
        low, high = self.agent.reward_range
        left = np.arange(self.agent.horizon, -1, -1.0)
        ends: Array = min(max(-low / (high - low), 0.0), 1.0) * left
        return ends

    @property
    def certified(self) -> bool:
        """Unless the rewards of a feature were seen to differ."""
        return bool(self.agent.state.refuted[0] == 0)

    # -- state ---------------------------------------------------------------------------------

    def empty(self) -> lsvi.State:
        """No data."""
        lsvi_state.check_room(self.rules, lsvi.INITIAL_LEVELS)
        return lsvi.empty(self.rules)

    def saved(self) -> lsvi.State:
        """What goes to a file."""
        return lsvi_state.saved(self.agent.state)

    def restored(self, saved: lsvi.State) -> lsvi.State:
        """The state that leads there; a ``ValueError`` if no data do."""
        return lsvi_state.restored(saved, self.rules, self.agent.episodes)

    def _make_room(self) -> None:
        self.agent.state = lsvi_state.with_room(self.agent.state, self.rules)

    # -- the protocol --------------------------------------------------------------------------

    def plan(self) -> Plan:
        """The plan of the next episode."""
        state = self.agent.state
        if state.age[0] == lsvi.STALE:
            lsvi.plan(state, self.rules)
        fresh = bool(state.age[0] == lsvi.FRESH)
        action = state.action[:, None].copy()
        return Plan(action, self._no_level, state.bound.copy(), state.lower.copy(), fresh)

    def learn(self, episode: Episode) -> None:
        """Learn from a finished episode."""
        self._make_room()
        sure = self.certified
        state, action, _, reward, following = episode
        lsvi.learn(self.agent.state, self.rules, state, action, reward, following)
        if sure and not self.certified:
            warn(
                "the rewards of a feature differ at one stage: nothing is certified any more", RuntimeWarning
            )

    def play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> int:
        """Episodes into a trace, until there is no room for another; returns how many."""
        self._make_room()
        played = room_for(trace, self.agent.horizon, self.agent.n_states)
        done = int(lsvi.play(self.agent.state, self.rules, world, states, uniforms, 0, played))
        if not self.certified:
            trace.certificate[:done] = np.nan
        return done

    def stage_levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and largest radius of each level of each stage, all blocks together."""
        return lsvi_state.levels(self.agent.state.data, self.rules)

    def policy(self) -> TablePolicy:
        """The greedy policy; a question changes nothing: the plan is made by another."""
        return TablePolicy(self.agent._clone()._plan().action[:, -1].copy())

    def certificate(self, s: int) -> float:
        """How much the policy of the next episode can lose from state s."""
        plan = self.plan()
        assert plan.lower is not None
        return float(plan.bound[s] - plan.lower[s])

    # -- checks --------------------------------------------------------------------------------

    def check_mdp(self, mdp: FiniteMDP, told: Array) -> None:
        """Refuse an MDP with other features, or rewards that they do not give."""
        check.require(mdp.arrival_rewards is None, "mdp", "one whose rewards depend on (s, a) only", mdp)
        fits = np.array_equal(told, self.agent.features)
        check.require(fits, "mdp", "one with the features of this agent", mdp)
        self.check_end(0, bool(mdp.terminal.any()))

    def check_end(self, h: int, terminated: bool) -> None:
        """Refuse an end of which nothing is known."""
        if terminated and h < self.agent.horizon - 1:
            check.require(self.agent.terminates, "terminates", "True if episodes end before H", False)
            low, high = self.agent.reward_range
            around = "(low, high) around 0 if episodes terminate"
            check.require(low <= 0.0 <= high, "reward_range", around, self.agent.reward_range)
