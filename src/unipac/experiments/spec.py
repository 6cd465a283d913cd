"""What an experiment is: agents × instances × seeds, as data.

In TOML::

    title = "Two agents on random contexts"
    seeds = 10
    rounds = 20_000

    [agents.nested]
    agent = "NestedOFUL"             # or your own: "my_module:MyAgent"
    delta = 0.05

    [agents.oful]
    agent = "OFUL"
    [agents.oful.sweep]              # one agent for each value
    radius = ["determinant", "mixture"]

    [instances.sphere]
    instance = "sphere"
    dim = 3
    noise = 0.5

``stored = true`` lets an agent for MDPs store transitions, as it does with a feature map, instead of counting
them; gaps are then not known.

An agent gets the dimension of the instance, and its noise and norm unless they are given; an instance with an
argument ``seed`` gets its own from the seed of the cell unless one is given. Bandit agents meet the bandit
instances, agents for MDPs the MDPs.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unipac.experiments import registry
from unipac.experiments.registry import Kind, SpecError

EPS = tuple(2.0**-k for k in range(-3, 11))
"""ε = 8, 4, ..., 2^-10: the grid over which mistakes are counted, unless a spec has its own."""

LARGEST_ROUNDS = 10**12
LARGEST_SEEDS = 10**6
LONGEST_LABEL = 100

_TOP = ("title", "description", "seeds", "rounds", "eps", "coverage", "agents", "instances")


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


@dataclass(frozen=True)
class Instance:
    """An instance of an experiment."""

    label: str
    family: str
    """The label without the values of a sweep."""
    instance: str
    """A name in ``registry.INSTANCES``, or ``module:object``."""
    parameters: Mapping[str, Any]
    kind: Kind
    rounds: int
    agents: tuple[str, ...] | None
    """Labels or families of the agents to play it; None for all of its kind."""


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
        """The name of its files."""
        return cell_name(self.agent.label, self.instance.label, self.seed)

    def __str__(self) -> str:
        return f"{self.agent.label} on {self.instance.label}, seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """All that determines the result, for JSON."""
        return {
            "agent": _agent_dict(self.agent),
            "instance": _instance_dict(self.instance),
            "seed": self.seed,
            "eps": list(self.eps),
            "coverage": self.coverage,
        }


@dataclass(frozen=True)
class Spec:
    """An experiment."""

    name: str
    title: str
    description: str
    agents: tuple[Agent, ...]
    instances: tuple[Instance, ...]
    seeds: int
    eps: tuple[float, ...] = EPS
    coverage: bool = False
    """Whether to check in every round that the truth is in all confidence sets."""
    folder: str | None = None
    """Where to look for modules of the user's own."""

    def cells(self) -> Iterator[Cell]:
        """Every cell; the first seed of all pairs comes first."""
        for seed in range(self.seeds):
            for instance in self.instances:
                for agent in self.agents:
                    if meets(agent, instance):
                        yield Cell(agent, instance, seed, self.eps, self.coverage)

    def as_dict(self) -> dict[str, Any]:
        """All that determines the results, for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "agents": [_agent_dict(agent) for agent in self.agents],
            "instances": [
                _instance_dict(instance) | {"agents": instance.agents and list(instance.agents)}
                for instance in self.instances
            ],
            "seeds": self.seeds,
            "eps": list(self.eps),
            "coverage": self.coverage,
        }

    def with_changes(self, *, seeds: int | None = None, rounds: int | None = None) -> Spec:
        """The same with other numbers of seeds or rounds."""
        spec = self
        if seeds is not None:
            spec = replace(spec, seeds=_count("seeds", seeds, LARGEST_SEEDS))
        if rounds is not None:
            number = _count("rounds", rounds, LARGEST_ROUNDS)
            spec = replace(spec, instances=tuple(replace(i, rounds=number) for i in spec.instances))
        return spec


def meets(agent: Agent, instance: Instance) -> bool:
    """Whether this agent plays this instance."""
    if instance.agents is not None and not {agent.label, agent.family} & set(instance.agents):
        return False
    return agent.kind == instance.kind


def cell_name(agent: str, instance: str, seed: int) -> str:
    """The name of the files of a cell, from its labels."""
    return f"{slug(agent)}.{slug(instance)}.{seed:05d}"


def slug(label: str) -> str:
    """A label as part of a file name."""
    return re.sub(r"[^\w+=-]+", "-", label).strip("-")


def to_json(data: Mapping[str, Any]) -> bytes:
    """Always the same bytes for the same data."""
    return (json.dumps(data, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


# -- reading -----------------------------------------------------------------------------------


def read(path: str | Path) -> Spec:
    """The experiment in a TOML file; a ``SpecError`` names file, table and key of what is wrong."""
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            data = tomllib.load(stream)
    except FileNotFoundError:
        raise SpecError(f"{file}: no such file") from None
    except OSError as error:
        raise SpecError(f"{file}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # a TOMLDecodeError, bad UTF-8 or a number too long to read
        raise SpecError(f"{file}: not valid TOML: {error}") from None
    return parse(
        data, name=slug(file.stem) or "experiment", source=str(file), folder=str(file.resolve().parent)
    )


def parse(
    data: Mapping[str, Any], *, name: str, source: str | None = None, folder: str | None = None
) -> Spec:
    """The experiment in a mapping of the form of the TOML file.

    Args:
        data: the tables.
        name: of the experiment.
        source: what to call it in messages; the name by default.
        folder: where to look for modules of the user's own.
    """
    try:
        with importing_from(folder):
            return _parse(data, name, folder)
    except SpecError as error:
        raise SpecError(f"{source or name}: {error}") from None


def _parse(data: Mapping[str, Any], name: str, folder: str | None) -> Spec:
    _known_keys(data, _TOP)
    seeds = _count("seeds", data.get("seeds", 10), LARGEST_SEEDS)
    rounds = _count("rounds", data["rounds"], LARGEST_ROUNDS) if "rounds" in data else None
    coverage = data.get("coverage", False)
    if not isinstance(coverage, bool):
        raise SpecError(f"coverage: must be true or false, got {coverage!r}")
    agents = tuple(_agent(label, family, table) for label, family, table in _tables(data, "agents"))
    instances = tuple(
        _instance(label, family, table, rounds, agents) for label, family, table in _tables(data, "instances")
    )
    spec = Spec(
        name=name,
        title=_text(data, "title", name),
        description=_text(data, "description", ""),
        agents=agents,
        instances=instances,
        seeds=seeds,
        eps=_eps(data.get("eps", EPS)),
        coverage=coverage,
        folder=folder,
    )
    _distinct("agents", [agent.label for agent in agents])
    _distinct("instances", [instance.label for instance in instances])
    for agent in agents:
        own = [instance for instance in instances if meets(agent, instance)]
        if not own:
            raise SpecError(
                f"[agents.{_quoted(agent.label)}]: {agent.agent} is for {_PLURAL[agent.kind]}, and there is"
                " none in [instances] that it may play"
            )
        for instance in own:
            _try(agent, instance, coverage)
    for instance in instances:
        if not any(meets(agent, instance) for agent in agents):
            raise SpecError(
                f"[instances.{_quoted(instance.label)}]: no agent plays it: {instance.instance} is for agents"
                f" for {_PLURAL[instance.kind]}"
            )
    return spec


_PLURAL = {"bandit": "bandits", "mdp": "MDPs"}


def _agent(label: str, family: str, table: Mapping[str, Any]) -> Agent:
    where = f"[agents.{_quoted(label)}]"
    make = _find(where, "agent", table, registry.AGENTS)
    kind = registry.agent_kind(make)
    parameters = {key: value for key, value in table.items() if key not in ("agent", "sweep", "stored")}
    _arguments(where, make, parameters, told=("dim", "features", "horizon", "feature_map", "n_actions"))
    if "stored" in table:
        if kind != "mdp" or not isinstance(table["stored"], bool):
            raise SpecError(f"{where} stored: must be true or false, for an agent for MDPs")
        parameters["stored"] = table["stored"]
    return Agent(label, family, table["agent"], parameters, kind)


def _instance(
    label: str, family: str, table: Mapping[str, Any], rounds: int | None, agents: Sequence[Agent]
) -> Instance:
    where = f"[instances.{_quoted(label)}]"
    make = _find(where, "instance", table, registry.INSTANCES)
    reserved = ("instance", "sweep", "rounds", "agents")
    parameters = {key: value for key, value in table.items() if key not in reserved}
    _arguments(where, make, parameters, told=())
    if "rounds" in table:
        rounds = _count(f"{where} rounds", table["rounds"], LARGEST_ROUNDS)
    if rounds is None:
        raise SpecError(f"{where}: rounds must be given, here or at the top of the file")
    players = table.get("agents")
    if players is not None:
        labels = {agent.label for agent in agents} | {agent.family for agent in agents}
        if not isinstance(players, list):
            raise SpecError(f"{where} agents: must be a list of labels, got {players!r}")
        for player in players:
            if not isinstance(player, str) or player not in labels:
                hint = registry.nearest(str(player), sorted(labels))
                raise SpecError(f"{where} agents: {player!r} is no label in [agents]; {hint}")
    try:
        kind = registry.instance_kind(make(**parameters))
    except (Exception, SystemExit) as error:  # a function of the user's may raise anything
        raise SpecError(f"{where}: {_told(error)}") from None
    return Instance(
        label,
        family,
        table["instance"],
        parameters,
        kind,
        rounds,
        None if players is None else tuple(players),
    )


def _try(agent: Agent, instance: Instance, coverage: bool) -> None:
    """Make the agent once, to find wrong values before the work begins."""
    from unipac.experiments.cells import make_agent

    where = f"[agents.{_quoted(agent.label)}] on {instance.label}"
    made = registry.find("instance", instance.instance, registry.INSTANCES)(**instance.parameters)
    try:
        make_agent(agent, made, instance.rounds, seed=0)
    except (Exception, SystemExit) as error:  # a class of the user's may raise anything
        raise SpecError(f"{where}: {_told(error)}") from None
    if coverage and getattr(made, "theta", None) is None:
        raise SpecError(f"coverage: [instances.{_quoted(instance.label)}] has no linear parameter to cover")


def _tables(data: Mapping[str, Any], key: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(label, family, table) of every entry of [agents] or [instances], sweeps written out."""
    tables = data.get(key)
    if not isinstance(tables, Mapping) or not tables:
        raise SpecError(f"[{key}]: must hold at least one table, as [{key}.some-name], got {tables!r}")
    for family, table in tables.items():
        where = f"[{key}.{_quoted(family)}]"
        if not slug(family):
            raise SpecError(f"{where}: a label must have letters or digits, got {family!r}")
        if len(family) > LONGEST_LABEL:
            raise SpecError(f"{where}: a label must have at most {LONGEST_LABEL} characters")
        if not isinstance(table, Mapping):
            raise SpecError(f"{where}: must be a table, got {table!r}")
        sweep = table.get("sweep", {})
        if not isinstance(sweep, Mapping) or not all(isinstance(v, list) and v for v in sweep.values()):
            raise SpecError(f"{where} sweep: must give a list of values for each argument, got {sweep!r}")
        for values in itertools.product(*sweep.values()):
            chosen = dict(zip(sweep, values, strict=True))
            clash = next((name for name in chosen if name in table), None)
            if clash is not None:
                raise SpecError(f"{where} {clash}: given twice, also under sweep")
            label = " ".join([family, *(f"{name}={_short(value)}" for name, value in chosen.items())])
            if len(label) > LONGEST_LABEL:
                raise SpecError(f"{where} sweep: makes labels of more than {LONGEST_LABEL} characters")
            yield label, family, {**table, **chosen}


