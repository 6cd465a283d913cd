"""One thread writes the events of all deployments; each commit takes what was queued while the last one ran.

A commit that fails ends the process: the memory is then ahead of the disk, and a failed sync must not be repeated, as
the system may have dropped what it could not write.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from unipac.serve import journal
from unipac.serve.database import Database, Lost, Row, Unreachable

T = TypeVar("T")

FAILED = 70
"""The exit code after a commit that failed; a supervisor starts the service again."""
LINGER = 0.002
"""Seconds for which a commit waits for more rows, if several answers wait already."""


class Writer(threading.Thread):
    """Commits rows in groups, and wakes those who wait for them."""

    def __init__(self, database: Database, linger: float = LINGER) -> None:
        super().__init__(daemon=True, name="unipac writer")
        self.database, self.linger = database, linger
        self.queued = self.durable = 0  # rows handed in, and rows on the disk, since the start
        self.commits, self.seconds = 0, 0.0
        self.troubled = ""  # why the database does not answer; empty if it does
        self.ours_until = float("inf") if database.lease is None else 0.0
        self._rows: list[Row] = []
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._ending = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[tuple[int, int, asyncio.Future[None]]] = deque()
        self._beats = 0
        self._due = self._roused = False  # whether the thread must write, and whether ``rouse`` is scheduled

    # -- from other threads --------------------------------------------------------------------------------

    def put(self, rows: Sequence[Row]) -> None:
        """Queue rows; they are written in this order, once somebody waits for them or ``rouse`` is called."""
        with self._changed:
            self._rows += rows
            self.queued += len(rows)

    def rouse(self) -> None:
        """Write what is queued."""
        self._roused = False
        if self.queued > self.durable or time.monotonic() > self.ours_until:
            with self._changed:
                self._due = True
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until everything queued so far is on the disk."""
        self.rouse()
        with self._changed:
            target = self.queued
            self._changed.wait_for(lambda: self.durable >= target)

    def do(self, job: Callable[[], T]) -> T:
        """Let the thread write something else after the next commit; wait for its result and return it.

        As with a commit, an error ends the process, unless it is that the database does not answer.
        """
        done: Future[T] = Future()

        def wrapped() -> None:
            try:
                done.set_result(job())
            except Unreachable as error:
                done.set_exception(error)

        with self._changed:
            if self._ending:  # nobody would do it
                raise Unreachable("the service ends")
            self._jobs.append(wrapped)
            self._changed.notify_all()
        return done.result()

    def end(self) -> None:
        """Write what is queued, and stop."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self.join()

    # -- from the event loop ---------------------------------------------------------------------------------

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the loop in which answers wait."""
        self._loop = loop

    @property
    def waiting(self) -> int:
        """How many answers wait for the disk."""
        return len(self._waiting)

    async def on_disk(self) -> None:
        """Wait until everything queued so far is on the disk, and no other instance can have begun to write."""
        rows = self.queued
        if rows > self.durable:
            await self._until(rows, 0)
        while time.monotonic() > self.ours_until:  # the process may have been suspended
            await self._until(rows, self._beats + 1)

    async def _until(self, rows: int, beats: int) -> None:
        assert self._loop is not None
        future = self._loop.create_future()
        self._waiting.append((rows, beats, future))
        if not self._roused:  # first all present requests queue their rows, so that one commit serves them
            self._roused = True
            self._loop.call_soon(self.rouse)
        await future

    def _wake(self) -> None:
        """Wake those whose rows are on the disk; runs in the loop's thread."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= self.durable and waiting[0][1] <= self._beats:
            future = waiting.popleft()[2]
            if not future.done():  # its client may have gone
                future.set_result(None)

    # -- the thread ------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Commit rows, renew leases and do jobs, until the end."""
        try:
            while self._step():
                pass
        except BaseException as error:
            why = "lost" if isinstance(error, Lost) else "failed"
            journal.line(f"commit {why}", error=str(error) or type(error).__name__, exit=FAILED)
            os._exit(FAILED)

    def _step(self) -> bool:
        lease = self.database.lease
        with self._changed:
            if not (self._due or self._jobs or self._ending):
                self._changed.wait(None if lease is None else lease / 3)
            self._due, several = False, len(self._waiting) > 1
        if several and self.linger and not self._ending:
            time.sleep(self.linger)
        beaten = self._beat()
        with self._changed:
            rows, self._rows = self._rows, []
            jobs = [self._jobs.popleft() for _ in range(len(self._jobs))]
            ending = self._ending
        if rows:
            begin = time.perf_counter()
            self.database.commit(rows)
            self.commits, self.seconds = self.commits + 1, self.seconds + time.perf_counter() - begin
        if rows or beaten:
            with self._changed:
                self.durable += len(rows)
                self._beats += beaten
                self._changed.notify_all()
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._wake)
        for job in jobs:
            job()
        return not (ending and not self._rows and not self._jobs)

    def _beat(self) -> bool:
        """Renew the leases if that is due; returns whether they were. If the database does not answer, try again."""
        lease = self.database.lease
        if lease is None or time.monotonic() < self.ours_until - lease * 2 / 3:
            return False
        while True:
            begin = time.monotonic()
            try:
                self.database.beat()
                self.ours_until, self.troubled = begin + lease, ""
                return True
            except Unreachable as error:
                if not self.troubled:
                    journal.line("database unreachable", error=str(error))
                self.troubled = str(error)
                if begin > self.ours_until + 10 * lease:
                    raise
                time.sleep(min(0.1, lease / 10))
