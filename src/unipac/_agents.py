"""What agents of all kinds share: parameters, text, copies and files.

``_parameters`` says how parameters are declared.

``state`` holds everything that an agent has learned: a named tuple of arrays, random generators and further such
tuples. This module saves, loads, copies and pickles it, so an algorithm needs no file format of its own. Files leave
out what can be derived from the state (``_saved``); loading derives it again (``_restored``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check, _forks as forks, _storage as storage, _versions as versions
from unipac._parameters import accepted, agent, declared, in_order, parameter
from unipac._state import check_like, flatten, unflattened
from unipac.registry import AGENTS, FEATURE_MAPS

Arrays = dict[str, NDArray[Any]]

__all__ = ["Agent", "accepted", "agent", "described", "load", "parameter"]


class Agent:
    """The base of all kinds of agents: it handles parameters, state and files, but not what an agent does."""

    kind: ClassVar[str]
    """"bandit", "mdp" or "search"."""
    theorem: ClassVar[str] = "none"
    """What is proven about the algorithm as it is implemented: "uniform-PAC", "regret", "PAC" or "none"."""
    counts_many = False
    """Whether it can take many equal rounds or episodes in one exact step; some parameters may forbid it."""
    absorbs = False
    """Whether ``absorb`` takes rounds or episodes that somebody else chose."""
    draws = False
    """Whether its choices depend on random numbers."""
    moved: ClassVar[Mapping[str, str]] = {}
    """Keywords that are no longer accepted, each with the reason that the constructor's error states."""

    state: Any
    """Everything that the agent has learned."""

    def __post_init__(self) -> None:
        for entry in declared(self):
            if entry.metadata.get("check") is not None:
                value = entry.metadata["check"](entry.name, self._given(entry.name))
                setattr(self, entry.name, value)
        self._lock = threading.RLock()
        self._files = storage.Files()
        forks.register(self)
        self._check_parameters()
        self._begin()
        self.state = self._empty()

    @property
    def certified(self) -> bool:
        """Whether there are certificates, proven under the agent's assumptions; where it is False they are NaN."""
        return self._proven and self.consistent

    @property
    def consistent(self) -> bool:
        """Whether all observations agree with the assumptions; False once one of them contradicts these."""
        return True

    @property
    def guarantee(self) -> str:
        """What is proven about this agent: ``theorem``, or "none".

        It is "none" if its bounds are unproven, its bonus is scaled, or rewards need not be linear.
        """
        as_proven = getattr(self, "bonus_scale", 1.0) == 1.0 and getattr(self, "misspecification", 0.0) == 0.0
        proven = self._proven and as_proven
        return self.theorem if proven else "none"

    # -- what a kind or an algorithm writes ----------------------------------------------------

    def _given(self, name: str) -> Any:
        """A parameter as it was passed; the attribute of this name may differ from it."""
        return getattr(self, name)

    @property
    def _proven(self) -> bool:
        """Whether bounds are proven under the agent's assumptions; there may still be no certificates."""
        return False

    def _check_parameters(self) -> None:
        """Check several parameters together, or the form of one; may set attributes."""

    def _begin(self) -> None:
        """Reset counters and whatever else is not learned."""

    def _empty(self) -> Any:
        """The state before anything was learned."""
        raise NotImplementedError

    def _forked(self) -> None:
        """Renew locks and identity, in a child process."""
        self._lock = threading.RLock()
        self._files.lock = threading.RLock()

    def _saved(self) -> Any:
        """The part of the state that goes to a file; the rest can be derived from it."""
        return self.state

    def _restored(self, saved: Any) -> Any:
        """The state to continue with, from what was saved; a ``ValueError`` unless every call works on it.

        Indices must be in range, shapes must fit, and numbers must be finite where it matters. It need not check
        whether data could lead to this state: the digest detects damage, and nothing detects a forged file.
        """
        check_like(saved, self._saved())
        return saved

    def _progress(self) -> tuple[dict[str, Any], Arrays]:
        """Counters, and rounds or episodes under way, for a file."""
        return {}, {}

    def _resume(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what ``_progress`` returned; a ``ValueError`` or ``KeyError`` if that is impossible."""

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Before anything is allocated, refuse a file whose parameters need more memory than its arrays take."""

    def _resumed(self) -> None:
        """A last check, after the state has been restored."""

    # -- for users -----------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that make an equal agent."""
        return {entry.name: self._given(entry.name) for entry in declared(self)}

    def __repr__(self) -> str:
        shown = []
        for entry in in_order(self):
            value = self._given(entry.name)
            if value is entry.default or _equal(value, entry.default):
                continue
            text = (
                f"<{'x'.join(map(str, value.shape))} array>" if isinstance(value, np.ndarray) else repr(value)
            )
            shown.append(f"{entry.name}={text}" if entry.kw_only else text)
        return f"<{type(self).__name__}({', '.join(shown)}): {self._summary()}>"

    def _summary(self) -> str:
        """Its progress, in a few words."""
        return ""

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the agent to a file; ``unipac.load`` continues from it bit for bit.

        The new file is read again, with all checks of ``load``, before it replaces the old one.

        Args:
            path: the file. One that another agent or another process wrote is not replaced, unless this agent was
                loaded from it, so that nothing is lost by mistake.
            replace: replace any file.
        """
        replace = check.flag("replace", replace)
        with self._files.lock:
            with self._lock:
                header, arrays = described(self)
            known = self._files
            storage.write(path, header, arrays, files=known, replace=replace, verify=self._check_written)

    def _check_written(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Refuse a written file unless ``load``, with the class and functions of this agent, would accept it."""
        made = _from_file(header, arrays, type(self), _functions(self))
        check_as_written(described(made), header, arrays)

    def digest(self) -> str:
        """SHA-256 of the parameters, the state, and rounds or episodes under way; equal agents have equal digests.

        Ids of decisions do not count: copies have the same digest.
        """
        with self._lock:
            header, arrays = described(self)
        return storage.digest({**header, "progress": self._without_ids(header["progress"])}, arrays)

    def _without_ids(self, progress: dict[str, Any]) -> dict[str, Any]:
        """The part of ``_progress`` that counts when agents are compared."""
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
    """Everything but the parameters: numbers for JSON, and copies of the arrays."""
    progress, arrays = agent._progress()
    random: dict[str, Any] = {}
    state: Arrays = {}
    flatten("state", agent._saved(), state, random)
    header = {"progress": progress, "random": random}
    return header, {name: np.array(array) for name, array in {**arrays, **state}.items()}


def _made(cls: type[Any], parameters: Mapping[str, Any], header: Mapping[str, Any], arrays: Arrays) -> Any:
    """A new agent with these parameters and everything that was learned."""
    made = cls(**parameters)
    made._resume(header["progress"], arrays)
    made.state = made._restored(unflattened("state", made._saved(), arrays, header["random"]))
    made._resumed()
    return made


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
    """The agent that ``save`` wrote; it continues exactly where it stopped.

    It reads only plain arrays and JSON, so a file cannot make it run code. Radii, plans and certificates are
    computed from the state, not read.

    Args:
        path: the file.
        agent: the class, if it is one of your own.
        feature_map: the function, if the agent was made with a function of your own.

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
    stored, held, stated = storage.read_all(path)
    if stored.get("kind") == "deployment":
        raise ValueError(
            f"path must name a file of an agent, got {os.fspath(path)!r}, which holds a deployment; "
            "Deployment.load reads it"
        )
    objects = {} if feature_map is None else {"feature_map": feature_map}
    try:
        header, arrays = versions.current(stored, held)
        made = _from_file(header, arrays, agent, objects)
        check_as_written(described(made), header, arrays)
        made._files.note(path, stated)
        return made
    except storage.UNREADABLE as error:
        raise ValueError(
            f"path must name a file written by save(), got {os.fspath(path)!r}, "
            f"which does not hold an agent of this version ({error})"
        ) from None


def _from_file(
    header: Mapping[str, Any], arrays: Arrays, cls: type[Any] | None, objects: Mapping[str, Any]
) -> Any:
    cls = AGENTS[header["agent"]] if cls is None else cls
    if cls.__name__ != header["agent"] or cls.kind != header["kind"]:
        raise ValueError(f"it holds a {header['agent']}; pass its class as agent=")
    saved = header["parameters"]
    parameters: dict[str, Any] = {}
    for entry in declared(cls):
        prefix = f"parameters.{entry.name}"
        if prefix in arrays:
            parameters[entry.name] = arrays[prefix]
        elif entry.name in objects:
            parameters[entry.name] = objects[entry.name]
        elif isinstance(saved[entry.name], Mapping):
            inner = {
                name.removeprefix(prefix + "."): array
                for name, array in arrays.items()
                if name.startswith(prefix + ".")
            }
            parameters[entry.name] = _object(entry.name, saved[entry.name], inner)
        else:
            value = saved[entry.name]
            parameters[entry.name] = tuple(value) if isinstance(value, list) else value
    cls._foresee(parameters, arrays)
    return _made(cls, parameters, header, arrays)


def check_as_written(own: tuple[dict[str, Any], Arrays], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Refuse a header and arrays unless the object made from them would write the same: nothing is left out."""
    again = {"format": header["format"], "version": header["version"], **own[0]}
    if storage.digest(again, own[1]) != storage.digest(header, arrays):
        raise ValueError("it holds more than what was made from it, or in another form")


def _functions(agent: Agent) -> dict[str, Any]:
    """The parameters of an agent that a file cannot hold: functions of a user's own."""
    own = agent.parameters.items()
    return {name: value for name, value in own if callable(value) and not hasattr(value, "parameters")}


def _object(name: str, saved: Mapping[str, Any], arrays: Arrays) -> Any:
    """A parameter that is more than numbers: another agent, or a feature map of the library."""
    if "agent" in saved:
        return _from_file(saved, arrays, None, {})
    if saved["map"] is None:
        raise ValueError(f"{name} must be given: the agent was saved with a user's own function")
    return FEATURE_MAPS[saved["map"]](**saved["parameters"])
