"""Cells that differ in the seed alone, played all at once by ``unipac.play_many``.

``play_many`` draws its rounds in another way than ``play``. So all cells of a folder are of one kind, and its
experiment says of which: ``Spec.at_once``.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unipac import _jit
from unipac.envs import SwitchingArms
from unipac.experiments import making, registry
from unipac.experiments.engines import EngineError
from unipac.experiments.playing import Computed, checkpoints
from unipac.experiments.spec import Agent, Cell, Instance, Spec, meets
from unipac.experiments.tally import Tally
from unipac.many import Runs, play_many, settings
from unipac.many.run import missing

DEVICES = {"many": "cpu", "cuda": "cuda"}
"""The engines that play seeds at once, and where."""
AT_ONCE = {"cpu": 2 * 10**6, "cuda": 2 * 10**9}
"""How many rounds are played between two updates of the progress."""
NOT_TOLD = [
    "reward",
    "certified_regret",
    "claimed",
    "explored",
    "violations",
    "uncovered",
    "levels",
    "mistakes",
]
"""The columns that ``play_many`` does not give at checkpoints; of most it gives the value at the end."""


class Pair(NamedTuple):
    """An agent and an instance, made, and the tally of a cell without rounds."""

    agent: Any
    instance: Any
    tally: Tally


def check(spec: Spec, device: str) -> None:
    """Refuse an experiment with cells that cannot be played at once, and say which; refuse a GPU that is not there."""
    problem = missing() if device == "cuda" else ""
    if problem:
        raise EngineError(problem)
    found = []
    for instance in spec.instances:
        for agent in spec.agents:
            if meets(agent, instance):
                try:
                    made(Cell(agent, instance, 0, spec.eps, spec.coverage), spec.folder)
                except ValueError as error:
                    found.append(f"{agent.label} on {instance.label}: {error}")
    if found:
        more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
        raise EngineError("some cells cannot be played at once: " + "; ".join(found[:3]) + more)


def made(cell: Cell, folder: str | None) -> Pair:
    """The agent and the instance of all seeds; a ``ValueError`` says why they cannot be played at once."""
    _check_kind(cell.agent, cell.instance)
    with making.importing_from(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        instance = making.make_instance(cell.instance)
        agent = making.make_agent(cell.agent, instance, cell.instance.rounds, seed=0)
        player = settings.player_of(agent)
        settings.world_of(instance, player.dim, player.action_norm)
        if isinstance(instance, SwitchingArms):
            raise ValueError("its forced rounds are learned in one step, which play_many does not do")
        delta = making.value_of(agent, cell.agent, "delta", math.nan)
        sound = making.assumptions_hold(agent, cell.agent, instance)
        return Pair(agent, instance, Tally(cell, agent, delta=delta, sound=sound))


def _check_kind(agent: Agent, instance: Instance) -> None:
    if agent.kind != "bandit":
        raise ValueError("only bandit agents are played at once")
    make = registry.find("instance", instance.instance, registry.INSTANCES)
    if registry.takes(make, "seed") and "seed" not in instance.parameters:
        raise ValueError(
            "the instance is drawn anew for every seed; give it a seed of its own, such as seed = 0"
        )


def compute(pair: Pair, cells: Sequence[Cell], device: str, workers: int | None) -> list[Computed]:
    """Play cells that differ in the seed alone, and whose seeds follow one another."""
    begin, compiled = time.perf_counter(), _jit.seconds()
    first, rounds = cells[0], cells[0].instance.rounds
    stops, eps = checkpoints(rounds), sorted(first.eps)
    runs = play_many(
        pair.agent,
        pair.instance,
        rounds=rounds,
        seeds=len(cells),
        first_seed=first.seed,
        checkpoints=stops,
        eps=eps,
        device=device,
        workers=workers,
    )
    place = [eps.index(each) for each in first.eps]
    tables = [_table(pair.tally, cell, runs, i, place) for i, cell in enumerate(cells)]
    spent = (time.perf_counter() - begin) / len(cells)
    compiling = (_jit.seconds() - compiled) / len(cells)
    elapsed = (np.array(stops) * (spent / rounds)).tolist()
    return [Computed(table, spent, stops, elapsed, compiling) for table in tables]


def _table(begun: Tally, cell: Cell, runs: Runs, i: int, place: list[int]) -> bytes:
    """The table of run i: its regret at the checkpoints, and the rest at the end."""
    tally = copy.copy(begun)
    tally.cell, tally.rows = cell, []
    for stop, regret in zip(runs.checkpoints.tolist(), runs.regret[i].tolist(), strict=True):
        tally.round, tally.regret = stop, regret
        tally.write_row()
        tally.rows[-1] |= dict.fromkeys(NOT_TOLD) | {"certificates_above": [None] * len(place)}
    tally.rows[-1] |= {
        "consistent": not runs.refuted[i],
        "mistakes": runs.mistakes[i, place].tolist(),
        "violations": int(runs.undercut[i]) if tally.certified else None,
        "uncovered": int(runs.left[i]) if cell.coverage else None,
        "levels": int(runs.level[i]),
    }
    return tally.to_parquet()
