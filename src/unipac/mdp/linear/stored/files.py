"""The memory of transitions in files: what is written, and how the rest follows from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac.linalg import ridge
from unipac.linalg.levels import DISJOINT, NESTED, SINGLE
from unipac.linalg.soundness import check_factors, check_levels, check_shape, check_sums
from unipac.mdp.linear.counted.episodes import set_radii
from unipac.mdp.linear.counted.sums import REFRESH_EVERY
from unipac.mdp.linear.stored.sums import Memory


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


class Stored(Memory):
    """A memory of transitions that can be saved and restored."""

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
        self._check(saved, episodes)
        self._fill(saved)
        P = saved.planned_rows.shape[1]
        if P > 0:
            self._plan_again(saved, P)
        self._take_over(saved.rows, saved.rewards, saved.size, saved.rotations)
        for h in range(self.rules.horizon):
            changed = (saved.rows[h, :P] != saved.planned_rows[h]).any(axis=(1, 2))
            changed |= (saved.rewards[h, :P] != saved.planned_rewards[h]).any(axis=1)
            self._dirty[h] = int(changed.argmax()) + 1 if changed.any() else P + 1
            for i in np.flatnonzero(changed) if h > 0 else ():
                for rounds in self.rounds[h - 1]:
                    rounds.forget_widths(int(i) + 1, int(i) + 1)

    def _check(self, saved: SavedStored, episodes: int) -> None:
        """Refuse arrays that do not fit each other, or so many episodes; what is in them comes later."""
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

    def _fill(self, saved: SavedStored) -> None:
        """Take over the transitions and their widths."""
        A, U, P = self.n_actions, saved.size.shape[1], saved.planned_rows.shape[1]
        counts, planned = saved.counts, saved.planned_counts
        self._used = self.S = U
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
        self.S = P
        self.plan()
        self.S = self._used
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
