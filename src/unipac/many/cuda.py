"""The loop over seeds on a GPU: one thread for each, which keeps the agent's whole state in its own memory.

The kernels of the package are compiled for the GPU as they are. Only their callers differ: here the shapes of arrays
are constants, so that the compiler can unroll loops over small dimensions and keep small factors in registers.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from numba import config, cuda as gpu, float64, int64, uint64

from unipac.bandits.guarded.learning import Rules
from unipac.bandits.levelled.confidence import Confidence
from unipac.bandits.levelled.kernels import Scratch
from unipac.linalg.levels import DISJOINT, Levels
from unipac.many import guarded, optimistic
from unipac.many.offers import SMALL, Room
from unipac.many.record import Asked, Told, fresh, room, tell
from unipac.many.settings import Player
from unipac.many.worlds import GROUP, World

BLOCK = 768
"""Threads in a block."""
REGISTERS: int | None = 80
"""The most registers of a thread; None lets the compiler decide."""
AT_A_TIME = 768
"""Threads on each multiprocessor at a time, few enough that their states fit into its caches."""
PACED = 2
"""How often in a round the threads of a block wait for one another."""
AT_ONCE = 2**20
"""Seeds in one launch."""

# mypy: disable-error-code="no-untyped-def"
# What follows is compiled by Numba alone.


class Constants(NamedTuple):
    """The constants that a kernel is compiled with; R, S, α and the instance's noise are passed when it runs."""

    confidence: Confidence
    """Without R, S and α."""
    rules: Rules | None
    """Without R and S."""
    n: int
    d: int
    capacity: int
    grid: int
    """How many ε there are."""
    drawn: bool
    gaussian: bool
    shortest: float
    kept: bool
    registers: int | None
    paced: int


def constants(player: Player, world: World, asked: Asked, levels: int) -> tuple[Constants, tuple[float, ...]]:
    """The constants of a kernel, and the numbers passed to it: R, S, α and the noise of the instance."""
    c, rules = player.confidence, player.rules
    numbers = (c.noise, c.norm) if rules is None else (rules.noise, rules.norm)
    n, d = world.sets.shape[1:]
    fixed = Constants(
        confidence=c._replace(noise=0.0, norm=0.0, constant=0.0),
        rules=None if rules is None else rules._replace(noise=0.0, norm=0.0),
        n=n,
        d=d,
        capacity=levels,
        grid=asked.eps.size,
        drawn=world.drawn,
        gaussian=world.gaussian,
        shortest=world.shortest,
        kept=rules is not None or c.rule == DISJOINT,
        registers=REGISTERS,
        paced=PACED,
    )
    return fixed, (*numbers, c.constant, world.noise)


def kernel_for(c: Constants) -> Any:
    """A kernel that plays one seed in each thread; made once."""
    return _made(c)


@functools.cache
def _made(c: Constants) -> Any:
    play_one = _optimistic(c) if c.rules is None else _guarded(c, c.rules)
    d, C = c.d, c.capacity
    stack_shape, columns = (C, d, d + 2), d + 2
    drawn, gaussian, shortest = c.drawn, c.gaussian, c.shortest
    free = c.registers is None or config.ENABLE_CUDASIM  # the simulator has no registers
    options = {} if free else {"max_registers": c.registers}

    @gpu.jit(**options)
    def kernel(
        first, R, S, alpha, spread, theta, sets, runs, rounds, checkpoints, eps,
        regret, mistakes, last, level, left, undercut, refuted,
    ):  # fmt: skip
        truth = gpu.local.array(d, float64)
        for j in range(d):
            truth[j] = theta[j]
        rows = gpu.local.array(stack_shape, float64)
        logdet, beta = gpu.local.array(C, float64), gpu.local.array(C, float64)
        size, rotations = gpu.local.array(C, int64), gpu.local.array(C, int64)
        means, width2 = gpu.local.array(C, float64), gpu.local.array(C, float64)
        before, below = gpu.local.array(1, float64), gpu.local.array(columns, float64)
        levels, s = Levels(rows, logdet, beta, size, rotations), Scratch(means, width2, before, below)
        world = World(truth, sets, runs, drawn, spread, gaussian, shortest)
        asked = Asked(rounds, checkpoints, eps)
        told = Told(regret, mistakes, last, level, left, undercut, refuted)
        for i in range(gpu.grid(1), last.size, gpu.gridsize(1)):
            play_one(first + i, i, R, S, alpha, world, asked, levels, s, told)

    return kernel


