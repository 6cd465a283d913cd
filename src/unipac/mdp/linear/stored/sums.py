"""What an agent knows of a linear MDP with any observations: the transitions themselves, and the plan they lead to.

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

import numpy as np

from unipac._arrays import Array
from unipac._constants import NEGLIGIBLE
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.linalg.levels import DISJOINT, NESTED, SINGLE, grown_array, threshold
from unipac.mdp.linear.counted import sums as counted
from unipac.mdp.linear.counted.episodes import Rules, set_radii
from unipac.mdp.linear.counted.sums import REFRESH_EVERY, Counted
from unipac.mdp.linear.stored.transitions import Estimates, Rounds


class Memory:
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
        self.S = 1
        """The levels in use, constant during an episode (Alg. 2 line 25)."""
        self._used = 1
        """The levels that are open: from the moment on when stage 1 opens another, one more than S."""
        self._below = np.empty(dim + 2)

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
        stale = self.rules.rise < 0.0 or self.planned < self.S or self._is_outdated()
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
        self.S = self._used

    def plan(self) -> None:
        """The backward pass (lines 3-15).

        Levels below the lowest one that changed at this or a later stage keep their estimates.
        """
        S, data, estimates = self.S, self.data, self.estimates
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
            levels = range(lowest, self.S + 1)
            parts = [
                self.rounds[h][level - 1].value_sums(*following, level, level, False) for level in levels
            ]
            return np.concatenate(parts)
        return self.rounds[h][0].value_sums(*following, lowest, self.S, self.rules.rule == NESTED)

    def _capacity(self) -> int:
        return 1 if self.rules.rule == SINGLE else len(self.rules.constants)

    def _no_rounds(self) -> Rounds:
        return Rounds(self.n_actions, self.dim)

    def _is_outdated(self) -> bool:
        used = slice(0, self.S)
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
