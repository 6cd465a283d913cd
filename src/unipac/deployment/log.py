"""The events of a deployment, and the agent as their fold: choices are logged, never made again.

    {"seq": 0, "kind": "spec", "version", "agent", "parameters", "start", "features", "window", "default", ...}
    {"seq", "kind": "decide", "id", "at", "wall", "context", "actions", "vectors", "index", "x", "level",
                              "propensity", "holdout", "answer"}
    {"seq", "kind": "reward", "id", "value", "at"}     {"seq", "kind": "release", "through", "at"}
    {"seq", "kind": "forget", "id"}                    {"seq", "kind": "restart"}      {"seq", "kind": "refute"}

``vectors`` is null where features, context and ids tell them. ``through`` is the number of the last decision that was
released; each has an event of its own. ``refute`` says that ``settled`` met bounds which refute the assumptions. Times
are those of the deployment; ``wall`` is the clock on the wall, and never used.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import unipac
from unipac import _checks as check
from unipac._agents import Agent
from unipac._arrays import Array
from unipac._inputs import read_only
from unipac._notebook import as_json, from_json
from unipac._storage import VERSION
from unipac._versions import current_spec
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Decision
from unipac.features.tables import plain
from unipac.registry import AGENTS

ANSWER = ("mean", "width", "ucb", "lcb", "certificate")


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


def decide_event(
    decision: Decision, at: float, wall: float, context: Any, offered: Any, vectors: Array | None
) -> dict[str, Any]:
    """A decision as JSON has it."""
    told = decision.to_dict()
    return {
        "seq": decision.seq,
        "kind": "decide",
        "id": decision.id,
        "at": at,
        "wall": wall,
        "context": context,
        "actions": list(offered),
        "vectors": None if vectors is None else vectors.tolist(),
        "index": decision.index,
        "x": told["action"],
        "level": decision.level,
        "propensity": decision.propensity,
        "holdout": decision.holdout,
        "answer": {name: told[name] for name in (*ANSWER, "certified", "label")},
    }


def event_of(row: Any) -> dict[str, Any]:
    """An event as JSON has it, from what a deployment keeps of it."""
    return decide_event(*row) if type(row) is tuple else row


def copied(row: Any) -> dict[str, Any]:
    """The same, which the caller may change: the log stays as it is."""
    event = event_of(row)
    found: dict[str, Any] = copy.deepcopy(event) if event["kind"] == "spec" else plain("event", event)
    return found


def _decision(event: Mapping[str, Any]) -> Decision:
    answer = event["answer"]
    x = np.array(event["x"], dtype=np.float64)
    mean, width, ucb, lcb, certificate = (from_json(answer[name]) for name in ANSWER)
    said = (mean, width, ucb, lcb, certificate, answer["certified"], answer["label"])
    return Decision(0, event["index"], read_only(x), event["level"], *said)


def fold(
    events: Iterable[Mapping[str, Any]], *, start: Any = None, agent: type[Any] | None = None
) -> BanditAgent:
    """The agent that a log leads to: what was released is learned in order, at the levels that were logged.

    Args:
        events: of a deployment, from the first one on, as dicts (one JSON object per line of a file).
        start: the agent that the deployment was made with, if it had learned before.
        agent: its class, for one of your own.

    Example:
        >>> from unipac import Deployment, OFUL
        >>> deployment = Deployment(OFUL(2))
        >>> decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a")
        >>> first = deployment.reward("a", 1.0)
        >>> fold(deployment.events()).digest() == deployment.agent.digest()
        True
    """
    rows = iter(events)
    spec = next(rows, None)
    if spec is None or spec["kind"] != "spec":
        raise ValueError("events must begin with the specification, got others or none")
    empty = made(current_spec(spec), agent)
    now: Any = empty
    if spec["start"] is not None:
        sound = isinstance(start, BanditAgent) and start.digest() == spec["start"]
        check.require(sound, "start", "the agent that the deployment was made with", start)
        now = start._clone()
    # What waits: by id the agent's id (None: learns nothing), and the reward once it came.
    waiting: dict[Any, list[Any]] = {}
    order: deque[tuple[int, Any]] = deque()

    def teach(id_: Any) -> None:
        number, value = waiting.pop(id_)
        if number is None:
            return
        value = spec["default"] if value is None else value
        if value is None:
            now.forget(number)
            return
        now.update(number, value)

    for event in rows:
        kind = event["kind"]
        if kind == "decide":
            number = now._ledger.adopt(_decision(event), now.certified)
            if event["holdout"]:
                now.forget(number)
                number = None
            waiting[event["id"]] = [number, None]
            order.append((event["seq"], event["id"]))
        elif kind == "reward":
            waiting[event["id"]][1] = event["value"]
            if spec["window"] is None:
                teach(event["id"])
        elif kind == "release":
            while order and order[0][0] <= event["through"]:
                _, id_ = order.popleft()
                if id_ in waiting:
                    teach(id_)
        elif kind == "forget":
            number, _ = waiting.pop(event["id"])
            if number is not None:
                now.forget(number)
        elif kind == "refute":
            now._ledger.sound = False
        elif kind == "restart":
            now = type(empty)(**empty.parameters)
            for entry in waiting.values():
                entry[0] = None
        else:
            raise ValueError(f"events must be of a kind that is known, got {kind!r}")
    found: BanditAgent = now
    return found


def spec_event(agent: Any, fresh: bool, features: str | None, **settings: Any) -> dict[str, Any]:
    """The first line of a log."""
    told = {"seq": 0, "kind": "spec", "unipac": unipac.__version__, "version": VERSION, **specified(agent)}
    return {**told, "start": None if fresh else agent.digest(), "features": features, **settings}
