"""The memory of agents for any observations, given by a feature map: transitions are stored.

For stage h and level l the backward pass (Algorithm 2 lines 6-12) needs

    b = Σ φ r + Σ φ V_{h+1}^l(s')        V_{h+1}^l(s') = max_a min_{i ≤ l} Q_{h+1}^i(s', a)

over the rounds of the level. The first sum is kept as in ``counted``; for the second one the features of
s' are stored, and their widths in the levels of the next stage. The widths are the larger part of the work,
d times that of the means: they are computed again only for levels whose Σ changed. A
transition into a terminal state, or at stage H, enters the sums and is not stored at all.

Stage h is entry h − 1, level l entry l − 1 of each array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._constants import NEGLIGIBLE
from unipac._inputs import floats
from unipac._jit import jit
from unipac._memory import require_room
from unipac.linalg import ridge
from unipac.linalg.levels import DISJOINT, NESTED, REFRESH_OFTEN, SINGLE, grown_array, rotate
from unipac.linalg.soundness import check_factors
from unipac.mdp.linear.counted import sums
from unipac.mdp.linear.counted.episodes import set_radii
from unipac.mdp.linear.counted.sums import Counted, with_levels
from unipac.mdp.linear.features import check_lengths, on_scale
from unipac.mdp.linear.radius import Rules, Settings
from unipac.mdp.linear.stored.files import SavedStored, check_saved, fill, to_file
from unipac.mdp.linear.stored.transitions import Estimates, Rounds, State, choose, fill_q_values
from unipac.mdp.protocol.ledger import Step
from unipac.mdp.protocol.plan import Change

INITIAL_LEVELS = 8


class Walk(NamedTuple):
    """A finished episode of n ≤ H stages, by features."""

    taken: Array
    """(n, d): features of the actions taken."""
    level: Integers
    """(n,): the level of each stage, from 1."""
    reward: Array
    """(n,)."""
    following: Array
    """(n, n_actions, d): features of the next observations; the last is not read if ``terminated``."""
    terminated: bool
    """Whether all values after it are 0."""


class StoredMemory:
    """What was learned about observations given by their features, and what follows from it."""

    state: State

    def __init__(self, settings: Settings, feature_map: Callable[[Any], Any]) -> None:
        self.settings, self._feature_map = settings, feature_map
        self.rules = settings.rules(INITIAL_LEVELS)

    # -- state ---------------------------------------------------------------------------------

    def empty(self, levels: int = INITIAL_LEVELS) -> State:
        """No data, with room for ``levels`` levels."""
        a, H, d = self.settings, self.settings.horizon, self.settings.dim
        what = f"{H} stages and {levels} levels of {d} features"
        require_room("feature_map", what, 16 * H * levels * d * (d + 2))
        self.rules = a.rules(levels)
        capacity = 1 if a.rule == SINGLE else levels
        groups = levels if a.rule == DISJOINT else 1
        data = sums.empty(np.empty((0, a.n_actions, d)), H, capacity, a.regularization)
        for h in range(H):
            set_radii(data, self.rules, h, 1, 1)
        return State(
            data=data,
            rounds=[[Rounds(a.n_actions, d)] for _ in range(H - 1)],
            counts=np.zeros((H - 1, groups), dtype=np.int64),
            fresh=np.zeros((H - 1, groups, capacity), dtype=np.int64),
            dirty=np.ones(H, dtype=np.int64),
            levels=np.array([1, 0]),
            estimates=Estimates(
                factors=np.zeros((H, capacity, d, d)),
                w=np.zeros((H, capacity, d)),
                beta=np.zeros((H, capacity)),
                logdet=np.zeros((H, capacity)),
            ),
            planned_rows=np.zeros((H, 0, d, d + 2)),
            planned_rewards=np.zeros((H, 0, d)),
            planned_counts=np.zeros((H - 1, groups), dtype=np.int64),
        )

    def _make_room(self) -> None:
        """Make room for one more level."""
        state, rule = self.state, self.settings.rule
        capacity = state.data.size.shape[1]
        if rule != SINGLE and self.levels >= capacity:
            capacity *= 2
            self.rules = self.settings.rules(capacity)
            groups = capacity if rule == DISJOINT else 1
            fresh = np.moveaxis(grown_array(np.moveaxis(state.fresh, 2, 0), capacity), 0, 2)
            state = self.state = state._replace(
                data=sums.grown(state.data, capacity),
                estimates=Estimates(*(with_levels(array, capacity) for array in state.estimates)),
                counts=with_levels(state.counts, groups),
                planned_counts=with_levels(state.planned_counts, groups),
                fresh=with_levels(fresh, groups),
            )
        if rule == DISJOINT:
            for stage in state.rounds:
                while len(stage) <= self.levels:
                    stage.append(Rounds(self.settings.n_actions, self.settings.dim))

    def saved(self) -> SavedStored:
        """What goes to a file."""
        return to_file(self.state, self.settings.rule)

    def restored(self, saved: SavedStored, episodes: int) -> State:
        """The state from a file; a ``ValueError`` if no data of ``episodes`` episodes lead to it."""
        check_saved(saved, self.settings, episodes)
        return self._rebuilt(saved)

    def _rebuilt(self, saved: SavedStored) -> State:
        """The state from arrays that fit each other; radii, log-determinants and the plan are computed."""
        a, U, P = self.settings, saved.size.shape[1], saved.planned_rows.shape[1]
        state = self.empty(max(INITIAL_LEVELS, U + 1))
        for stage in state.rounds:
            stage += [Rounds(a.n_actions, a.dim) for _ in range(1, saved.counts.shape[1])]
        fill(state, saved, a.rule)
        if P > 0:
            state = self._plan_again(state, saved, P)
        self._take_over(state.data, saved.rows, saved.rewards, saved.size, saved.rotations)
        state.levels[0] = U
        for h in range(a.horizon):
            changed = (saved.rows[h, :P] != saved.planned_rows[h]).any(axis=(1, 2))
            changed |= (saved.rewards[h, :P] != saved.planned_rewards[h]).any(axis=1)
            state.dirty[h] = int(changed.argmax()) + 1 if changed.any() else P + 1
            if h > 0:
                state.fresh[h - 1, :, np.flatnonzero(changed)] = 0
        return state

    def _plan_again(self, state: State, saved: SavedStored, P: int) -> State:
        """Make the last plan again, from its data and the transitions of that time."""
        sizes = saved.size[:, :P], saved.rotations[:, :P]
        self._take_over(state.data, saved.planned_rows, saved.planned_rewards, *sizes)
        state.levels[0] = P
        planned = self._planned(state._replace(counts=state.planned_counts.copy()))
        return planned._replace(counts=state.counts)

    def _take_over(
        self, data: Counted, rows: Array, rewards: Array, size: Integers, rotations: Integers
    ) -> None:
        """Copy these sums and check them; radii and log-determinants are computed."""
        a, levels = self.settings, rows.shape[1]
        members = np.cumsum(size, axis=1) if a.rule == NESTED else size
        for name, array in (("rows", rows), ("rewards", rewards), ("size", size), ("rotations", rotations)):
            getattr(data, name)[:, :levels] = array
        for h in range(a.horizon):
            for i in range(levels):
                check_factors(data.rows[h, i], a.regularization, float(members[h, i]), 1.0, 0.0)
                data.logdet[h, i] = ridge.log_determinant(data.rows[h, i], a.regularization)
            set_radii(data, self.rules, h, 1, levels)

    # -- the protocol --------------------------------------------------------------------------

    def seen(self, name: str, observation: Any) -> Array:
        """The features of an observation, checked; those of a file are features already."""
        a = self.settings
        phi = observation if name in ("seen", "following") else self._feature_map(observation)
        phi = floats(f"feature_map({name})", phi)
        if phi.shape != (a.n_actions, a.dim):
            raise ValueError(f"feature_map({name}) must have shape ({a.n_actions}, {a.dim}), got {phi.shape}")
        check_lengths(f"feature_map({name})", phi)
        return phi.copy()

    def prepare(self) -> bool:
        """Plan if needed, before the first action of an episode; returns whether there is a new plan."""
        self._make_room()
        state, S = self.state, self.levels
        risen = state.data.logdet[:, :S] - state.estimates.logdet[:, :S]
        stale = self.rules.rise < 0.0 or state.levels[1] < S or bool((risen > self.rules.rise).any())
        if stale:
            self.replan()
        return bool(stale)

    def action(self, h: int, level: int | None, phi: Array) -> tuple[int, int]:
        """The action at entry h and the level to remember, from 0 (lines 16-22)."""
        state = self.state
        if state.levels[1] < self.levels:  # after loading in the middle of an episode
            self.prepare()
            state = self.state
        previous = self.levels + 1 if level is None else level + 1
        if self.settings.rule == SINGLE:
            previous = 1
        cap, centre = self.settings.caps[h], self.rules.centre[h]
        action, next_level = choose(state.data, state.estimates, h, _owned(phi), previous, cap, centre)
        return int(action), int(next_level) - 1

    def plan(self) -> NoReturn:
        """There is no table of actions."""
        raise NotImplementedError("observations are not numbers of states")

    def playing(self, *_: Any) -> NoReturn:
        """There is no compiled loop."""
        raise NotImplementedError("observations are not numbers of states")

    def finish(self, steps: list[Step]) -> Change:
        """What a finished episode changes."""
        terminated = isinstance(steps[-1].following, int)
        last = np.zeros_like(steps[-1].seen) if terminated else steps[-1].following
        return self.learn(
            Walk(
                np.array([step.seen[step.action] for step in steps]),
                np.array([step.level + 1 for step in steps]),
                np.array([step.reward for step in steps]),
                np.array([*(step.following for step in steps[:-1]), last]),
                terminated,
            )
        )

    def learn(self, walk: Walk) -> Change:
        """What a finished episode changes; its transitions are written behind those that are counted."""
        self._make_room()
        a, state, n = self.settings, self.state, len(walk.level)
        reward = on_scale(walk.reward, walk.terminated, a.horizon, a.reward_range) - self.rules.centre[:n]
        stored = min(n - walk.terminated, a.horizon - 1)
        for h in range(stored):
            level = int(walk.level[h])
            g = level - 1 if a.rule == DISJOINT else 0
            state.rounds[h][g].place(state.counts[h, g], walk.taken[h], walk.following[h], level)
        sums_of = state.data, state.dirty, state.levels, state.counts, state.fresh
        return _learn, (*sums_of, self.rules, walk.taken, walk.level, reward, stored)

    # -- planning ------------------------------------------------------------------------------

    def replan(self) -> None:
        """The backward pass (lines 3-15)."""
        self.state = self._planned(self.state)

    def _planned(self, state: State) -> State:
        """The state with a new plan; levels below the lowest one changed at this or a later stage keep theirs.

        It is made on copies, since an exception may come at any moment. The widths that are stored beside the
        transitions count from the copy of ``fresh`` on.
        """
        state = state._replace(
            estimates=Estimates(*(array.copy() for array in state.estimates)),
            **{name: getattr(state, name).copy() for name in ("dirty", "levels", "fresh", "planned_counts")},
        )
        S, data, estimates = int(state.levels[0]), state.data, state.estimates
        lowest = S + 1
        for h in range(self.settings.horizon - 1, -1, -1):
            lowest = min(lowest, int(state.dirty[h]))
            state.dirty[h] = S + 1
            if lowest > S:
                continue
            part = slice(lowest - 1, S)
            estimates.factors[h, part] = np.tril(data.rows[h, part, :, : self.settings.dim])
            estimates.beta[h, part] = self.rules.scale * data.beta[h, part]
            estimates.logdet[h, part] = data.logdet[h, part]
            b = data.rewards[h, part] + self._value_sums(state, h, lowest, S)
            for i in range(lowest - 1, S):
                M = estimates.factors[h, i]
                estimates.w[h, i] = (M @ b[i + 1 - lowest]) @ M
        state.levels[1] = S
        return state._replace(
            planned_rows=data.rows[:, :S].copy(), planned_rewards=data.rewards[:, :S].copy()
        )

    def _value_sums(self, state: State, h: int, lowest: int, S: int) -> Array | float:
        """Σ φ V_{h+1}^l(s') over the transitions of entry h, for l = lowest, ..., S."""
        if h == self.settings.horizon - 1:
            return 0.0
        rule = self.settings.rule
        following = (
            h + 1,
            state.estimates,
            float(self.settings.caps[h + 1]),
            float(self.rules.centre[h + 1]),
        )
        disjoint = [(level - 1, level, level) for level in range(lowest, S + 1)]
        parts = []
        for g, low, high in disjoint if rule == DISJOINT else [(0, lowest, S)]:
            count, fresh = int(state.counts[h, g]), state.fresh[h, g]
            parts.append(state.rounds[h][g].value_sums(count, fresh, *following, low, high, rule == NESTED))
            state.planned_counts[h, g] = count
        return np.concatenate(parts)

    def q_values(self, h: int, phi: Array) -> Array:
        """Q of the last plan, (levels of that plan, n_actions), at entry h for features phi."""
        q = np.empty((int(self.state.levels[1]), len(phi)))
        fill_q_values(self.state.estimates, h, _owned(phi), self.settings.caps[h], self.rules.centre[h], q)
        return q

    # -- what follows --------------------------------------------------------------------------

    @property
    def data(self) -> Counted:
        """The sums of all levels."""
        return self.state.data

    @property
    def levels(self) -> int:
        """S: the number of levels in use (line 25)."""
        return int(self.state.levels[0])

    def policy(self) -> FeaturePolicy:
        """The greedy policy of the tightest estimate."""
        frozen = StoredMemory(self.settings, self._feature_map)
        frozen.state = frozen._rebuilt(self.saved())
        frozen.replan()
        return FeaturePolicy(frozen)

    def certificate(self, phi: Array) -> float:
        """NaN: nothing is proven."""
        return math.nan


class FeaturePolicy:
    """A policy on any observations, from the estimates of stored transitions."""

    def __init__(self, memory: StoredMemory) -> None:
        self._memory = memory

    def __call__(self, observation: Any, stage: int) -> int:
        """The action for an observation."""
        h = check.count("stage", stage, most=self._memory.settings.horizon) - 1
        q = self._memory.q_values(h, self._memory.seen("observation", observation))
        return int(q.min(axis=0).argmax())


def _owned(features: Array) -> Array:
    """A writable copy: for read-only arrays, Numba would compile each kernel a second time."""
    return np.array(features, dtype=np.float64, order="C")


@jit
def _learn(
    data: Counted,
    dirty: Integers,
    levels: Integers,
    counts: Integers,
    fresh: Integers,
    rules: Rules,
    taken: Array,
    level: Integers,
    reward: Array,
    stored: int,
) -> None:
    """Add the transitions of an episode to the sums (line 23), and count the first ``stored``.

    Features of norm below ``NEGLIGIBLE``, which would open a level each, are not learned from. A level that stage 1
    opens is in use from here on (line 25); there must be room for it.
    """
    below = np.empty(taken.shape[1] + 2)
    for h in range(level.size):
        x = taken[h]
        if ridge.squared_norm(x) < NEGLIGIBLE**2:
            continue
        if h == 0 and level[h] > levels[0]:
            for stage in range(rules.horizon):
                sums.open_level(data, stage, level[h], rules.rule, rules.regularization)
                set_radii(data, rules, stage, level[h], level[h])
            levels[0] = level[h]
        last = levels[0] if rules.rule == NESTED else level[h]
        for i in range(level[h] - 1, last):
            rows, rotations = data.rows[h, i], data.rotations[h, i]
            data.rotations[h, i], data.logdet[h, i] = rotate(
                rows, rotations, x, 0.0, 1.0, rules.regularization, REFRESH_OFTEN, below
            )
            for j in range(x.size):
                data.rewards[h, i, j] += reward[h] * x[j]
            if h > 0:
                for g in range(fresh.shape[1]):
                    fresh[h - 1, g, i] = 0
        data.size[h, level[h] - 1] += 1
        set_radii(data, rules, h, level[h], last)
        dirty[h] = min(dirty[h], level[h])
        if h < stored:
            counts[h, level[h] - 1 if rules.rule == DISJOINT else 0] += 1
