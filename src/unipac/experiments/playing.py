"""Play one cell: an agent on an instance with a seed."""

from __future__ import annotations

import math
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from unipac import _jit, theory
from unipac.bandits import BanditAgent
from unipac.envs import BanditInstance, FiniteMDP, LinearMDPEnv, SwitchingArms, policy_value
from unipac.envs.mdps.factories import ForcedFirst
from unipac.experiments import making
from unipac.experiments.spec import Cell
from unipac.experiments.tally import Tally

CHUNK = 2**15
"""The most rounds that are played at once, to limit the memory of their traces."""

PER_DECADE = 10

Advance = Callable[[int], int]
"""Plays at most this many rounds, and returns how many it played."""


class Computed(NamedTuple):
    """The result of a cell that was computed."""

    parquet: bytes
    seconds: float
    checkpoints: list[int]
    elapsed: list[float]
    """Seconds from the first checkpoint to each checkpoint."""
    compiling: float = 0.0
    """The part of ``seconds`` in which kernels were compiled."""


class Broken(NamedTuple):
    """The error of a cell that failed, as text: an exception itself may not survive the way to the parent."""

    reason: str
    details: str
    """The traceback."""


def try_to_compute(cell: Cell, folder: str | None = None) -> Computed | Broken:
    """Play a cell; return whatever the agent or the instance raises as text, even ``SystemExit``."""
    try:
        return compute(cell, folder)
    except (Exception, SystemExit) as error:
        return Broken(f"{type(error).__name__}: {error}", traceback.format_exc())


def compute(cell: Cell, folder: str | None = None) -> Computed:
    """Play a cell; its table depends only on the cell, not on the machine or on other cells."""
    begin, compiled = time.perf_counter(), _jit.seconds()
    with making.importing_from(folder), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the column `consistent` of the table records refuted assumptions
        seeds = np.random.SeedSequence(cell.seed).spawn(3)
        instance = making.make_instance(cell.instance, seeds[0])
        seed = making.number_of(seeds[1])
        agent = making.make_agent(cell.agent, instance, cell.instance.rounds, seed=seed)
        tally = Tally(
            cell,
            agent,
            delta=making.value_of(agent, cell.agent, "delta", math.nan),
            sound=making.assumptions_hold(agent, cell.agent, instance),
        )
        elapsed: list[float] = []
        warm = begin
        for _ in _play(cell, agent, instance, seeds[2], tally):
            tally.write_row()
            if not elapsed:
                warm = time.perf_counter()  # the first round may have waited for the compiler
            elapsed.append(time.perf_counter() - warm)
        parquet = tally.to_parquet()
    checkpoints = [row["round"] for row in tally.rows]
    spent = time.perf_counter() - begin
    return Computed(parquet, spent, checkpoints, elapsed, _jit.seconds() - compiled)


def checkpoints(rounds: int) -> list[int]:
    """The rounds after which a row is written: ten per decade, rounded, and the last one."""
    steps = np.arange(1 + int(PER_DECADE * math.log10(rounds)))
    spaced = {round(10 ** (step / PER_DECADE)) for step in steps.tolist()}
    return sorted(number for number in spaced | {rounds} if number <= rounds)


def _play(
    cell: Cell, agent: Any, instance: Any, seed: np.random.SeedSequence, tally: Tally
) -> Iterator[None]:
    """Play all rounds; yield at every checkpoint."""
    rounds = cell.instance.rounds
    advance: Advance
    if cell.agent.kind == "search":
        _search(agent, instance, seed, tally, rounds)
        yield
        return
    if cell.agent.kind == "mdp":
        rounds += making.forced_one_by_one(agent, instance)
        play = _episodes_stored if cell.agent.parameters.get("stored") else _episodes
        advance = play(agent, instance, seed, tally)
    elif isinstance(agent, BanditAgent):
        advance = _rounds(agent, instance, seed, tally, cell.coverage)
    else:
        advance = _rounds_of_any(agent, instance, seed, tally)
    played = 0
    for stop in checkpoints(rounds):
        while played < stop:
            played += advance(min(stop - played, CHUNK))
        yield


def _rounds(
    agent: Any, instance: BanditInstance, seed: np.random.SeedSequence, tally: Tally, coverage: bool
) -> Advance:
    truth = instance.theta if coverage else None

    def advance(count: int) -> int:
        if isinstance(instance, SwitchingArms):
            forced = instance.forced_at(tally.round)
            if forced > 0:
                decision = agent.choose(instance.forced_action[None])
                agent.update(decision, instance.forced_reward, times=forced)
                tally.add_forced(forced, instance.forced_reward)
            count = int(min(count, instance.free_at(tally.round)))
        trace = agent.play(instance, rounds=count, seed=seed, truth=truth)
        tally.add_rounds(
            gap=trace.gap, reward=trace.reward, certificate=trace.certificate, covered=trace.covered
        )
        return count

    return advance


