"""Many rounds of a bandit agent, one after the other into a trace: those of an instance, or given as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check, _forks as forks
from unipac._arrays import Array
from unipac._atomic import commit, hand_over
from unipac._inputs import LARGEST_REWARD, check_norms, floats
from unipac._warnings import warn
from unipac.bandits.protocol import changes
from unipac.bandits.protocol.inputs import (
    check_all_rewards,
    logged_levels,
    logged_order,
    logged_rounds,
    noise_scales,
    offered_rounds,
    truth_vector,
)
from unipac.bandits.protocol.records import Bounds, Trace, empty_trace, write_gaps
from unipac.envs import BanditInstance, Rounds

if TYPE_CHECKING:
    from unipac.bandits.protocol.agent import BanditAgent


LARGEST_TRACE = 2**40


def play(
    agent: BanditAgent,
    actions: ArrayLike | BanditInstance | Rounds,
    rewards: ArrayLike | None,
    rounds: SupportsIndex | None,
    seed: int | np.random.SeedSequence,
    start: SupportsIndex | None,
    truth: ArrayLike | None,
    noise: ArrayLike | None,
) -> Trace:
    """As ``BanditAgent.play``."""
    if isinstance(actions, BanditInstance):
        refuse("an instance", rewards=rewards, noise=noise)
        return play_instance(agent, actions, rounds, seed, start, truth)
    means = None
    if isinstance(actions, Rounds):
        refuse("rounds", rewards=rewards, noise=noise)
        noise = actions.noise if agent.weighs else None
        actions, means, rewards = actions
    if rewards is None:
        raise ValueError("rewards must be given with an array of actions, got None")
    for name, value in (("rounds", rounds), ("start", start)):
        if value is not None:
            raise ValueError(f"{name} goes with an instance, not with an array of actions")
    return play_arrays(agent, actions, rewards, means, noise, truth)


def refuse(what: str, **given: object) -> None:
    """Refuse arguments that do not go with what is played."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with {what}, which has its own")


# -- rounds of an instance ---------------------------------------------------------------------


def play_instance(
    agent: BanditAgent,
    instance: BanditInstance,
    rounds: SupportsIndex | None,
    seed: int | np.random.SeedSequence,
    start: SupportsIndex | None,
    truth: ArrayLike | None,
) -> Trace:
    """Play rounds of an instance, in one trace."""
    mu = truth_vector(truth, agent.dim)
    with agent._lock:
        length, first = instance_rounds(agent, instance, rounds, start)
    trace = empty_trace(length, gap=True, covered=mu.size > 0, several=agent._several)
    pieces = instance.pieces(first, length, seed)
    forks.in_turns(
        agent,
        lambda: agent.rounds,
        lambda done: _play_pieces(agent, pieces, mu, trace, done),
        trace,
        "rounds",
    )
    return trace


