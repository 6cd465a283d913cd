"""What events do to a deployment, as lists of changes for ``unipac._atomic.commit``.

Functions here neither change the deployment nor choose anything. Calls and ``apply`` use the same functions, so a log
leads to what the calls did. An event that the deployment cannot have written raises a ``ValueError``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from operator import delitem, setitem
from typing import TYPE_CHECKING, Any

from unipac import _checks as check
from unipac._actions import Label, label
from unipac._atomic import Change
from unipac._inputs import floats
from unipac.bandits.protocol import play
from unipac.bandits.protocol.changes import taken_over, twin_of
from unipac.bandits.protocol.inputs import checked_reward
from unipac.deployment import comparing, holding, linearity
from unipac.deployment.drift import alarm_for
from unipac.deployment.entries import REMEMBERED, Entry, chained
from unipac.deployment.errors import Conflict, Full
from unipac.deployment.log import Decided, Event, matrix, reward_value
from unipac.deployment.watching import MOST, Watch, looked

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment


def of(d: Deployment, event: Event) -> list[Change]:
    """What an event changes, whatever its kind."""
    if isinstance(event, Decided):
        return decide(d, event)
    kind = event["kind"]
    check.require(kind in KINDS, "kind", "one that can follow the specification", kind)
    return KINDS[kind](d, event)


# -- decisions and rewards -------------------------------------------------------------------------


def decide(d: Deployment, row: Decided) -> list[Change]:
    """A decision was made."""
    decision = row.decision
    key: Label = decision.id
    check.require(key not in d._entries, "id", "new", key)
    number, changes = holding.decided(d._agent, decision)
    closes = None if d.window is None else row.at + d.window
    changes += (
        (setitem, d._entries, key, Entry(decision, row.hash or b"", closes, number, None)),
        (setattr, d, "_decided", d._decided + 1),
    )
    if d._comparisons.policies:
        changes += d._comparisons.decided(row, d.holdout, linearity.last_misspecification(d._agent))
    return changes


def reward(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """A reward has come; without windows it is learned."""
    key, value = label("id", event["id"]), reward_value("value", event["value"])
    entry = _waiting(d, key)
    check.require(entry.value is None, "reward", "one for each decision", key)
    return rewarded(d, key, entry, value)


def rewarded(d: Deployment, key: Label, entry: Entry, value: float) -> list[Change]:
    """As ``reward``, for checked arguments."""
    checked_reward(d._agent, value, "value")
    d._comparisons.check_reward("value", value)
    new = Entry(*entry[:4], value)
    if d.window is not None:
        return [(setitem, d._entries, key, new)]
    return [*_taught(d, new, value), *_counted(d, new, value), *_put_away(d, key, new)]


def release(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """The window of the first decision has ended."""
    check.require(bool(d._entries), "release", "of a decision that waits", event["through"])
    key, entry = next(iter(d._entries.items()))
    check.require(entry.decision.seq == event["through"], "through", "that of the first decision", event)
    return released(d, key, entry)


def released(d: Deployment, key: Label, entry: Entry) -> list[Change]:
    """As ``release``, of this first decision."""
    value = d.default if entry.value is None else entry.value
    changes = [*_counted(d, entry, value), *_put_away(d, key, entry)]
    if value is not None:
        changes += _taught(d, entry, value)
    elif entry.number is not None:
        changes += holding.dropped(d._agent, entry.number)
    return changes


def forget(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """A decision was given up."""
    key = label("id", event["id"])
    entry = _waiting(d, key)
    changes = [*_counted(d, entry, None), *_put_away(d, key, entry._replace(value=None))]
    if entry.number is not None:
        changes += holding.dropped(d._agent, entry.number)
    return changes


# -- what is learned otherwise -----------------------------------------------------------------------


def restart(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """An empty agent takes over; watched sets begin anew."""
    agent = type(d._agent)(**d._agent.parameters)
    untaught = ((key, entry._replace(number=None)) for key, entry in d._entries.items())
    watches = {name: Watch.of(*watch[:3]) for name, watch in d._watches.items()}
    return [
        (setattr, d, "_entries", OrderedDict(untaught)),
        (setattr, d, "_agent", agent),
        (setattr, d, "_watches", watches),
        (setattr, d, "_asked", 0),
        (setattr, d, "_alarm", alarm_for(agent, d._settings.drift)),
        (setattr, d, "_line", linearity.alarm_for(agent, d._settings.linearity)),
        *d._comparisons.restarted(),
    ]


def absorb(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """The agent learns logged rounds."""
    X = matrix("vectors", event["vectors"], d._agent.dim)
    y, noise = floats("rewards", event["rewards"]), event["noise"]
    twin = twin_of(holding.bare(d._agent))
    play.absorb(twin, X, y, noise, None, None)
    return taken_over(d._agent, twin)


# -- verdicts ------------------------------------------------------------------------------------------


def watch(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """A set is watched, and looked at for the first time."""
    name = event["name"]
    if name in d._watches:
        raise Conflict(f"name must be new, got {name!r}, by which another set is watched")
    if len(d._watches) >= MOST:
        raise Full(f"at most {MOST} sets may be watched, got one more")
    new = watch_of(d, event)
    cut, refuted = new.cut(d._agent)
    check.require(refuted == event["refutes"], "refutes", str(refuted), event["refutes"])
    cut = cut.settled(event["verdict"], event["seq"])
    alone = all(other.verdict is not None for other in d._watches.values())
    return [
        (setattr, d, "_watches", {**d._watches, name: cut}),
        (setattr, d, "_asked", d._agent.rounds if alone else d._asked),
        *_refuted(d, refuted),
    ]


def watch_of(d: Deployment, event: Mapping[str, Any]) -> Watch:
    """What a ``watch`` event asks."""
    X, labels = matrix("vectors", event["vectors"], d._agent.dim), event["actions"]
    ids = None if labels is None else tuple(label("actions", one) for one in labels)
    check.require(ids is None or len(ids) == len(X), "actions", f"{len(X)} ids", labels)
    return Watch.of(X, ids, check.positive("eps", event["eps"]))


def ask(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """All watched sets without a verdict were looked at."""
    cut, refuted = looked(d._agent, d._watches)
    check.require(refuted == event["refutes"], "refutes", str(refuted), event["refutes"])
    told = event["verdicts"]
    check.require(told.keys() <= cut.keys(), "verdicts", "on sets that are watched and have none", list(told))
    found = {name: watch.settled(told.get(name), event["seq"]) for name, watch in cut.items()}
    return [
        (setattr, d, "_watches", {**d._watches, **found}),
        (setattr, d, "_asked", d._agent.rounds),
        *_refuted(d, refuted),
    ]


def unwatch(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """A set is not watched any more."""
    check.require(event["name"] in d._watches, "name", "that of a watched set", event["name"])
    return [(setattr, d, "_watches", {k: v for k, v in d._watches.items() if k != event["name"]})]


def compare(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """A policy is compared from now on."""
    agent = d._agent
    check.require(d.holdout > 0.0, "holdout", "above 0, to compare policies", d.holdout)
    check.require(not agent.draws, "agent", "one whose choices are not drawn, to compare policies", agent)
    lost = d.window is not None and d.default is None
    check.require(not lost, "default", "a number, to compare policies: no reward may be lost", d.default)
    low, high = check.value_range("reward_range", event["reward_range"])
    if d.window is not None and d.default is not None:
        check.require(
            low <= d.default <= high, "reward_range", f"with the default, {d.default:g}", (low, high)
        )
    return d._comparisons.registered(comparing.text("name", event["name"]), event["policy"], (low, high))


def refute(d: Deployment, event: Mapping[str, Any]) -> list[Change]:
    """Asking for bounds refuted the assumptions; only logs of older versions have this event."""
    return _refuted(d, True)


KINDS: dict[str, Callable[[Any, Any], list[Change]]] = {
    "reward": reward, "release": release, "forget": forget, "restart": restart, "absorb": absorb,
    "watch": watch, "ask": ask, "unwatch": unwatch, "compare": compare, "refute": refute,
}  # fmt: skip


# -- shared ----------------------------------------------------------------------------------------------


def _refuted(d: Deployment, refuted: bool) -> list[Change]:
    return [(setattr, d._agent._ledger, "sound", False)] if refuted else []


def _waiting(d: Deployment, key: Label) -> Entry:
    entry = d._entries.get(key)
    if entry is None:
        raise ValueError(f"id must be of a decision that waits, got {key!r}")
    return entry


def _taught(d: Deployment, entry: Entry, value: float) -> list[Change]:
    """The agent and the alarms learn a reward, if the agent learns from its decision."""
    if entry.number is None:
        return []
    kept = d._alarm.after(entry.decision.action, value, entry.decision.seq)
    return [
        *holding.learned(d._agent, entry.number, entry.decision, value),
        (setattr, d._alarm, "kept", kept),
        *d._line.after(entry.decision.action, value, entry.decision.seq),
    ]


def _counted(d: Deployment, entry: Entry, value: float | None) -> list[Change]:
    """The reward of a decision is final: compared policies count it, and may refute the certificates."""
    changes, refuting = d._comparisons.closed(entry.decision.seq, value)
    return [*changes, *_refuted(d, refuting is not None)]


def _put_away(d: Deployment, key: Label, entry: Entry) -> list[Change]:
    """The decision waits no longer, and is remembered."""
    changes: list[Change] = [
        (delitem, d._entries, key),
        (setattr, d, "_history", chained(d._history, entry)),
    ]
    if d._store is not None:
        changes.append((setitem, d._store.closing, key, entry.value))
        return changes
    changes.append((setitem, d._closed, key, Entry(entry.decision, entry.body, None, None, entry.value)))
    if len(d._closed) >= REMEMBERED:
        changes.append((delitem, d._closed, next(iter(d._closed))))
    return changes