def _rounds_of_any(
    agent: Any, instance: BanditInstance, seed: np.random.SeedSequence, tally: Tally
) -> Advance:
    """Play rounds with a user's own agent, which has only choose and update."""

    def advance(count: int) -> int:
        actions, means, rewards = instance.rounds(tally.round, count, seed)
        index = np.empty(count, dtype=np.int64)
        certificate = np.full(count, np.nan)
        for k in range(count):
            offered = actions if actions.ndim == 2 else actions[k]
            decision = agent.choose(offered)
            chosen = getattr(decision, "index", decision)
            if not (isinstance(chosen, (int, np.integer)) and 0 <= chosen < len(offered)):
                last = len(offered) - 1
                raise ValueError(
                    f"choose must return the number of a row, from 0 to {last}, got {decision!r}"
                )
            index[k] = chosen
            certificate[k] = getattr(decision, "certificate", math.nan)
            agent.update(decision, rewards[k, index[k]])
        mean = means if means.ndim == 2 else np.broadcast_to(means, rewards.shape)
        rows = np.arange(count)
        gap = mean.max(axis=1) - mean[rows, index]
        tally.add_rounds(gap=gap, reward=rewards[rows, index], certificate=certificate)
        return count

    return advance


def _episodes(agent: Any, mdp: Any, seed: np.random.SeedSequence, tally: Tally) -> Advance:
    in_one_step = making.forced_episodes(mdp) - making.forced_one_by_one(agent, mdp)

    def advance(count: int) -> int:
        if in_one_step and tally.round == 0:
            agent.absorb(mdp.forced_episode(), times=in_one_step)
            tally.add_forced(in_one_step, float(mdp.optimal_value()[mdp.forced_state]))
        states = None
        if isinstance(mdp, ForcedFirst):
            states = mdp.initial_states(count, start=tally.round)
        trace = agent.play(mdp, episodes=count, seed=seed, initial_states=states)
        tally.add_episodes(trace, mdp.horizon)
        return count

    return advance


def _episodes_stored(agent: Any, mdp: Any, seed: np.random.SeedSequence, tally: Tally) -> Advance:
    """Play episodes step by step with an agent that stores transitions; gaps are unknown."""
    env = LinearMDPEnv(mdp)
    env.reset(seed=making.number_of(seed))

    def advance(count: int) -> int:
        tally.add_returns(agent.learn(env, episodes=count).returns)
        return count

    return advance


def _search(agent: Any, instance: Any, seed: np.random.SeedSequence, tally: Tally, most: int) -> None:
    """Run a search to its end, or until it has made ``most`` pulls."""
    answer = agent.run(instance, seed=making.number_of(seed), max_pulls=most)
    of_arms = isinstance(instance, BanditInstance)
    gap = _gap_of_arm(answer.index, instance, seed) if of_arms else _gap_of_policy(answer.policy, instance)
    tally.add_answer(
        pulls=int(answer.pulls),
        gap=gap,
        certificate=float(answer.certificate),
        least=_least_pulls(agent, instance, tally.delta) if of_arms else None,
    )


def _gap_of_arm(index: int, instance: BanditInstance, seed: np.random.SeedSequence) -> float:
    means = instance.rounds(0, 1, seed).means
    if not 0 <= index < len(means):
        raise ValueError(f"run must answer with an arm from 0 to {len(means) - 1}, got {index!r}")
    return float(means.max() - means[index])


def _gap_of_policy(policy: Any, mdp: Any) -> float:
    """The loss of a policy: for episodes, its mean over first states; otherwise its largest over states."""
    if isinstance(mdp, FiniteMDP):
        lost = mdp.optimal_value() - policy_value(mdp, policy)[0]
        return max(float(mdp.initial @ lost), 0.0)  # rounding must not make it negative
    return max(float((mdp.optimal_value() - mdp.policy_value(policy)).max()), 0.0)


def _least_pulls(agent: Any, instance: BanditInstance, delta: float) -> float | None:
    """The mean number of pulls that any method needs to find the best arm; None if the search has another task."""
    exact = getattr(agent, "eps", math.nan) == 0 and getattr(agent, "targets", None) is None
    if not exact or instance.actions is None or instance.theta is None or not 0 < delta < 1:
        return None
    means = instance.actions @ instance.theta
    if len(means) > 1 and np.partition(means, -2)[-2] == means.max():  # the best arm is not unique
        return None
    return theory.identification_time(
        instance.actions, instance.theta, delta, noise=instance.noise, tolerance=0.01
    ).pulls
