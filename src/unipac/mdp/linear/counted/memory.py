"""The memory of agents for finitely many states, given by their features: transitions are counted.

An episode costs the same however many came before. Radii, log-determinants and plans are functions of the sums that are
kept; where plans are not renewed before every episode, the sums of the last plan are kept too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._memory import require_room
from unipac.envs.play.simulation import World
from unipac.linalg import ridge
from unipac.linalg.levels import NESTED, REFRESH_OFTEN, SINGLE
from unipac.linalg.soundness import check_factors, check_levels, check_shape
from unipac.mdp.linear.counted import backward, episodes as kernels, sums
from unipac.mdp.linear.counted.episodes import State
from unipac.mdp.linear.counted.sums import Counted, Planned
from unipac.mdp.linear.features import on_scale
from unipac.mdp.linear.radius import Settings
from unipac.mdp.protocol.ledger import TERMINAL, Step
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.policy import TablePolicy
from unipac.mdp.protocol.records import EpisodeTrace

INITIAL_LEVELS = 8


class Saved(NamedTuple):
    """What goes to a file: the sums of the levels in use."""

    rows: Array
    """(H, S, d, d + 2)."""
    size: Integers
    rotations: Integers
    rewards: Array
    arrivals: Array
    width2: Array
    planned: Planned
    """The sums of the last plan, where plans are kept."""


SUMS = ("rows", "size", "rotations", "rewards", "arrivals", "width2")
OF_THE_PLAN = ("rows", "rewards", "arrivals", "width2")


class CountedMemory:
    """What was learned about states given by their numbers, and what follows from it."""

    state: State

    def __init__(self, settings: Settings, features: Array) -> None:
        self.settings, self._features = settings, features
        self._current: Plan | None = None
        """The plan of the episode under way."""
        self._set_capacity(INITIAL_LEVELS)

    def _set_capacity(self, levels: int) -> None:
        """Make the rules for ``levels`` levels; refuse if that needs too much memory."""
        a = self.settings
        H, S, A, d = a.horizon, a.n_states, a.n_actions, a.dim
        numbers = d * (d + 2) + S * d + d + S * A
        plan = 2 * S * A + 2 * S
        numbers = H * levels * ((2 if a.lazy else 1) * numbers + (1 if a.bonus_scale == 1.0 else 2) * plan)
        what = f"{H} stages and {levels} levels of {d} features of {S} states and {A} actions"
        require_room("features", what, 8 * numbers)
        self.rules = a.rules(levels)

    # -- state ---------------------------------------------------------------------------------

    def _no_data(self, levels: int) -> Counted:
        a = self.settings
        return sums.empty(self._features.copy(), a.horizon, levels, a.regularization)

    def empty(self) -> State:
        """No data."""
        data = self._no_data(INITIAL_LEVELS)
        for h in range(self.settings.horizon):
            kernels.set_radii(data, self.rules, h, 1, 1)
        return self._without_plan(data)

    def _without_plan(self, data: Counted) -> State:
        a, capacity = self.settings, data.size.shape[1]
        plan = proof = backward.empty(a.caps, capacity, a.n_states, a.n_actions)
        if a.bonus_scale != 1.0:
            proof = backward.empty(a.caps, capacity, a.n_states, a.n_actions)
        return State(data, sums.not_planned(data, a.lazy), plan, proof, np.ones(a.horizon, dtype=np.int64))

    def _make_room(self) -> None:
        """Make room for one more level."""
        data, planned, plan, proof, dirty = self.state
        capacity = data.size.shape[1]
        if self.settings.rule == SINGLE or sums.top(data) < capacity:
            return
        capacity *= 2
        self._set_capacity(capacity)
        larger = backward.grown(plan, capacity)
        self.state = State(
            sums.grown(data, capacity),
            sums.grown_planned(planned, capacity),
            larger,
            larger if proof is plan else backward.grown(proof, capacity),
            dirty,
        )

    def saved(self) -> Saved:
        """What goes to a file."""
        data, planned = self.state.data, self.state.planned
        S, P = sums.top(data), int(planned.levels[0])
        kept = planned._replace(**{name: getattr(planned, name)[:, :P] for name in OF_THE_PLAN})
        return Saved(**{name: getattr(data, name)[:, :S] for name in SUMS}, planned=kept)

    def restored(self, saved: Saved, episodes: int) -> State:
        """The state from a file; a ``ValueError`` if no data of ``episodes`` episodes lead to it."""
        a, planned = self.settings, saved.planned
        S = saved.size.shape[1]
        P = int(planned.levels[0]) if planned.levels.shape == (1,) else -1
        one = self._no_data(1)
        for part, names, levels in ((saved, SUMS, S), (planned, OF_THE_PLAN, P if a.lazy else 0)):
            for name in names:
                check_shape(getattr(part, name), (a.horizon, levels, *getattr(one, name).shape[2:]))
        check_levels(saved.size, a.rule)
        sound = (
            0 <= P <= S
            and 0 <= saved.rotations.min() <= saved.rotations.max() <= max(REFRESH_OFTEN, a.dim)
            and saved.size.sum(axis=1).max() <= episodes
        )
        if not sound:
            raise ValueError("the levels are not those of so many episodes")
        capacity = max(INITIAL_LEVELS, S + 1)
        self._set_capacity(capacity)
        data = self._counted(saved, saved.size, capacity)
        data.rotations[:, :S] = saved.rotations
        state = self._without_plan(data)
        if P > 0 and a.lazy:
            before = self._counted(planned, saved.size[:, :P], capacity)  # sizes were at most those of now
            kernels.prepare(state._replace(data=before), self.rules, P)
            state.dirty[:] = 1
        state.planned.levels[0] = P
        return state

    def _counted(self, part: Saved | Planned, size: Integers, capacity: int) -> Counted:
        """The data with these sums; the rest is computed."""
        a, S = self.settings, part.rows.shape[1]
        data = self._no_data(capacity)
        members = np.cumsum(size, axis=1) if a.rule == NESTED else size
        data.size[:, :S] = size
        if not part.width2.min(initial=0.0) >= 0.0:
            raise ValueError("a width is negative")
        for name in ("rows", "rewards", "arrivals", "width2"):
            getattr(data, name)[:, :S] = getattr(part, name)
        for h in range(a.horizon):
            for i in range(S):
                check_factors(data.rows[h, i], a.regularization, float(members[h, i]), 1.0, 0.0)
                data.logdet[h, i] = ridge.log_determinant(data.rows[h, i], a.regularization)
            kernels.set_radii(data, self.rules, h, 1, S)
            data.first[h] = 1
            sums.find_first(data, h, S)
        return data

    # -- the protocol --------------------------------------------------------------------------

    def seen(self, name: str, observation: Any) -> int:
        """The number of a state, checked."""
        return check.count(name, observation, least=0, most=self.settings.n_states - 1)

    def prepare(self) -> None:
        """Make the plan, before the first action of an episode."""
        self._current = self.plan()

    def action(self, h: int, level: int | None, seen: int) -> tuple[int, int]:
        """The action at entry h and the level to remember, from 0."""
        if self._current is None:  # after loading in the middle of an episode
            self.prepare()
        plan = self._current
        assert plan is not None
        p = plan.action.shape[1] - 1 if level is None else level
        return int(plan.action[h, p, seen]), int(plan.level[h, p, seen])

    def plan(self) -> Plan:
        """The plan of the next episode."""
        self._make_room()
        a, state = self.settings, self.state
        S, single = sums.top(state.data), a.rule == SINGLE
        fresh = bool(kernels.prepare(state, self.rules, S))
        shape = (a.horizon, 1 if single else S + 1, a.n_states)
        action, level = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        backward.tabulate(state.data, state.plan, single, a.horizon, action, level)
        return Plan(action, level, state.proof.V[0, S - 1].copy(), None, fresh)

    def finish(self, steps: list[Step]) -> Change:
        """What a finished episode changes."""
        columns = [np.array([step[i] for step in steps]) for i in (0, 1, 2, 4)]
        state, action, level, following = (column.astype(np.int64) for column in columns)
        reward = np.array([step.reward for step in steps])
        return self.learn(Episode(state, action, level, reward, following))

    def learn(self, episode: Episode) -> Change:
        """What a finished episode changes; makes room for it first."""
        self._make_room()
        a, terminated = self.settings, bool(episode.following[-1] == TERMINAL)
        reward = on_scale(episode.reward, terminated, a.horizon, a.reward_range)
        return kernels.learn_episode, (self.state, self.rules, *episode._replace(reward=reward))

    def playing(
        self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace
    ) -> tuple[Any, ...]:
        """The kernel, and its arguments, that plays episodes into a trace until the stack is full."""
        self._make_room()
        record = kernels.Record(trace.gap, trace.level, trace.reward, trace.bound, trace.replanned)
        return kernels.play, self.state, self.rules, world, states, uniforms, record

    # -- what follows --------------------------------------------------------------------------

    @property
    def data(self) -> Counted:
        """The sums of all levels."""
        return self.state.data

    @property
    def levels(self) -> int:
        """The number of levels in use."""
        return sums.top(self.data)

    def policy(self) -> TablePolicy:
        """The greedy policy of the tightest estimate."""
        a, S = self.settings, self.levels
        plan = backward.empty(a.caps, self.data.size.shape[1], a.n_states, a.n_actions)
        every = np.ones(a.horizon, dtype=np.int64)
        backward.backward(self.data, plan, S, every, a.bonus_scale, self.rules.centre)
        return TablePolicy(plan.action[:, S - 1].copy())

    def certificate(self, s: int) -> float:
        """How much the policy of the next episode can lose from state s; proven with radius "finite" only."""
        if self.settings.radius != "finite":
            return math.nan
        plan = self.plan()
        low = np.zeros((self.settings.horizon + 1, *plan.action.shape[1:]))
        backward.lower_values(self.data, self.state.plan, self.levels, self.rules.centre, low)
        return float(plan.bound[s] - low[0, -1, s])
