"""Replay the log of a file, without the agent: the file is refused if the rest of it does not agree."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._actions import Label, label
from unipac._atomic import commit
from unipac._storage import VERSION
from unipac.deployment import linearity, log, offering
from unipac.deployment.comparing import Comparisons
from unipac.deployment.drift import Alarm, alarm_for
from unipac.deployment.entries import REMEMBERED, Entry

SUMS = 1e-9
"""Sums of the alarm may differ by this relative amount: older versions added in another order."""


def check_past(d: Any) -> None:
    """A ``ValueError`` unless the log of a deployment leads to its decisions, rewards, alarm and counts."""
    past = _Past(d)
    for number, event in enumerate(d._events):
        check.require(event["seq"] == number, "seq", f"{number}, as it is event {number}", event["seq"])
        past.take(event)
    past.check()


class _Known:
    """A decision of the log: its event, its reward, and whether the agent learns from it."""

    __slots__ = ("event", "taught", "value")

    def __init__(self, event: Any) -> None:
        self.event, self.taught, self.value = event, not event["holdout"], None


class _Past:
    """The waiting and closed decisions, and how much was learned, after the events so far."""

    def __init__(self, d: Any) -> None:
        self.d = d
        self.spec: Any = None
        self.waiting: OrderedDict[Label, _Known] = OrderedDict()
        self.closed: OrderedDict[Label, _Known] = OrderedDict()
        self.decided = self.learned = 0
        self.fresh = False
        self.refuted = ""
        """The kind of an event that refuted the assumptions of the present agent; empty if none did."""
        self.verdicts: dict[str, Any] = {}
        """The watched sets by name, each with its verdict or None."""
        self.time = 0.0
        self.comparisons = Comparisons()
        self.alarm: Alarm = alarm_for(d._agent, d._settings.drift)
        self.line = linearity.alarm_for(d._agent, d._settings.linearity)

    def take(self, event: Any) -> None:
        kind = event["kind"]
        if "at" in event:
            at = check.real("at", event["at"])
            check.require(at >= self.time, "at", "times that do not go back", at)
            self.time = at
        if kind == "decide":
            self._decide(event)
        elif kind == "reward":
            known = self.waiting[label("id", event["id"])]
            check.require(known.value is None, "reward", "one for each decision", event["id"])
            known.value = event["value"]
            if self.d.window is None:
                self._close(event["id"], known.value)
        elif kind == "release":
            while self.waiting:
                key, known = next(iter(self.waiting.items()))
                if known.event["seq"] > event["through"]:
                    break
                self._close(key, self.d.default if known.value is None else known.value)
        elif kind == "forget":
            self.waiting[event["id"]].value = None
            self._close(event["id"], None)
        elif kind == "compare":
            commit(self.comparisons.registered(event["name"], event["policy"], event["reward_range"]))
        elif kind == "absorb":
            self.learned += len(event["rewards"])
        elif kind in ("watch", "unwatch", "ask"):
            self._watch(event)
        elif kind == "restart":
            self.fresh, self.learned, self.refuted = True, 0, ""
            commit(self.comparisons.restarted())
            self.verdicts = dict.fromkeys(self.verdicts)
            self.alarm = alarm_for(self.d._agent, self.d._settings.drift)
            self.line = linearity.alarm_for(self.d._agent, self.d._settings.linearity)
            for known in self.waiting.values():
                known.taught = False
        elif kind == "spec" and self.spec is None:
            self.spec, self.fresh = event, event["start"] is None
        else:
            check.require(kind == "refute", "kind", "one of a deployment", kind)
            self.refuted = kind

    def _watch(self, event: Any) -> None:
        kind, seq = event["kind"], event["seq"]
        if event.get("refutes"):
            self.refuted = kind
        if kind == "watch":
            told = event["verdict"]
            self.verdicts[event["name"]] = None if told is None else [*told, seq]
        elif kind == "unwatch":
            del self.verdicts[event["name"]]
        else:
            self.verdicts |= {name: [*told, seq] for name, told in event["verdicts"].items()}

    def _decide(self, event: Any) -> None:
        """Draws and propensities are functions of (seed, number of the decision)."""
        d, key, n = self.d, label("id", event["id"]), len(event["actions"])
        check.require(key not in self.waiting and key not in self.closed, "id", "of one decision only", key)
        drawn = offering.drawn(d.holdout, d.seed, self.decided, n)
        taken = event["index"]
        propensity = event["propensity"]
        sound = 0 <= taken < n and event["holdout"] is (drawn is not None) and drawn in (None, taken)
        if d._agent.draws:
            sound = sound and propensity is None
        else:  # the drawn action may also be the agent's choice, or not
            allowed = {offering.propensity(d.holdout, n, chosen, drawn) for chosen in (taken, -1)}
            sound = sound and propensity in allowed and (drawn is not None or propensity == max(allowed))
        check.require(sound, "propensity", "that of the seed and the number of the decision", propensity)
        self.waiting[key] = _Known(event)
        self.decided += 1
        if self.comparisons.policies:
            zeta = linearity.last_misspecification(d._agent)
            commit(self.comparisons.decided(log.decided(event, d._agent.dim), d.holdout, zeta))

    def _close(self, key: Label, value: float | None) -> None:
        known = self.closed[key] = self.waiting.pop(key)
        commit(self.comparisons.closed(known.event["seq"], value)[0])
        if len(self.closed) > REMEMBERED:
            self.closed.popitem(last=False)
        if known.taught and value is not None:
            self.learned += 1
            x, seq = np.array(known.event["x"], dtype=np.float64), known.event["seq"]
            self.alarm.learn(x, value, seq)
            self.line.learn(x, value, seq)

    def check(self) -> None:
        """Refuse a deployment that does not agree with its log."""
        d = self.d
        check.require(not (self.refuted and d.consistent), "refutes", "as the agent", self.refuted)
        check.require(d._decided == self.decided, "decided", f"{self.decided}, as in the log", d._decided)
        check.require(d._uptime.time >= self.time, "time", "that of the last event, or later", d._uptime.time)
        rounds = d._agent.rounds
        fits = rounds == self.learned if self.fresh else rounds >= self.learned
        check.require(fits, "rounds", f"{self.learned}, as in the log", rounds)
        if self.spec.get("version") == VERSION:
            told = json.loads(json.dumps(log.specified(d._agent)))
            same = all(self.spec[name] == told[name] for name in told)
            check.require(same, "agent", "that of the log", self.spec["agent"])
        for held, known in ((d._entries, self.waiting), (d._closed, self.closed)):
            check.require(list(held) == list(known), "decisions", "those of the log, in its order", len(held))
            for entry, one in zip(held.values(), known.values(), strict=True):
                self._check_entry(entry, one, held is d._entries)
        held = {name: one.verdict and list(one.verdict) for name, one in d._watches.items()}
        check.require(held == self.verdicts, "watches", "the sets and verdicts of the log", list(held))
        told, arrays = self.comparisons.saved()
        held, found = d._comparisons.saved()
        same = held == told and all(np.array_equal(found[name], arrays[name]) for name in arrays)
        check.require(same, "comparisons", "those that the log leads to", list(d._comparisons.policies))
        self._check_alarm()

    def _check_entry(self, entry: Entry, known: _Known, waits: bool) -> None:
        event, window = known.event, self.d.window
        told = log.decide_event(log.Decided(entry.decision, event["at"], event["wall"], None, (), None, None))
        names = ("id", "seq", "index", "x", "level", "propensity", "holdout", "answer")
        same = all(told[name] == event[name] for name in names) and entry.value == known.value
        closes = event["at"] + window if waits and window is not None else None
        same = same and entry.closes == closes and (entry.number is not None) == (waits and known.taught)
        if entry.number is not None and same:
            same = self.d._agent._ledger.pending[entry.number] is entry.decision
        check.require(same, "decisions", "as the log tells them", event["id"])

    def _check_alarm(self) -> None:
        held, right = self.d._line.saved(), self.line.saved()
        same = all(np.array_equal(held[name], right[name]) for name in held)
        check.require(same, "linearity", "the alarm that the log leads to", self.d.linearity)
        numbers, sums = self.d._alarm.saved()
        found, right = self.alarm.saved()
        if numbers["last"][0]:  # it takes no more rounds; in older versions it may have rung earlier
            return
        same = numbers["last"][0] == found["last"][0] and all(
            numbers[name] == found[name] for name in ("block", "inside", "filled")
        )
        same = same and all(np.allclose(sums[name], right[name], SUMS, SUMS) for name in sums)
        check.require(same, "drift", "the alarm that the log leads to", numbers)
