"""What compiled loops over episodes share: the policy of a table is evaluated, played and recorded.

An algorithm that plans such tables writes the loop: make room, plan, ``play_one``, learn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs.mdps.planning import level_values_into, stage_entry
from unipac.envs.play.simulation import World, reward_of, sample
from unipac.mdp.protocol.records import EpisodeTrace


class Played(NamedTuple):
    """Where K episodes of H stages are recorded, and room for one of them."""

    gap: Array
    """(K,); as in ``EpisodeTrace``, and so are the next five."""
    reward: Array
    bound: Array
    certificate: Array
    level: Integers
    """(K, H)."""
    fresh: NDArray[np.bool_]
    steps: Integers
    """(3, H): state, action and next state, -1 for the end."""
    paid: Array
    """(H,)."""
    values: Array
    """(H + 1, 1, S): of the policy."""
    no_level: Integers
    """(H, 1, S)."""


def room_for(trace: EpisodeTrace, horizon: int, n_states: int) -> Played:
    """To record into a trace."""
    return Played(
        gap=trace.gap,
        reward=trace.reward,
        bound=trace.bound,
        certificate=trace.certificate,
        level=trace.level,
        fresh=trace.replanned,
        steps=np.zeros((3, horizon), dtype=np.int64),
        paid=np.zeros(horizon),
        values=np.zeros((horizon + 1, 1, n_states)),
        no_level=np.zeros((horizon, 1, n_states), dtype=np.int64),
    )


@jit
def play_one(
    played: Played,
    world: World,
    k: int,
    start: int,
    uniforms: Array,
    action: Integers,
    bound: Array,
    lower: Array,
    anew: bool,
) -> int:
    """Play episode k by ``action`` (H, S), of which values are computed if ``anew``; returns its length."""
    H: int = action.shape[0]
    n_states = action.shape[1]
    if anew:
        table = action.reshape((H, 1, n_states))
        level_values_into(world.tables, world.rewards, table, played.no_level, H, played.values, world.reach)
    played.gap[k] = world.optimal[start] - played.values[0, 0, start]
    played.bound[k], played.certificate[k] = bound[start], bound[start] - lower[start]
    s, n = start, H
    for h in range(H):
        a = action[h, s]
        t = sample(world.cumulative[stage_entry(world.cumulative.shape[0], h), s, a], uniforms[h])
        played.steps[0, h], played.steps[1, h], played.steps[2, h] = s, a, t
        played.paid[h] = reward_of(world, h, s, a, t)
        if world.terminal[t]:
            played.steps[2, h], n = -1, h + 1
            break
        s = t
    for h in range(H):
        played.level[k, h] = h < n
    played.reward[k] = played.paid[:n].sum()
    return n
