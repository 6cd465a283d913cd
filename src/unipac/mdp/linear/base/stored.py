"""What an agent knows of a linear MDP with any observations: the transitions themselves.

For stage h and level l the backward pass (Algorithm 2 lines 6-12) needs

    b = Σ φ r + Σ φ V_{h+1}^l(s')        V_{h+1}^l(s') = max_a min_{i ≤ l} Q_{h+1}^i(s', a)

over the rounds of the level. The first sum is kept as in ``counted``; for the second one the features of
s' are stored, and their widths in the levels of the next stage. The widths are the larger part of the work,
d products for each that the mean needs: they are computed again only for levels whose Σ changed. A
transition into a terminal state, or at stage H, enters the sums and is not stored at all.

Stage h is entry h − 1, level l entry l − 1 of each array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._constants import NEGLIGIBLE
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.linalg.levels import DISJOINT, NESTED, SINGLE, grown_array, threshold
from unipac.linalg.soundness import check_factors, check_levels, check_shape, check_sums
from unipac.mdp.linear.base import counted
from unipac.mdp.linear.base.counted import REFRESH_EVERY, Counted
from unipac.mdp.linear.base.episodes import Rules, set_radii
from unipac.mdp.linear.base.transitions import Estimates, Rounds

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class SavedStored(NamedTuple):
    """What goes to a file; U levels are in use, P were at the last plan, G groups of transitions a stage."""

    rows: Array
    """(H, U, d, d + 2)."""
    size: Integers
    """(H, U)."""
    rotations: Integers
    """(H, U)."""
    rewards: Array
    """(H, U, d)."""
    planned_rows: Array
    """(H, P, d, d + 2): those of the last plan; P = 0 if there was none."""
    planned_rewards: Array
    """(H, P, d)."""
    counts: Integers
    """(H − 1, G): transitions of each group."""
    planned_counts: Integers
    """(H − 1, G): how many of them there were at the last plan."""
    taken: Array
    """(N, d): of all groups, one after the other."""
    following: Array
    """(N, n_actions, d)."""
    level: Integers
    """(N,)."""
    widths: Array
    """Of the following features in the levels of the last plan that matter, group by group, level by level."""


class Stored:
    """The data and the plan of an agent that is given features, not states."""

    def __init__(self, n_actions: int, dim: int, rules: Rules, cap: Array) -> None:
        self.n_actions, self.dim = n_actions, dim
        self.cap = np.ascontiguousarray(cap, dtype=np.float64)
        self.rules = rules
        H, capacity = rules.horizon, self._capacity()
        self.data = counted.empty(np.empty((0, n_actions, dim)), H, capacity, rules.regularization)
        """As for an MDP without states: all that does not depend on them."""
        for h in range(H):
            set_radii(self.data, rules, h, 1, 1)
        self.estimates = Estimates(
            factors=np.zeros((H, capacity, dim, dim)),
            w=np.zeros((H, capacity, dim)),
            beta=np.zeros((H, capacity)),
            logdet=np.zeros((H, capacity)),
        )
        self.planned = 0
        """The levels of the last plan."""
        self._planned_rows = np.zeros((H, 0, dim, dim + 2))
        self._planned_rewards = np.zeros((H, 0, dim))
        self.rounds: list[list[Rounds]] = [[self._no_rounds()] for _ in range(H - 1)]
        """By stage and, if levels are disjoint, by level."""
        self._dirty = np.ones(H, dtype=np.int64)
        self._S = self._used = 1
        self._below = np.empty(dim + 2)

    @property
    def S(self) -> int:  # noqa: N802
        """The levels in use, constant during an episode (Alg. 2 line 25)."""
        return self._S

    @property
    def is_full(self) -> bool:
        """Whether the next episode might open a level for which there is no room: ``grow`` first."""
        return self.rules.rule != SINGLE and self._used >= self._capacity()

    def grow(self, rules: Rules) -> None:
        """Make room for as many levels as the new rules, else equal to the old ones, have constants."""
        self.rules = rules
        capacity = self._capacity()
        self.data = counted.grown(self.data, capacity)
        self.estimates = Estimates(
            *(grown_array(array.swapaxes(0, 1), capacity).swapaxes(0, 1).copy() for array in self.estimates)
        )

    def prepare(self) -> bool:
        """Plan anew before an episode if it is time to; returns whether it was."""
        if self.is_full:
            raise ValueError(f"rules.constants must have more than {self._used} rows")
        stale = self.rules.rise < 0.0 or self.planned < self._S or self._is_outdated()
        if stale:
            self.plan()
        return stale

    def choose(self, h: int, phi: Array, previous: int) -> tuple[int, int]:
        """The action at entry h and the level of the stage (lines 16-22).

        Args:
            h: the stage, from 0.
            phi: (n_actions, d) the features of the observation.
            previous: the level of the stage before, S + 1 at the first.
        """
        if self.rules.rule == SINGLE:
            previous = 1
        return _choose(self.data, self.estimates, h, _owned(phi), previous, self.cap[h], self.rules.centre[h])

    def q_values(self, h: int, phi: Array) -> Array:
        """Q of the last plan, (levels of that plan, n_actions), at entry h for features phi."""
        q = np.empty((self.planned, len(phi)))
        _q_values(self.estimates, h, _owned(phi), self.cap[h], self.rules.centre[h], q)
        return q

    def learn(
        self, h: int, level: int, taken: Array, reward: float, following: Array | None, terminal: bool
    ) -> None:
        """Add a transition at entry h to a level (line 23).

        Features of norm below ``NEGLIGIBLE``, which would open a level each, are not learned from.

        Args:
            h: the stage, from 0.
            level: what ``choose`` returned.
            taken: (d,) the features of the observation and the action.
            reward: what followed.
            following: (n_actions, d) the features of the next observation; read only before the last stage
                and if not terminal.
            terminal: whether all later values are 0.
        """
        x = _owned(taken)
        if ridge.squared_norm(x) < NEGLIGIBLE**2:
            return
        rule = self.rules.rule
        if h == 0 and level > self._used:
            self._open(level)
        last = self._used if rule == NESTED else level
        paid = float(reward - self.rules.centre[h])
        _learn(self.data, h, level, last, self.rules.regularization, x, paid, self._below)
        set_radii(self.data, self.rules, h, level, last)
        self._dirty[h] = min(self._dirty[h], level)
        if h > 0:
            for rounds in self.rounds[h - 1]:
                rounds.forget_widths(level, last)
        if h < self.rules.horizon - 1 and not terminal:
            assert following is not None
            self.rounds[h][level - 1 if rule == DISJOINT else 0].append(x, following, level)

    def end_episode(self) -> None:
        """A level that stage 1 has opened is in use from here on (line 25)."""
        self._S = self._used

    def plan(self) -> None:
        """The backward pass (lines 3-15).

        Levels below the lowest one that changed at this or a later stage keep their estimates.
        """
        S, data, estimates = self._S, self.data, self.estimates
        lowest = S + 1
        for h in range(self.rules.horizon - 1, -1, -1):
            lowest = min(lowest, int(self._dirty[h]))
            self._dirty[h] = S + 1
            if lowest > S:
                continue
            part = slice(lowest - 1, S)
            estimates.factors[h, part] = np.tril(data.rows[h, part, :, : self.dim])
            estimates.beta[h, part] = self.rules.scale * data.beta[h, part]
            estimates.logdet[h, part] = data.logdet[h, part]
            b = data.rewards[h, part] + self._value_sums(h, lowest)
            for i in range(lowest - 1, S):
                M = estimates.factors[h, i]
                estimates.w[h, i] = (M @ b[i + 1 - lowest]) @ M
        self.planned = S
        self._planned_rows = data.rows[:, :S].copy()
        self._planned_rewards = data.rewards[:, :S].copy()

    def _value_sums(self, h: int, lowest: int) -> Array | float:
        """Σ φ V_{h+1}^l(s') over the transitions of entry h, for l = lowest, ..., S."""
        if h == self.rules.horizon - 1:
            return 0.0
        following = (h + 1, self.estimates, float(self.cap[h + 1]), float(self.rules.centre[h + 1]))
        if self.rules.rule == DISJOINT:
            levels = range(lowest, self._S + 1)
            parts = [
                self.rounds[h][level - 1].value_sums(*following, level, level, False) for level in levels
            ]
            return np.concatenate(parts)
        return self.rounds[h][0].value_sums(*following, lowest, self._S, self.rules.rule == NESTED)

    def saved(self) -> SavedStored:
        """What goes to a file; views where possible."""
        U, P, data = self._used, len(self._planned_rows[0]), self.data
        groups = [rounds for stage in self.rounds for rounds in stage]
        shape = (len(self.rounds), max((len(stage) for stage in self.rounds), default=1))
        widths = [
            width[: group.planned].reshape(-1)
            for stage in self.rounds
            for g, group in enumerate(stage)
            for width in group.widths[: self._needed(g, P)]
        ]
        none = (0, self.n_actions, self.dim)
        return SavedStored(
            data.rows[:, :U],
            data.size[:, :U],
            data.rotations[:, :U],
            data.rewards[:, :U],
            self._planned_rows,
            self._planned_rewards,
            np.array([group.count for group in groups], dtype=np.int64).reshape(shape),
            np.array([group.planned * (P > 0) for group in groups], dtype=np.int64).reshape(shape),
            np.concatenate([np.empty((0, self.dim)), *(group.taken[: group.count] for group in groups)]),
            np.concatenate([np.empty(none), *(group.following[: group.count] for group in groups)]),
            np.concatenate([np.empty(0, np.int64), *(group.level[: group.count] for group in groups)]),
            np.concatenate([np.empty(0), *widths]),
        )

    def restore(self, saved: SavedStored, episodes: int) -> None:
        """Take over what ``saved`` gave, of an object with the same arguments; this one is empty.

        Radii, log-determinants and the plan are computed.

        Args:
            saved: the arrays.
            episodes: how many led to it.

        Raises:
            ValueError: if no data could have led there; the state is then undefined.
        """
        H, d, A = self.rules.horizon, self.dim, self.n_actions
        U, P = saved.size.shape[1], saved.planned_rows.shape[1]
        groups = U if self.rules.rule == DISJOINT else 1
        N = len(saved.level)
        shapes = {
            "rows": (H, U, d, d + 2),
            "size": (H, U),
            "rotations": (H, U),
            "rewards": (H, U, d),
            "planned_rows": (H, P, d, d + 2),
            "planned_rewards": (H, P, d),
            "counts": (H - 1, groups),
            "planned_counts": (H - 1, groups),
            "taken": (N, d),
            "following": (N, A, d),
            "level": (N,),
        }
        for name, shape in shapes.items():
            check_shape(getattr(saved, name), shape)
        needed = np.array([self._needed(g, P) for g in range(groups)])
        check_shape(saved.widths, (int((saved.planned_counts * needed).sum()) * A,))
        check_levels(saved.size, self.rules.rule)
        counts, planned = saved.counts, saved.planned_counts
        sound = (
            self._capacity() > U or self.rules.rule == SINGLE,
            0 <= P <= U,
            counts.size == 0 or (planned.min() >= 0 and (planned <= counts).all() and counts.min() >= 0),
            counts.sum() == N and (N == 0 or 1 <= saved.level.min() <= saved.level.max() <= U),
            0 <= saved.rotations.min() <= saved.rotations.max() <= max(REFRESH_EVERY, d),
            saved.size.sum(axis=1).max() <= episodes
            and (counts.size == 0 or counts.sum(axis=1).max() <= episodes),
        )
        if not all(sound):
            raise ValueError("the transitions are not those of any episodes")
        self._used = self._S = U
        if self.rules.rule == DISJOINT:
            self.rounds = [[self._no_rounds() for _ in range(U)] for _ in self.rounds]
        begin = width = 0
        flat = [(g, rounds) for stage in self.rounds for g, rounds in enumerate(stage)]
        for (g, rounds), count, at_plan in zip(flat, counts.reshape(-1), planned.reshape(-1), strict=True):
            part = slice(begin, begin + int(count))
            rounds.fill(saved.taken[part], saved.following[part], saved.level[part])
            rounds.planned = int(at_plan)
            for _ in range(self._needed(g, P)):
                block = saved.widths[width : width + at_plan * A].reshape(-1, A)
                rounds.widths.append(np.empty((len(rounds.level), A)))
                rounds.widths[-1][:at_plan] = block
                rounds.fresh.append(int(at_plan))
                width += int(at_plan) * A
            begin += int(count)
        if P > 0:
            self._plan_again(saved, P)
        self._take_over(saved.rows, saved.rewards, saved.size, saved.rotations)
        for h in range(H):
            changed = (saved.rows[h, :P] != saved.planned_rows[h]).any(axis=(1, 2))
            changed |= (saved.rewards[h, :P] != saved.planned_rewards[h]).any(axis=1)
            self._dirty[h] = int(changed.argmax()) + 1 if changed.any() else P + 1
            for i in np.flatnonzero(changed) if h > 0 else ():
                for rounds in self.rounds[h - 1]:
                    rounds.forget_widths(int(i) + 1, int(i) + 1)

    def _plan_again(self, saved: SavedStored, P: int) -> None:
        """The last plan, from its data and the transitions that there were."""
        self._take_over(saved.planned_rows, saved.planned_rewards, saved.size[:, :P], saved.rotations[:, :P])
        flat = [rounds for stage in self.rounds for rounds in stage]
        counts = [rounds.count for rounds in flat]
        for rounds in flat:
            rounds.count = rounds.planned
        for h, stage in enumerate(self.rounds):
            for g, rounds in enumerate(stage):
                for i in range(self._needed(g, P)):
                    rounds.check_widths(i, np.tril(saved.planned_rows[h + 1, i, :, : self.dim]))
        self._S = P
        self.plan()
        self._S = self._used
        for rounds, count in zip(flat, counts, strict=True):
            rounds.count = count

    def _take_over(self, rows: Array, rewards: Array, size: Integers, rotations: Integers) -> None:
        """These sums, once they are found sound; radii and log-determinants are computed."""
        rules, levels = self.rules, rows.shape[1]
        members = np.cumsum(size, axis=1) if rules.rule == NESTED else size
        for name, array in (("rows", rows), ("rewards", rewards), ("size", size), ("rotations", rotations)):
            getattr(self.data, name)[:, :levels] = array
        for h in range(rules.horizon):
            for i in range(levels):
                n = float(members[h, i])
                check_factors(self.data.rows[h, i], rules.regularization, n, 1.0, 0.0)
                check_sums(self.data.rewards[h, i], np.empty((0, self.dim)), n, rules.horizon + 1.0)
                self.data.logdet[h, i] = ridge.log_determinant(self.data.rows[h, i], rules.regularization)
            set_radii(self.data, rules, h, 1, levels)

    def _needed(self, group: int, levels: int) -> int:
        """Of how many levels, out of so many, a group of transitions needs the widths."""
        return min(group + 1, levels) if self.rules.rule == DISJOINT else levels

    def _capacity(self) -> int:
        return 1 if self.rules.rule == SINGLE else len(self.rules.constants)

    def _levels_of(self, group: int, P: int) -> int:
        """In how many of P levels a group of transitions has widths: if levels are disjoint, those up to its own."""
        return min(group + 1, P) if self.rules.rule == DISJOINT else P

    def _no_rounds(self) -> Rounds:
        return Rounds(self.n_actions, self.dim)

    def _is_outdated(self) -> bool:
        used = slice(0, self._S)
        risen = self.data.logdet[:, used] - self.estimates.logdet[:, used]
        return bool((risen > self.rules.rise).any())

    def _open(self, level: int) -> None:
        for h in range(self.rules.horizon):
            counted.open_level(self.data, h, level, self.rules.rule, self.rules.regularization)
            set_radii(self.data, self.rules, h, level, level)
        if self.rules.rule == DISJOINT:
            for stage in self.rounds:
                stage.append(self._no_rounds())
        self._used = level


class FeaturePolicy:
    """A policy on any observations, from the estimates of stored transitions."""

    def __init__(self, stored: Stored, features: Callable[[str, Any], Array]) -> None:
        self._stored = stored
        self._features = features

    def __call__(self, observation: Any, stage: int) -> int:
        """The action for an observation."""
        h = check.count("stage", stage, most=self._stored.rules.horizon) - 1
        q = self._stored.q_values(h, self._features("observation", observation))
        return int(q.min(axis=0).argmax())


def _owned(features: Array) -> Array:
    """A copy: for arrays that cannot be written to, Numba would compile each kernel a second time."""
    return np.array(features, dtype=np.float64, order="C")


@jit
def _learn(
    data: Counted,
    h: int,
    level: int,
    last: int,
    regularization: float,
    x: Array,
    reward: float,
    below: Array,
) -> None:
    """Add a round to the sums of the levels from ``level`` to ``last`` of entry h."""
    for i in range(level - 1, last):
        ridge.add(data.rows[h, i], x, 0.0, 1.0, below)
        data.logdet[h, i] = ridge.log_determinant(data.rows[h, i], regularization)
        data.rotations[h, i] += 1
        for j in range(x.size):
            data.rewards[h, i, j] += reward * x[j]
        if data.rotations[h, i] >= max(REFRESH_EVERY, x.size):
            ridge.refresh(data.rows[h, i])
            data.rotations[h, i] = 0
    data.size[h, level - 1] += 1


@jit
def _q_values(estimates: Estimates, h: int, phi: Array, cap: float, centre: float, q: Array) -> None:
    """Q of the first levels into ``q`` (levels, n_actions)."""
    d = phi.shape[1]
    for i in range(q.shape[0]):
        for a in range(q.shape[1]):
            mean = centre
            width2 = 0.0
            for r in range(d):
                u = 0.0
                for j in range(r + 1):
                    u += estimates.factors[h, i, r, j] * phi[a, j]
                width2 += u * u
                mean += estimates.w[h, i, r] * phi[a, r]
            q[i, a] = min(max(mean + estimates.beta[h, i] * math.sqrt(width2), 0.0), cap)


@jit
def _choose(
    data: Counted, estimates: Estimates, h: int, phi: Array, previous: int, cap: float, centre: float
) -> tuple[int, int]:
    n_actions = phi.shape[0]
    q = np.empty((max(1, previous - 1), n_actions))
    _q_values(estimates, h, phi, cap, centre, q)
    best = 0
    highest = -math.inf
    for a in range(n_actions):
        least = math.inf
        for i in range(q.shape[0]):
            least = min(least, q[i, a])
        if least > highest:
            best = a
            highest = least
    level = 1
    while level < previous:
        _, width2 = ridge.evaluate(data.rows[h, level - 1], phi[best])
        if width2 > threshold(level):
            break
        level += 1
    return best, level
