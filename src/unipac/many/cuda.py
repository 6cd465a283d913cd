"""The loop over seeds on a GPU: one thread for each, with all that the agent knows in the thread's own memory.

The kernels of the package are compiled for the GPU as they are. Only their callers differ: here arrays have shapes that
are constants, so that the compiler unrolls loops over small dimensions and keeps small factors in registers.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda as gpu, float64, int64

from unipac.bandits.levelled.confidence import Confidence
from unipac.bandits.levelled.kernels import Scratch
from unipac.linalg.levels import Levels
from unipac.many import optimistic
from unipac.many.record import Asked, Told, room
from unipac.many.settings import Player
from unipac.many.worlds import GROUP, World

BLOCK = 128
"""Threads in a block."""
AT_ONCE = 2**20
"""Seeds in one launch."""


class Constants(NamedTuple):
    """What a kernel is compiled for."""

    confidence: Confidence
    n: int
    d: int
    capacity: int
    grid: int
    """How many ε there are."""
    drawn: bool
    noise: float
    gaussian: bool
    shortest: float


@functools.cache
def kernel_for(c: Constants, registers: int | None = None) -> Any:
    """A kernel that plays one seed in each thread."""
    n, d, C, E = c.n, c.d, c.capacity, c.grid
    certified, rule, radius, delta, outer, noise, norm, lam, length, constant, scale, low, high = c.confidence
    drawn, spread, gaussian, shortest = c.drawn, c.noise, c.gaussian, c.shortest
    stack_shape, actions_shape, group_shape, columns = (C, d, d + 2), (n, d), (GROUP, d), d + 2
    factor_shape = (d, d + 2) if d <= optimistic.SMALL else (1, 3)

    @gpu.jit(max_registers=registers)
    def kernel(
        first, theta, sets, runs, rounds, checkpoints, eps, regret, mistakes, last, level, left, undercut, refuted
    ):  # type: ignore[no-untyped-def]
        i = gpu.grid(1)
        if i >= last.size:
            return
        truth = gpu.local.array(d, float64)
        for j in range(d):
            truth[j] = theta[j]
        levels = Levels(
            gpu.local.array(stack_shape, float64),
            gpu.local.array(C, float64),
            gpu.local.array(C, float64),
            gpu.local.array(C, int64),
            gpu.local.array(C, int64),
        )
        s = Scratch(
            gpu.local.array(C, float64),
            gpu.local.array(C, float64),
            gpu.local.array(1, float64),
            gpu.local.array(columns, float64),
        )
        work = optimistic.Room(
            gpu.local.array(actions_shape, float64),
            gpu.local.array(group_shape, float64),
            gpu.local.array(factor_shape, float64),
            gpu.local.array(n, float64),
            gpu.local.array(n, int64),
            gpu.local.array(d, float64),
            gpu.local.array(E, int64),
        )
        confidence = Confidence(
            certified, rule, radius, delta, outer, noise, norm, lam, length, constant, scale, low, high
        )
        world = World(truth, sets, runs, drawn, spread, gaussian, shortest)
        asked = Asked(rounds, checkpoints, eps)
        told = Told(regret, mistakes, last, level, left, undercut, refuted)
        optimistic.play_one(first + i, i, world, confidence, asked, levels, s, work, told)

    return kernel


def play(player: Player, world: World, asked: Asked, levels: int, first: int, seeds: int) -> Told:
    """Play the seeds from ``first`` on."""
    n, d = world.sets.shape[1:]
    fixed = world.drawn, world.noise, world.gaussian, world.shortest
    kernel = kernel_for(Constants(player.confidence, n, d, levels, asked.eps.size, *fixed))
    given = [gpu.to_device(array) for array in (world.theta, world.sets, world.runs)]
    grids = [gpu.to_device(array) for array in (asked.checkpoints, asked.eps)]
    told = room(asked, seeds)
    for begin in range(0, seeds, AT_ONCE):
        some = min(AT_ONCE, seeds - begin)
        arrays = [gpu.to_device(array) for array in room(asked, some)]
        blocks = (some + BLOCK - 1) // BLOCK
        kernel[blocks, BLOCK](np.int64(first + begin), *given, np.int64(asked.rounds), *grids, *arrays)
        for whole, part in zip(told, arrays, strict=True):
            whole[..., begin : begin + some] = part.copy_to_host()
    return told
