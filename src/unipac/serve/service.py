"""All deployments of an instance: which it writes, who writes the others, windows, snapshots, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from unipac import _warm
from unipac.serve import journal, specs
from unipac.serve.config import MOST_DEPLOYMENTS, Config
from unipac.serve.database import Broken, Database, Listed, Unreachable
from unipac.serve.held import Held
from unipac.serve.metrics import Metrics
from unipac.serve.problems import Problem
from unipac.serve.specs import Spec
from unipac.serve.tokens import Token, read as read_tokens
from unipac.serve.writer import FAILED, Writer

DAMAGED = 3
"""The exit code if a log is not as it was written."""
TICK = 0.05
"""Seconds between two checks for windows that have ended."""
MOST_WAITING = 4096
"""The most answers that may wait for the disk."""


def opened(config: Config) -> Database:
    """The database of a configuration."""
    kind, _, rest = config.store.partition(":")
    if kind == "sqlite":
        from unipac.serve.sqlite import Sqlite

        return Sqlite(rest)
    try:
        from unipac.serve.postgres import Postgres
    except ModuleNotFoundError:
        raise ValueError('store must have psycopg for PostgreSQL: pip install "unipac[postgres]"') from None
    return Postgres(config.store, config.address, config.lease)


def _compile(spec: Spec) -> None:
    """Load or compile the kernels of an agent of the library, so that no request waits for it."""
    if spec.own is None:
        _compiled(type(spec.agent).__name__)


@functools.cache
def _compiled(name: str) -> None:
    _warm.warm([name])


def _started(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start a task that the service cannot do without: if it fails, the process ends."""
    task = asyncio.create_task(work)
    task.add_done_callback(_ended)
    return task


