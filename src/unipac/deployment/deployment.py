"""Decisions by id, rewards that come late, twice or never; the agent learns what its theorem allows."""

from __future__ import annotations

import copy
import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from datetime import timedelta
from operator import delitem, setitem
from typing import Any, Self

from numpy.typing import ArrayLike

from unipac import _checks as check, _forks as forks
from unipac._actions import Actions, Label, label
from unipac._atomic import Change, commit
from unipac._inputs import action_array, check_norms
from unipac._storage import Files
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import forgotten, rewarded
from unipac.bandits.protocol.records import Decision
from unipac.deployment import files, log, offering
from unipac.deployment.drift import Drift, alarm_for
from unipac.deployment.entries import REMEMBERED, Entries, Entry, first_ended, reward_value
from unipac.deployment.errors import Closed, Conflict, Full, Unknown
from unipac.deployment.settling import Settled, Settling
from unipac.deployment.uptime import Uptime
from unipac.features.maps import Features


class Deployment:
    """An agent, its features and a window for rewards, in one process.

    >>> from unipac import LinUCB, Guarded, features
    >>> phi = features.Blocks(["small", "large"], features.Columns(ranges={"length": (0, 100)}))
    >>> deployment = Deployment(Guarded(LinUCB(phi.dim), noise=0.5), phi, window=60.0)
    >>> decision = deployment.decide({"length": 12}, ["small", "large"], id="request-1")
    >>> deployment.reward("request-1", 1.0), deployment.reward("request-1", 1.0)     # at least once
    (True, False)
    >>> deployment.agent.rounds                                                      # until its window ends
    0

    Every reward is learned when its window ends, in the order of the decisions, whatever it is and whenever it came:
    then bounds hold, even if what is offered depends on rewards that are not learned yet. With ``window=None`` it is
    learned when it comes. That is valid if, given what was learned so far, neither what is offered next nor which
    reward arrives next depends on the noise of outstanding rewards.

    What fails is a ``ValueError`` and changes nothing, apart from windows that had ended before the call. Whatever is
    raised in the middle of a call, by Ctrl-C or the handler of a signal, all of the call has happened or nothing, and
    of several windows that end at once a whole number have. Threads may call at the same time.

    Args:
        agent: a bandit agent without pending decisions; it is copied.
        features: a map of ``unipac.features``; without it ``decide`` takes arrays.
        window: seconds, or a timedelta, from a decision to the moment when its reward is learned.
        default: the reward of decisions for which none came; None to forget them, which is valid only if losing a
            reward does not depend on it.
        holdout: the probability that an action is drawn at random, uniformly; nothing is learned from these.
        seed: of the holdout.
        drift: α of the drift alarm, 0 for none.
        max_pending: the most decisions that may wait.
        clock: seconds that never go back; downtime and the clock on the wall do not count. A call at which it tells
            no number, or a time 3,000 years on, is refused.
    """

    def __init__(
        self,
        agent: BanditAgent,
        features: Features | None = None,
        *,
        window: float | timedelta | None = None,
        default: float | None = 0.0,
        holdout: float = 0.0,
        seed: int = 0,
        drift: float = 0.01,
        max_pending: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        fits = isinstance(agent, BanditAgent) and not agent.pending
        check.require(fits, "agent", "a bandit agent without pending decisions", agent)
        if features is not None:
            fits = isinstance(features, Features) and features.dim == agent.dim
            check.require(fits, "features", f"a map of unipac.features with dim {agent.dim}", features)
        seconds = window.total_seconds() if isinstance(window, timedelta) else window
        self.window = None if seconds is None else check.positive("window", seconds)
        self.default = None if default is None else reward_value("default", default)
        self.holdout = check.real("holdout", holdout)
        check.require(0.0 <= self.holdout < 1.0, "holdout", "from 0 to less than 1", holdout)
        self.seed = check.seed("seed", seed)
        self._alpha = check.real("drift", drift)
        check.require(0.0 <= self._alpha < 1.0, "drift", "from 0 to less than 1", drift)
        self.max_pending = check.count("max_pending", max_pending, most=check.LARGEST_COUNT)
        check.require(callable(clock), "clock", "a function", clock)
        self.features = features
        self._lock, self._files = threading.RLock(), Files()
        self._agent = copy.copy(agent)
        self._uptime = Uptime(clock)
        self._entries: Entries = OrderedDict()
        self._closed: Entries = OrderedDict()
        self._seq = self._decided = 0
        self._settling = Settling()
        self._alarm = alarm_for(self._agent, self._alpha)
        told = log.spec_event(
            agent, agent.digest() == type(agent)(**agent.parameters).digest(), files.features_text(features),
            window=self.window, default=self.default, holdout=self.holdout, seed=self.seed,
            drift=self._alpha, max_pending=self.max_pending,
        )  # fmt: skip
        self._events: list[Any] = [told]
        forks.register(self)

    # -- what is known -------------------------------------------------------------------------

    @property
    def agent(self) -> BanditAgent:
        """A copy of the agent as it is now; what the copy is taught, the deployment does not learn."""
        with self._lock:
            return copy.copy(self._agent)

    @property
    def consistent(self) -> bool:
        """Whether no reward has refuted the assumptions of the agent; then certificates are proven."""
        return self._agent.consistent

    @property
    def pending(self) -> int:
        """How many decisions wait."""
        return len(self._entries)

    @property
    def drift(self) -> Drift:
        """Whether the unknown parameter seems to have changed: falsely, ever, with probability at most α."""
        with self._lock:
            return self._alarm.state

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """The log from event ``after`` + 1 on, each as JSON has it; with 0, from the specification on."""
        first = check.count("after", after, least=0)
        with self._lock:
            rows = self._events[first + (first > 0) :]
        return [log.copied(row) for row in rows]

    def __repr__(self) -> str:
        alarm = ", drift alarm" if self._alarm.state.alarm else ""
        return (
            f"<Deployment of {self._agent!r}: {self._decided:,} decisions, {self.pending:,} pending{alarm}>"
        )

    # -- decisions and rewards -----------------------------------------------------------------

    def decide(
        self,
        context: Any,
        actions: Any,
        id: Label | None = None,  # noqa: A002
        exclude: Collection[Label] = (),
    ) -> Decision:
        """Choose one of the actions, except those excluded.

        The same id with the same vectors and ids of actions gives the same decision again.

        Args:
            context: for the features; without features it is only logged.
            actions: ids, or what else the features take; without features an (n, d) array or ``Actions``.
            id: text or an integer, by which the reward will come; without one the decision gets one.
            exclude: ids of actions, or their rows if they have no ids.
        """
        key = None if id is None else label("id", id)
        X, labels, vectors, kept = offering.offer(self._agent, self.features, context, actions, exclude)
        body = hashlib.blake2b(X.tobytes() + repr(labels).encode(), digest_size=16).digest()
        with self._lock:
            now = self._uptime.now()
            known = None if key is None else self._entries.get(key) or self._closed.get(key)
            if known is not None and known.body != body:
                raise Conflict(f"id must be new, or have the same actions, got {key!r} with others")
            if (
                known is None
                and len(self._entries) >= self.max_pending
                and first_ended(self._entries, now[0]) is None
            ):
                raise Full(f"at most {self.max_pending} decisions may wait (max_pending), got one more")
            self._close(now)
            if known is not None:
                return known.decision
            chosen = offering.chosen(self._agent, X, labels, self.holdout, self.seed, self._decided)
            key, seq = chosen.told.id if key is None else key, self._seq + 1
            said = (key, *chosen.told[1:11], chosen.propensity, chosen.number is None, seq)
            decision: Decision = tuple.__new__(Decision, said)
            closes = None if self.window is None else now[0] + self.window
            rows = range(len(X)) if labels is None else labels
            commit([
                *chosen.changes,
                (setitem, self._entries, key, Entry(decision, body, closes, chosen.number, None)),
                (setattr, self, "_decided", self._decided + 1),
                (setattr, self, "_seq", seq),
                (list.append, self._events, (decision, now[0], time.time(), kept, rows, vectors)),
                *self._uptime.moved(now),
            ])  # fmt: skip
            if chosen.refutes:
                self._agent._warn_of_refutation()
        return decision

    def reward(self, id: Label, value: float, at: float | None = None) -> bool:  # noqa: A002
        """A reward has come: True if it is recorded, False if it had come before.

        Args:
            id: of the decision.
            value: the first one counts, another one is a ``Conflict``.
            at: the time of the deployment, for replays: not before the last one, and at most 1e11. It may be ahead of
                the clock; time then goes on from there.
        """
        key, number = label("id", id), reward_value("value", value)
        with self._lock:
            now = self._uptime.now(at)
            entry = self._known(key)
            if entry.value not in (None, number):
                raise Conflict(f"value must be the same every time, got {number!r} after {entry.value!r}")
            ended = key in self._closed or (entry.closes is not None and entry.closes <= now[0])
            if entry.value is None and ended:
                raise Closed(f"id must be of a decision that takes rewards, got {key!r}, which is closed")
            self._close(now)
            if entry.value is not None:
                return False
            rewarded = Entry(*entry[:4], number)
            if self.window is None:
                changes = [*self._taught(rewarded, number), *self._put_away(key, rewarded)]
            else:
                changes = [(setitem, self._entries, key, rewarded)]
            changes += self._noted({"kind": "reward", "id": key, "value": number, "at": now[0]})
            commit([*changes, *self._uptime.moved(now)])
        return True

    def forget(self, id: Label) -> None:  # noqa: A002
        """Give up a decision: nothing is learned from it. Not because of its reward, or bounds are void."""
        key = label("id", id)
        with self._lock:
            entry = self._known(key)
            if key in self._closed:
                raise Closed(f"id must be of a pending decision, got {key!r}, which is closed")
            changes = self._put_away(key, entry._replace(value=None))
            if entry.number is not None:
                changes += forgotten(self._agent, entry.number)
            commit([*changes, *self._noted({"kind": "forget", "id": key})])

    def close(self, now: float | None = None) -> int:
        """Learn the rewards of all windows that have ended; how many. It runs before every decision and reward.

        Args:
            now: as ``at`` of ``reward``.
        """
        with self._lock:
            moment = self._uptime.now(now, "now")
            count = self._close(moment)
            commit(self._uptime.moved(moment))
            return count

    def restart(self) -> None:
        """Begin with an empty agent of the same parameters, which has its own δ.

        Rewards of earlier decisions are recorded, and nobody learns from them.
        """
        with self._lock:
            agent = type(self._agent)(**self._agent.parameters)
            untaught = ((key, entry._replace(number=None)) for key, entry in self._entries.items())
            commit([
                (setattr, self, "_entries", OrderedDict(untaught)),
                (setattr, self, "_agent", agent),
                (setattr, self, "_settling", Settling()),
                (setattr, self, "_alarm", alarm_for(self._agent, self._alpha)),
                *self._noted({"kind": "restart"}),
            ])  # fmt: skip

    def settled(self, actions: ArrayLike | Actions, eps: float) -> Settled | None:
        """An action within ``eps`` of the best of these, once there is one; then always the same.

        Asking is free: all verdicts for all sets are right together with probability 1 − δ. A refutation of the
        assumptions, or ``restart``, drops them. Bounds of these actions may be what refutes: the log says so.
        """
        accuracy = check.positive("eps", eps)
        labels = actions.labels if type(actions) is Actions else None
        given = actions.vectors if type(actions) is Actions else actions
        X = action_array("actions", given, self._agent.dim)
        check_norms("actions", X, self._agent.action_norm)
        with self._lock:
            check.require(self._agent._proven, "agent", "certified, for verdicts", self._agent)
            verdict, changes, refuted = self._settling.ask(self._agent, X, labels, accuracy, self._seq)
            commit([*changes, *(self._noted({"kind": "refute"}) if refuted else ())])
            if refuted:
                self._agent._warn_of_refutation()
            return verdict

    # -- copies and files ----------------------------------------------------------------------

    def __copy__(self) -> Self:
        """A deployment of its own, which has decided and learned the same."""
        with self._lock:
            clone = object.__new__(type(self))
            clone.__dict__.update(self.__dict__, _lock=threading.RLock(), _files=Files())
            for name in ("_agent", "_alarm", "_closed", "_entries", "_events", "_settling", "_uptime"):
                setattr(clone, name, copy.copy(getattr(self, name)))
        forks.register(clone)
        return clone

    def _forked(self) -> None:
        self._lock, self._files.lock = threading.RLock(), threading.RLock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = clone = self.__copy__()
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        told = files.described(files.Snapshot.of(self))
        return files.made, (type(self), *told, type(self._agent), self.features, self._uptime.clock)

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write everything to a file, from which ``Deployment.load`` goes on: pending decisions, time, log.

        What was written is read again, with all checks of ``load``, before it takes the place of the old file. While
        that is done, others may decide.

        Args:
            path: the file. One that another deployment or another process wrote is not replaced, unless this
                deployment was loaded from it: nothing that was saved is lost by mistake.
            replace: replace any file.
        """
        replace = check.flag("replace", replace)
        with self._files.lock:
            files.save(self, path, replace)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        agent: type[Any] | None = None,
        features: Features | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """The deployment that ``save`` wrote.

        Args:
            path: the file.
            agent: the class of the agent, for one of your own.
            features: for a map that has no JSON.
            clock: as in the constructor; time goes on from where it was saved.
        """
        made: Self = files.load(cls, path, agent, features, clock)
        return made

    # -- inside --------------------------------------------------------------------------------

    def _close(self, now: tuple[float, float]) -> int:
        """Close all windows that have ended, one after the other; how many rewards were learned."""
        count = 0
        while (first := first_ended(self._entries, now[0])) is not None:
            count += self._close_one(*first, now)
        return count

    def _close_one(self, key: Label, entry: Entry, now: tuple[float, float]) -> bool:
        """Close a window, in one commit with its event; whether a reward was learned."""
        value = self.default if entry.value is None else entry.value
        changes = self._put_away(key, entry)
        if value is not None:
            changes += self._taught(entry, value)
        elif entry.number is not None:
            changes += forgotten(self._agent, entry.number)
        changes += self._noted({"kind": "release", "through": entry.decision.seq, "at": now[0]})
        commit([*changes, *self._uptime.moved(now)])
        return value is not None and entry.number is not None

    # -- what changes ------------------------------------------------------------------------------

    def _taught(self, entry: Entry, value: float) -> list[Change]:
        """The agent and the alarm learn a reward, unless nobody learns from it."""
        if entry.number is None:
            return []
        kept = self._alarm.after(entry.decision.action, value, entry.decision.seq)
        return [*rewarded(self._agent, entry.number, value), (setattr, self._alarm, "kept", kept)]

    def _put_away(self, key: Label, entry: Entry) -> list[Change]:
        """The decision waits no longer, and is remembered."""
        closed = Entry(entry.decision, entry.body, None, None, entry.value)
        changes: list[Change] = [(delitem, self._entries, key), (setitem, self._closed, key, closed)]
        if len(self._closed) >= REMEMBERED:
            changes.append((delitem, self._closed, next(iter(self._closed))))
        return changes

    def _noted(self, event: dict[str, Any]) -> list[Change]:
        """The log has one event more."""
        seq = self._seq + 1
        return [(list.append, self._events, {"seq": seq, **event}), (setattr, self, "_seq", seq)]

    def _known(self, key: Label) -> Entry:
        entry = self._entries.get(key) or self._closed.get(key)
        if entry is None:
            raise Unknown(f"id must be of a decision made here, got {key!r}, which is none, or long closed")
        return entry
