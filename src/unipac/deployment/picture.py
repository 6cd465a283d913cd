"""A deployment as a picture: rewards, certificates, what was explored, drift against its threshold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from unipac import _notebook as notebook
from unipac._notebook import from_json
from unipac.deployment.drift import alarm_for

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment


def plot(d: Deployment) -> Any:
    """As ``Deployment.plot``."""
    return notebook.chart(*series(d, d.events()), "decision")


def series(d: Deployment, events: Iterable[Any]) -> tuple[dict[str, dict[str, Any]], Any]:
    """What is drawn, over the decisions of a log; NaN where nothing is known."""
    alarm = alarm_for(d._agent, d._settings.drift)
    rows: list[list[float]] = []
    waiting: dict[Any, tuple[int, Any, bool]] = {}
    values: dict[Any, float] = {}

    def learned(key: Any, value: float | None) -> None:
        k, x, taught = waiting.pop(key)
        if taught and value is not None and not any(one is None for one in x):
            alarm.learn(np.array(x), value, k)
            rows[-1][4:] = alarm.state.statistic, alarm.state.threshold

    for event in events:
        kind = event["kind"]
        if kind == "decide":
            drift = rows[-1][4:] if rows else [np.nan, np.nan]
            bound = from_json(event["answer"]["certificate"])
            rows.append([np.nan, bound, event["level"] > 0, event["holdout"], *drift])
            waiting[event["id"]] = len(rows) - 1, event["x"], not event["holdout"]
        elif kind == "reward":
            rows[waiting[event["id"]][0]][0] = values[event["id"]] = event["value"]
            if d.window is None:
                learned(event["id"], values.pop(event["id"]))
        elif kind == "release":
            key = next(iter(waiting))
            learned(key, values.pop(key, d.default))
        elif kind == "forget":
            waiting.pop(event["id"])
            values.pop(event["id"], None)
        elif kind == "restart":
            alarm = alarm_for(d._agent, d._settings.drift)
            waiting = {key: (k, x, False) for key, (k, x, _) in waiting.items()}
    held = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    reward, certificate, explored, holdout, statistic, threshold = held
    panels: dict[str, dict[str, Any]] = {
        "reward": {"reward": reward},
        "loss against the best action": {"certificate": certificate},
        "share of decisions": {"explored": explored, "holdout": holdout},
        "drift": {"statistic": statistic, "threshold": threshold},
    }
    return panels, np.arange(len(rows))
