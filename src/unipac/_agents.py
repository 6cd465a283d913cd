"""What agents of all kinds share: parameters, text, copies and files.

How parameters are declared is in ``_parameters``.

``state`` is all that was learned: a named tuple of arrays, random generators and further such tuples. This
module writes it to files, reads, copies and pickles it; an algorithm has no file format. What can be derived
from the state is left out of files (``_saved``) and derived again (``_restored``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _storage as storage, _versions as versions
from unipac._parameters import accepted, agent, declared, in_order, parameter
from unipac.registry import AGENTS, FEATURE_MAPS

Arrays = dict[str, NDArray[Any]]

LARGEST_SUM = 1e120
"""No sum of rewards is larger; squares of it are still numbers."""

__all__ = ["Agent", "accepted", "agent", "check_like", "described", "load", "parameter"]


class Agent:
    """The base of all kinds; knows parameters, state and files, and nothing of what an agent does."""

    kind: ClassVar[str]
    """"bandit", "mdp" or "search"."""
    theorem: ClassVar[str] = "none"
    """What is proven of the algorithm as it stands: "uniform-PAC", "regret", "PAC" or "none"."""
    counts_many = False
    """Whether it takes many equal rounds or episodes in one exact step; some parameters may forbid it."""
    absorbs = False
    """Whether ``absorb`` takes rounds or episodes that somebody else chose."""
    draws = False
    """Whether its choices depend on random numbers."""
    moved: ClassVar[Mapping[str, str]] = {}
    """Keywords that are no longer taken, each with the sentence that the constructor refuses it with."""

    state: Any
    """All that was learned."""

    def __post_init__(self) -> None:
        for entry in declared(self):
            if entry.metadata.get("check") is not None:
                value = entry.metadata["check"](entry.name, getattr(self, entry.name))
                setattr(self, entry.name, value)
        self._lock = threading.RLock()
        self._check_parameters()
        self._begin()
        self.state = self._empty()

    @property
    def certified(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given."""
        return False

    @property
    def consistent(self) -> bool:
        """Whether the assumptions still stand; False once something was seen that they exclude."""
        return True

    @property
    def guarantee(self) -> str:
        """What is proven of this agent: ``theorem``, or "none" if its bounds are not proven or its bonus is scaled."""
        proven = self.certified and getattr(self, "bonus_scale", 1.0) == 1.0
        return self.theorem if proven else "none"

    # -- what a kind or an algorithm writes ----------------------------------------------------

    def _check_parameters(self) -> None:
        """Checks that concern several parameters, or the form of one; may set attributes."""

    def _begin(self) -> None:
        """Counters and whatever else is not learned, as at the start."""

    def _empty(self) -> Any:
        """The state before anything was learned."""
        raise NotImplementedError

    def _saved(self) -> Any:
        """The part of the state that goes to a file: what the rest can be derived from."""
        return self.state

    def _restored(self, saved: Any) -> Any:
        """The state to go on with, from what was saved; a ``ValueError`` unless every call works on it.

        What is used as an index must be one, shapes must fit, and numbers be finite where it matters. Whether some
        data led there is not asked: the digest tells damage from a file, and nothing tells what a forger wrote.
        """
        check_like(saved, self._saved())
        return saved

    def _progress(self) -> tuple[dict[str, Any], Arrays]:
        """Counters and what is under way, for a file."""
        return {}, {}

    def _resume(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what ``_progress`` gave; a ``ValueError`` or ``KeyError`` if it cannot be."""

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a file whose parameters ask for more memory than its arrays take, before it is allocated."""

    def _resumed(self) -> None:
        """A last check, when the state has been restored."""

    # -- for users -----------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments with which an equal agent can be made."""
        return {entry.name: getattr(self, entry.name) for entry in declared(self)}

    def __repr__(self) -> str:
        shown = []
        for entry in in_order(self):
            value = getattr(self, entry.name)
            if value is entry.default or _equal(value, entry.default):
                continue
            text = (
                f"<{'x'.join(map(str, value.shape))} array>" if isinstance(value, np.ndarray) else repr(value)
            )
            shown.append(f"{entry.name}={text}" if entry.kw_only else text)
        return f"<{type(self).__name__}({', '.join(shown)}): {self._summary()}>"

    def _summary(self) -> str:
        """How far it has come, in a few words."""
        return ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that was learned to a file, from which ``unipac.load`` goes on bit for bit."""
        with self._lock:
            header, arrays = described(self)
        storage.write(path, header, arrays)

    def digest(self) -> str:
        """SHA-256 of parameters, of what was learned and of what is under way; equal for agents that are equal.

        Ids of decisions do not count: copies have the same digest.
        """
        with self._lock:
            header, arrays = described(self)
        return storage.digest({**header, "progress": self._without_ids(header["progress"])}, arrays)

    def _without_ids(self, progress: dict[str, Any]) -> dict[str, Any]:
        """What counts of ``_progress`` when agents are compared."""
        return progress

    def __copy__(self) -> Self:
        return self._clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = clone = self._clone()
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            learned = _learned(self)
        return _made, (type(self), self.parameters, *learned)

    def _clone(self) -> Self:
        with self._lock:
            learned = _learned(self)
        clone: Self = _made(type(self), self.parameters, *learned)
        return clone


def _equal(value: Any, default: Any) -> bool:
    return (
        type(value) is type(default)
        and isinstance(value, (int, float, str, bool, tuple))
        and value == default
    )


def _learned(agent: Agent) -> tuple[dict[str, Any], Arrays]:
    """Everything but the parameters: numbers for JSON, and arrays of its own."""
    progress, arrays = agent._progress()
    random: dict[str, Any] = {}
    state: Arrays = {}
    _flatten("state", agent._saved(), state, random)
    header = {"progress": progress, "random": random}
    return header, {name: np.array(array) for name, array in {**arrays, **state}.items()}


def _made(cls: type[Any], parameters: Mapping[str, Any], header: Mapping[str, Any], arrays: Arrays) -> Any:
    """An agent that has learned."""
    made = cls(**parameters)
    made._resume(header["progress"], arrays)
    made.state = made._restored(_unflattened("state", made._saved(), arrays, header["random"]))
    made._resumed()
    return made


# -- state as named arrays ---------------------------------------------------------------------


def _flatten(name: str, value: Any, arrays: Arrays, random: dict[str, Any]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
    elif isinstance(value, np.random.Generator):
        random[name] = value.bit_generator.state
    else:
        for field, part in zip(value._fields, value, strict=True):
            _flatten(f"{name}.{field}", part, arrays, random)


def _unflattened(name: str, model: Any, arrays: Mapping[str, NDArray[Any]], random: Mapping[str, Any]) -> Any:
    """The value of this name in the form of ``model``; arrays have its type and as many axes."""
    if isinstance(model, np.ndarray):
        array = arrays[name]
        if array.dtype != model.dtype or array.ndim != model.ndim:
            raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}")
        return np.array(array, order="C")
    if isinstance(model, np.random.Generator):
        generator = np.random.default_rng()
        generator.bit_generator.state = random[name]
        return generator
    parts = zip(model._fields, model, strict=True)
    return type(model)(*(_unflattened(f"{name}.{field}", part, arrays, random) for field, part in parts))


def check_like(value: Any, model: Any, name: str = "state") -> None:
    """Refuse a state unless its arrays have the shapes of ``model`` and no number of them is too large."""
    if isinstance(model, np.ndarray):
        if value.shape != model.shape or not (np.abs(value) <= LARGEST_SUM).all():
            raise ValueError(f"{name} has shape {value.shape}, or numbers that are too large")
    elif not isinstance(model, np.random.Generator):
        for field, part, other in zip(model._fields, value, model, strict=True):
            check_like(part, other, f"{name}.{field}")


# -- files -------------------------------------------------------------------------------------


def described(agent: Agent) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file."""
    header, arrays = _learned(agent)
    texts: dict[str, Any] = {}
    for name, value in agent.parameters.items():
        if isinstance(value, np.ndarray):
            arrays[f"parameters.{name}"] = value
        elif isinstance(value, Agent):
            texts[name], inner = described(value)
            arrays |= {f"parameters.{name}.{key}": array for key, array in inner.items()}
        elif hasattr(value, "parameters"):  # a feature map of the library
            texts[name] = {"map": type(value).__name__, "parameters": value.parameters}
        elif callable(value):
            texts[name] = {"map": None}
        else:
            texts[name] = value
    return {"agent": type(agent).__name__, "kind": agent.kind, "parameters": texts, **header}, arrays


def load(
    path: str | os.PathLike[str],
    *,
    agent: type[Any] | None = None,
    feature_map: Callable[[Any], Any] | None = None,
) -> Any:
    """The agent that ``save`` wrote, to go on exactly where it stopped.

    Reads plain arrays and JSON only: a file cannot make it run code. Radii, plans and what is certified are
    computed from what was learned, not read.

    Args:
        path: the file.
        agent: the class, for one of your own.
        feature_map: the function of an agent that was made with a function of your own.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is truncated, was altered or was not written by ``save`` of version 0.1 or later.

    Example:
        >>> import tempfile, unipac
        >>> agent = unipac.NestedOFUL(2, noise=0.1)
        >>> decision = agent.choose([[1.0, 0.0], [0.6, 0.8]])
        >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        ...     agent.save(file.name)
        ...     other = unipac.load(file.name)
        >>> other.update(decision.id, 0.5)          # it waits for the same reward
        >>> other.rounds, agent.rounds
        (1, 0)
    """
    found, held = storage.read(path)
    if found.get("kind") == "deployment":
        raise ValueError(
            f"path must name a file of an agent, got {os.fspath(path)!r}, which holds a deployment; "
            "Deployment.load reads it"
        )
    objects = {} if feature_map is None else {"feature_map": feature_map}
    try:
        header, arrays = versions.current(found, held)
        made = _from_file(header, arrays, agent, objects)
        check_as_written(described(made), header, arrays)
        return made
    except (
        LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError
    ) as error:  # fmt: skip
        raise ValueError(
            f"path must name a file written by save(), got {os.fspath(path)!r}, "
            f"which does not hold an agent of this version ({error})"
        ) from None


def _from_file(
    header: Mapping[str, Any], arrays: Arrays, cls: type[Any] | None, objects: Mapping[str, Any]
) -> Any:
    cls = AGENTS[header["agent"]] if cls is None else cls
    if cls.__name__ != header["agent"] or cls.kind != header["kind"]:
        raise ValueError(f"it holds a {header['agent']}; give its class as agent=")
    told = header["parameters"]
    parameters: dict[str, Any] = {}
    for entry in declared(cls):
        prefix = f"parameters.{entry.name}"
        if prefix in arrays:
            parameters[entry.name] = arrays[prefix]
        elif entry.name in objects:
            parameters[entry.name] = objects[entry.name]
        elif isinstance(told[entry.name], Mapping):
            inner = {
                name.removeprefix(prefix + "."): array
                for name, array in arrays.items()
                if name.startswith(prefix + ".")
            }
            parameters[entry.name] = _object(entry.name, told[entry.name], inner)
        else:
            value = told[entry.name]
            parameters[entry.name] = tuple(value) if isinstance(value, list) else value
    cls._foresee(parameters, arrays)
    return _made(cls, parameters, header, arrays)


def check_as_written(own: tuple[dict[str, Any], Arrays], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Refuse a header and arrays unless what was made of them writes its own alike: nothing is left out."""
    told = {"format": header["format"], "version": header["version"], **own[0]}
    if storage.digest(told, own[1]) != storage.digest(header, arrays):
        raise ValueError("it holds more than what was made of it, or in another form")


def _object(name: str, told: Mapping[str, Any], arrays: Arrays) -> Any:
    """A parameter that is more than numbers: another agent, or a feature map of the library."""
    if "agent" in told:
        return _from_file(told, arrays, None, {})
    if told["map"] is None:
        raise ValueError(f"{name} must be given: the agent was saved with a function of the user's")
    return FEATURE_MAPS[told["map"]](**told["parameters"])
