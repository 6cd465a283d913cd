"""The events of a deployment: what each kind holds.

    {"seq": 0, "kind": "spec", "version", "agent", "parameters", "start", "features", "window", "default", ...}
    {"seq", "kind": "decide", "id", "at", "wall", "context", "actions", "vectors", "index", "x", "level",
                              "propensity", "holdout", "answer", "hash"}
    {"seq", "kind": "reward", "id", "value", "at"}     {"seq", "kind": "release", "through", "at"}
    {"seq", "kind": "forget", "id", "at"}              {"seq", "kind": "restart", "at"}
    {"seq", "kind": "absorb", "vectors", "rewards", "noise", "at"}
    {"seq", "kind": "watch", "name", "actions", "vectors", "eps", "verdict", "refutes", "at"}
    {"seq", "kind": "ask", "verdicts", "refutes", "at"}    {"seq", "kind": "unwatch", "name", "at"}
    {"seq", "kind": "compare", "name", "policy", "reward_range", "at"}

``vectors`` of a decision is null if the features determine them from the context and the ids, or from ``items``, the
features of the actions. ``hash`` is that of all offered vectors and ids; it identifies repeated calls. ``policies`` has
for each compared function, by name, the row that it would have taken, or null. ``misspecification`` is the ζ under
which the certificate holds, if it is not 0. ``through`` is the number of the decision whose window has ended. ``ask``
comes after every 25 learned rounds if a set is watched; its verdicts, by name, are [id, row, certificate]. ``refutes``
says that the bounds of watched actions refute the assumptions. Times are those of the deployment; ``wall`` is the clock
on the wall, and never used. Logs of older versions have no ``hash``, no ``at`` where nothing was waited for, and
``{"kind": "refute"}`` for a refutation.

In memory, a decision is a ``Decided``, whose arrays are shared; every other event is the dict itself.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import unipac
from unipac import _checks as check
from unipac._actions import label
from unipac._agents import Agent
from unipac._arrays import Array
from unipac._inputs import LARGEST_REWARD, floats, read_only
from unipac._notebook import as_json, from_json
from unipac._storage import VERSION
from unipac.bandits.protocol.records import Decision
from unipac.features.tables import plain
from unipac.registry import AGENTS

ANSWER = ("mean", "width", "ucb", "lcb", "certificate")
KINDS = (
    "spec", "decide", "reward", "release", "forget", "restart", "absorb", "watch", "ask", "unwatch", "compare",
    "refute",
)  # fmt: skip


class Decided(NamedTuple):
    """The event of a decision."""

    decision: Decision
    at: float
    wall: float
    context: Any
    offered: Sequence[Any]
    """Ids of the actions, or their rows."""
    vectors: Array | None
    """(n, d); None if the features determine them."""
    hash: bytes | None
    """The hash of all vectors and ids; None in logs of older versions."""
    items: Sequence[Any] | None = None
    """The features of the actions, if these and the context determine the vectors."""
    policies: dict[str, int | None] | None = None
    """The rows that compared functions would have taken, by name; None if there are none."""

    @property
    def kind(self) -> str:
        """As that of other events."""
        return "decide"


Event = Decided | dict[str, Any]


# -- the specification ---------------------------------------------------------------------------


def specified(agent: Any) -> dict[str, Any]:
    """An agent without what it has learned, as JSON has it."""
    parameters: dict[str, Any] = {}
    for name, value in agent.parameters.items():
        parameters[name] = specified(value) if isinstance(value, Agent) else as_json(value)
        if isinstance(value, tuple):
            parameters[name] = list(value)
    return {"agent": type(agent).__name__, "parameters": parameters}


def made(told: Mapping[str, Any], cls: type[Any] | None = None) -> Any:
    """The agent that was specified, empty."""
    parameters = {
        name: made(value) if isinstance(value, Mapping) else value
        for name, value in told["parameters"].items()
    }
    return (AGENTS[told["agent"]] if cls is None else cls)(**parameters)


def spec_event(agent: Any, fresh: bool, features: str | None, **settings: Any) -> dict[str, Any]:
    """The first event of a log."""
    told = {"seq": 0, "kind": "spec", "unipac": unipac.__version__, "version": VERSION, **specified(agent)}
    return {**told, "start": None if fresh else agent.digest(), "features": features, **settings}


# -- decisions -------------------------------------------------------------------------------------


def hash_of(X: Array, labels: Sequence[Any] | None) -> bytes:
    """The hash that identifies repeated calls."""
    return hashlib.blake2b(X.tobytes() + repr(labels).encode(), digest_size=16).digest()


def decide_event(row: Decided) -> dict[str, Any]:
    """A decision as JSON has it."""
    decision = row.decision
    told = decision.to_dict()
    event = {
        "seq": decision.seq,
        "kind": "decide",
        "id": decision.id,
        "at": row.at,
        "wall": row.wall,
        "context": row.context,
        "actions": list(row.offered),
        "vectors": None if row.vectors is None else row.vectors.tolist(),
        "index": decision.index,
        "x": told["action"],
        "level": decision.level,
        "propensity": decision.propensity,
        "holdout": decision.holdout,
        "answer": {name: told[name] for name in (*ANSWER, "certified", "label")},
    }
    if row.items is not None:
        event["items"] = list(row.items)
    if row.policies is not None:
        event["policies"] = dict(row.policies)
    if decision.misspecification:
        event["misspecification"] = decision.misspecification
    return event if row.hash is None else {**event, "hash": row.hash.hex()}


def decided(event: Mapping[str, Any], dim: int) -> Decided:
    """The event of a decision, from what JSON has; a ``ValueError`` if it cannot be one."""
    answer, vectors = event["answer"], event["vectors"]
    if None in event["x"]:
        raise ValueError(
            f"x must be there, got event {event['seq']}, whose vectors were blanked; "
            "Deployment.open begins at a snapshot after it"
        )
    known = [answer[word] for word in (*ANSWER, "certified", "label")]
    X = None if vectors is None else floats("vectors", vectors)
    told = bytes.fromhex(event["hash"]) if "hash" in event else None
    decision = decision_of(event, known, floats("x", event["x"]), dim)
    at = check.real("at", event["at"])
    context, items = event["context"], event.get("items")
    policies = policies_of(event, len(event["actions"]))
    return Decided(decision, at, event["wall"], context, event["actions"], X, told, items, policies)


def policies_of(event: Mapping[str, Any], n: int) -> dict[str, int | None] | None:
    """What functions would have taken, each row checked."""
    told = event.get("policies")
    if told is None:
        return None
    return {
        name: None if k is None else check.count("policies", k, least=0, most=n - 1)
        for name, k in told.items()
    }


def decision_of(event: Mapping[str, Any], answer: Sequence[Any], x: Array, dim: int) -> Decision:
    """The decision of an event, each part of which is checked."""
    check.require(x.shape == (dim,), "x", f"{dim} numbers", x.shape)
    *numbers, certified, name = answer
    mean, width, ucb, lcb, certificate = map(from_json, numbers)
    propensity = event["propensity"]
    zeta = event.get("misspecification")
    made = Decision(
        label("id", event["id"]),  # type: ignore[arg-type]
        check.count("index", event["index"], least=0),
        read_only(x.copy()),
        check.count("level", event["level"], least=0),
        *(mean, width, ucb, lcb, certificate),
        check.flag("certified", certified),
        None if name is None else label("label", name),
        None if propensity is None else check.real("propensity", propensity),
        check.flag("holdout", event["holdout"]),
        check.count("seq", event["seq"]),
    )
    return made.under(None if zeta is None else check.positive("misspecification", zeta))


# -- events inside and outside -----------------------------------------------------------------------


def event_of(row: Event) -> dict[str, Any]:
    """An event as JSON has it, from what a deployment keeps of it."""
    return decide_event(row) if isinstance(row, Decided) else row


def copied(row: Event) -> dict[str, Any]:
    """The same, which the caller may change: the log stays as it is."""
    event = event_of(row)
    found: dict[str, Any] = copy.deepcopy(event) if event["kind"] == "spec" else plain("event", event)
    return found


def row_of(event: Mapping[str, Any], dim: int) -> Event:
    """What a deployment keeps of an event, from what JSON has."""
    check.require(isinstance(event, Mapping), "event", "a dict", event)
    kind = event.get("kind")
    check.require(kind in KINDS, "kind", "one of those of a deployment", kind)
    return decided(event, dim) if kind == "decide" else dict(event)


def matrix(name: str, told: Any, dim: int) -> Array:
    """Vectors of an event as an array of finite numbers, (n, d)."""
    X = floats(name, told)
    check.require(X.ndim == 2 and X.shape[1] == dim and len(X) > 0, name, f"rows of {dim} numbers", X.shape)
    return np.ascontiguousarray(X)


def reward_value(name: str, value: Any) -> float:
    """Check a reward and return it as a number that an agent accepts."""
    number = check.real(name, value)
    check.require(abs(number) <= LARGEST_REWARD, name, f"within ±{LARGEST_REWARD:g}", value)
    return number
