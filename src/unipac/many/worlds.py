"""What one seed is offered in a round, drawn or one of a few fixed sets of actions, and the noise of its reward."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._jit import inlined, jit
from unipac.many import draws

GROUP = 4
"""How many actions are drawn and evaluated together: one call of Philox gives one coordinate of each."""


class World(NamedTuple):
    """An instance, as arrays and numbers."""

    theta: Array
    """(d,)."""
    sets: Array
    """(m, n, d): the sets of actions; not read if they are drawn."""
    runs: NDArray[np.int64]
    """(r, 2): rounds from the first number to before the second offer the first set, all others the last one."""
    drawn: bool
    """Whether actions are drawn on the sphere."""
    noise: float
    gaussian: bool
    """Whether the noise is normal; otherwise it is ± ``noise``."""
    shortest: float
    """Lengths of drawn actions are log-uniform from this to 1."""


@inlined
def draw_group(world: World, seed: np.uint64, number: np.uint64, first: int, group: Array) -> None:
    """Write four actions of a round, from number ``first`` on, as the rows of ``group``."""
    d = group.shape[1]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    place = first // GROUP * d
    for j in range(d):
        w0, w1, w2, w3 = draws.words(seed, number, np.uint32(place + j), draws.CONTEXTS)
        x0, x1 = draws.normals(w0, w1)
        x2, x3 = draws.normals(w2, w3)
        group[0, j], group[1, j], group[2, j], group[3, j] = x0, x1, x2, x3
        s0, s1, s2, s3 = s0 + x0 * x0, s1 + x1 * x1, s2 + x2 * x2, s3 + x3 * x3
    f0, f1, f2, f3 = 1.0 / math.sqrt(s0), 1.0 / math.sqrt(s1), 1.0 / math.sqrt(s2), 1.0 / math.sqrt(s3)
    if world.shortest < 1.0:
        w0, w1, w2, w3 = draws.words(seed, number, np.uint32(first), draws.LENGTHS)
        log = math.log(world.shortest)
        f0, f1 = f0 * math.exp(log * _uniform(w0)), f1 * math.exp(log * _uniform(w1))
        f2, f3 = f2 * math.exp(log * _uniform(w2)), f3 * math.exp(log * _uniform(w3))
    for j in range(d):
        group[0, j], group[1, j] = group[0, j] * f0, group[1, j] * f1
        group[2, j], group[3, j] = group[2, j] * f2, group[3, j] * f3


@inlined
def _uniform(word: np.uint32) -> float:
    return (float(word) + 0.5) * 2.0**-32


@inlined
def fixed_set(world: World, number: int) -> int:
    """Which of the fixed sets is offered in a round."""
    which = int(world.sets.shape[0]) - 1
    for i in range(world.runs.shape[0]):
        if world.runs[i, 0] <= number < world.runs[i, 1]:
            which = 0
    return which


@inlined
def noise_of(world: World, seed: np.uint64, number: np.uint64) -> float:
    """The noise of a round."""
    if world.noise == 0.0:
        return 0.0
    w0, w1, w2, _ = draws.words(seed, number, np.uint32(0), draws.NOISE)
    if world.gaussian:
        first, _ = draws.normals(w0, w1)
        return world.noise * first
    return world.noise if w2 < draws._TOP else -world.noise


@jit
def write_rounds(world: World, seed: int, first: int, actions: Array, noise: Array) -> None:
    """Write the actions (T, n, d) and the noise (T,) of the rounds of a seed from number ``first`` on."""
    T, n, d = actions.shape
    group = np.empty((GROUP, d))
    key = np.uint64(seed)
    for t in range(T):
        number = np.uint64(first + t)
        noise[t] = noise_of(world, key, number)
        for begin in range(0, n, GROUP):
            if world.drawn:
                draw_group(world, key, number, begin, group)
            for a in range(min(GROUP, n - begin)):
                for j in range(d):
                    if world.drawn:
                        actions[t, begin + a, j] = group[a, j]
                    else:
                        actions[t, begin + a, j] = world.sets[fixed_set(world, first + t), begin + a, j]
