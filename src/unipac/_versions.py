"""Convert files and logs of older versions into what this version would have written.

Nothing is checked here: the result is checked like a file of this version. ``CHANGES`` lists what became of the classes
and parameters of version 2. Before version 4 there were no sets behind certificates: agents that can have them continue
without, so that they decide as before. Before version 5 agents had no ``rewards_within``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._parameters import declared
from unipac._storage import VERSION
from unipac.registry import AGENTS

Arrays = dict[str, NDArray[Any]]


class Change(NamedTuple):
    """A class of version 2 whose parameters have the values ``where``, and its successor; the first match counts."""

    agent: str
    where: Mapping[str, tuple[Any, ...]] = {}
    now: str = ""
    """The name of its class now, if that changed."""
    dropped: tuple[str, ...] = ()
    """Parameters to drop, unless the class still has them."""
    renamed: Mapping[str, str] = {}
    refused: str = ""
    """Why it cannot be converted; empty if it can."""


WITHOUT_SETS = {"tight": False, "blocks": 1, "misspecification": 0.0, "rewards_within": None}
NO_SETS = {"rows": (0, 0, 0), "factor": (0, 0, 0), "sums": (0, 4), "counts": (0, 3), "status": (0,)}
COUNTS = ("counts", "status")
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
    if header["kind"] in ("deployment", "snapshot"):
        new = {**header, "agent": _agent(header["agent"], held, "agent.")}
        _add_sets(new["agent"], held, "agent.state.")
    else:
        new = _agent(header, held, "")
        _add_sets(new, held, "state.")
    return {**new, "version": VERSION}, held


def current_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The first event of a log, as this version writes it; before version 3 logs did not state their version."""
    return dict(spec) if spec.get("version") == VERSION else _agent(spec, {}, "")


def _agent(spec: Mapping[str, Any], arrays: Arrays, prefix: str) -> dict[str, Any]:
    """The converted description of an agent; its arrays, whose names begin with ``prefix``, change in place."""
    parameters = dict(spec["parameters"])
    for name, value in parameters.items():
        if isinstance(value, Mapping) and "agent" in value:
            parameters[name] = _agent(value, arrays, f"{prefix}parameters.{name}.")
    change = next((line for line in CHANGES if _fits(line, spec["agent"], parameters)), Change(spec["agent"]))
    if change.refused:
        raise ValueError(change.refused)
    cls = change.now or change.agent
    if cls not in AGENTS:
        return {**spec, "parameters": parameters}
    taken = {entry.name for entry in declared(AGENTS[cls])}
    for name in {*change.dropped} - taken:
        parameters.pop(name, None)
        arrays.pop(f"{prefix}parameters.{name}", None)
    for old, new in change.renamed.items():
        if old in parameters and new in taken:
            parameters[new] = parameters.pop(old)
    if "tight" in taken:
        parameters = {**WITHOUT_SETS, **parameters}
    progress = spec.get("progress")
    if isinstance(progress, Mapping) and "surplus" in progress:  # of a bandit agent
        spec = {**spec, "progress": {"overtaken": 0, **progress}}
    return {**spec, "agent": cls, "parameters": parameters}


def _add_sets(spec: Mapping[str, Any], arrays: Arrays, prefix: str) -> None:
    """Add the empty arrays of an agent without sets to its state, under names that begin with ``prefix``."""
    parameters = spec.get("parameters", {})
    if "tight" not in parameters or not any(name.startswith(prefix) for name in arrays):
        return
    if "heuristic" in parameters:
        _add_sets(parameters["heuristic"], arrays, f"{prefix}heuristic.")
    else:
        for name in ("rows", "size", "rotations"):
            if f"{prefix}{name}" in arrays:
                arrays[f"{prefix}levels.{name}"] = arrays.pop(f"{prefix}{name}")
    for name, shape in NO_SETS.items():
        arrays.setdefault(
            f"{prefix}sets.{name}", np.zeros(shape, dtype=np.int64 if name in COUNTS else float)
        )


def _fits(change: Change, agent: str, parameters: Mapping[str, Any]) -> bool:
    values = change.where.items()
    return agent == change.agent and all(parameters.get(name) in allowed for name, allowed in values)