def _ended(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _fail(error)


def _fail(error: BaseException) -> None:
    """End the process: it cannot go on, and must not seem to have ended well."""
    code = DAMAGED if isinstance(error, Broken) else FAILED
    journal.line("failed", error=f"{type(error).__name__}: {error}", exit=code)
    os._exit(code)


class Service:
    """What an instance has in memory."""

    def __init__(self, config: Config, database: Database) -> None:
        self.config, self.database = config, database
        self.writer = Writer(database, config.linger)
        self.held: dict[str, Held] = {}
        self.others: dict[str, str | None] = {}
        """Deployments that are not ours, with the address of the instance that writes them."""
        self.tokens: list[Token] | None = None
        self.metrics = Metrics(self)
        self.read_tokens()
        self._tasks: list[asyncio.Task[None]] = []
        self._checkpoints: asyncio.Task[None] | None = None
        self._taking = threading.Lock()  # a deployment is opened once, whoever asks for it
        self._creating = threading.Lock()  # there are never more than MOST_DEPLOYMENTS
        self._ending = False

    def read_tokens(self) -> None:
        """Read the file of tokens, now or again; without one everybody on this machine may do everything."""
        if self.config.tokens is not None:
            self.tokens = read_tokens(self.config.tokens)
            journal.line("tokens", count=len(self.tokens))

    # -- beginning -------------------------------------------------------------------------------------------

    def open_all(self) -> None:
        """Open what the file names and what the database has, where nobody else writes it."""
        self.writer.start()
        for name, spec in self.config.deployments.items():
            _compile(spec)  # whoever writes it now: this instance may take it over
            self._created(name, spec)
        self.take_over()

    def _created(self, name: str, spec: Spec) -> Listed:
        """The deployment in the database, made now if it is not there; the same spec must have made it."""
        listed = next((one for one in self.database.listed() if one.name == name), None)
        if listed is None:
            listed = self.writer.do(functools.partial(self.database.create, name, spec.kept))
        other = specs.differing(listed.spec, spec.kept)
        if other:
            words = " and ".join(other)
            raise Problem(409, f"deployment {name} must be what it was made as, got another {words}")
        return listed

    def take_over(self) -> None:
        """Open every deployment that nobody writes."""
        for listed in self.database.listed():
            self._take(listed)

    def _take(self, listed: Listed) -> None:
        with self._taking:
            if self._ending:
                self.others.setdefault(listed.name, None)
            elif listed.name not in self.held:
                self._open(listed)

    def _spec(self, listed: Listed) -> Spec | None:
        """The spec of a deployment; None if only the file of another instance can give it."""
        spec = self.config.deployments.get(listed.name)
        if spec is not None:
            return spec
        try:
            return specs.made(specs.read(listed.spec), modules=False)
        except ValueError as error:
            if listed.name not in self.others:
                journal.line("not ours", deployment=listed.name, error=str(error))
            self.others.setdefault(listed.name, None)
            return None

    def _open(self, listed: Listed) -> None:
        spec = self._spec(listed)
        if spec is None:
            return
        _compile(spec)
        lease = self.database.take(listed.number)
        if lease.epoch is None:
            self.others[listed.name] = lease.address
            return
        self.others[listed.name] = None
        begin = time.perf_counter()
        held = Held(listed.name, spec, listed.number, self.database, self.writer)
        self.held[listed.name] = held
        del self.others[listed.name]
        seconds = round(time.perf_counter() - begin, 3)
        journal.line(
            "open", deployment=listed.name, seq=held.log.position().seq, epoch=lease.epoch, seconds=seconds
        )

    # -- deployments -------------------------------------------------------------------------------------------

    def of(self, name: str) -> Held:
        """The deployment of a name, if it is ours and there is room for a request."""
        held = self.held.get(name)
        if held is None:
            if name not in self.others:
                raise Problem(404, f"deployment must be one of this service, got {name!r}")
            address = self.others[name]
            if address is None or address == self.config.address:
                raise Problem(503, "no instance writes this deployment yet")
            raise Problem(421, "another instance writes this deployment", address=address)
        if self.writer.troubled:
            raise Problem(503, "the database does not answer")
        if self.writer.waiting >= MOST_WAITING:
            raise Problem(503, "too many requests wait for the disk")
        return held

    def create(self, name: str, table: Any) -> int:
        """A deployment by API: 201, or 200 if it is there already."""
        spec = specs.made(table, modules=False)
        _compile(spec)  # before any lock, since it may take a minute
        with self._creating:
            known = name in self.held or name in self.others
            if not known and len(self.held) + len(self.others) >= MOST_DEPLOYMENTS:
                raise Problem(422, f"deployments must be at most {MOST_DEPLOYMENTS}, got one more")
            self._take(self._created(name, spec))
        if name not in self.held:
            self.of(name)
        return 200 if known else 201

    # -- while it runs -------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def life(self, app: Any) -> Any:
        """The lifespan of the application: start the tasks, and end them after the last request."""
        self.writer.attach(asyncio.get_running_loop())
        self._tasks = [_started(self._windows())]
        if self.database.lease is not None:
            self._tasks.append(_started(self._look_for_leases(self.database.lease)))
        journal.line("ready", address=self.config.address, deployments=sorted(self.held))
        try:
            yield
        finally:
            try:
                await self._end()
            except Exception as error:
                _fail(error)

    async def _windows(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            for held in list(self.held.values()):
                held.tick()
            self.writer.rouse()
            if self._checkpoints is None or self._checkpoints.done():
                ours = list(self.held.values())
                due = [one.checkpoint for one in ours if self._is_due(one)]
                due += [one.trim for one in ours if one.holds_old]
                if due:
                    self._checkpoints = _started(self._in_turn(due))

    def _is_due(self, held: Held) -> bool:
        """Whether a snapshot is due: the more decisions wait, the longer it takes, and the rarer it is."""
        enough = max(self.config.snapshot_every, held.deployment.pending)
        return held.log.position().seq - held.snapshot_at >= enough

    async def _in_turn(self, works: Sequence[Callable[[], None]]) -> None:
        for work in works:
            await asyncio.to_thread(work)

    async def _look_for_leases(self, lease: float) -> None:
        while True:
            await asyncio.sleep(min(lease / 4, 1.0))
            with contextlib.suppress(Unreachable):
                await asyncio.to_thread(self.take_over)

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.to_thread(self._take_no_more)
        if self._checkpoints is not None:
            await self._checkpoints
        for held in self.held.values():
            await asyncio.to_thread(held.checkpoint)
            self._say_shut(held)
        await asyncio.to_thread(self.writer.end)
        self.database.give_back()
        self.database.close()

    def _take_no_more(self) -> None:
        """Wait for a deployment that is being opened in another thread; then the ones that are held stay the same."""
        with self._taking:
            self._ending = True

    def _say_shut(self, held: Held) -> None:
        """Log the last event of a deployment, and its digest."""
        journal.line(
            "shut", deployment=held.name, seq=held.log.position().seq, digest=held.deployment.digest()
        )
