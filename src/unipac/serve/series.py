"""What the page draws: rewards, certificates, shares explored and more, over the decisions, in at most 400 bins.

Bins hold equally many decisions; when there are too many bins, each pair is merged. A series is kept with each
snapshot; after a restart it continues with the records after the snapshot.
"""

from __future__ import annotations

import threading
from typing import Any

import msgspec

from unipac.deployment.store import Record

MOST = 400
"""The most bins."""
LATER = 256
"""How many records are put aside before they are read."""


class Bin(msgspec.Struct):
    """Some decisions in a row, and what happened while they were made."""

    seq: int
    """The number of the last event."""
    wall: float
    """The time of the last decision, in seconds since 1970."""
    decisions: int = 0
    certificates: float = 0.0
    """The sum of the finite certificates."""
    certified: int = 0
    """The number of finite certificates."""
    explored: int = 0
    rewards: int = 0
    reward: float = 0.0
    """The sum of rewards that came."""
    pending: int = 0
    """Decisions that wait at the end of the bin."""
    drift: float | None = None
    """The statistic of the drift alarm at the end of the bin; None where it is not known."""
    threshold: float | None = None

    def take(self, other: Bin) -> None:
        """Merge with the next bin."""
        for name in ("decisions", "certificates", "certified", "explored", "rewards", "reward"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("seq", "wall", "pending", "drift", "threshold"):
            setattr(self, name, getattr(other, name))


class Mark(msgspec.Struct):
    """Something that happened once."""

    seq: int
    kind: str
    """One of verdict, restart and refuted."""
    name: str = ""


class State(msgspec.Struct):
    """All of a series."""

    seq: int = -1
    """The number of the last event that was noted."""
    bins: list[Bin] = []
    width: int = 1
    """Decisions in a bin."""
    pending: int = 0
    decisions: int = 0
    explored: int = 0
    marks: list[Mark] = []
    settled: list[str] = []
    """Watched sets that have a verdict."""


class _Told(msgspec.Struct):
    """What is read of a record."""

    kind: str
    seq: int
    level: int = 0
    answer: tuple[Any, ...] = ()
    value: float | None = None
    verdicts: dict[str, Any] = {}
    verdict: Any = None
    refutes: bool = False
    name: str = ""


_told = msgspec.json.Decoder(_Told).decode
_state = msgspec.json.Decoder(State).decode
CERTIFICATE = 4
"""Its place in the answer of a record."""


class Series:
    """Collects what the page draws from every record of a deployment."""

    def __init__(self, windowed: bool, kept: bytes = b"") -> None:
        self._windowed = windowed
        self._state = _state(kept) if kept else State()
        self._later: list[tuple[int, bytes, float]] = []  # of each record its number, body and time alone
        self._lock = threading.RLock()  # snapshots are made in a thread

    def note(self, record: Record) -> None:
        """Take a record that was written, or that is read when a deployment is opened."""
        if record.kind != "actions":
            with self._lock:
                self._later.append((record.seq, record.rest, record.wall or 0.0))
                if len(self._later) >= LATER:
                    self._read()

    def alarm(self, statistic: float | None, threshold: float | None) -> None:
        """Note the statistic of the drift alarm, and its threshold."""
        with self._lock:
            self._read()
            if not self._state.bins:
                return
            self._state.bins[-1].drift, self._state.bins[-1].threshold = statistic, threshold

    @property
    def share_explored(self) -> float | None:
        """The share of all decisions that explored; None if there are none."""
        with self._lock:
            self._read()
            state = self._state
            return state.explored / state.decisions if state.decisions else None

    def kept(self) -> bytes:
        """All of it as JSON."""
        with self._lock:
            self._read()
            return msgspec.json.encode(self._state)

    def _read(self) -> None:
        later, self._later = self._later, []
        for seq, body, wall in later:
            if seq > self._state.seq:  # earlier ones were noted before the snapshot
                self._note(_told(body), wall)
                self._state.seq = seq

    def _note(self, told: _Told, wall: float) -> None:
        state = self._state
        if told.kind == "decide":
            if not state.bins or state.bins[-1].decisions >= state.width:
                self._make_room()
                state.bins.append(Bin(told.seq, wall))
            state.pending += 1
            state.decisions += 1
            last = state.bins[-1]
            last.decisions, last.wall = last.decisions + 1, wall
            if told.level > 0:
                last.explored += 1
                state.explored += 1
            certificate = told.answer[CERTIFICATE] if len(told.answer) > CERTIFICATE else None
            if isinstance(certificate, (int, float)):
                last.certificates, last.certified = last.certificates + certificate, last.certified + 1
        elif told.kind == "reward":
            if state.bins and told.value is not None:
                state.bins[-1].rewards += 1
                state.bins[-1].reward += told.value
            state.pending -= not self._windowed
        elif told.kind in ("release", "forget"):
            state.pending -= 1
        elif told.kind == "restart":
            state.marks.append(Mark(told.seq, "restart"))
        for name in (*told.verdicts, *([told.name] if told.verdict is not None else ())):
            if name not in state.settled:
                state.settled.append(name)
                state.marks.append(Mark(told.seq, "verdict", name))
        if told.refutes:
            state.marks.append(Mark(told.seq, "refuted"))
        if state.bins:
            state.bins[-1].seq, state.bins[-1].pending = told.seq, state.pending

    def _make_room(self) -> None:
        state = self._state
        if len(state.bins) < MOST:
            return
        for first, second in zip(state.bins[::2], state.bins[1::2], strict=False):
            first.take(second)
        state.bins, state.width = state.bins[::2], 2 * state.width
