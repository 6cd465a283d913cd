"""The calls that change a deployment: each checks, prepares, makes an event, and commits.

Each call holds the lock and starts with ``begin``. Preparing changes nothing; ``commit`` logs the event and makes its
changes in one step. A service that writes the log by itself does the same in another order.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._actions import Actions, Label, label
from unipac._atomic import Change, commit as make
from unipac._inputs import action_array, check_norms
from unipac._warnings import warn
from unipac.bandits.protocol.inputs import logged_rounds, noise_scales
from unipac.bandits.protocol.records import Decision
from unipac.deployment import comparing, effects, log, logged, offering
from unipac.deployment.entries import Entry, first_ended
from unipac.deployment.errors import Closed, Conflict, Full, Unknown
from unipac.deployment.log import Decided, Event, reward_value
from unipac.deployment.watching import is_due, looked

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment

Moment = tuple[float, float]
"""The time of the deployment, and what its clock says."""


# -- decisions and rewards -------------------------------------------------------------------------


def decide(
    d: Deployment, context: Any, actions: Any, id_: Label | None, exclude: Collection[Label]
) -> Decision:
    """As ``Deployment.decide``."""
    key = None if id_ is None else label("id", id_)
    written = d._events[0]["features"] is not None  # type: ignore[call-overload]
    offer = offering.offer(d._agent, d.features, context, actions, exclude, written)
    X, labels = offer[:2]
    body = log.hash_of(X, labels)
    rows = range(len(X)) if labels is None else labels
    told = comparing.asked(d._functions, context, rows) if d._functions else None
    with d._lock:
        begin(d)
        now = d._uptime.now()
        known = None if key is None else d._entries.get(key) or remembered(d, key)
        if known is not None and known.body not in (body, b""):  # older logs have no hash
            raise Conflict(f"id must be new, or come with the same question, got {key!r} with another")
        if known is None and len(d._entries) >= d.max_pending and first_ended(d._entries, now[0]) is None:
            raise Full(f"at most {d.max_pending} decisions may wait (max_pending), got one more")
        close_ended(d, now)
        if known is not None:
            write_out(d)
            return known.decision
        chosen = offering.chosen(d._agent, X, labels, d.holdout, d.seed, d._decided)
        key, seq = chosen.told.id if key is None else key, d._seq + 1
        said = (key, *chosen.told[1:11], chosen.propensity, chosen.drawn, seq)
        made: Decision = tuple.__new__(Decision, said)
        decision = made.under(chosen.told.misspecification)
        fields = decision, now[0], time.time(), offer.context, rows, offer.vectors, body, offer.items, told
        row: Decided = tuple.__new__(Decided, fields)
        commit(d, row, effects.decide(d, row), now)
        if chosen.refutes:
            d._agent._warn_of_refutation()
    return decision


def reward(d: Deployment, id_: Label, value: float, at: float | None) -> bool:
    """As ``Deployment.reward``."""
    key, number = label("id", id_), reward_value("value", value)
    with d._lock:
        begin(d)
        now = d._uptime.now(at)
        entry = d._entries.get(key)
        ended = entry is None
        if entry is None:
            entry = known_entry(d, key)
        if entry.value not in (None, number):
            raise Conflict(f"value must be the same every time, got {number!r} after {entry.value!r}")
        if entry.value is None and (ended or (entry.closes is not None and entry.closes <= now[0])):
            why = "" if d.window is None else f": its window of {d.window:g} s is over, or it was forgotten"
            raise Closed(f"id must be of a decision that takes rewards, got {key!r}, which is closed{why}")
        close_ended(d, now)
        if entry.value is not None:
            write_out(d)
            return False
        event = {"seq": d._seq + 1, "kind": "reward", "id": key, "value": number, "at": now[0]}
        commit(d, event, effects.rewarded(d, key, entry, number), now)
        warn_of_audit(d)
        if d._watches:
            ask_if_due(d, now, quietly=True)
    return True


def forget(d: Deployment, id_: Label) -> None:
    """As ``Deployment.forget``."""
    key = label("id", id_)
    with d._lock:
        begin(d)
        if key not in d._entries:
            known_entry(d, key)
            raise Closed(f"id must be of a pending decision, got {key!r}, which is closed")
        do(d, {"kind": "forget", "id": key}, d._uptime.now())


def close(d: Deployment, now: float | None) -> int:
    """As ``Deployment.close``."""
    with d._lock:
        begin(d)
        moment = d._uptime.now(now, "now")
        count = close_ended(d, moment)
        make(d._uptime.moved(moment))
        write_out(d)
        return count


def restart(d: Deployment) -> None:
    """As ``Deployment.restart``."""
    with d._lock:
        begin(d)
        do(d, {"kind": "restart"}, d._uptime.now())


def absorb(d: Deployment, actions: ArrayLike, rewards: ArrayLike, noise: ArrayLike | None) -> None:
    """As ``Deployment.absorb``."""
    agent = d._agent
    X, y = logged_rounds(agent, actions, rewards)
    scales = None if noise is None else noise_scales(agent, "noise", noise, y.shape).tolist()
    with d._lock:
        begin(d)
        now = d._uptime.now()
        do(d, {"kind": "absorb", "vectors": X.tolist(), "rewards": y.tolist(), "noise": scales}, now)
        ask_if_due(d, now, quietly=True)


# -- verdicts ------------------------------------------------------------------------------------------


def watch(d: Deployment, name: str, actions: ArrayLike | Actions, eps: float) -> None:
    """As ``Deployment.watch``."""
    check.require(isinstance(name, str) and name == label("name", name), "name", "text", name)
    labels = actions.labels if type(actions) is Actions else None
    given = actions.vectors if type(actions) is Actions else actions
    X = action_array("actions", given, d._agent.dim)
    check_norms("actions", X, d._agent.action_norm)
    told: dict[str, Any] = {
        "kind": "watch", "name": name, "actions": None if labels is None else list(labels),
        "vectors": X.tolist(), "eps": check.positive("eps", eps),
    }  # fmt: skip
    with d._lock:
        check.require(d._agent._proven, "agent", "certified, for verdicts", d._agent)
        begin(d)
        new = effects.watch_of(d, told)
        if name in d._watches and d._watches[name].same(new):
            return
        cut, refuted = new.cut(d._agent)
        known = refuted or not d._agent.consistent
        do(d, {**told, "verdict": None if known else cut.told(), "refutes": refuted}, d._uptime.now())
        if refuted:
            d._agent._warn_of_refutation()


def unwatch(d: Deployment, name: str) -> None:
    """As ``Deployment.unwatch``."""
    with d._lock:
        begin(d)
        d.settled(name)
        do(d, {"kind": "unwatch", "name": name}, d._uptime.now())


# -- comparisons ---------------------------------------------------------------------------------------


def compare(d: Deployment, name: str, policy: Any, reward_range: Sequence[float] | None) -> None:
    """As ``Deployment.compare``."""
    with d._lock:
        begin(d)
        told = comparing.told(policy)
        own = getattr(d._agent, "rewards_within", None) or d._agent.reward_range
        given = own if reward_range is None else reward_range
        known = d._comparisons.policies.get(name)
        if known is None:
            check.require(given is not None, "reward_range", "two numbers: the agent has none", None)
            event = {"kind": "compare", "name": name, "policy": told, "reward_range": list(given)}  # type: ignore[arg-type]
            do(d, event, d._uptime.now())
        elif known.policy != told or (given is not None and tuple(given) != known.mean.reward_range):
            raise Conflict(f"name must be new, got {name!r}, by which another policy is compared")
        if callable(policy):  # also when the log was opened again: it does not hold functions
            d._functions = {**d._functions, name: policy}


def warn_of_audit(d: Deployment) -> None:
    """Say once that a policy refutes the certificates."""
    name = d._comparisons.refuted_by
    if name is not None and d._warned != name:
        d._warned = name
        warn(
            f"{type(d._agent).__name__}: policy {name!r} earns more than certificates allow, so they are wrong: an "
            "assumption does not hold (linear rewards, noise, norm); nothing is certified from here on",
            RuntimeWarning,
        )


# -- events ---------------------------------------------------------------------------------------------


def apply(d: Deployment, row: Event, *, logs: bool = True) -> None:
    """Make the changes of the next event; ``logs`` if the log does not have it yet."""
    try:
        _apply(d, row, logs)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"event must be one of a deployment, got {type(error).__name__}: {error}") from None


def _apply(d: Deployment, row: Event, logs: bool) -> None:
    if isinstance(row, Decided):
        seq, at = row.decision.seq, row.at
        check_norms("x", row.decision.action[None], d._agent.action_norm)
        if not row.decision.holdout:
            level = row.decision.level
            check.require(d._agent._has_level(level), "level", "one of the agent's", level)
    else:
        seq, at = check.count("seq", row["seq"], least=0), check.real("at", row.get("at", d._at))
    check.require(seq == d._seq + 1, "seq", f"{d._seq + 1}, as it follows on {d._seq}", seq)
    check.require(at >= d._at, "at", f"at least {d._at:g}, the time of the event before", at)
    now = max(at, d._uptime.time), d._uptime.clock()
    if not isinstance(row, Decided) and row["kind"] == "release":
        _release_earlier(d, row)
    commit(d, row, effects.of(d, row), now, at, logs)


def _release_earlier(d: Deployment, row: Mapping[str, Any]) -> None:
    """In older logs one event releases several decisions: all but the last are closed here."""
    while d._entries:
        seq = next(iter(d._entries.values())).decision.seq
        if seq >= row["through"]:
            return
        make(effects.release(d, {"through": seq}))


def catch_up(d: Deployment) -> None:
    """Apply the events that the log has and the memory lacks: a call was interrupted between the two."""
    for row in logged.unread(d):
        apply(d, row, logs=False)
    d._behind = False


def write_out(d: Deployment) -> None:
    """Write the events of windows that have ended, unless a later event was written with them."""
    if d._unwritten:
        logged.append(d)
        make([(setattr, d, "_behind", False), (d._unwritten.clear,)])


# -- inside ----------------------------------------------------------------------------------------------


def begin(d: Deployment, asks: bool = True) -> None:
    """Begin a call that may change something: finish what an interrupted call left over."""
    if d._behind:
        catch_up(d)
    if asks and d._watches:
        ask_if_due(d, d._uptime.now())


def close_ended(d: Deployment, now: Moment) -> int:
    """Close all windows that have ended, one after the other; returns how many rewards were learned."""
    count = 0
    while (first := first_ended(d._entries, now[0])) is not None:
        count += close_one(d, *first, now)
    return count


def close_one(d: Deployment, key: Label, entry: Entry, now: Moment) -> bool:
    """Close the first window, together with its event; returns whether a reward was learned."""
    learns = entry.number is not None and not (entry.value is None and d.default is None)
    event = {"seq": d._seq + 1, "kind": "release", "through": entry.decision.seq, "at": now[0]}
    commit(d, event, effects.released(d, key, entry), now)
    warn_of_audit(d)
    if d._watches:
        ask_if_due(d, now)
    return learns


def ask_if_due(d: Deployment, now: Moment, quietly: bool = False) -> None:
    """Look at watched sets after every 25 learned rounds; if that fails ``quietly``, the next call does it."""
    if not is_due(d._agent, d._watches, d._asked):
        return
    cut, refuted = looked(d._agent, d._watches)
    found = {name: told for name, one in cut.items() if (told := one.told()) is not None}
    try:
        do(d, {"kind": "ask", "verdicts": found, "refutes": refuted}, now)
    except OSError:
        if not quietly:
            raise
        return
    if refuted:
        d._agent._warn_of_refutation()


def do(d: Deployment, told: dict[str, Any], now: Moment) -> None:
    """Number and date an event, and commit it."""
    event = {"seq": d._seq + 1, **told, "at": now[0]}
    commit(d, event, effects.of(d, event), now)


def commit(
    d: Deployment,
    event: Event,
    changes: Sequence[Change],
    now: Moment,
    at: float | None = None,
    logs: bool = True,
) -> None:
    """Log an event and make its changes, all at once; ``at`` is its time, by default now."""
    noted: tuple[Change, ...] = ((list.append, d._events, event),)
    if d._store is not None:
        noted = ()
        if logs and type(event) is dict and event["kind"] == "release":
            noted = ((list.append, d._unwritten, event),)  # it is written together with the next event
        elif logs:
            logged.append(d, event)
            noted = (setattr, d, "_behind", False), (d._unwritten.clear,)
    make([
        *changes,
        (setattr, d, "_seq", d._seq + 1),
        (setattr, d, "_at", now[0] if at is None else at),
        *noted,
        *d._uptime.moved(now),
    ])  # fmt: skip


def remembered(d: Deployment, key: Label) -> Entry | None:
    """A closed decision, if it is remembered."""
    return d._closed.get(key) if d._store is None else logged.find(d, key)


def known_entry(d: Deployment, key: Label) -> Entry:
    """A decision that waits or is remembered."""
    entry = d._entries.get(key) or remembered(d, key)
    if entry is None:
        raise Unknown(f"id must be of a decision made here, got {key!r}, which is none, or long closed")
    return entry
