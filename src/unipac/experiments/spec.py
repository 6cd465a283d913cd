"""The description of an experiment as data: agents × instances × seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unipac._text import slug
from unipac.experiments.options import Options
from unipac.experiments.registry import Kind, SpecError, World
from unipac.experiments.stated import Prediction

EPS = tuple(2.0**-k for k in range(-3, 11))
"""ε = 8, 4, ..., 2^-10: the grid over which mistakes are counted, unless a spec has its own."""

LARGEST_ROUNDS = 10**12
LARGEST_SEEDS = 10**6
MOST_CELLS = 10**6
"""The largest allowed agents × instances × seeds."""


@dataclass(frozen=True)
class Agent:
    """An agent of an experiment."""

    label: str
    family: str
    """The label without the values of a sweep."""
    agent: str
    """A name in ``registry.AGENTS``, or ``module:object``."""
    parameters: Mapping[str, Any]
    kind: Kind
    plays: World
    """The kind of instance that it plays; it follows from ``agent``."""
    source: str = ""
    """A digest of the file of ``module:object``: if it changes, this is another agent."""

    def as_dict(self) -> dict[str, Any]:
        """The agent as a dictionary for JSON."""
        return {
            "label": self.label,
            "family": self.family,
            "agent": self.agent,
            "parameters": dict(self.parameters),
            "kind": self.kind,
            **({"source": self.source} if self.source else {}),
        }


@dataclass(frozen=True)
class Instance:
    """An instance of an experiment."""

    label: str
    family: str
    """The label without the values of a sweep."""
    instance: str
    """A name in ``registry.INSTANCES``, or ``module:object``."""
    parameters: Mapping[str, Any]
    kind: World
    rounds: int
    """The number of rounds or episodes; for a search, the largest number of pulls."""
    agents: tuple[str, ...] | None
    """Labels or families of the agents that play it; None for all of its kind."""
    source: str = ""
    """As for an agent."""

    def as_dict(self) -> dict[str, Any]:
        """The instance as a dictionary for JSON; ``agents`` is left out, as it does not affect a cell."""
        return {
            "label": self.label,
            "family": self.family,
            "instance": self.instance,
            "parameters": dict(self.parameters),
            "kind": self.kind,
            "rounds": self.rounds,
            **({"source": self.source} if self.source else {}),
        }


@dataclass(frozen=True)
class Cell:
    """One agent on one instance with one seed."""

    agent: Agent
    instance: Instance
    seed: int
    eps: tuple[float, ...]
    coverage: bool

    @property
    def name(self) -> str:
        """The name of its files, without suffix."""
        return cell_name(self.agent.label, self.instance.label, self.seed)

    def __str__(self) -> str:
        return f"{self.agent.label} on {self.instance.label}, seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """A dictionary for JSON of all that determines the result."""
        return {
            "agent": self.agent.as_dict(),
            "instance": self.instance.as_dict(),
            "seed": self.seed,
            "eps": list(self.eps),
            "coverage": self.coverage,
        }


@dataclass(frozen=True)
class Spec:
    """An experiment.

    >>> from unipac.experiments import parse
    >>> spec = parse(tables, name="mine")                # as in the example of ``parse``
    >>> spec.seeds, len(list(spec.cells())), spec.with_changes(seeds=3, rounds=None).seeds
    (1, 1, 3)
    """

    name: str
    """The short name, as on the command line."""
    title: str
    """The title for readers."""
    description: str
    """One paragraph."""
    agents: tuple[Agent, ...]
    """The agents, one for each value of a sweep."""
    instances: tuple[Instance, ...]
    """The instances, one for each value of a sweep."""
    seeds: int
    """The number of runs of each agent on each instance."""
    eps: tuple[float, ...] = EPS
    """The grid of ε at which mistakes are counted."""
    coverage: bool = False
    """Whether to check in every round that the true parameter is in all confidence sets."""
    folder: str | None = None
    """The folder with modules of the user's own."""
    predictions: tuple[Prediction, ...] = ()
    """Predictions to test on the results, besides the theorems."""
    report: Options = field(default_factory=Options)
    """How the report shows it."""
    at_once: bool = False
    """Whether all seeds are played at once, with other draws: the engines "many" and "cuda"."""

    def cells(self) -> Iterator[Cell]:
        """All cells; those with the first seed come first."""
        pairs = [(a, i) for i in self.instances for a in self.agents if meets(a, i)]
        for seed in range(self.seeds):
            for agent, instance in pairs:
                yield Cell(agent, instance, seed, self.eps, self.coverage)

    def as_dict(self) -> dict[str, Any]:
        """A dictionary for JSON: all that determines the results, and how they are judged and shown."""
        optional: dict[str, Any] = {}
        if self.predictions:
            optional["predictions"] = [stated.as_dict() for stated in self.predictions]
        if self.report != Options():
            optional["report"] = self.report.as_dict()
        if self.at_once:
            optional["at_once"] = True
        return optional | {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "agents": [agent.as_dict() | {"plays": agent.plays} for agent in self.agents],
            "instances": [
                instance.as_dict() | {"agents": instance.agents and list(instance.agents)}
                for instance in self.instances
            ],
            "seeds": self.seeds,
            "eps": list(self.eps),
            "coverage": self.coverage,
        }

    def with_changes(self, *, seeds: int | None = None, rounds: int | None = None) -> Spec:
        """A copy with other numbers of seeds or rounds; None leaves a number unchanged."""
        spec = self
        if seeds is not None:
            spec = replace(spec, seeds=checked_count("seeds", seeds, LARGEST_SEEDS))
            check_size(len(spec.agents), len(spec.instances), spec.seeds)
        if rounds is not None:
            number = checked_count("rounds", rounds, LARGEST_ROUNDS)
            spec = replace(spec, instances=tuple(replace(i, rounds=number) for i in spec.instances))
        return spec


def meets(agent: Agent, instance: Instance) -> bool:
    """Whether this agent plays this instance."""
    if instance.agents is not None and not {agent.label, agent.family} & set(instance.agents):
        return False
    return agent.plays == instance.kind


def digest(spec: Mapping[str, Any]) -> str:
    """A digest of all that determines the results, from ``Spec.as_dict``; titles and descriptions do not matter."""
    part = {key: spec[key] for key in ("agents", "instances", "seeds", "eps", "coverage")}
    if spec.get("at_once"):
        part["at_once"] = True
    return hashlib.sha256(to_json(part)).hexdigest()


def checked_count(where: str, value: object, most: int) -> int:
    """An integer from 1 to ``most``; otherwise a ``SpecError``."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise SpecError(f"{where}: must be an integer from 1 to {most:,}, got {value!r}")
    return value


def check_size(agents: int, instances: int, seeds: int) -> None:
    """Refuse an experiment with more than ``MOST_CELLS`` cells: it must be a mistake."""
    if agents * instances * seeds > MOST_CELLS:
        raise SpecError(
            f"the experiment is too large: {agents:,} agents × {instances:,} instances × {seeds:,} seeds are "
            f"more than {MOST_CELLS:,} cells; sweep fewer values, or split it into several files"
        )


def file_stem(label: str) -> str:
    """A label as part of the name of a cell's files."""
    return slug(label, keep="+=-")


def cell_name(agent: str, instance: str, seed: int) -> str:
    """The name of the files of a cell, from its labels and its seed."""
    return f"{file_stem(agent)}.{file_stem(instance)}.{seed:05d}"


def to_json(data: Mapping[str, Any]) -> bytes:
    """Data as JSON; the same data always give the same bytes."""
    return (json.dumps(data, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()
