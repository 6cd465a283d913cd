"""One cell: play an agent on an instance with a seed, count while it plays, and make one table of it."""

from __future__ import annotations

import io
import math
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unipac import metrics
from unipac.bandits import LinearAgent, Trace
from unipac.envs import BanditInstance, LinearMDP, LinearMDPEnv, LSVIKiller, SwitchingArms
from unipac.envs.instance import ROUNDING
from unipac.experiments import registry
from unipac.experiments.spec import Agent, Cell, importing_from
from unipac.mdp import EpisodicAgent

Array = NDArray[np.float64]

CHUNK = 2**15
"""Rounds whose traces are held at once."""

PER_DECADE = 10

SCHEMA: dict[str, Any] = {
    "agent": pl.String,
    "family": pl.String,
    "instance": pl.String,
    "seed": pl.Int64,
    "kind": pl.String,
    "certified": pl.Boolean,
    "consistent": pl.Boolean,
    "delta": pl.Float64,
    "round": pl.Int64,
    "free": pl.Int64,
    "regret": pl.Float64,
    "reward": pl.Float64,
    "certified_regret": pl.Float64,
    "violations": pl.Int64,
    "uncovered": pl.Int64,
    "levels": pl.Int64,
    "plans": pl.Int64,
    "eps": pl.List(pl.Float64),
    "mistakes": pl.List(pl.Int64),
    "certificates_above": pl.List(pl.Int64),
    "bounds": pl.List(pl.Float64),
    "stages": pl.List(pl.Int64),
    "level_numbers": pl.List(pl.Int64),
    "sizes": pl.List(pl.Int64),
    "size_bounds": pl.List(pl.Float64),
}
"""The columns of a cell's table, one row per checkpoint; those on single levels are in the last row only."""


class Computed(NamedTuple):
    """What a worker hands back."""

    parquet: bytes
    seconds: float
    checkpoints: list[int]
    elapsed: list[float]
    """Seconds from the first checkpoint to each."""


class Broken(NamedTuple):
    """What a worker hands back instead, in words: an exception itself may not survive the way."""

    reason: str
    details: str
    """The traceback."""


def try_to_compute(cell: Cell, folder: str | None = None) -> Computed | Broken:
    """Play a cell; whatever the agent or the instance raises is told, also ``SystemExit``."""
    try:
        return compute(cell, folder)
    except (Exception, SystemExit) as error:
        return Broken(f"{type(error).__name__}: {error}", traceback.format_exc())


def compute(cell: Cell, folder: str | None = None) -> Computed:
    """Play a cell. The result depends on the cell alone, not on where or beside what it runs."""
    begin = time.perf_counter()
    with importing_from(folder), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # refuted assumptions are in the table: the column `consistent`
        seeds = np.random.SeedSequence(cell.seed).spawn(3)
        instance = make_instance(cell, seeds[0])
        agent = make_agent(cell.agent, instance, cell.instance.rounds, seed=_number(seeds[1]))
        tally = Tally(cell, agent, sound=assumptions_hold(cell.agent, instance))
        elapsed: list[float] = []
        warm = begin
        for _ in _play(cell, agent, instance, seeds[2], tally):
            tally.write_row()
            if not elapsed:
                warm = time.perf_counter()  # the first round may have waited for the compiler
            elapsed.append(time.perf_counter() - warm)
        parquet = tally.to_parquet()
    checkpoints = [row["round"] for row in tally.rows]
    return Computed(parquet, time.perf_counter() - begin, checkpoints, elapsed)


def make_instance(cell: Cell, seed: np.random.SeedSequence) -> Any:
    """The instance of a cell; the same for every agent."""
    make = registry.find("instance", cell.instance.instance, registry.INSTANCES)
    parameters = dict(cell.instance.parameters)
    if registry.takes(make, "seed"):
        parameters.setdefault("seed", _number(seed))
    return make(**parameters)


def make_agent(agent: Agent, instance: Any, rounds: int, *, seed: int) -> Any:
    """An agent that fits an instance."""
    make = registry.find("agent", agent.agent, registry.AGENTS)
    parameters = dict(agent.parameters)
    stored = parameters.pop("stored", False)
    if registry.takes(make, "seed"):
        parameters.setdefault("seed", seed)
    if isinstance(instance, LinearMDP):
        if registry.takes(make, "episodes"):
            parameters.setdefault("episodes", rounds + _forced_episodes(instance))
        if stored:
            features = instance.features
            n_actions, dim = features.shape[1:]
            return make(
                feature_map=lambda state: features[state],
                n_actions=n_actions,
                dim=dim,
                horizon=instance.horizon,
                **parameters,
            )
        return make(instance.features, horizon=instance.horizon, **parameters)
    for name in ("noise", "norm"):
        if registry.takes(make, name):
            parameters.setdefault(name, getattr(instance, name))
    made = make(instance.dim, **parameters)
    if isinstance(instance, SwitchingArms) and not isinstance(made, LinearAgent):
        raise ValueError(
            f"{instance.name} takes its forced rounds in one step, update(..., times=), which {agent.agent} "
            "does not know; use agents = [...] to leave it out"
        )
    return made


