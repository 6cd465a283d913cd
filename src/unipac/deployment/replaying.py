"""A deployment from its events: each is applied, and nothing is chosen again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unipac import _checks as check
from unipac._versions import current_spec
from unipac.bandits.protocol.agent import BanditAgent
from unipac.deployment import calls, log
from unipac.deployment.contents import Maker


def replayed(maker: Maker, events: Iterable[Mapping[str, Any]], start: BanditAgent | None) -> Any:
    """As ``Deployment.replay``."""
    rows = iter(events)
    spec = next(rows, None)
    made = begun(maker, spec, start)
    for event in rows:
        calls.apply(made, log.row_of(event, made._agent.dim))
    return made


def begun(maker: Maker, spec: Mapping[str, Any] | None, start: BanditAgent | None) -> Any:
    """The deployment of a specification, before its first event."""
    if not isinstance(spec, Mapping) or spec.get("kind") != "spec":
        raise ValueError("events must begin with the specification, got others or none")
    now = log.made(current_spec(spec), maker.agent)
    if spec["start"] is not None:
        sound = isinstance(start, BanditAgent) and start.digest() == spec["start"]
        check.require(sound, "start", "the agent that the deployment was made with", start)
        now = start
    made = maker.empty(now, spec)
    made._events = [dict(spec)]
    return made
