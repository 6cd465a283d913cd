"""Decisions by id, rewards that come late, twice or never; the agent learns what its theorem allows."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Self, cast

from numpy.typing import ArrayLike

from unipac import _checks as check, _forks as forks
from unipac._actions import Actions, Label
from unipac._storage import Files
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Decision
from unipac.deployment import (
    calls,
    files,
    holding,
    linearity as linearity_,
    log as log_,
    logged,
    opening,
    picture,
    replaying,
    settings,
)
from unipac.deployment.comparing import Advantage, Comparisons, Policy
from unipac.deployment.contents import Maker
from unipac.deployment.drift import Drift, alarm_for
from unipac.deployment.entries import Entries
from unipac.deployment.errors import Unknown
from unipac.deployment.linearity import Linearity
from unipac.deployment.log import Event
from unipac.deployment.store import Store
from unipac.deployment.uptime import Uptime
from unipac.deployment.watching import Settled, Watches
from unipac.features.maps import Features


class Deployment:
    """An agent, its features and a window for rewards, in one process.

    >>> from unipac import LinUCB, Guarded, features
    >>> phi = features.Blocks(["small", "large"], features.Columns(ranges={"length": (0, 100)}))
    >>> deployment = Deployment(Guarded(LinUCB(phi.dim), noise=0.5), phi, window=60.0)
    >>> decision = deployment.decide({"length": 12}, ["small", "large"], id="request-1")
    >>> deployment.reward("request-1", 1.0), deployment.reward("request-1", 1.0)     # at least once
    (True, False)
    >>> deployment.agent.rounds                                                      # its window has not ended
    0

    Every reward is learned when its window ends, in the order of the decisions, whatever it is and whenever it came:
    then bounds hold, even if what is offered depends on rewards that are not learned yet. With ``window=None`` it is
    learned when it comes. That is valid if, given what was learned so far, neither what is offered next nor which
    reward arrives next depends on the noise of outstanding rewards.

    A call that fails raises a ``ValueError`` and changes nothing; no window ends because of it. If Ctrl-C or a signal
    handler raises in the middle of a call, all of the call has happened or nothing; of several windows that end at
    once, each has ended or not. Threads may call at the same time.

    Args:
        agent: a bandit agent without pending decisions; it is copied.
        features: a map of ``unipac.features``; without it ``decide`` takes arrays.
        window: seconds, or a timedelta, from a decision to the moment when its reward is learned.
        default: the reward of decisions that got none; None forgets them, which is valid only if whether a reward is
            lost does not depend on it.
        holdout: the probability that an action is drawn at random, uniformly; nothing is learned from these.
        seed: the seed of the holdout; None for an unpredictable one. The first event of the log has it.
        drift: α of the drift alarm, 0 for none.
        linearity: α of the alarm of linearity, 0 for none; by default 0.01 up to dimension 64.
        max_pending: the most decisions that may wait at once.
        clock: seconds that never go back, at most 1e11; downtime and the clock on the wall do not count.
        log: a folder for a new log; ``Deployment.open`` goes on with an existing one. Without a log, everything is in
            memory. May also be a store of your own (``unipac.deployment.store.Store``).
        sync: when events reach the disk itself: "always" before a call returns, every "second", or "never", which
            leaves it to the system. A process that ends or is killed loses nothing in any case.
        retention: seconds, or a timedelta: ``checkpoint`` trims what is older.
    """

    def __init__(
        self,
        agent: BanditAgent,
        features: Features | None = None,
        *,
        window: float | timedelta | None = None,
        default: float | None = 0.0,
        holdout: float = 0.0,
        seed: int | None = None,
        drift: float = 0.01,
        linearity: float | None = None,
        max_pending: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
        log: str | os.PathLike[str] | Store | None = None,
        sync: str = "second",
        retention: float | timedelta | None = None,
    ) -> None:
        given = window, default, holdout, seed, drift, linearity, max_pending
        told = settings.checked(agent, features, *given)
        self.window, self.default, self.holdout, self.seed = told[:4]
        self.max_pending, self._settings = told.max_pending, told
        check.require(callable(clock), "clock", "a function", clock)
        self.features, self._lock, self._files = features, threading.RLock(), Files()
        self._agent = copy.copy(agent)
        self._uptime, self._at = Uptime(clock), 0.0  # the time of the last event
        self._entries: Entries = OrderedDict()
        self._closed: Entries = OrderedDict()
        self._history, self._seq, self._decided, self._asked = b"", 0, 0, 0
        self._watches: Watches = {}
        self._comparisons, self._warned = Comparisons(), ""
        self._functions: dict[str, Policy] = {}
        self._alarm = alarm_for(self._agent, told.drift)
        self._line = linearity_.alarm_for(self._agent, told.linearity)
        fresh = agent.digest() == type(agent)(**agent.parameters).digest()
        spec = log_.spec_event(agent, fresh, files.features_text(features), **told._asdict())
        self._events: list[Event] = [spec]
        self._store: Store | None = None
        self._encoder: Any = None
        self._behind = False  # whether the store may have events that the memory has not
        self._unwritten: list[Any] = []  # windows that ended in this call, written together with its event
        self._retention = opening.seconds("retention", retention)
        forks.register(self)
        if log is not None:
            opening.begin(self, log, sync)

    # -- what users read -----------------------------------------------------------------------

    @property
    def agent(self) -> BanditAgent:
        """A copy of the agent as it is now; the deployment does not learn what you teach the copy."""
        with self._lock:
            return copy.copy(holding.full(self._agent))

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
        """Whether the unknown parameter seems to have changed; with probability 1 − α there is never a false alarm."""
        with self._lock:
            return self._alarm.state

    @property
    def linearity(self) -> Linearity:
        """Whether rewards seem not to be linear within ζ; with probability 1 − α there is never a false alarm."""
        with self._lock:
            return self._line.state

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """The log from event ``after`` + 1 on, each as JSON has it; with 0, from the specification on."""
        first = check.count("after", after, least=0)
        with self._lock:
            if self._store is not None:
                calls.begin(self)
                calls.write_out(self)
                return logged.events(self, first)
            rows = self._events[first + (first > 0) :]
        return [log_.copied(row) for row in rows]

    def digest(self) -> str:
        """SHA-256 of all that later answers depend on, whether the deployment is live, replayed or opened again."""
        return opening.digest(self)

    def settled(self, name: str) -> Settled | None:
        """The verdict on a watched set: an action within ``eps`` of its best, once there is one; then always the same.

        Reading is free, and changes nothing. Verdicts are dropped by ``restart``, if the assumptions are refuted, and
        if the agent moves on to another ζ.
        """
        with self._lock:
            if name not in self._watches:
                raise Unknown(f"name must be that of a watched set, got {check.shown(name)}")
            watch = self._watches[name]
            return watch.verdict if self._agent.consistent and watch.holds(self._agent) else None

    def plot(self) -> Any:
        """An Altair chart over the decisions: rewards, certificates, shares explored, drift; ``.save("it.png")``."""
        return picture.plot(self)

    def __repr__(self) -> str:
        alarm = ", drift alarm" if self._alarm.state.alarm else ""
        counts = f"{self._decided:,} decisions, {self.pending:,} pending"
        return f"<Deployment of {self._agent!r}: {counts}{alarm}>"

    _repr_html_ = picture.table

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
        return calls.decide(self, context, actions, id, exclude)

    def reward(self, id: Label, value: float, at: float | None = None) -> bool:  # noqa: A002
        """Record a reward; returns True, or False if it had come before.

        Args:
            id: of the decision.
            value: the first one counts, another one is a ``Conflict``.
            at: the time of the deployment, for replays: not before the last one, and at most 1e11. It may be ahead of
                the clock; time then goes on from there.
        """
        return calls.reward(self, id, value, at)

    def forget(self, id: Label) -> None:  # noqa: A002
        """Give up a decision: nothing is learned from it. Bounds are void if its reward is the reason."""
        calls.forget(self, id)

    def close(self, now: float | None = None) -> int:
        """Learn the rewards of all windows that have ended, and return how many; ``decide`` and ``reward`` do it, too.

        ``now`` is like ``at`` of ``reward``.
        """
        return calls.close(self, now)

    def restart(self) -> None:
        """Begin again with an empty agent, which has its own δ; rewards of earlier decisions are not learned."""
        calls.restart(self)

    def absorb(self, actions: ArrayLike, rewards: ArrayLike, *, noise: ArrayLike | None = None) -> None:
        """Learn from logged rounds, as ``agent.absorb`` does; the log has them, and alarms ignore them."""
        calls.absorb(self, actions, rewards, noise)

    # -- verdicts and comparisons ------------------------------------------------------------------

    def watch(self, name: str, actions: ArrayLike | Actions, eps: float) -> None:
        """Look for an action within ``eps`` of the best of these, now and after every 25 learned rounds.

        ``settled(name)`` is the verdict, once there is one. All verdicts on all sets are right together with
        probability 1 − δ. The same watch again changes nothing. Bounds of these actions may refute the assumptions.
        """
        calls.watch(self, name, actions, eps)

    def unwatch(self, name: str) -> None:
        """Stop watching a set, and forget its verdict."""
        calls.unwatch(self, name)

    def compare(
        self, name: str, policy: Label | Policy, *, reward_range: tuple[float, float] | None = None
    ) -> None:
        """Compare what is decided from now on with a policy that is fixed in advance; ``advantage`` is the result.

        It needs a holdout and, with windows, a ``default`` within the range, so that no reward is lost. It assumes no
        model of rewards. If the earnings of the policy refute certificates, nothing is certified any more.

        Args:
            name: text.
            policy: the id of an action, or its row; "uniform"; or a function of the context and the ids offered (or
                their rows) that returns an id, or None to leave the decision out. It is called before the draw.
            reward_range: the range of all rewards, by default the agent's; others are refused from now on.
        """
        calls.compare(self, name, policy, reward_range)

    def advantage(self, name: str, alpha: float = 0.05) -> Advantage:
        """How much more than the decisions made a compared policy would have earned, per decision, without any model.

        Decisions count in their order, once their rewards are final. Without windows, a decision without reward holds
        up those after it until it is forgotten. The interval holds at all times at once.
        """
        with self._lock:
            if name not in self._comparisons.policies:
                raise Unknown(f"name must be that of a compared policy, got {check.shown(name)}")
            return self._comparisons.advantage(name, check.probability("alpha", alpha))

    # -- events ------------------------------------------------------------------------------------

    def apply(self, event: Mapping[str, Any]) -> None:
        """Apply the next event of a log, as ``events`` has it, without choosing anything, and log it."""
        with self._lock:
            calls.begin(self, asks=False)
            calls.apply(self, log_.row_of(event, self._agent.dim))

    @classmethod
    def replay(
        cls,
        events: Iterable[Mapping[str, Any]],
        *,
        start: BanditAgent | None = None,
        agent: type[Any] | None = None,
        features: Features | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """The deployment that a log leads to, in memory.

        Args:
            events: from the first one on, as ``events`` has them.
            start: the agent that the deployment was made with, if it had learned before.
            agent: its class, for one of your own.
            features: for a map that has no JSON.
            clock: as in the constructor; time goes on from the last event.
        """
        return cast(Self, replaying.replayed(Maker(cls, agent, features, clock), events, start))

    # -- copies and files ----------------------------------------------------------------------

    def __copy__(self) -> Self:
        """A deployment of its own, which has decided and learned the same."""
        with self._lock:
            clone: Self = files.copied(self)
        forks.register(clone)
        return clone

    def _forked(self) -> None:
        self._lock, self._files.lock = threading.RLock(), threading.RLock()
        if self._store is not None:
            self._store.leave("this process is a fork of the one that writes it")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = clone = self.__copy__()
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        maker = Maker(type(self), type(self._agent), self.features, self._uptime.clock)
        return files.made, (maker, *files.described(files.Whole.of(self)))

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write everything to a file, from which ``Deployment.load`` goes on: pending decisions, time, log.

        The new file is read again, with all checks of ``load``, before it replaces the old one; meanwhile others may
        decide. A file that another deployment or process wrote is not replaced, unless this one was loaded from it, or
        with ``replace``. Use it in notebooks; a deployment that runs for long should have a log (``log=``).
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
        """The deployment that ``save`` wrote; the other arguments are those of ``replay``."""
        return cast(Self, files.load(Maker(cls, agent, features, clock), path))

    @classmethod
    def open(
        cls,
        log: str | os.PathLike[str] | Store,
        *,
        sync: str = "second",
        retention: float | timedelta | None = None,
        start: BanditAgent | None = None,
        agent: type[Any] | None = None,
        features: Features | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """The deployment of a log: its last sound snapshot and the events after it.

        Its arguments are those of the constructor and of ``replay``; ``start`` is used only if no snapshot is left.
        """
        made: Self = opening.opened(Maker(cls, agent, features, clock), log, sync, start)
        made._retention = opening.seconds("retention", retention)
        return made

    def checkpoint(self) -> None:
        """Write a snapshot, from which ``open`` goes on; others may decide while it is written."""
        opening.checkpoint(self)

    def trim(self, before: float | datetime) -> int:
        """Blank contexts and vectors of decisions made before a datetime, or seconds since 1970; returns how many.

        Vectors are blanked only up to the older of the two snapshots. A log with blanked vectors cannot be replayed
        from its first event.
        """
        return opening.trim(self, before)

    def shut(self) -> None:
        """Close the log: what was written is on the disk, and another process may open it."""
        opening.shut(self)
