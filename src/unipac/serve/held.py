"""A deployment that this instance writes, with its log and the series for the page."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

from unipac.deployment import holding, log as log_
from unipac.deployment.deployment import Deployment
from unipac.deployment.records import Decoder
from unipac.serve import bodies, journal
from unipac.serve.bodies import Decide, Offer, Reward, Watch
from unipac.serve.database import Database, Unreachable
from unipac.serve.log import Log
from unipac.serve.series import Series
from unipac.serve.specs import Spec
from unipac.serve.writer import Writer

Answer = tuple[int, bytes]
"""Status and body."""
CHUNK = 100
"""How many rows of the log are read at once, where the rest may not be needed."""
LARGEST_ANSWER = 2**24
"""Events are answered up to this many bytes, and the one that exceeds it."""


class Held:
    """Does what requests ask for; when a call returns, its events are in the queue of the writer."""

    def __init__(self, name: str, spec: Spec, number: int, database: Database, writer: Writer) -> None:
        self.name, self.spec = name, spec
        kept = database.series(number)
        windowed = spec.settings.get("window") is not None
        self.series = Series(windowed, kept[1] if kept else b"")
        self.log = Log(database, writer, number, self.series.note)
        self.log.extra = self.series.kept
        if database.read(number, -1, 1):
            self.deployment = Deployment.open(self.log, agent=spec.own, features=spec.features)
        else:
            self.deployment = Deployment(spec.agent, spec.features, log=self.log, **spec.settings)
        self._database, self._number = database, number
        self._trimmed_at = -math.inf
        self.snapshot_at = 0 if kept is None else kept[0]
        self._drift: Any = None

    # -- what changes something --------------------------------------------------------------------------------

    def decide(self, told: Decide) -> Answer:
        """A decision: 201, or 200 if it was made before."""
        id_ = bodies.new_id() if told.id is None else bodies.checked_id(told.id)
        before = self.log.position().seq
        actions = bodies.offered(told, self.deployment.features)
        decision = self.deployment.decide(told.context, actions, id_, told.exclude)
        return 201 if decision.seq > before else 200, bodies.decided(decision)

    def reward(self, told: Reward) -> Answer:
        """A reward: 201, or 200 if it had come before."""
        id_ = bodies.checked_id(told.id)
        new = self.deployment.reward(id_, told.value)
        return 201 if new else 200, bodies.encode({"seq": self.log.seq_of(id_, "reward")})

    def forget(self, id_: str) -> Answer:
        """Nothing will be learned from a decision."""
        self.deployment.forget(bodies.checked_id(id_))
        return 204, b""

    def watch(self, name: str, told: Watch) -> Answer:
        """Look at a set of actions."""
        bodies.checked_id(name)
        self.deployment.watch(name, self._vectors(told), told.eps)
        return self.settled(name)

    def restart(self) -> Answer:
        """Begin with an empty agent."""
        self.deployment.restart()
        return 200, bodies.encode({"seq": self.log.position().seq})

    # -- what changes nothing ------------------------------------------------------------------------------------

    def settled(self, name: str) -> Answer:
        """The verdict on a watched set; null if there is none."""
        found = self.deployment.settled(name)
        return 200, bodies.encode(
            {"name": name, "verdict": None if found is None else bodies.plain(found._asdict())}
        )

    def bounds(self, told: Offer) -> Answer:
        """Mean and bounds of each action."""
        offered = self._vectors(told)
        found = holding.learned_by(self.deployment).bounds(offered)
        ids = range(len(found.mean)) if offered is None else offered.labels
        return 200, bodies.bounds(found, ids)

    def state(self) -> Answer:
        """The state of the deployment as a whole."""
        d, agent = self.deployment, holding.learned_by(self.deployment)
        return 200, bodies.encode({
            "name": self.name,
            "spec": bodies.read_table(self.spec.kept.encode()),
            "seq": self.log.position().seq,
            "rounds": agent.rounds,
            "pending": d.pending,
            "consistent": d.consistent,
            "guarantee": agent.guarantee,
            "explored": self.series.share_explored,
            "drift": bodies.plain(d.drift._asdict()),
            "digest": d.digest(),
        })  # fmt: skip

    def drawn(self) -> Answer:
        """What the page draws."""
        self._note_drift()
        return 200, self.series.kept()

    def events(self, after: int, limit: int) -> bytes:
        """The events after this one that are on the disk, as lines of JSON."""
        if after >= self.log.position().seq:
            return b""
        records = self.log.read(after, chunk=min(CHUNK, limit + 2))
        rows: Iterator[Any] = Decoder(self.spec.agent.dim, blanks=True).events(records)
        found, size = [], 0
        for row in itertools.islice(rows, limit):
            found.append(bodies.encode(log_.copied(row)) + b"\n")
            size += len(found[-1])
            if size > LARGEST_ANSWER:
                break
        return b"".join(found)

    def _vectors(self, told: Offer) -> Any:
        """The actions of a request as vectors; None for the fixed ones of the agent."""
        actions, features = bodies.offered(told, self.deployment.features), self.deployment.features
        return actions if features is None else features(told.context, actions, told.exclude)

    # -- time passes ---------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Close windows that have ended."""
        if self.deployment.window is not None and self.deployment.pending:
            self.deployment.close()
        self._note_drift()

    def _note_drift(self) -> None:
        """Add the last test of the drift alarm to the series, if it is new."""
        drift = self.deployment.drift
        if drift is not self._drift:
            self._drift = drift
            self.series.alarm(bodies.number(drift.statistic), bodies.number(drift.threshold))

    def checkpoint(self) -> None:
        """Keep a snapshot; if the database does not answer, only log that, as a later snapshot serves as well."""
        begin, seq = time.perf_counter(), self.log.position().seq
        self._note_drift()
        try:
            self.deployment.checkpoint()
        except Unreachable as error:
            journal.line("no snapshot", deployment=self.name, seq=seq, error=str(error))
        else:
            seconds = round(time.perf_counter() - begin, 3)
            journal.line("snapshot", deployment=self.name, seq=seq, seconds=seconds)
        self.snapshot_at = seq
        self.trim()

    @property
    def holds_old(self) -> bool:
        """Whether it is time to look for contexts that are older than they may be."""
        often = max(1.0, (self.spec.retention or math.inf) / 10)
        return time.monotonic() >= self._trimmed_at + often

    def trim(self) -> None:
        """Blank contexts that are older than ``retention``, and vectors as far as the older snapshot covers them."""
        if self.spec.retention is not None:
            self._trimmed_at = time.monotonic()
            try:
                covered = min(self._database.kept(self._number), default=-1)
                self.log.trim(time.time() - self.spec.retention, covered)
            except Unreachable as error:
                journal.line("nothing blanked", deployment=self.name, error=str(error))
