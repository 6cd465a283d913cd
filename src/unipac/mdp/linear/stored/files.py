"""Stored transitions in files: what is written, and whether any data can lead to what is read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._inputs import check_norms
from unipac.linalg.levels import DISJOINT, REFRESH_OFTEN
from unipac.linalg.soundness import check_levels, check_shape
from unipac.mdp.linear.radius import Settings
from unipac.mdp.linear.stored.transitions import State


class SavedStored(NamedTuple):
    """What goes to a file: U levels in use, P levels at the last plan, G groups of transitions per stage."""

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
    """(N, d): features of the actions taken, group after group."""
    following: Array
    """(N, n_actions, d)."""
    level: Integers
    """(N,)."""
    widths: Array
    """Of the following features in the levels of the last plan that matter, group by group, level by level."""


def needed(rule: int, group: int, levels: int) -> int:
    """The number of levels, out of ``levels``, in which a group of transitions needs widths."""
    return min(group + 1, levels) if rule == DISJOINT else levels


def to_file(state: State, rule: int) -> SavedStored:
    """What goes to a file; views where possible."""
    data, (U, _) = state.data, state.levels.tolist()
    P, G = state.planned_rows.shape[1], U if rule == DISJOINT else 1
    n_actions, dim = data.features.shape[1:]
    groups = [
        (rounds, int(state.counts[h, g]), int(state.planned_counts[h, g]), g)
        for h, stage in enumerate(state.rounds)
        for g, rounds in enumerate(stage[:G])
    ]
    widths = [
        width[:planned].reshape(-1)
        for rounds, _, planned, g in groups
        for width in rounds.widths[: needed(rule, g, P)]
    ]
    return SavedStored(
        data.rows[:, :U],
        data.size[:, :U],
        data.rotations[:, :U],
        data.rewards[:, :U],
        state.planned_rows,
        state.planned_rewards,
        state.counts[:, :G],
        state.planned_counts[:, :G] * (P > 0),
        np.concatenate([np.empty((0, dim)), *(rounds.taken[:n] for rounds, n, _, _ in groups)]),
        np.concatenate(
            [np.empty((0, n_actions, dim)), *(rounds.following[:n] for rounds, n, _, _ in groups)]
        ),
        np.concatenate([np.empty(0, np.int64), *(rounds.level[:n] for rounds, n, _, _ in groups)]),
        np.concatenate([np.empty(0), *widths]),
    )


def check_saved(saved: SavedStored, settings: Settings, episodes: int) -> None:
    """Refuse arrays that do not fit each other or the number of episodes; factors are checked later."""
    H, d, A = settings.horizon, settings.dim, settings.n_actions
    U, P = saved.size.shape[1], saved.planned_rows.shape[1]
    groups = U if settings.rule == DISJOINT else 1
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
    of_group = np.array([needed(settings.rule, g, P) for g in range(groups)])
    check_shape(saved.widths, (int((saved.planned_counts * of_group).sum()) * A,))
    check_levels(saved.size, settings.rule)
    for name in ("taken", "following"):
        check_norms(name, getattr(saved, name), 1.0)
    counts, planned = saved.counts, saved.planned_counts
    sound = (
        0 <= P <= U,
        counts.size == 0 or (planned.min() >= 0 and (planned <= counts).all() and counts.min() >= 0),
        counts.sum() == N and (N == 0 or 1 <= saved.level.min() <= saved.level.max() <= U),
        0 <= saved.rotations.min() <= saved.rotations.max() <= max(REFRESH_OFTEN, d),
        saved.size.sum(axis=1).max() <= episodes,
        saved.widths.min(initial=0.0) >= 0.0,
    )
    if not all(sound):
        raise ValueError("the transitions are not those of any episodes")


def fill(state: State, saved: SavedStored, rule: int) -> None:
    """Copy the transitions and their widths into a state that has none yet, but a group for each of these."""
    A, P = saved.following.shape[1], saved.planned_rows.shape[1]
    begin = width = 0
    for h, g in np.ndindex(saved.counts.shape):
        rounds, count, planned = state.rounds[h][g], int(saved.counts[h, g]), int(saved.planned_counts[h, g])
        part = slice(begin, begin + count)
        rounds.fill(saved.taken[part], saved.following[part], saved.level[part])
        for i in range(needed(rule, g, P)):
            rounds.widths.append(np.empty((len(rounds.level), A)))
            rounds.widths[i][:planned] = saved.widths[width : width + planned * A].reshape(-1, A)
            state.fresh[h, g, i] = planned
            width += planned * A
        state.counts[h, g], state.planned_counts[h, g] = count, planned
        begin += count
