"""Files and logs of older versions, turned into what this version would have written.

Nothing is checked here: what comes out is checked as if it were of this version. A later version adds a table like
``CHANGES``, and tables are applied one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from unipac._parameters import declared
from unipac._storage import VERSION
from unipac.registry import AGENTS

Arrays = dict[str, NDArray[Any]]


class Change(NamedTuple):
    """What became of a class of version 2, where its parameters have such values; the first line that fits counts."""

    agent: str
    where: Mapping[str, tuple[Any, ...]] = {}
    now: str = ""
    """Its class now, if another."""
    dropped: tuple[str, ...] = ()
    """Parameters; those that the class still has are kept."""
    renamed: Mapping[str, str] = {}
    refused: str = ""
    """Why it cannot go on."""


ROUNDS = {"horizon": "total_rounds"}
BALL = {"radius": ("ball",)}
CHANGES = (
    Change("LinUCB", {"disjoint": (True,)}, "DisjointLinUCB", ("disjoint",)),
    Change("LinUCB", dropped=("disjoint", "n_actions")),
    Change("SupLinUCB", renamed=ROUNDS),
    Change("SupLinRel", renamed=ROUNDS),
    Change("VCLSupLinUCB", renamed=ROUNDS),
    Change("OFUL", BALL, refused='OFUL(radius="ball") is gone; BallOFUL chooses differently'),
    Change("Guarded", BALL, refused='Guarded(radius="ball") is gone; BallOFUL has such bounds'),
    Change("Guarded", dropped=("radius",)),
    Change("LSVIUCB", {"radius": ("monotone", "vertex")}, "MonotoneLSVI",
           ("total_episodes", "feature_map", "n_actions", "dim", "constant")),
    Change("LSVIUCB", dropped=("terminates",)),
)  # fmt: skip


def current(header: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file, as this version writes them."""
    if header["version"] == VERSION:
        return dict(header), arrays
    held = dict(arrays)
    if header["kind"] == "deployment":
        new = {**header, "agent": _agent(header["agent"], held, "agent.")}
    else:
        new = _agent(header, held, "")
    return {**new, "version": VERSION}, held


def current_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The first event of a log; before version 3 it did not say its version."""
    return dict(spec) if spec.get("version") == VERSION else _agent(spec, {}, "")


def _agent(told: Mapping[str, Any], arrays: Arrays, prefix: str) -> dict[str, Any]:
    """What is said of an agent; its arrays, whose names begin with ``prefix``, change in place."""
    parameters = dict(told["parameters"])
    for name, value in parameters.items():
        if isinstance(value, Mapping) and "agent" in value:
            parameters[name] = _agent(value, arrays, f"{prefix}parameters.{name}.")
    change = next((line for line in CHANGES if _fits(line, told["agent"], parameters)), Change(told["agent"]))
    if change.refused:
        raise ValueError(change.refused)
    cls = change.now or change.agent
    if cls not in AGENTS:
        return {**told, "parameters": parameters}
    known = {entry.name for entry in declared(AGENTS[cls])}
    for name in {*change.dropped} - known:
        parameters.pop(name, None)
        arrays.pop(f"{prefix}parameters.{name}", None)
    for old, new in change.renamed.items():
        if old in parameters and new in known:
            parameters[new] = parameters.pop(old)
    return {**told, "agent": cls, "parameters": parameters}


def _fits(change: Change, agent: str, parameters: Mapping[str, Any]) -> bool:
    values = change.where.items()
    return agent == change.agent and all(parameters.get(name) in allowed for name, allowed in values)