def _short(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 10**5:
        exponent = len(str(value)) - 1
        if value == 10**exponent:
            return f"1e{exponent}"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _told(error: BaseException) -> str:
    """An error in words: the checks of the library speak for themselves, others bear their name."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _find(where: str, what: str, table: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    if what not in table:
        raise SpecError(f'{where}: {what} must be given, as {what} = "{next(iter(known))}"')
    try:
        return registry.find(what, table[what], known)
    except SpecError as error:
        raise SpecError(f"{where} {error}") from None


def _arguments(where: str, make: Any, parameters: Mapping[str, Any], told: Sequence[str]) -> None:
    allowed = registry.accepted(make)
    for key, value in parameters.items():
        if key in told:
            raise SpecError(f"{where} {key}: must not be given, it comes from the instance")
        if allowed is not None and key not in allowed:
            choice = [name for name in allowed if name not in told]
            raise SpecError(f"{where} {key}: no such argument; {registry.nearest(key, choice)}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise SpecError(
                f"{where} {key}: must be a finite number, text, true, false or a list, got {value!r}"
            ) from None


def _known_keys(data: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in data:
        if key not in known:
            raise SpecError(f"{key}: no such key; {registry.nearest(key, known)}")


def _count(where: str, value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise SpecError(f"{where}: must be an integer from 1 to {most:,}, got {value!r}")
    return value


def _text(data: Mapping[str, Any], key: str, default: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise SpecError(f"{key}: must be text, got {value!r}")
    return value


def _eps(value: object) -> tuple[float, ...]:
    sound = isinstance(value, Sequence) and len(value) > 0
    grid = tuple(value) if isinstance(value, Sequence) else ()
    for eps in grid:
        number = isinstance(eps, (int, float)) and not isinstance(eps, bool)
        sound = sound and number and 1e-50 <= eps <= 1e50
    if not sound or len(set(grid)) < len(grid):
        raise SpecError(f"eps: must be a list of distinct numbers from 1e-50 to 1e50, got {value!r}")
    return tuple(sorted((float(eps) for eps in grid), reverse=True))


def _distinct(key: str, labels: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for label in labels:
        other = seen.setdefault(slug(label).lower(), label)
        if other is not label:
            raise SpecError(f"[{key}]: {other!r} and {label!r} would have the same file name; rename one")


def _quoted(label: str) -> str:
    return label if re.fullmatch(r"[A-Za-z0-9_-]+", label) else json.dumps(label, ensure_ascii=False)


def _agent_dict(agent: Agent) -> dict[str, Any]:
    return {
        "label": agent.label,
        "family": agent.family,
        "agent": agent.agent,
        "parameters": dict(agent.parameters),
        "kind": agent.kind,
    }


def _instance_dict(instance: Instance) -> dict[str, Any]:
    return {
        "label": instance.label,
        "family": instance.family,
        "instance": instance.instance,
        "parameters": dict(instance.parameters),
        "kind": instance.kind,
        "rounds": instance.rounds,
    }


@contextmanager
def importing_from(folder: str | None) -> Iterator[None]:
    """Let modules that lie in this folder be imported."""
    if folder is None:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
