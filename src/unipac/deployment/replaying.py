"""A deployment from its events: each does what it tells, and nothing is chosen again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unipac import _checks as check
from unipac._versions import current_spec
from unipac.bandits.protocol.agent import BanditAgent
from unipac.deployment import calls, log
from unipac.deployment.settings import Settings
from unipac.features.maps import Features
from unipac.features.reading import from_json


def replayed(
    cls: type[Any],
    events: Iterable[Mapping[str, Any]],
    start: BanditAgent | None,
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """As ``Deployment.replay``."""
    rows = iter(events)
    spec = next(rows, None)
    made = begun(cls, spec, start, agent, features, clock)
    for event in rows:
        calls.apply(made, log.row_of(event, made._agent.dim))
    return made


def begun(
    cls: type[Any],
    spec: Mapping[str, Any] | None,
    start: BanditAgent | None,
    agent: type[Any] | None,
    features: Features | None,
    clock: Callable[[], float],
) -> Any:
    """The deployment that a specification tells, before its first event."""
    if not isinstance(spec, Mapping) or spec.get("kind") != "spec":
        raise ValueError("events must begin with the specification, got others or none")
    now = log.made(current_spec(spec), agent)
    if spec["start"] is not None:
        sound = isinstance(start, BanditAgent) and start.digest() == spec["start"]
        check.require(sound, "start", "the agent that the deployment was made with", start)
        now = start
    if features is None and spec["features"] is not None:
        features = from_json(spec["features"])
    made = cls(now, features, clock=clock, **Settings.told(spec))
    made._events = [dict(spec)]
    return made