def _shapes(c: Constants) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """The shapes of all actions, of a group of them, and of a factor."""
    d = c.d
    return (c.n if c.kept else 1, d), (GROUP, d), ((d, d + 2) if d <= SMALL else (1, 3))


def _optimistic(c: Constants) -> Any:
    n, d, E = c.n, c.d, c.grid
    actions_shape, group_shape, factor_shape = _shapes(c)
    certified, rule, radius, delta, outer, _, _, lam, length, _, scale, low, high = c.confidence
    paced = c.paced

    @gpu.jit(device=True)
    def play_one(key, seed, R, S, alpha, world, asked, levels, s, told):
        actions, group = gpu.local.array(actions_shape, float64), gpu.local.array(group_shape, float64)
        factor, bound = gpu.local.array(factor_shape, float64), gpu.local.array(n, float64)
        x, counts = gpu.local.array(d, float64), gpu.local.array(E, int64)
        work = Room(actions, group, factor, bound, x, counts)
        confidence = Confidence(
            certified, rule, radius, delta, outer, R, S, lam, length, alpha, scale, low, high
        )
        # The loop of ``optimistic.play_one``; threads that wait for one another use the same instructions together.
        random, S = uint64(key), int64(1)
        left, marks = optimistic.begin(levels, confidence, world.theta), fresh(counts)
        for t in range(asked.rounds):
            if paced > 0:
                gpu.syncthreads()
            marks, y = optimistic.decide(
                levels, S, confidence, world, random, t, left, marks, asked, told, seed, work, s
            )
            if paced > 1:
                gpu.syncthreads()
            S, left = optimistic.learn_once(levels, S, confidence, x, y, world.theta, s)
        tell(marks, told, seed, S, counts)

    return play_one


def _guarded(c: Constants, rules: Rules) -> Any:
    n, d, E = c.n, c.d, c.grid
    actions_shape, group_shape, factor_shape = _shapes(c)
    gate, delta, outer, _, _, lam, length, low, high = rules

    @gpu.jit(device=True)
    def play_one(key, seed, R, S, alpha, world, asked, levels, s, told):
        actions, group = gpu.local.array(actions_shape, float64), gpu.local.array(group_shape, float64)
        factor, bound = gpu.local.array(factor_shape, float64), gpu.local.array(n, float64)
        x, counts = gpu.local.array(d, float64), gpu.local.array(E, int64)
        alive, dropped = gpu.local.array(n, int64), gpu.local.array(n, int64)
        width2, means = gpu.local.array(n, float64), gpu.local.array(n, float64)
        all_width2, difference = gpu.local.array(n, float64), gpu.local.array(d, float64)
        work = Room(actions, group, factor, bound, x, counts)
        held = guarded.Guard(alive, dropped, width2, means, all_width2, difference)
        known = Rules(gate, delta, outer, R, S, lam, length, low, high)
        guarded.play_one(key, seed, world, known, alpha, asked, levels, s, work, held, told)

    return play_one


def blocks_for(seeds: int) -> int:
    """How many blocks to launch."""
    asked = getattr(gpu, "get_current_device", None)  # the simulator has none
    multiprocessors = 1 if asked is None else asked().MULTIPROCESSOR_COUNT
    return min(-(-seeds // BLOCK), max(1, multiprocessors * AT_A_TIME // BLOCK))


def play(player: Player, world: World, asked: Asked, levels: int, first: int, seeds: int) -> Told:
    """Play the seeds from ``first`` on."""
    fixed, numbers = constants(player, world, asked, levels)
    kernel = kernel_for(fixed)
    given = [gpu.to_device(array) for array in (world.theta, world.sets, world.runs)]
    grids = [gpu.to_device(array) for array in (asked.checkpoints, asked.eps)]
    told = room(asked, seeds)
    for begin in range(0, seeds, AT_ONCE):
        some = min(AT_ONCE, seeds - begin)
        arrays = [gpu.to_device(array) for array in room(asked, some)]
        blocks = blocks_for(some)
        kernel[blocks, BLOCK](first + begin, *numbers, *given, asked.rounds, *grids, *arrays)
        whole: Any
        for whole, part in zip(told, arrays, strict=True):
            whole[..., begin : begin + some] = part.copy_to_host()
    return told
