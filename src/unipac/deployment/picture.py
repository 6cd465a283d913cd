"""A deployment as a picture: rewards, certificates, what was explored, compared policies, drift and its threshold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from unipac import _charts as charts, _notebook as notebook
from unipac._atomic import commit
from unipac._notebook import from_json
from unipac.deployment import log
from unipac.deployment.comparing import Comparisons
from unipac.deployment.drift import alarm_for
from unipac.deployment.linearity import last_misspecification

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment


ALPHA = 0.05
"""Of the intervals of compared policies."""

REWARD, LOSS, SHARE = "reward", charts.LOSS, "share of decisions"


def plot(d: Deployment) -> Any:
    """As ``Deployment.plot``."""
    panels, decisions = series(d, d.events())
    scales: dict[str, charts.Scale] = {LOSS: "loss", SHARE: "share", REWARD: "near"}
    return charts.over(
        decisions,
        [charts.Panel(title, lines, scales.get(title, "zero")) for title, lines in panels.items()],
        "decision",
    )


def table(d: Deployment) -> str:
    """A deployment in a notebook: what it has decided, and whether its assumptions and alarms stand."""
    with d._lock:
        facts = {
            "decisions": d._decided,
            "pending": d.pending,
            "consistent": d.consistent,
            "certified": d._agent.certified,
            "drift alarm": d.drift.alarm,
            "linearity alarm": d.linearity.alarm,
            "compared with": ", ".join(d._comparisons.policies) or "nothing",
        }
        return notebook.agent_table(repr(d), facts, d._agent.levels())


def series(d: Deployment, events: Iterable[Any]) -> tuple[dict[str, dict[str, Any]], Any]:
    """What is drawn, over the decisions of a log; NaN where nothing is known."""
    alarm = alarm_for(d._agent, d._settings.drift)
    rows: list[list[float]] = []
    waiting: dict[Any, tuple[int, Any, bool]] = {}
    values: dict[Any, float] = {}
    compared = _Compared(d)

    def learned(key: Any, value: float | None) -> None:
        k, x, taught = waiting.pop(key)
        compared.close(key, value)
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
            compared.decide(event, len(rows))
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
            compared.close(event["id"], None)
        elif kind == "compare":
            compared.register(event)
        elif kind == "restart":
            alarm = alarm_for(d._agent, d._settings.drift)
            waiting = {key: (k, x, False) for key, (k, x, _) in waiting.items()}
    held = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    reward, certificate, explored, holdout, statistic, threshold = held
    panels: dict[str, dict[str, Any]] = {
        REWARD: {"reward": reward},
        LOSS: {"certificate": certificate},
        SHARE: {"explored": explored, "holdout": holdout},
        "drift": {"statistic": statistic, "threshold": threshold},
    }
    panels |= compared.panels(len(rows))
    return panels, np.arange(len(rows))


class _Compared:
    """Intervals of compared policies, looked at about a hundred times."""

    def __init__(self, d: Deployment) -> None:
        self.d, self.comparisons = d, Comparisons()
        self.every = max(1, d._decided // 100)
        self.seqs: dict[Any, int] = {}
        self.seen: dict[str, list[tuple[int, float, float]]] = {}

    def register(self, event: Any) -> None:
        commit(self.comparisons.registered(event["name"], event["policy"], event["reward_range"]))
        self.seen[event["name"]] = []

    def decide(self, event: Any, count: int) -> None:
        if not self.seen:
            return
        dim = self.d._agent.dim
        row = log.decided({**event, "x": [0.0] * dim}, dim)  # the vector may have been trimmed
        commit(self.comparisons.decided(row, self.d.holdout, last_misspecification(self.d._agent)))
        self.seqs[event["id"]] = event["seq"]
        if count % self.every == 0:
            for name, found in self.seen.items():
                advantage = self.comparisons.advantage(name, ALPHA)
                found.append((count - 1, advantage.lower, advantage.upper))

    def close(self, key: Any, value: float | None) -> None:
        if key in self.seqs:
            commit(self.comparisons.closed(self.seqs.pop(key), value)[0])

    def panels(self, count: int) -> dict[str, dict[str, Any]]:
        made: dict[str, dict[str, Any]] = {}
        for name, found in self.seen.items():
            lines = np.full((2, count), np.nan)
            for k, (at, *bounds) in enumerate(found):
                end = found[k + 1][0] if k + 1 < len(found) else count
                lines[:, at:end] = np.array(bounds)[:, None]
            made[f"advantage of {name}"] = {"lower": lines[0], "upper": lines[1]}
        return made
