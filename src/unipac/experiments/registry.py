"""Look up agents and instances: those of the library by name, a user's own as ``module:object``."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from unipac import data, envs
from unipac.envs.catalogue import SEARCHED
from unipac.registry import AGENTS

__all__ = ["AGENTS", "BANDITS", "INSTANCES", "Kind", "SpecError", "World"]

Kind = Literal["bandit", "mdp", "search"]
"""The kind of an agent."""

World = Literal["bandit", "mdp", "discounted"]
"""The kind of an instance."""

_SAMPLED: Mapping[str, World] = {"rewards": "bandit", "next states": "discounted", "episodes": "mdp"}
"""The kind of instance that a search runs on, by what it samples."""

_INSTANCES = "a BanditInstance, a FiniteMDP or a DiscountedMDP"
_AGENT_WORDS = (("choose", "update"), ("play",), ("run",))

BANDITS: Mapping[str, Callable[..., Any]] = {
    **envs.BANDITS,
    "fixed_arms": envs.fixed_arms,
    **data.AS_BANDITS,
}


def gymnasium_mdp(
    environment: str = "FrozenLake-v1", horizon: int = 100, options: Mapping[str, Any] | None = None
) -> Any:
    """An environment of Gymnasium that publishes its table, as those of toy text do.

    Args:
        environment: the id of the environment, such as "FrozenLake-v1", "CliffWalking-v1" or "Taxi-v3".
        horizon: the number H of steps of an episode.
        options: arguments of the environment, such as {"is_slippery": False}.
    """
    import gymnasium

    return envs.from_gymnasium(gymnasium.make(environment, **(options or {})), horizon=horizon)


INSTANCES: Mapping[str, Callable[..., Any]] = {
    **BANDITS,
    **envs.MDPS,
    **SEARCHED,
    "gymnasium": gymnasium_mdp,
}


class SpecError(ValueError):
    """The description of an experiment has an error; the message says where and what.

    >>> from unipac.experiments import parse
    >>> parse({"agents": {"ours": {"agent": "NestedOFULL"}}}, name="mine")
    Traceback (most recent call last):
    unipac.experiments.registry.SpecError: mine: [agents.ours] agent must be ... did you mean NestedOFUL...
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the most similar names, or all if none is similar."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    lower = {known_name.lower(): known_name for known_name in names}
    if name.lower() in lower:
        close = [lower[name.lower()]]
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names)}"


def find(what: str, name: object, registry: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The class or function of this name; it is imported and looked at, not called.

    Args:
        what: "agent" or "instance", for the message.
        name: a key of ``registry``, or ``module:object``.
        registry: the classes and functions of the library, by name.
    """
    if not isinstance(name, str) or not name:
        raise SpecError(f"{what} must be a name or module:object, got {name!r}")
    if ":" not in name:
        if name not in registry:
            raise SpecError(
                f"{what} must be a registered name or module:object, got {name!r}; {nearest(name, registry)}"
            )
        return registry[name]
    module_name, _, path = name.partition(":")
    try:
        thing: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a module of the user's may raise anything
        absent = isinstance(error, ModuleNotFoundError) and module_name.startswith(error.name or "-")
        advice = "; the module must lie beside the file or be installed" if absent else ""
        raise SpecError(
            f"{what} = {name!r} cannot be imported ({type(error).__name__}: {error}){advice}"
        ) from None
    for part in path.split("."):
        if not hasattr(thing, part):
            raise SpecError(f"{what} = {name!r} cannot be found: {module_name} has no {path}")
        thing = getattr(thing, part)
    wrong = _unfit(what, thing)
    if wrong:
        raise SpecError(f"{what} = {name!r} must be {wrong}; it was not called")
    return thing  # type: ignore[no-any-return]


def source_of(name: str) -> str:
    """A digest of the file of ``module:object``, which must be imported already; "" for names of the library."""
    if ":" not in name:
        return ""
    file = getattr(sys.modules[name.partition(":")[0]], "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else ""


def _unfit(what: str, thing: Any) -> str:
    """What a user's object should be but is not, as far as one can see without calling it; "" if it may be called."""
    inner = thing.func if isinstance(thing, functools.partial) else thing
    if not isinstance(inner, (type, types.FunctionType, types.MethodType)):
        return f"a class or a function in Python, got {type(thing).__name__}"
    module = str(inner.__module__)
    if module.partition(".")[0] in sys.stdlib_module_names:
        return f"a class or a function of yours, got one of Python's module {module}"
    made: Any = inner
    if not isinstance(inner, type):  # the annotations of a function may say what it returns
        try:
            made = inspect.signature(inner, eval_str=True).return_annotation
        except Exception:  # annotations may be any code
            return ""
        if made is inspect.Signature.empty or made is Any:
            return ""
        made = type(None) if made is None else typing.get_origin(made) or made
        if not isinstance(made, type):
            return ""
    if what == "instance":
        kinds = (envs.BanditInstance, envs.FiniteMDP, envs.DiscountedMDP)
        return "" if issubclass(made, kinds) else f"{_INSTANCES}, or make one, got {made.__name__}"
    agent = any(all(hasattr(made, word) for word in words) for words in _AGENT_WORDS)
    return "" if agent else f"an agent, with choose and update, play or run, or make one, got {made.__name__}"


def agent_kind(make: Callable[..., Any]) -> Kind:
    """The kind of an agent: its attribute ``kind``, or "bandit" if it has none."""
    kind: Any = getattr(make, "kind", "bandit")
    if kind not in ("bandit", "mdp", "search"):
        raise SpecError(f'agent must have a kind of "bandit", "mdp" or "search", got {kind!r}')
    return cast(Kind, kind)


def plays(make: Callable[..., Any]) -> World:
    """The kind of instance that an agent plays; for a search it follows from ``samples``, "rewards" by default."""
    kind = agent_kind(make)
    if kind != "search":
        return kind
    samples: Any = getattr(make, "samples", "rewards")
    if samples not in _SAMPLED:
        raise SpecError(f"agent must have samples of {' or '.join(map(repr, _SAMPLED))}, got {samples!r}")
    return _SAMPLED[samples]


def instance_kind(instance: object) -> World:
    """The kind of an instance."""
    if isinstance(instance, envs.FiniteMDP):
        return "mdp"
    if isinstance(instance, envs.BanditInstance):
        return "bandit"
    if isinstance(instance, envs.DiscountedMDP):
        return "discounted"
    raise SpecError(f"instance must make {_INSTANCES}, got {type(instance).__name__}")


def accepted(make: Callable[..., Any]) -> list[str] | None:
    """The names of the arguments of a class or function; None if it accepts any name."""
    if isinstance(make, type) and dataclasses.is_dataclass(make):
        return [entry.name for entry in dataclasses.fields(make) if entry.init]
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # some built-in classes have no signature
        return None
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters]


def required(make: Callable[..., Any]) -> list[str]:
    """The names of the arguments that have no default."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return []
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in several]


def takes(make: Callable[..., Any], name: str) -> bool:
    """Whether a class or function accepts an argument of this name."""
    names = accepted(make)
    return names is None or name in names


def first_line(thing: object) -> str:
    """The first line of the docstring of an object."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]
