"""Decisions by id, rewards that come late, twice or never; the agent learns what its theorem allows."""

from __future__ import annotations

import copy
import hashlib
import os
import threading
import time
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, Self

from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._actions import Actions, Label, label
from unipac._inputs import action_array
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Decision
from unipac.deployment import files, log, offering
from unipac.deployment.drift import Alarm, Drift
from unipac.deployment.entries import REMEMBERED, Entry, reward_value
from unipac.deployment.errors import Closed, Conflict, Full, Unknown
from unipac.deployment.settling import Settled, Settling
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

    What fails is a ``ValueError`` and changes nothing, apart from windows that had ended before the call.

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
        clock: seconds that never go back; downtime and the clock on the wall do not count.
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
        self.seed = check.count("seed", seed, least=0)
        self._alpha = check.real("drift", drift)
        check.require(0.0 <= self._alpha < 1.0, "drift", "from 0 to less than 1", drift)
        self.max_pending = check.count("max_pending", max_pending)
        check.require(callable(clock), "clock", "a function", clock)
        self.features = features
        self._clock = clock
        self._lock = threading.RLock()
        self._agent = copy.copy(agent)
        self._time, self._mark = 0.0, float(clock())
        self._entries: dict[Label, Entry] = {}
        self._closed: dict[Label, Entry] = {}
        self._seq = self._decided = 0
        self._settling = Settling()
        self._alarm = self._new_alarm()
        told = log.spec_event(
            agent, agent.digest() == type(agent)(**agent.parameters).digest(), files.features_text(features),
            window=self.window, default=self.default, holdout=self.holdout, seed=self.seed,
            drift=self._alpha, max_pending=self.max_pending,
        )  # fmt: skip
        self._events: list[Any] = [told]

    # -- what is known -------------------------------------------------------------------------

    @property
    def agent(self) -> BanditAgent:
        """The agent as it is now, a copy of the one given; what it is taught by others is not in the log."""
        return self._agent

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
            rows = self._events if first == 0 else self._events[first + 1 :]
            return [log.decide_event(*row) if type(row) is tuple else dict(row) for row in rows]

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
        offered, labels, vectors, kept = offering.offer(self._agent, self.features, context, actions, exclude)
        X = offered.vectors if type(offered) is Actions else offered
        body = hashlib.blake2b(X.tobytes() + repr(labels).encode(), digest_size=16).digest()
        with self._lock:
            now = self._tick(None)
            self._close(now)
            if key is not None:
                known = self._entries.get(key) or self._closed.get(key)
                if known is not None:
                    if known.body != body:
                        raise Conflict(f"id must be new, or have the same actions, got {key!r} with others")
                    return known.decision
            if len(self._entries) >= self.max_pending:
                raise Full(f"at most {self.max_pending} decisions may wait (max_pending), got one more")
            choice = self._agent.choose(offered)
            number: int | None = choice.id
            self._seq += 1
            n = len(X)
            drawn = offering.drawn(self.holdout, self.seed, self._decided, n)
            key = choice.id if key is None else key
            propensity = None
            if not self._agent.draws:
                propensity = 1.0
                if self.holdout > 0.0:
                    taken = choice.index if drawn is None else drawn
                    propensity = (1.0 - self.holdout) * (taken == choice.index) + self.holdout / n
            if drawn is not None:
                self._agent.forget(choice)
                choice, number = offering.looked_up(self._agent, X, labels, drawn, choice), None
            decision: Decision = tuple.__new__(
                Decision, (key, *choice[1:11], propensity, drawn is not None, self._seq)
            )
            closes = None if self.window is None else now + self.window
            self._entries[key] = Entry(decision, body, closes, number, None)
            self._decided += 1
            known_rows = range(n) if labels is None else labels
            self._events.append((decision, now, time.time(), kept, known_rows, vectors))
        return decision

    def reward(self, id: Label, value: float, at: float | None = None) -> bool:  # noqa: A002
        """A reward has come: True if it is recorded, False if it had come before.

        Args:
            id: of the decision.
            value: the first one counts, another one is a ``Conflict``.
            at: the time of the deployment, for replays; not before the last one.
        """
        key, number = label("id", id), reward_value("value", value)
        with self._lock:
            now = self._tick(at)
            self._close(now)
            entry = self._known(key)
            if entry.value is not None:
                if entry.value == number:
                    return False
                raise Conflict(f"value must be the same every time, got {number!r} after {entry.value!r}")
            if key in self._closed:
                raise Closed(f"id must be of a decision that takes rewards, got {key!r}, which is closed")
            entry.value = number
            self._note({"kind": "reward", "id": key, "value": number, "at": now})
            if self.window is None:
                self._teach(entry, number)
                self._put_away(key)
        return True

    def forget(self, id: Label) -> None:  # noqa: A002
        """Give up a decision: nothing is learned from it. Not because of its reward, or bounds are void."""
        key = label("id", id)
        with self._lock:
            entry = self._known(key)
            if key in self._closed:
                raise Closed(f"id must be of a pending decision, got {key!r}, which is closed")
            if entry.number is not None:
                self._agent.forget(entry.number)
            entry.value = None
            self._put_away(key)
            self._note({"kind": "forget", "id": key})

    def close(self, now: float | None = None) -> int:
        """Learn the rewards of all windows that have ended; how many. It runs before every decision and reward."""
        with self._lock:
            return self._close(self._tick(now))

    def restart(self) -> None:
        """Begin with an empty agent of the same parameters, which has its own δ.

        Rewards of earlier decisions are recorded, and nobody learns from them.
        """
        with self._lock:
            self._agent = type(self._agent)(**self._agent.parameters)
            for entry in self._entries.values():
                entry.number = None
            self._settling.clear()
            self._alarm = self._new_alarm()
            self._note({"kind": "restart"})

    def settled(self, actions: ArrayLike | Actions, eps: float) -> Settled | None:
        """An action within ``eps`` of the best of these, once there is one; then always the same.

        Asking is free: all verdicts for all sets are right together with probability 1 − δ. A refutation of the
        assumptions, or ``restart``, drops them.
        """
        accuracy = check.positive("eps", eps)
        labels = actions.labels if type(actions) is Actions else None
        given = actions.vectors if type(actions) is Actions else actions
        X = action_array("actions", given, self._agent.dim)
        with self._lock:
            check.require(self._agent._proven, "agent", "certified, for verdicts", self._agent)
            bounds = self._agent.bounds(X)
            if not self._agent.consistent:
                self._settling.clear()
                return None
            return self._settling.ask(X, labels, accuracy, bounds.ucb, bounds.lcb, self._seq)

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, from which ``Deployment.load`` goes on: pending decisions, time, log."""
        with self._lock:
            self._tick(None)
            files.save(self, path)

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

    def _tick(self, at: float | None) -> float:
        mark = float(self._clock())
        now = self._time + max(0.0, mark - self._mark)
        if at is not None:
            now = check.real("at", at)
            check.require(now >= self._time, "at", f"at least {self._time:g}, the time of the last call", at)
        self._time, self._mark = now, mark
        return now

    def _close(self, now: float) -> int:
        count, through = 0, 0
        while self._entries:
            key, entry = next(iter(self._entries.items()))
            if entry.closes is None or entry.closes > now:
                break
            value = self.default if entry.value is None else entry.value
            through = entry.decision.seq
            if value is not None:
                count += self._teach(entry, value)
            elif entry.number is not None:
                self._agent.forget(entry.number)
            self._put_away(key)
        if through > 0:
            self._note({"kind": "release", "through": through, "at": now})
        return count

    def _teach(self, entry: Entry, value: float) -> bool:
        if entry.number is None:
            return False
        self._agent.update(entry.number, value)
        self._alarm.learn(entry.decision.action, value, entry.decision.seq)
        return True

    def _put_away(self, key: Label) -> None:
        entry = self._entries.pop(key)
        entry.number = entry.closes = None
        self._closed[key] = entry
        if len(self._closed) > REMEMBERED:
            del self._closed[next(iter(self._closed))]

    def _known(self, key: Label) -> Entry:
        entry = self._entries.get(key) or self._closed.get(key)
        if entry is None:
            raise Unknown(f"id must be of a decision made here, got {key!r}, which is none, or long closed")
        return entry

    def _note(self, event: dict[str, Any]) -> None:
        self._seq += 1
        self._events.append({"seq": self._seq, **event})

    def _new_alarm(self) -> Alarm:
        noise, ridge = getattr(self._agent, "noise", 0.0), getattr(self._agent, "regularization", 1.0)
        return Alarm(self._agent.dim, noise, ridge, self._alpha)
