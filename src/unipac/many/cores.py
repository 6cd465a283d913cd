"""The loop over seeds on the cores of a machine: threads, each with some seeds at a time."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from unipac._jit import _compiled, jit
from unipac.bandits.guarded.learning import Rules
from unipac.bandits.levelled.confidence import Confidence
from unipac.bandits.levelled.kernels import Scratch
from unipac.linalg.levels import Levels
from unipac.many import guarded, optimistic
from unipac.many.offers import Room
from unipac.many.record import Asked, Told, room as told_room
from unipac.many.settings import Player
from unipac.many.worlds import GROUP, World

AT_ONCE = 200_000
"""The most rounds of one task of a thread, unless a single seed has more; an interrupt waits for running tasks."""


def play(
    player: Player, world: World, asked: Asked, levels: int, first: int, seeds: int, workers: int | None
) -> Told:
    """Play the seeds from ``first`` on."""
    told = told_room(asked, seeds)
    threads = workers or _cores()
    step = max(1, min(AT_ONCE // max(asked.rounds, 1), seeds // (4 * threads)))
    some = functools.partial(play_some, world, player.confidence, player.rules, asked, levels, first)
    with ThreadPoolExecutor(threads) as pool:
        parts = [pool.submit(some, begin, min(begin + step, seeds), told) for begin in range(0, seeds, step)]
        try:
            for part in parts:
                part.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return told


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _released(function: Any) -> Any:
    """Compile a kernel that lets other threads run meanwhile."""
    return _compiled(function, nogil=True)


@jit
def _blank(C: int, n: int, d: int, grid: int) -> tuple[Levels, Scratch, Room]:
    """Memory for one seed."""
    size, rotations = np.empty(C, dtype=np.int64), np.empty(C, dtype=np.int64)
    levels = Levels(np.empty((C, d, d + 2)), np.empty(C), np.empty(C), size, rotations)
    s = Scratch(np.empty(C), np.empty(C), np.empty(C), np.empty(d + 2))
    counts = np.empty(grid, dtype=np.int64)
    room = Room(
        np.empty((n, d)), np.empty((GROUP, d)), np.empty((d, d + 2)), np.empty(n), np.empty(d), counts
    )
    return levels, s, room


@_released
def play_some(
    world: World,
    confidence: Confidence,
    rules: Rules | None,
    asked: Asked,
    C: int,
    first: int,
    begin: int,
    end: int,
    told: Told,
) -> None:
    """Play the seeds from ``first + begin`` to before ``first + end``; with ``rules``, the agent is a guard."""
    n, d = world.sets.shape[1], world.theta.size
    levels, s, room = _blank(C, n, d, asked.eps.size)
    if rules is None:
        for seed in range(begin, end):
            optimistic.play_one(first + seed, seed, world, confidence, asked, levels, s, room, told)
    else:
        alpha = confidence.constant
        alive, dropped = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        held = guarded.Guard(alive, dropped, np.empty(n), np.empty(n), np.empty(n), np.empty(d))
        for seed in range(begin, end):
            guarded.play_one(first + seed, seed, world, rules, alpha, asked, levels, s, room, held, told)
