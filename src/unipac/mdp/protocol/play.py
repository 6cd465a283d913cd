"""Loops over episodes: one that serves every agent, and what the compiled loops share.

``play_one`` evaluates, plays and records the policy of a table. An algorithm with a compiled loop writes the rest of
it: make room, plan, ``play_one``, learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.envs import FiniteMDP
from unipac.envs.mdps.planning import level_values_into, stage_entry
from unipac.envs.play.simulation import (
    EPISODE_BLOCK,
    World,
    episode_uniforms,
    first_states,
    reward_of,
    sample,
    simulate,
)
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.mdp.protocol.records import EpisodeTrace


def in_blocks(
    mdp: FiniteMDP,
    starts: Integers | None,
    trace: EpisodeTrace,
    first: int,
    seed: int | np.random.SeedSequence,
) -> Iterator[tuple[EpisodeTrace, Integers, Array]]:
    """The parts of a trace of episodes from ``first`` on, each with its first states (K,) and uniforms (K, H)."""
    done, K = 0, len(trace)
    while done < K:
        block, offset = divmod(first + done, EPISODE_BLOCK)
        count = min(K - done, EPISODE_BLOCK - offset)
        uniforms = episode_uniforms(seed, block, trace.level.shape[1])[offset : offset + count]
        states = first_states(mdp, uniforms[:, 0]) if starts is None else starts[done : done + count]
        yield trace.part(done, done + count), states, np.ascontiguousarray(uniforms[:, 1:])
        done += count


def play_in_turn(agent: Any, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
    """Play episodes from these states, with uniforms (K, H) for the transitions: plan, simulate, learn."""
    last: Plan | None = None
    values = np.empty((0, 0, 0))
    H = agent.horizon
    for k, s in enumerate(states.tolist()):
        plan: Plan = agent._plan()
        certified = agent.certified  # an episode may refute it
        if plan is not last:
            values = np.zeros((H + 1, *plan.action.shape[1:]))
            level_values_into(world.tables, world.rewards, plan.action, plan.level, H, values, world.reach)
        episode = Episode(*simulate(world, plan.action, plan.level, s, uniforms[k]))
        last = plan
        trace.gap[k] = world.optimal[s] - values[0, -1, s]
        trace.level[k, : len(episode.level)] = episode.level + 1
        trace.level[k, len(episode.level) :] = 0
        trace.reward[k] = episode.reward.sum()
        trace.bound[k] = plan.bound[s]
        trace.replanned[k] = plan.fresh
        if certified and plan.lower is not None:
            trace.certificate[k] = plan.bound[s] - plan.lower[s]
        agent._commit(agent._learn(episode), 1)


class Played(NamedTuple):
    """Arrays that record K episodes of H stages, and scratch space for one of them."""

    gap: Array
    """(K,): this and the next five are as in ``EpisodeTrace``."""
    reward: Array
    bound: Array
    certificate: Array
    level: Integers
    """(K, H)."""
    fresh: NDArray[np.bool_]
    steps: Integers
    """(3, H): state, action and next state, -1 for the end."""
    paid: Array
    """(H,): rewards."""
    values: Array
    """(H + 1, 1, S): values of the policy."""
    no_level: Integers
    """(H, 1, S): zeros, as there is only one level."""


def room_for(trace: EpisodeTrace, horizon: int, n_states: int) -> Played:
    """The arrays that record into a trace."""
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
    """Play episode k by ``action`` (H, S), whose values are first computed if ``anew``; returns its length."""
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
