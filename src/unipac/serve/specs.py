"""The table of a deployment, in TOML or JSON: agent, features and settings.

    window = 3600
    agent = { agent = "Guarded", noise = 0.15, heuristic = { agent = "LinUCB", alpha = 0.5 } }
    features = { kind = "Blocks", ids = ["small", "large"], of = { kind = "Columns", ranges = { tokens = [0, 8000] } } }

Features are described as in their ``to_json``; what is left out has its default. ``dim`` comes from the features.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from unipac import _checks as check
from unipac.bandits.protocol.agent import BanditAgent
from unipac.deployment.deployment import Deployment
from unipac.deployment.settings import Settings
from unipac.features.maps import Features
from unipac.features.reading import from_table
from unipac.registry import AGENTS

SETTINGS = tuple(Settings._fields)
FORGET = "forget"
"""``default = "forget"`` is None, which TOML cannot write."""
MOST_DIM = 1000
MOST_DEEP = 8


class Spec(NamedTuple):
    """What a deployment is made of."""

    agent: Any
    features: Features | None
    settings: dict[str, Any]
    retention: float | None
    """Seconds; it may change from one start to the next."""
    text: str
    """The table without retention, as JSON whose keys are sorted: equal texts are equal deployments."""
    kept: str
    """The whole table in this form, for the database."""
    own: type[Any] | None
    """The class of the agent if it is a user's own; None for agents of the library."""


def made(table: Any, modules: bool) -> Spec:
    """The spec of a table; ``modules`` says whether agents may be imported as ``module:Class``."""
    check.require(isinstance(table, Mapping), "deployment", "a table", table)
    known = (*SETTINGS, "agent", "features", "retention")
    for key in table:
        check.require(key in known, "deployment", f"made of {', '.join(sorted(known))}", key)
    check.require(
        isinstance(table.get("agent"), Mapping),
        "agent",
        "a table with the name of an agent",
        table.get("agent"),
    )
    features = None if table.get("features") is None else from_table(table["features"])
    if features is not None:
        _small("features", features.dim)
    agent = _agent(table["agent"], None if features is None else features.dim, modules, 0)
    _small("dim", agent.dim)
    settings = {name: table[name] for name in SETTINGS if name in table}
    if settings.get("default") == FORGET:
        settings["default"] = None
    Deployment(agent, features, **settings)  # it checks the rest
    retention = None if table.get("retention") is None else check.positive("retention", table["retention"])
    own = None if type(agent).__module__.startswith("unipac.") else type(agent)
    same = {key: value for key, value in table.items() if key != "retention"}
    return Spec(agent, features, settings, retention, _text(same), _text(table), own)


def _text(table: Mapping[str, Any]) -> str:
    return json.dumps(_canonical(table), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _canonical(value: Any) -> Any:
    """The value with whole numbers as integers: a window of 60.0 is the same as one of 60."""
    if isinstance(value, Mapping):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _small(name: str, dim: int) -> None:
    check.require(dim <= MOST_DIM, name, f"of at most {MOST_DIM} dimensions", dim)


def _agent(table: Mapping[str, Any], dim: int | None, modules: bool, depth: int) -> Any:
    check.require(depth < MOST_DEEP, "agent", f"at most {MOST_DEEP} agents in each other", depth + 1)
    name = table.get("agent")
    cls = _class(name, modules)
    given = {key: value for key, value in table.items() if key != "agent"}
    parameters = {
        key: _agent(value, dim, modules, depth + 1) if isinstance(value, Mapping) else value
        for key, value in given.items()
    }
    if dim is not None and "dim" in inspect.signature(cls).parameters:
        check.require(
            parameters.setdefault("dim", dim) == dim, "dim", f"{dim}, as the features have", given.get("dim")
        )
    elif "dim" in parameters:
        _small("dim", check.count("dim", parameters["dim"]))
    try:
        agent = cls(**parameters)
    except TypeError as error:
        why = str(error).partition("() ")[2] or str(error)
        raise ValueError(f"agent must have the parameters of {name}: {why}") from None
    check.require(isinstance(agent, BanditAgent), "agent", "a bandit agent", name)
    return agent


def _class(name: Any, modules: bool) -> Any:
    check.require(isinstance(name, str), "agent", "the name of an agent", name)
    if ":" not in name:
        check.require(name in AGENTS, "agent", "one of the library's bandit agents", name)
        return AGENTS[name]
    check.require(
        modules, "agent", "one of the library's (module:Class stands in the file of the service)", name
    )
    module, _, rest = name.partition(":")
    try:
        return getattr(import_module(module), rest)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"agent must be module:Class that can be imported, got {name!r} ({error})") from None


def read(text: str) -> Any:
    """The table of a text that the database has."""
    return json.loads(text)


def differing(one: str, other: str) -> list[str]:
    """The keys in which two such texts differ, apart from ``retention``, which may change."""
    first, second = ({(key, json.dumps(value)) for key, value in read(text).items()} for text in (one, other))
    return sorted({key for key, _ in first ^ second} - {"retention"})