def assumptions_hold(agent: Agent, instance: Any) -> bool:
    """Whether an instance is linear and no noisier or larger than the agent was told."""
    if isinstance(instance, LinearMDP):
        return True
    theta = instance.theta
    if theta is None:
        return False
    told = {"noise": instance.noise, "norm": instance.norm, **agent.parameters}
    length = float(np.linalg.norm(theta)) / (1.0 + ROUNDING)
    return bool(told["noise"] >= instance.noise and told["norm"] >= length)


def checkpoints(rounds: int) -> list[int]:
    """1, 2, 3, ... in steps that grow by a tenth of a decade, and the last round."""
    steps = np.arange(1 + int(PER_DECADE * math.log10(rounds)))
    spaced = {round(10 ** (step / PER_DECADE)) for step in steps.tolist()}
    return sorted(number for number in spaced | {rounds} if number <= rounds)


# -- playing -----------------------------------------------------------------------------------


def _play(
    cell: Cell, agent: Any, instance: Any, seed: np.random.SeedSequence, tally: Tally
) -> Iterator[None]:
    """Play all rounds, pausing at every checkpoint."""
    rounds = cell.instance.rounds
    advance: Callable[[int], int]
    if isinstance(instance, LinearMDP):
        rounds += _forced_episodes(instance)
        advance = _episodes(agent, instance, seed, tally)
    elif isinstance(agent, LinearAgent):
        advance = _rounds(agent, instance, seed, tally, cell.coverage)
    else:
        advance = _rounds_of_any(agent, instance, seed, tally)
    played = 0
    for stop in checkpoints(rounds):
        while played < stop:
            played += advance(min(stop - played, CHUNK))
        yield


def _rounds(
    agent: LinearAgent,
    instance: BanditInstance,
    seed: np.random.SeedSequence,
    tally: Tally,
    coverage: bool,
) -> Callable[[int], int]:
    truth = instance.theta if coverage else None

    def advance(count: int) -> int:
        if isinstance(instance, SwitchingArms):
            forced = instance.forced_at(agent.rounds)
            if forced > 0:
                decision = agent.choose(instance.forced_action[None])
                agent.update(decision, instance.forced_reward, times=forced)
                tally.add_forced(forced, instance.forced_reward)
            count = int(min(count, instance.free_at(agent.rounds)))
        tally.add_rounds(agent.play(instance, rounds=count, seed=seed, truth=truth))
        return count

    return advance


def _rounds_of_any(
    agent: Any, instance: BanditInstance, seed: np.random.SeedSequence, tally: Tally
) -> Callable[[int], int]:
    """For an agent of the user's own, with choose and update only."""

    def advance(count: int) -> int:
        actions, means, rewards = instance.rounds(tally.round, count, seed)
        index = np.empty(count, dtype=np.int64)
        certificate = np.full(count, np.nan)
        for k in range(count):
            offered = actions if actions.ndim == 2 else actions[k]
            decision = agent.choose(offered)
            index[k] = getattr(decision, "index", decision)
            if not 0 <= index[k] < len(offered):
                raise ValueError(f"choose must return a row from 0 to {len(offered) - 1}, got {decision!r}")
            certificate[k] = getattr(decision, "certificate", math.nan)
            agent.update(decision, rewards[k, index[k]])
        mean = means if means.ndim == 2 else np.broadcast_to(means, rewards.shape)
        rows = np.arange(count)
        tally.add_rounds(
            Trace(
                index=index,
                level=np.zeros(count, dtype=np.int64),
                certificate=certificate,
                reward=rewards[rows, index],
                gap=mean.max(axis=1) - mean[rows, index],
            )
        )
        return count

    return advance


def _episodes(agent: Any, mdp: LinearMDP, seed: np.random.SeedSequence, tally: Tally) -> Callable[[int], int]:
    if isinstance(agent, EpisodicAgent) and agent.features is None:
        return _episodes_stored(agent, mdp, seed, tally)

    def advance(count: int) -> int:
        states = None
        if isinstance(mdp, LSVIKiller):
            states = mdp.initial_states(count, start=tally.round)
        trace = agent.play(mdp, episodes=count, seed=seed, initial_states=states)
        tally.add_episodes(trace, mdp.horizon)
        return count

    return advance


def _episodes_stored(
    agent: EpisodicAgent, mdp: LinearMDP, seed: np.random.SeedSequence, tally: Tally
) -> Callable[[int], int]:
    """For an agent that stores transitions: step by step, and gaps are not known."""
    env = LinearMDPEnv(mdp)
    env.reset(seed=_number(seed))

    def advance(count: int) -> int:
        tally.add_returns(agent.learn(env, episodes=count))
        return count

    return advance


def _forced_episodes(mdp: LinearMDP) -> int:
    """How many episodes are played before those that a spec counts."""
    return mdp.forced if isinstance(mdp, LSVIKiller) else 0


def _number(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1, np.uint64)[0])


# -- counting ----------------------------------------------------------------------------------