def traces(
    agent: BanditAgent,
    instance: BanditInstance,
    first: int,
    length: int,
    seed: int | np.random.SeedSequence,
    truth: Array,
) -> Iterator[Trace]:
    """Play rounds of an instance, a trace for each of its blocks."""
    end = first + length
    while first < end:
        count = min(end, (first // instance.block + 1) * instance.block) - first
        trace = empty_trace(count, gap=True, covered=truth.size > 0, several=agent._several)
        with agent._lock:
            _play_pieces(agent, instance.pieces(first, count, seed), truth, trace, 0, to_the_end=True)
        first += count
        yield trace


def instance_rounds(
    agent: BanditAgent,
    instance: BanditInstance,
    rounds: SupportsIndex | None,
    start: SupportsIndex | None,
) -> tuple[int, int]:
    """Check how many rounds to play and where to begin; warn if the instance is not what the agent assumes."""
    fits = isinstance(instance, BanditInstance) and instance.dim == agent.dim
    check.require(fits, "instance", f"a BanditInstance with dim {agent.dim}", instance)
    if rounds is None:
        raise ValueError("rounds must be given with an instance, got None")
    length = check.count("rounds", rounds, least=0, most=LARGEST_TRACE)
    agent._ledger.check_total("rounds", length)
    first = agent.rounds if start is None else check.count("start", start, least=0)
    noise, norm = getattr(agent, "noise", math.inf), getattr(agent, "norm", math.inf)
    if agent.certified and (instance.noise > noise or instance.norm > norm * (1 + 1e-9)):
        warn(
            f"{type(agent).__name__} assumes noise <= {noise:g} and norm <= {norm:g}, "
            f"but the instance has {instance.noise:g} and {instance.norm:g}: no certificate is valid",
            UserWarning,
        )
    if agent.bounded_noise and instance.noise_kind == "gaussian" and instance.noise > 0:
        warn(
            f"{type(agent).__name__} assumes bounded noise, not Gaussian: no certificate is valid",
            UserWarning,
        )
    return length, first


def _play_pieces(
    agent: BanditAgent,
    pieces: Iterator[Rounds],
    truth: Array,
    trace: Trace,
    done: int,
    *,
    to_the_end: bool = False,
) -> bool:
    """Play rounds of an instance into a trace, from ``done`` on, until a fork waits; returns whether all are played."""
    for found in pieces:
        actions, rewards = floats("actions", found.actions), floats("rewards", found.rewards)
        offered = Rounds(
            actions, found.means, rewards, found.noise
        )  # an instance of a user's may have other types
        check_norms("actions of the instance", offered.actions, agent.action_norm)
        if agent._largest_reward < LARGEST_REWARD:
            check_all_rewards(agent, "rewards of the instance", offered.rewards)
        noise = None
        if agent.weighs and offered.noise is not None:
            noise = noise_scales(agent, "noise of the instance", offered.noise, offered.noise.shape)
        part, before = trace.part(done, done + len(offered.rewards)), agent.rounds
        try:
            _play_checked(agent, offered.actions, offered.rewards, truth, part, noise)
        finally:  # an interrupted call hands over the rounds that it learned
            _write_gaps_of(part, offered.means, agent.rounds - before)
        done += len(part)
        if forks.is_waiting() and not to_the_end:
            return False
    return True


# -- rounds as arrays --------------------------------------------------------------------------


def play_arrays(
    agent: BanditAgent,
    actions: ArrayLike,
    rewards: ArrayLike,
    means: Array | None,
    noise: ArrayLike | None,
    truth: ArrayLike | None,
) -> Trace:
    """Play rounds from arrays; the trace has ``gap`` if the means or the truth are known."""
    X, y = offered_rounds(agent, actions, rewards)
    scales = None if noise is None else noise_scales(agent, "noise", noise, y.shape[:1])
    mu = truth_vector(truth, agent.dim)
    if means is None and mu.size > 0:
        means = X @ mu
    trace = empty_trace(len(y), gap=means is not None, covered=mu.size > 0, several=agent._several)
    with agent._lock:
        agent._ledger.check_total("rewards", len(y))
        before = agent.rounds
        try:
            _play_checked(agent, X, y, mu, trace, scales)
        except BaseException as error:
            _write_gaps_of(trace, means, agent.rounds - before)
            hand_over(error, trace.part(0, agent.rounds - before), "rounds")
            raise
    _write_gaps_of(trace, means, len(trace))
    return trace


def _write_gaps_of(trace: Trace, means: Array | None, played: int) -> None:
    """Fill in the gaps of the first rounds, where the expected rewards are known."""
    if means is not None:
        write_gaps(trace.part(0, played), means if means.ndim == 1 else means[:played])


def _play_checked(
    agent: BanditAgent, X: Array, y: Array, truth: Array, trace: Trace, noise: Array | None
) -> None:
    """Play by the agent's own ``_play``, or one round after the other if each has its own noise."""
    agent._ledger.late, before = False, agent.rounds
    try:
        if noise is None:
            agent._play(X, y, truth, trace)
        else:
            play_rounds(agent, X, y, truth, trace, noise)
    finally:
        if agent._ledger.pending and agent.rounds > before:
            agent._ledger.overtake()


# -- one round after the other -----------------------------------------------------------------


def decide(
    agent: BanditAgent, X: Array, fixed: bool
) -> tuple[int, int, float, float, float, float, float, bool]:
    """As ``BanditAgent._decide``, by the choice and the bounds of the algorithm."""
    if not fixed:
        check_norms("actions", X, agent.action_norm)
    index, level = agent._choose(X)
    values = agent._bounds(X)
    mean, width, ucb, lcb = (float(column[index]) for column in values)
    low, high = agent.reward_range or (-math.inf, math.inf)
    certificate, refuted = math.nan, False
    if agent.certified:
        best = min(float(values[2].max()), high)
        certificate, refuted = agent._certify(best, min(ucb, high), max(lcb, low))
    ucb, lcb = min(max(ucb, low), high), min(max(lcb, low), high)
    return int(index), int(level), mean, width, ucb, lcb, certificate, refuted


def clipped(
    agent: BanditAgent, mean: Array, width: Array, ucb: Array, lcb: Array
) -> tuple[Array, Array, Array, Array]:
    """Bounds of actions, within the range of the rewards."""
    if agent.reward_range is not None:
        ucb, lcb = np.clip(ucb, *agent.reward_range), np.clip(lcb, *agent.reward_range)
    return mean, width, ucb, lcb


def bounds(agent: BanditAgent, X: Array) -> Bounds:
    """As ``BanditAgent.bounds``; those of any action may refute the assumptions, as those of a chosen one do."""
    found, refuted = seen(agent, X)
    if refuted:
        agent._refute()
    return found


def seen(agent: BanditAgent, X: Array) -> tuple[Bounds, bool]:
    """The bounds of actions, and whether they refute assumptions that stood before; nothing changes."""
    values = agent._bounds(X)
    refuted = False
    if agent.certified and agent.consistent:
        upper, lower = values[2], values[3]
        if agent.reward_range is not None:
            low, high = agent.reward_range
            upper, lower = np.minimum(upper, high), np.maximum(lower, low)
        rows = int(lower.argmax()), int(upper.argmin()), *np.flatnonzero(lower > upper).tolist()
        refuted = any(agent._certify(math.inf, float(upper[k]), float(lower[k]))[1] for k in rows)
    mean, _, ucb, lcb = clipped(agent, *values)
    return Bounds(mean, ucb, lcb), refuted


def play_rounds(
    agent: BanditAgent, X: Array, y: Array, truth: Array, trace: Trace, noise: Array | None
) -> None:
    """Choose and learn one round after the other; each with its own noise if it is given."""
    for t, rewards in enumerate(y):
        offered = X if X.ndim == 2 else X[t]
        if trace.covered is not None:
            trace.covered[t] = agent._covers(truth, offered)
        k, level, _, _, _, _, certificate, refuted = agent._decide(offered, False)
        if trace.misspecification is not None:
            trace.misspecification[t] = agent._answered()
        stood = agent.consistent
        trace.index[t], trace.level[t], trace.reward[t] = k, level, rewards[k]
        trace.certificate[t] = certificate if stood and not refuted else math.nan
        known = offered[k].copy(), float(rewards[k]), level, 1
        step = agent._learn(*known) if noise is None else agent._learn(*known, float(noise[t]))
        round_ = changes.learned(agent, step, 1)
        if stood and refuted:
            round_.append((setattr, agent._ledger, "sound", False))
        commit(round_)
        if stood and refuted:
            agent._warn_of_refutation()


def absorb(
    agent: BanditAgent,
    actions: ArrayLike,
    rewards: ArrayLike,
    noise: ArrayLike | None,
    levels: ArrayLike | None,
    late: ArrayLike | None,
) -> None:
    """As ``BanditAgent.absorb``."""
    words = f"left alone with {type(agent).__name__}, whose proof forbids it"
    check.require(agent.absorbs or levels is not None, "absorb", words, "rounds")
    X, y = logged_rounds(agent, actions, rewards)
    agent._check_logged(X)
    scales = None if noise is None else noise_scales(agent, "noise", noise, y.shape)
    decided = None if levels is None else logged_levels(levels, len(y), *agent._level_range())
    overtaken = None if late is None else logged_order(late, levels, len(y))
    with agent._lock:
        agent._ledger.check_total("actions", len(y))
        agent._ledger.late = False
        if len(y) <= 1:  # which is learned at once
            learn_rounds(agent, X, y, decided, scales, overtaken)
            return
        twin = changes.twin_of(agent)
        if scales is None and decided is None:
            twin._absorb(X, y)
        else:
            learn_rounds(twin, X, y, decided, scales, overtaken)
        commit(changes.taken_over(agent, twin))


def learn_rounds(
    agent: BanditAgent,
    X: Array,
    y: Array,
    levels: Sequence[int] | None,
    noise: Array | None,
    late: Sequence[bool] | None = None,
) -> None:
    """Learn logged rounds one after the other, at their levels, with their noise and order if these are given."""
    for k, (x, value) in enumerate(zip(X, y.tolist(), strict=True)):
        agent._ledger.late = late is not None and late[k]
        known = x.copy(), value, 0 if levels is None else levels[k], 1
        step = agent._learn(*known) if noise is None else agent._learn(*known, float(noise[k]))
        commit(changes.learned(agent, step, 1))
