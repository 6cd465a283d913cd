"""Many rounds of a bandit agent, one after the other into a trace: those of an instance, or given as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import check_norms
from unipac._warnings import warn
from unipac.bandits.protocol.algorithm import BanditAlgorithm
from unipac.bandits.protocol.inputs import offered_rounds, truth_vector
from unipac.bandits.protocol.records import Trace, empty_trace, write_gaps
from unipac.envs import BanditInstance

LARGEST_TRACE = 2**40


def refuse(what: str, **given: object) -> None:
    """Refuse arguments that do not go with what is played."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with {what}, which has its own")


# -- rounds of an instance ---------------------------------------------------------------------


def play_instance(
    agent: BanditAlgorithm,
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
        trace = empty_trace(length, gap=True, covered=mu.size > 0)
        _play_pieces(agent, instance, first, seed, mu, trace)
    return trace


def traces(
    agent: BanditAlgorithm,
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
        trace = empty_trace(count, gap=True, covered=truth.size > 0)
        with agent._lock:
            _play_pieces(agent, instance, first, seed, truth, trace)
        first += count
        yield trace


def instance_rounds(
    agent: BanditAlgorithm,
    instance: BanditInstance,
    rounds: SupportsIndex | None,
    start: SupportsIndex | None,
) -> tuple[int, int]:
    """How many rounds to play and from which on, checked; warns if the instance is not what the agent assumes."""
    fits = isinstance(instance, BanditInstance) and instance.dim == agent.dim
    check.require(fits, "instance", f"a BanditInstance with dim {agent.dim}", instance)
    if rounds is None:
        raise ValueError("rounds must be given with an instance, got None")
    length = check.count("rounds", rounds, least=0, most=LARGEST_TRACE)
    agent._check_total("rounds", length)
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
    agent: BanditAlgorithm,
    instance: BanditInstance,
    first: int,
    seed: int | np.random.SeedSequence,
    truth: Array,
    trace: Trace,
) -> None:
    """Play the rounds of an instance from ``first`` on, as many as the trace has."""
    done = 0
    for offered in instance.pieces(first, len(trace), seed):
        check_norms("actions of the instance", offered.actions, agent.action_norm)
        noise = None
        if agent.weighs and offered.noise is not None:
            noise = agent._noise("noise of the instance", offered.noise, offered.noise.shape)
        part = trace.part(done, done + len(offered.rewards))
        _play_checked(agent, offered.actions, offered.rewards, truth, part, noise)
        write_gaps(part, offered.means)
        done += len(part)


# -- rounds as arrays --------------------------------------------------------------------------


def play_arrays(
    agent: BanditAlgorithm,
    actions: ArrayLike,
    rewards: ArrayLike,
    means: Array | None,
    noise: ArrayLike | None,
    truth: ArrayLike | None,
) -> Trace:
    """Play rounds that are given as arrays; there are gaps in the trace where means or truth tell them."""
    X, y = offered_rounds(actions, rewards, agent.dim, agent.action_norm)
    scales = None if noise is None else agent._noise("noise", noise, y.shape[:1])
    mu = truth_vector(truth, agent.dim)
    if means is None and mu.size > 0:
        means = X @ mu
    trace = empty_trace(len(y), gap=means is not None, covered=mu.size > 0)
    with agent._lock:
        agent._check_total("rewards", len(y))
        _play_checked(agent, X, y, mu, trace, scales)
    if means is not None:
        write_gaps(trace, means)
    return trace


def _play_checked(
    agent: BanditAlgorithm, X: Array, y: Array, truth: Array, trace: Trace, noise: Array | None
) -> None:
    """By the agent's own ``_play``, or one round after the other if each has its own noise."""
    if noise is None:
        agent._play(X, y, truth, trace)
    else:
        agent._loop(X, y, truth, trace, noise)