class Tally:
    """Counts of a run so far, and the rows of its table.

    Args:
        cell: what is played.
        agent: who plays it.
        sound: whether the assumptions of the agent hold; if not, nothing it says is certified.
    """

    def __init__(self, cell: Cell, agent: Any, *, sound: bool) -> None:
        self.cell = cell
        self.sound = sound
        self.agent = agent
        self.rows: list[dict[str, Any]] = []
        self.eps = np.array(cell.eps)
        self.round = 0
        self.forced = 0
        self.regret: float | None = 0.0
        self.reward = 0.0
        self.mistakes = np.zeros(len(self.eps), dtype=np.int64)
        self.certificates_above = np.zeros(len(self.eps), dtype=np.int64)
        self.violations = 0
        self.uncovered: int | None = None
        self.plans = 0
        self.certified_regret = 0.0
        self._claimed = 0.0
        self.delta = float(registry.argument(cell.agent.agent, cell.agent.parameters, "delta", math.nan))
        self.bounds = [_bound(agent, eps) if sound else math.inf for eps in cell.eps]

    @property
    def certified(self) -> bool:
        """Whether what the agent says is proven here."""
        return self.sound and bool(getattr(self.agent, "certified", False))

    def add_forced(self, count: int, reward: float) -> None:
        """Rounds without a choice, whose gap is 0."""
        self.round += count
        self.forced += count
        self.reward += count * reward

    def add_rounds(self, trace: Trace) -> None:
        """Rounds of a bandit."""
        assert trace.gap is not None
        self._add_gaps(trace.gap, trace.reward)
        self.violations += int(metrics.certificate_violations(trace.certificate, trace.gap).sum())
        self.certified_regret += float(trace.certificate.sum())
        if self.certified:
            self.certificates_above += metrics.mistakes(trace.certificate, self.eps)
        if trace.covered is not None:
            self.uncovered = (self.uncovered or 0) + int(len(trace) - trace.covered.sum())

    def add_episodes(self, trace: Any, horizon: int) -> None:
        """Episodes of an MDP."""
        before = self.round
        regret = (self.regret or 0.0) + np.cumsum(trace.gap)
        self._add_gaps(trace.gap, trace.reward)
        self.plans += int(trace.replanned.sum())
        if self.certified:
            claimed = self._claimed + np.cumsum(trace.bound - trace.reward)
            numbers = np.arange(before + 1, self.round + 1)
            certified = claimed + metrics.aggregate_slack(numbers, horizon=horizon, delta=self.delta)
            self.violations += int((certified < regret).sum())
            self._claimed, self.certified_regret = float(claimed[-1]), float(certified[-1])

    def add_returns(self, returns: Array) -> None:
        """Episodes of which only the sums of rewards are known."""
        self.round += len(returns)
        self.reward += float(returns.sum())
        self.regret = None

    def _add_gaps(self, gap: Array, reward: Array) -> None:
        assert self.regret is not None
        self.round += len(gap)
        self.regret += float(gap.sum())
        self.reward += float(reward.sum())
        self.mistakes += metrics.mistakes(gap, self.eps)

    def write_row(self) -> None:
        """The state at a checkpoint."""
        cell, mdp = self.cell, self.cell.instance.kind == "mdp"
        known = self.regret is not None
        self.rows.append(
            {
                "agent": cell.agent.label,
                "family": cell.instance.family,
                "instance": cell.instance.label,
                "seed": cell.seed,
                "kind": cell.instance.kind,
                "certified": self.certified,
                "consistent": bool(getattr(self.agent, "consistent", True)),
                "delta": self.delta,
                "round": self.round,
                "free": self.round - self.forced,
                "regret": self.regret,
                "reward": self.reward,
                "certified_regret": self.certified_regret if self.certified and known else None,
                "violations": self.violations if self.certified and known else None,
                "uncovered": self.uncovered,
                "levels": max((level.level for level in self._levels() if level.size > 0), default=0),
                "plans": self.plans if mdp and known else None,
                "eps": self.eps.tolist(),
                "mistakes": self.mistakes.tolist() if known else None,
                "certificates_above": (
                    self.certificates_above.tolist() if self.certified and not mdp else [None] * len(self.eps)
                ),
                "bounds": self.bounds,
            }
        )

    def _levels(self) -> list[Any]:
        return self.agent.levels() if hasattr(self.agent, "levels") else []

    def to_parquet(self) -> bytes:
        """The table as a file, always with the same bytes for the same numbers."""
        levels = self._levels()
        self.rows[-1] |= {
            "stages": [getattr(level, "stage", 1) for level in levels],
            "level_numbers": [level.level for level in levels],
            "sizes": [level.size for level in levels],
            "size_bounds": [float(level.bound) for level in levels],
        }
        file = io.BytesIO()
        pl.DataFrame(self.rows, schema=SCHEMA).write_parquet(file, compression="zstd", statistics=False)
        return file.getvalue()


def _bound(agent: Any, eps: float) -> float:
    return float(agent.mistake_bound(eps)) if hasattr(agent, "mistake_bound") else math.inf
