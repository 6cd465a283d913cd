"""Episodes of an MDP with states in a cube, in batches: while a plan stands, its episodes do not depend on each other.

A batch is simulated by the plan in use, then learned episode by episode, until there is another plan. Episodes of the
batch after that are simulated again: episode k is a function of (seed, k) and its policy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check, _forks as forks
from unipac._arrays import Array, Integers
from unipac._inputs import floats
from unipac._jit import jit
from unipac._warnings import warn
from unipac.envs import ContinuousMDP
from unipac.envs.play.simulation import EPISODE_BLOCK, World, episode_uniforms
from unipac.mdp.linear.star.chains import Rules
from unipac.mdp.linear.star.episodes import (
    EPISODES,
    FRESH,
    LOOKED,
    NUMBER,
    PLANS,
    REFUTED,
    State,
    explores,
    learn,
    told_of,
)
from unipac.mdp.linear.star.given import may_fall_back, play as play_numbered
from unipac.mdp.linear.star.memory import OTHER
from unipac.mdp.linear.star.planning.evaluate import CURRENT, NEWEST, fill_planned
from unipac.mdp.linear.star.state import with_room
from unipac.mdp.protocol.agent import LARGEST_TRACE
from unipac.mdp.protocol.records import EpisodeTrace, empty_trace

if TYPE_CHECKING:
    from unipac.mdp.linear.star.star_lsvi import StarLSVI

FIRST_BATCH = 16


@jit
def learn_batch(
    state: State,
    rules: Rules,
    phi: Array,
    actions: Integers,
    rewards: Array,
    lost: Array,
    bound: Array,
    told: Array,
    fresh: NDArray[np.bool_],
    explored: NDArray[np.bool_],
) -> int:
    """Learn episodes with features (n, H + 1, A, d) until plans change or slots are full; returns how many.

    It records bound, certificate, and whether the plan is new, as in ``EpisodeTrace``.
    """
    counters, H = state.counters, rules.horizon
    source, target = np.zeros(H, dtype=np.int64), np.full(H, OTHER)
    number, plans, looked = counters[NUMBER], counters[PLANS], -1
    least, top, trivial = 0.0, 0.0, 0.0
    for k in range(actions.shape[0]):
        exploring = explores(counters, rules)
        if counters[NUMBER] != number or (rules.explore > 0 and counters[PLANS] != plans):
            return k
        if state.slots.used.size > 0 and state.slots.used.max() >= state.slots.source.shape[1]:
            return k
        if k == 0 or counters[LOOKED] != looked or not (phi[k, 0] == phi[k - 1, 0]).all():
            least, top, _, trivial = told_of(state, rules, phi[k, 0])
            looked = counters[LOOKED]
        bound[k] = rules.horizon * rules.low + rules.unit * top
        told[k] = rules.unit * (trivial if exploring else least)
        if counters[REFUTED] == 1:
            told[k] = math.nan
        fresh[k], explored[k] = counters[FRESH] == 1 and not exploring, exploring
        learn(state, rules, phi[k], actions[k], rewards[k], phi[k, 1:], source, target, lost[k])
    return int(actions.shape[0])


def play_part(agent: StarLSVI, world: Any, states: Any, uniforms: Array, trace: EpisodeTrace) -> None:
    """Play episodes from these first states: of a finite MDP, or of one with states in a cube."""
    one = play_numbered if agent.n_states else play_block
    one(agent, world, states, uniforms, trace)


def play(
    agent: StarLSVI,
    mdp: Any,
    *,
    episodes: Any,
    seed: int | np.random.SeedSequence = 0,
    initial_states: ArrayLike | None = None,
    start: Any = None,
) -> EpisodeTrace:
    """As ``EpisodicAgent.play``; ``initial_states`` are (K, k)."""
    check.require(isinstance(mdp, ContinuousMDP), "mdp", "a FiniteMDP or a ContinuousMDP", mdp)
    _check_mdp(agent, mdp)
    K = check.count("episodes", episodes, least=0, most=LARGEST_TRACE)
    starts = np.broadcast_to(mdp.initial, (K, mdp.n_coordinates))
    if initial_states is not None:
        starts = floats("initial_states", initial_states)
        inside = starts.shape == (K, mdp.n_coordinates) and bool(((starts >= 0.0) & (starts <= 1.0)).all())
        expected = f"of shape ({K}, {mdp.n_coordinates}) in [0, 1]"
        check.require(inside, "initial_states", expected, starts.shape)
    with agent._lock:
        agent._between_episodes("play")
        late = may_fall_back(agent, K)
        check.require(not late, "episodes", "such that the fallback cannot act; use learn or act", K)
        agent._check_total("episodes", K)
        first = agent.episodes if start is None else check.count("start", start, least=0)
    trace = empty_trace(K, mdp.horizon)
    trace.level[:] = 1
    blocks = _in_blocks(mdp, starts, trace, first, seed)
    world = cast(World, mdp)
    forks.in_turns(
        agent, lambda: agent.episodes, lambda _: agent._play_blocks(world, blocks), trace, "episodes"
    )
    return trace


def _check_mdp(agent: StarLSVI, mdp: ContinuousMDP) -> None:
    """Refuse an MDP of other sizes, or with other features."""
    check.require(agent.feature_map is not None, "mdp", "a FiniteMDP with the features of this agent", mdp)
    fits = (agent.horizon, agent.n_actions, agent.dim) == (mdp.horizon, mdp.n_actions, mdp.dim)
    expected = f"of horizon {agent.horizon}, {agent.n_actions} actions and dimension {agent.dim}"
    check.require(fits, "mdp", expected, mdp)
    low, high = agent.reward_range
    within = low <= mdp.weights.min() and mdp.weights.max() <= high
    check.require(within, "reward_range", "wide enough for the rewards of the MDP", agent.reward_range)
    own = np.asarray(agent._seen("mdp.initial", mdp.initial))
    same = np.allclose(own, mdp.feature_map(mdp.initial), rtol=0.0, atol=1e-12)
    check.require(same, "feature_map", "that of the MDP", agent.feature_map)


def _in_blocks(
    mdp: ContinuousMDP, starts: Array, trace: EpisodeTrace, first: int, seed: Any
) -> Iterator[tuple[EpisodeTrace, Any, Array]]:
    """The parts of a trace, each with its first states (n, k) and uniforms (n, H(1 + k))."""
    done, K = 0, len(trace)
    while done < K:
        block, offset = divmod(first + done, EPISODE_BLOCK)
        count = min(K - done, EPISODE_BLOCK - offset)
        uniforms = episode_uniforms(seed, block, mdp.horizon * (1 + mdp.n_coordinates))
        yield (
            trace.part(done, done + count),
            starts[done : done + count],
            uniforms[offset : offset + count, 1:],
        )
        done += count


def play_block(
    agent: StarLSVI, mdp: ContinuousMDP, starts: Array, uniforms: Array, trace: EpisodeTrace
) -> None:
    """Play episodes in batches; each batch is twice as large as the one before, as long as the plan stands."""
    done, size = 0, FIRST_BATCH
    values: dict[tuple[bool, int], Array] = {}
    best = mdp.q_weights()[0]
    while done < len(trace):
        agent.state = with_room(agent.state)
        state, rules, sure = agent.state, agent._rules, agent.consistent
        part = trace.part(done, min(done + size, len(trace)))
        n = len(part)
        exploring = np.zeros(n, dtype=np.bool_)
        if rules.explore > 0:
            exploring = (state.counters[EPISODES] + 1 + np.arange(n)) % rules.explore == 0
        lost = np.zeros(n)

        def choose(stage: int, phi: Array, exploring: Any = exploring, lost: Array = lost) -> Integers:
            chosen = np.zeros(len(phi), dtype=np.int64)
            for which, marks in ((False, ~exploring), (True, exploring)):
                if marks.any():
                    chosen[marks], gain = _decided(agent, which, stage, phi[marks])
                    lost[marks] += gain
            return chosen

        cut = slice(done, done + n)
        phi, actions, rewards = mdp.episodes(choose, starts[cut], uniforms[cut])
        taken = phi[np.arange(n), 0, actions[:, 0]]
        for which, number in ((False, NUMBER), (True, PLANS)):
            marks = exploring == which
            if marks.any():
                key = which, int(state.counters[number])
                if key not in values:
                    values[key] = _value_of(agent, mdp, which)
                part.gap[marks] = np.einsum("nd,d->n", taken[marks], -values[key])
        part.gap[:] += (phi[:, 0] @ best).max(axis=1)
        part.reward[:] = rewards.sum(axis=1)
        arrays = part.bound, part.certificate, part.replanned, part.explored
        played = agent._ledger.run(learn_batch, state, rules, phi, actions, rewards, lost, *arrays)
        size = 2 * size if played == n else FIRST_BATCH
        done += played
        if sure and not agent.consistent:
            warn(agent.refutation, RuntimeWarning)


def _value_of(agent: StarLSVI, mdp: ContinuousMDP, exploring: bool) -> Array:
    """Weights of the first Q of a policy."""
    return np.asarray(mdp.q_weights(lambda stage, phi: _decided(agent, exploring, stage, phi)[0])[0])


def _decided(agent: StarLSVI, exploring: bool, stage: int, phi: Array) -> tuple[Integers, Array]:
    """Actions at states with features (n, A, d), and what they lose at most."""
    action, gain = np.zeros(len(phi), dtype=np.int64), np.zeros(len(phi))
    plan, scale = (NEWEST, 1.0) if exploring else (CURRENT, agent._rules.scale)
    fill_planned(
        agent.state.chains, agent._rules, plan, scale, stage - 1, np.ascontiguousarray(phi), action, gain
    )
    return action, gain
