"""Read an experiment from TOML, and check it.

For example::

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

``[predictions]`` states what the author expects (``unipac.experiments.stated``), ``[report]`` says how to show it
(``unipac.experiments.options``).

``stored = true`` makes an agent for linear MDPs store transitions, as it does with a feature map, instead of
counting them; gaps are then unknown.

An agent gets its dimension from the instance, and also noise and norm unless the file sets them. An instance with
an argument ``seed`` gets a seed made from that of the cell, unless the file sets one. Bandit agents and searches for
an arm play bandit instances; agents for MDPs and searches among functions (OLIVE) play MDPs; searches with a simulator
(CertifiedPlanning, PPQ, OPPQ) play discounted MDPs. ``rounds`` is the number of rounds of a bandit, of episodes of an
MDP, or the largest number of pulls of a search.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unipac._text import control_character, printable
from unipac.experiments import making, options, registry, stated
from unipac.experiments.registry import SpecError
from unipac.experiments.spec import (
    EPS,
    LARGEST_ROUNDS,
    LARGEST_SEEDS,
    Agent,
    Instance,
    Spec,
    check_size,
    checked_count,
    file_stem,
    meets,
)

LONGEST_LABEL = 100
MOST_VARIANTS = 10_000
"""The most agents, and the most instances, of one file; each value of a sweep counts."""

_TOP = (
    "title",
    "description",
    "seeds",
    "rounds",
    "eps",
    "coverage",
    "agents",
    "instances",
    "predictions",
    "report",
)
_PLURAL = {"bandit": "bandits", "mdp": "MDPs", "discounted": "discounted MDPs"}
_SEARCHED = {
    "bandit": "bandits with fixed arms",
    "mdp": "MDPs with candidates for Q*",
    "discounted": "discounted MDPs",
}

Entry = tuple[str, str, Mapping[str, Any]]
"""Label, family and table of an agent or an instance."""


def read(path: str | Path) -> Spec:
    """Read the experiment in a TOML file; a ``SpecError`` names the file, table and key of a mistake.

    >>> read("none.toml")
    Traceback (most recent call last):
    unipac.experiments.registry.SpecError: none.toml: no such file
    """
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            data = tomllib.load(stream)
    except FileNotFoundError:
        raise SpecError(f"{file}: no such file") from None
    except OSError as error:
        raise SpecError(f"{file}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # a TOMLDecodeError, bad UTF-8 or a number too long to read
        raise SpecError(f"{file}: not valid TOML: {printable(str(error))}") from None
    except RecursionError:
        raise SpecError(f"{file}: not valid TOML: nested too deeply") from None
    name = file_stem(file.stem) or "experiment"
    return parse(data, name=name, source=str(file), folder=str(file.resolve().parent))


def parse(
    data: Mapping[str, Any], *, name: str, source: str | None = None, folder: str | None = None
) -> Spec:
    """Read an experiment from a mapping that has the form of the TOML file.

    Args:
        data: the tables of the file.
        name: the name of the experiment.
        source: the name to use in messages; ``name`` by default.
        folder: the folder with modules of the user's own.

    Example:
        >>> tables = {
        ...     "rounds": 50,
        ...     "seeds": 1,
        ...     "agents": {"ours": {"agent": "NestedOFUL"}},
        ...     "instances": {"arms": {"instance": "sphere", "dim": 2}},
        ... }
        >>> [str(cell.instance.label) for cell in parse(tables, name="mine").cells()]
        ['arms']
    """
    try:
        with making.importing_from(folder):
            return _parse(data, name, folder)
    except SpecError as error:
        raise SpecError(f"{source or name}: {error}") from None


def _parse(data: Mapping[str, Any], name: str, folder: str | None) -> Spec:
    for key in data:
        if key not in _TOP:
            raise SpecError(f"{printable(key)}: no such key; {registry.nearest(key, _TOP)}")
    seeds = checked_count("seeds", data.get("seeds", 10), LARGEST_SEEDS)
    rounds = checked_count("rounds", data["rounds"], LARGEST_ROUNDS) if "rounds" in data else None
    coverage = data.get("coverage", False)
    if not isinstance(coverage, bool):
        raise SpecError(f"coverage: must be true or false, got {coverage!r}")
    title, description = _text(data, "title", name), _text(data, "description", "", allowed="\n\t")
    eps = _eps(data.get("eps", EPS))
    agents = tuple(_agent(*entry) for entry in _entries(data, "agents"))
    entries = _entries(data, "instances")
    check_size(len(agents), len(entries), seeds)  # before any of them is made
    instances = tuple(_instance(*entry, rounds, agents, coverage) for entry in entries)
    for agent in agents:
        if not any(meets(agent, instance) for instance in instances):
            plural = _SEARCHED if agent.kind == "search" else _PLURAL
            raise SpecError(
                f"[agents.{_quoted(agent.label)}]: {agent.agent} is for {plural[agent.plays]}, and there is"
                " none in [instances] that it may play"
            )
    for instance in instances:
        if not any(meets(agent, instance) for agent in agents):
            raise SpecError(
                f"[instances.{_quoted(instance.label)}]: no agent plays it: {instance.instance} is for agents"
                f" for {_PLURAL[instance.kind]}"
            )
    spec = Spec(name, title, description, agents, instances, seeds, eps, coverage, folder)
    return told_by(spec, data.get("predictions", {}), data.get("report", {}))


def restored(data: Mapping[str, Any]) -> Spec:
    """Read the experiment of a ``spec.json`` without making agents or instances; a ``SpecError`` if it is invalid."""
    agents = tuple(Agent(**entry) for entry in data["agents"])
    instances = tuple(Instance(**{"agents": None, **entry}) for entry in data["instances"])
    words = data["name"], data.get("title") or data["name"], data.get("description") or ""
    spec = Spec(*words, agents, instances, data["seeds"], tuple(data["eps"]), data["coverage"])
    predictions = {
        entry["name"]: {k: v for k, v in entry.items() if k != "name"}
        for entry in data.get("predictions", [])
    }
    return told_by(spec, predictions, data.get("report", {}))


def told_by(spec: Spec, predictions: object, report: object) -> Spec:
    """Add to a spec the predictions and the report options of its file, checked."""
    plays = {a.label: [i.label for i in spec.instances if meets(a, i)] for a in spec.agents}
    places: dict[str, list[str]] = {}
    for instance in spec.instances:
        for name in {instance.family, instance.label}:
            places.setdefault(name, []).append(instance.label)
    shown = options.read(report, agents=[*plays, *(a.family for a in spec.agents)], instances=places)
    expected = stated.read(predictions, agents=plays, instances=places, eps=spec.eps)
    return replace(spec, predictions=expected, report=shown)


def _agent(label: str, family: str, table: Mapping[str, Any]) -> Agent:
    where = f"[agents.{_quoted(label)}]"
    make = _find(where, "agent", table, registry.AGENTS)
    try:
        kind, plays = registry.agent_kind(make), registry.plays(make)
    except SpecError as error:
        raise SpecError(f"{where} {error}") from None
    parameters = {key: value for key, value in table.items() if key not in ("agent", "sweep", "stored")}
    _arguments(where, make, parameters, from_instance=making.from_instance(kind, plays))
    if "stored" in table:
        if kind != "mdp" or not isinstance(table["stored"], bool):
            raise SpecError(f"{where} stored: must be true or false, for an agent for MDPs")
        parameters["stored"] = table["stored"]
    return Agent(label, family, table["agent"], parameters, kind, plays, registry.source_of(table["agent"]))


def _instance(
    label: str,
    family: str,
    table: Mapping[str, Any],
    rounds: int | None,
    agents: Sequence[Agent],
    coverage: bool,
) -> Instance:
    """Read an instance; make it and its agents once, to find wrong values before the work begins."""
    where = f"[instances.{_quoted(label)}]"
    make = _find(where, "instance", table, registry.INSTANCES)
    reserved = ("instance", "sweep", "rounds", "agents")
    parameters = {key: value for key, value in table.items() if key not in reserved}
    _arguments(where, make, parameters, from_instance=())
    if "rounds" in table:
        rounds = checked_count(f"{where} rounds", table["rounds"], LARGEST_ROUNDS)
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
        players = tuple(players)
    source = registry.source_of(table["instance"])
    draft = Instance(label, family, table["instance"], parameters, "bandit", rounds, players, source)
    try:
        made = making.make_instance(draft)
        instance = replace(draft, kind=registry.instance_kind(made))
    except (Exception, SystemExit) as error:  # a user's function may raise anything
        raise SpecError(f"{where}: {_in_words(error)}") from None
    if coverage and getattr(made, "theta", None) is None:
        raise SpecError(f"coverage: {where} has no linear parameter to cover")
    for agent in agents:
        if meets(agent, instance):
            try:
                making.make_agent(agent, made, rounds, seed=0)
            except (Exception, SystemExit) as error:  # and so may a user's class
                raise SpecError(f"[agents.{_quoted(agent.label)}] on {label}: {_in_words(error)}") from None
    return instance


def _entries(data: Mapping[str, Any], key: str) -> list[Entry]:
    """Every entry of [agents] or [instances], with one entry for each value of a sweep."""
    tables = data.get(key)
    if not isinstance(tables, Mapping) or not tables:
        raise SpecError(f"[{key}]: must hold at least one table, as [{key}.some-name], got {tables!r}")
    entries: list[Entry] = []
    for family, table in tables.items():
        where = f"[{key}.{_quoted(family)}]"
        _check_label(where, family)
        if not isinstance(table, Mapping):
            raise SpecError(f"{where}: must be a table, got {table!r}")
        sweep = table.get("sweep", {})
        if not isinstance(sweep, Mapping) or not all(isinstance(v, list) and v for v in sweep.values()):
            raise SpecError(f"{where} sweep: must give a list of values for each argument, got {sweep!r}")
        clash = next((name for name in sweep if name in table), None)
        if clash is not None:
            raise SpecError(f"{where} {clash}: given twice, also under sweep")
        number = math.prod(len(values) for values in sweep.values())
        if len(entries) + number > MOST_VARIANTS:
            raise SpecError(
                f"{where} sweep: it makes {number:,} {key}, and then [{key}] would hold more than"
                f" {MOST_VARIANTS:,}"
            )
        for values in itertools.product(*sweep.values()):
            chosen = dict(zip(sweep, values, strict=True))
            label = " ".join([family, *(f"{name}={_short(value)}" for name, value in chosen.items())])
            _check_label(f"{where} sweep" if chosen else where, label)
            entries.append((label, family, {**table, **chosen}))
    _distinct(key, [label for label, _, _ in entries])
    return entries


def _check_label(where: str, label: str) -> None:
    if not file_stem(label):
        raise SpecError(f"{where}: a label must have letters or digits, got {label!r}")
    if len(label) > LONGEST_LABEL:
        raise SpecError(f"{where}: a label must have at most {LONGEST_LABEL} characters, not {len(label)}")
    _check_characters(where, label)


def _check_characters(where: str, text: str, allowed: str = "") -> None:
    bad = control_character(text, allowed)
    if bad is not None:
        raise SpecError(f"{where}: must not hold control characters, got {bad!r}")


def _short(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 10**5:
        exponent = len(str(value)) - 1
        if value == 10**exponent:
            return f"1e{exponent}"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _in_words(error: BaseException) -> str:
    """The message of an error; errors other than ``ValueError`` also have their name."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _find(where: str, what: str, table: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    if what not in table:
        raise SpecError(f'{where}: {what} must be given, as {what} = "{next(iter(known))}"')
    try:
        return registry.find(what, table[what], known)
    except SpecError as error:
        raise SpecError(f"{where} {error}") from None


def _arguments(where: str, make: Any, parameters: Mapping[str, Any], from_instance: Sequence[str]) -> None:
    allowed = registry.accepted(make)
    for key, value in parameters.items():
        if key in from_instance:
            raise SpecError(f"{where} {key}: must not be given, it comes from the instance")
        if allowed is not None and key not in allowed:
            choice = [name for name in allowed if name not in from_instance]
            raise SpecError(f"{where} {printable(key)}: no such argument; {registry.nearest(key, choice)}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise SpecError(
                f"{where} {printable(key)}: must be a finite number, text, true, false or a list, got"
                f" {value!r}"
            ) from None


def _text(data: Mapping[str, Any], key: str, default: str, allowed: str = "") -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise SpecError(f"{key}: must be text, got {value!r}")
    _check_characters(key, value, allowed)
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
        other = seen.setdefault(file_stem(label).lower(), label)
        if other is not label:
            raise SpecError(f"[{key}]: {other!r} and {label!r} would have the same file name; rename one")


def _quoted(label: str) -> str:
    return (
        label if re.fullmatch(r"[A-Za-z0-9_-]+", label) else printable(json.dumps(label, ensure_ascii=False))
    )
