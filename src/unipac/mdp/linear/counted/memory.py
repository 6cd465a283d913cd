"""Agents for finitely many states, given by their features: transitions are counted.

An episode costs the same however many came before. Radii, log-determinants and plans are functions of the sums that are
kept; where plans are not renewed before every episode, the sums of the last plan are kept too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._memory import require_room
from unipac.envs.play.simulation import World
from unipac.linalg import ridge
from unipac.linalg.levels import NESTED, SINGLE
from unipac.linalg.soundness import check_factors, check_levels, check_shape, check_sums
from unipac.mdp.linear.counted import backward, pessimism
from unipac.mdp.linear.counted import episodes as kernels
from unipac.mdp.linear.counted import sums as counted
from unipac.mdp.linear.counted.sums import Counted, Planned
from unipac.mdp.protocol.ledger import TERMINAL
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.mdp.protocol.policy import TablePolicy
from unipac.mdp.protocol.records import EpisodeTrace

if TYPE_CHECKING:
    from unipac.mdp.linear.levelled.agent import LinearAgent


INITIAL_LEVELS = 8

WIDTH_TOLERANCE = 1e-6
"""Relative; by so much may rounding have moved a width that is kept up to date."""


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
    """Of the levels of the last plan, where plans are kept."""


SUMS = ("rows", "size", "rotations", "rewards", "arrivals", "width2")
OF_THE_PLAN = ("rows", "rewards", "arrivals", "width2")


class Counting:
    """What an agent does with numbers of states. Its ``state`` is a Memory."""

    def __init__(self, agent: LinearAgent) -> None:
        self.agent = agent
        self.check_room(INITIAL_LEVELS)

    def check_room(self, levels: int) -> None:
        """Say what will be allocated, if it is too much."""
        a = self.agent
        H, S, A, d = a.horizon, a.n_states, a.n_actions, a.dim
        sums = d * (d + 2) + S * d + d + S * A
        plan = 2 * S * A + 2 * S
        numbers = H * levels * ((2 if a.lazy else 1) * sums + (1 if a.bonus_scale == 1.0 else 2) * plan)
        what = f"{H} stages and {levels} levels of {d} features of {S} states and {A} actions"
        require_room("features", what, 8 * numbers)

    # -- state ---------------------------------------------------------------------------------

    def empty(self) -> kernels.Memory:
        """No data."""
        a = self.agent
        self.rules = a.make_rules(INITIAL_LEVELS)
        data = counted.empty(a.features.copy(), a.horizon, INITIAL_LEVELS, a.regularization)
        for h in range(a.horizon):
            kernels.set_radii(data, self.rules, h, 1, 1)
        return self._held(data, counted.not_planned(data, a.lazy))

    def _held(self, data: Counted, planned: Planned) -> kernels.Memory:
        """These data, with plans to be made from them."""
        a, capacity = self.agent, data.size.shape[1]
        plan = proof = backward.empty(a.caps, capacity, a.n_states, a.n_actions)
        if a.bonus_scale != 1.0:
            proof = backward.empty(a.caps, capacity, a.n_states, a.n_actions)
        return kernels.Memory(data, planned, plan, proof, np.ones(a.horizon, dtype=np.int64))

    def make_room(self) -> None:
        """Let there be room for one more level."""
        memory: kernels.Memory = self.agent.state
        capacity = memory.data.size.shape[1]
        if self.agent.rule == SINGLE or counted.top(memory.data) < capacity:
            return
        capacity *= 2
        self.check_room(capacity)
        self.rules = self.agent.make_rules(capacity)
        plan = backward.grown(memory.plan, capacity)
        self.agent.state = kernels.Memory(
            counted.grown(memory.data, capacity),
            counted.grown_planned(memory.planned, capacity),
            plan,
            plan if memory.proof is memory.plan else backward.grown(memory.proof, capacity),
            memory.dirty,
        )

    def saved(self) -> Saved:
        """What goes to a file."""
        data, planned = self.agent.state.data, self.agent.state.planned
        S, P = counted.top(data), int(planned.levels[0])
        kept = planned._replace(**{name: getattr(planned, name)[:, :P] for name in OF_THE_PLAN})
        return Saved(**{name: getattr(data, name)[:, :S] for name in SUMS}, planned=kept)

    def restored(self, saved: Saved) -> kernels.Memory:
        """The state that leads there; a ``ValueError`` if no data do."""
        a, planned = self.agent, saved.planned
        S, d = saved.size.shape[1], a.dim
        P = int(planned.levels[0]) if planned.levels.shape == (1,) else -1
        one = counted.empty(a.features.copy(), a.horizon, 1, 1.0)
        for sums, names, levels in ((saved, SUMS, S), (planned, OF_THE_PLAN, P if a.lazy else 0)):
            for name in names:
                check_shape(getattr(sums, name), (a.horizon, levels, *getattr(one, name).shape[2:]))
        check_levels(saved.size, a.rule)
        sound = (
            0 <= P <= S
            and 0 <= saved.rotations.min() <= saved.rotations.max() <= max(counted.REFRESH_EVERY, d)
            and saved.size.sum(axis=1).max() <= a.episodes
        )
        if not sound:
            raise ValueError("the levels are not those of so many episodes")
        capacity = max(INITIAL_LEVELS, S + 1)
        self.check_room(capacity)
        self.rules = a.make_rules(capacity)
        data = self._counted(saved, saved.size, capacity)
        data.rotations[:, :S] = saved.rotations
        memory = self._held(data, counted.not_planned(data, a.lazy))
        if P > 0 and a.lazy:
            before = self._counted(planned, saved.size[:, :P], capacity)  # there were no more than now
            kernels.prepare(memory._replace(data=before), self.rules, P)
            memory.dirty[:] = 1
        memory.planned.levels[0] = P
        return memory

    def _counted(self, sums: Saved | Planned, size: Integers, capacity: int) -> Counted:
        """Data of which the sums are given; the rest is computed."""
        a, S = self.agent, sums.rows.shape[1]
        data = counted.empty(a.features.copy(), a.horizon, capacity, a.regularization)
        members = np.cumsum(size, axis=1) if a.rule == NESTED else size
        data.size[:, :S] = size
        for name in ("rows", "rewards", "arrivals"):
            getattr(data, name)[:, :S] = getattr(sums, name)
        for h in range(a.horizon):
            for i in range(S):
                n = float(members[h, i])
                check_factors(data.rows[h, i], a.regularization, n, 1.0, 0.0)
                check_sums(data.rewards[h, i], data.arrivals[h, i], n, a.horizon + 1.0)
                data.logdet[h, i] = ridge.log_determinant(data.rows[h, i], a.regularization)
                counted.compute_widths(data, h, i)
            if not np.allclose(sums.width2[h], data.width2[h, :S], rtol=WIDTH_TOLERANCE, atol=1e-300):
                raise ValueError("widths are not those of the data")
            data.width2[h, :S] = sums.width2[h]
            kernels.set_radii(data, self.rules, h, 1, S)
            data.first[h] = 1
            counted.find_first(data, h, S)
        return data

    # -- the protocol --------------------------------------------------------------------------

    def plan(self) -> Plan:
        """The plan of the next episode."""
        self.make_room()
        a, memory = self.agent, self.agent.state
        S, single = counted.top(memory.data), a.rule == SINGLE
        fresh = bool(kernels.prepare(memory, self.rules, S))
        shape = (a.horizon, 1 if single else S + 1, a.n_states)
        action, level = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        backward.tabulate(memory.data, memory.plan, single, a.horizon, action, level)
        return Plan(action, level, memory.proof.V[0, S - 1].copy(), None, fresh)

    def learn(self, episode: Episode) -> None:
        """Learn from a finished episode."""
        self.make_room()
        reward = self.agent.on_scale(episode.reward, bool(episode.following[-1] == TERMINAL))
        kernels.learn_episode(self.agent.state, self.rules, *episode._replace(reward=reward))

    def play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> int:
        """Episodes into a trace, until the stack is full; returns how many."""
        self.make_room()
        record = kernels.Record(trace.gap, trace.level, trace.reward, trace.bound, trace.replanned)
        return kernels.play(self.agent.state, self.rules, world, states, uniforms, record)

    @property
    def levels(self) -> int:
        """How many are in use."""
        return counted.top(self.agent.state.data)

    @property
    def data(self) -> Counted:
        """The sums of all levels."""
        data: Counted = self.agent.state.data
        return data

    def policy(self) -> TablePolicy:
        """The greedy policy of the tightest estimate."""
        a, S = self.agent, self.levels
        plan = backward.empty(a.caps, self.data.size.shape[1], a.n_states, a.n_actions)
        backward.backward(
            self.data, plan, S, np.ones(a.horizon, dtype=np.int64), a.bonus_scale, self.rules.centre
        )
        return TablePolicy(plan.action[:, S - 1].copy())

    def certificate(self, s: Any) -> float:
        """How much the policy of the next episode can lose from state s; proven with radius "finite" only."""
        if self.agent.radius != "finite":
            return math.nan
        plan = self.plan()
        levels, centre = plan.action.shape[1], self.rules.centre
        low = pessimism.lower_values(self.data, self.agent.state.plan, self.levels, levels, centre)
        return float(plan.bound[s] - low[0, -1, s])
