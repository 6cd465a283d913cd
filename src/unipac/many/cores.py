"""The loop over seeds on the cores of a machine: threads, each with some seeds at a time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from unipac._jit import _compiled
from unipac.bandits.guarded.learning import Rules
from unipac.bandits.levelled.confidence import Confidence
from unipac.bandits.levelled.kernels import Scratch
from unipac.linalg.levels import Levels
from unipac.many import guarded, optimistic
from unipac.many.record import Asked, Told, room
from unipac.many.settings import Player
from unipac.many.worlds import GROUP, World

AT_ONCE = 200_000
"""Rounds that a thread plays before it looks for an interrupt, unless one seed has more."""


def play(
    player: Player, world: World, asked: Asked, levels: int, first: int, seeds: int, workers: int | None
) -> Told:
    """Play the seeds from ``first`` on."""
    told = room(asked, seeds)
    threads = workers or _cores()
    step = max(1, min(AT_ONCE // max(asked.rounds, 1), seeds // (4 * threads)))
    with ThreadPoolExecutor(threads) as pool:
        parts = [
            pool.submit(_some, player, world, asked, levels, first, begin, min(begin + step, seeds), told)
            for begin in range(0, seeds, step)
        ]
        try:
            for part in parts:
                part.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return told


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _some(player: Player, world: World, asked: Asked, levels: int, *rest: Any) -> None:
    n = world.sets.shape[1]
    if player.rules is None:
        play_optimistic(world, player.confidence, asked, levels, n, *rest)
    else:
        play_guarded(world, player.rules, player.confidence.constant, asked, levels, n, *rest)


def _released(function: Any) -> Any:
    """A kernel during which other threads run."""
    return _compiled(function, nogil=True)


@_released
def play_optimistic(
    world: World,
    confidence: Confidence,
    asked: Asked,
    C: int,
    n: int,
    first: int,
    begin: int,
    end: int,
    told: Told,
) -> None:
    """Play the seeds ``first + begin`` to ``first + end``, without the latter."""
    d = world.theta.size
    size, rotations = np.empty(C, dtype=np.int64), np.empty(C, dtype=np.int64)
    levels = Levels(np.empty((C, d, d + 2)), np.empty(C), np.empty(C), size, rotations)
    s = Scratch(np.empty(C), np.empty(C), np.empty(C), np.empty(d + 2))
    counts = np.empty(asked.eps.size, dtype=np.int64)
    work = optimistic.Room(
        np.empty((n, d)), np.empty((GROUP, d)), np.empty((d, d + 2)), np.empty(n), np.empty(d), counts
    )
    for seed in range(begin, end):
        optimistic.play_one(first + seed, seed, world, confidence, asked, levels, s, work, told)


@_released
def play_guarded(
    world: World,
    rules: Rules,
    alpha: float,
    asked: Asked,
    C: int,
    n: int,
    first: int,
    begin: int,
    end: int,
    told: Told,
) -> None:
    """The same for a guard."""
    d = world.theta.size
    size, rotations = np.empty(C, dtype=np.int64), np.empty(C, dtype=np.int64)
    levels = Levels(np.empty((C, d, d + 2)), np.empty(C), np.empty(C), size, rotations)
    s = Scratch(np.empty(C), np.empty(C), np.empty(C), np.empty(d + 2))
    alive, dropped = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    counts = np.empty(asked.eps.size, dtype=np.int64)
    work = guarded.Room(
        np.empty((n, d)), np.empty((GROUP, d)), np.empty((d, d + 2)), alive, dropped,
        np.empty(n), np.empty(n), np.empty(n), np.empty(d), np.empty(d), counts,
    )  # fmt: skip
    for seed in range(begin, end):
        guarded.play_one(first + seed, seed, world, rules, alpha, asked, levels, s, work, told)
