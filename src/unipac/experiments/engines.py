"""Engines compute cells: in this process, in worker processes, or on a Dask cluster.

The engines "many" and "cuda" compute all seeds of an agent on an instance at once: see ``many``.

An engine runs up to ``slots`` functions at a time and returns ``concurrent.futures`` futures. The results
do not depend on the engine: each cell is computed by one thread from its own seeds.
"""

from __future__ import annotations

import enum
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, Protocol

from unipac import _jit

_THREADS = ("OPENBLAS", "OMP", "MKL", "NUMBA")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in _THREADS} | {"POLARS_MAX_THREADS": "1"}
"""The environment variables of a worker."""


class Note(enum.Enum):
    """A message that a worker may send before its answer."""

    COMPILING = enum.auto()


class EngineError(Exception):
    """The engine cannot be used; the message says why."""


class Engine(Protocol):
    """An object that computes cells."""

    slots: int
    """The number of futures that may be under way at once."""
    in_background: bool
    """Whether ``submit`` returns before the work is done."""
    deaths: int
    """The number of workers that a cell has killed when its future reports that the worker died."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start to compute ``function(*arguments)``."""

    def died(self, error: BaseException) -> bool:
        """Whether this error means that the worker died."""

    def close(self) -> None:
        """End the workers."""


def check(name: str, workers: int | None = None) -> None:
    """Refuse an unknown engine, or fewer than one worker."""
    kind, equals, _ = name.partition("=")
    if kind not in ("serial", "processes", "dask", "many", "cuda") or (equals and kind != "dask"):
        raise EngineError(
            f"engine must be serial, processes, dask, dask=tcp://host:port, many or cuda, got {name!r}"
        )
    if workers is not None and workers < 1:
        raise EngineError(f"workers must be at least 1, got {workers}")


def start(name: str, workers: int | None = None) -> Engine:
    """Start an engine.

    Args:
        name: "serial", "processes", "dask", or "dask=tcp://host:port".
        workers: the number of workers; one per core by default.
    """
    check(name, workers)
    kind, _, address = name.partition("=")
    count = _cores() if workers is None else workers
    if kind == "serial":
        return Serial()
    return Processes(count) if kind == "processes" else Dask(count, address)


def _cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Serial:
    """Computes in this process."""

    slots = 1
    in_background = False
    deaths = 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Compute, and return a future that is done."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def died(self, error: BaseException) -> bool:
        """Return False: there is no worker."""
        return False

    def close(self) -> None:
        """Do nothing: there is no worker."""


class Task(Future[Any]):
    """A future that knows whether its worker has begun to compile kernels."""

    compiling = False


class WorkerError(Exception):
    """A worker ended before it sent its answer, for any reason."""


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection
    """The system closes the connection when the process ends, so a reader notices."""


class Processes:
    """Worker processes, each with its own connection: if one dies, its cell is the one that killed it."""

    in_background = True
    deaths = 1

    def __init__(self, workers: int) -> None:
        self.slots = workers
        self._workers: list[_Worker | None] = [None] * workers
        self._busy: list[Future[Any] | None] = [None] * workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Send the work to a free worker; replace the worker if it has died."""
        slot = next(i for i, future in enumerate(self._busy) if future is None or future.done())
        worker = self._workers[slot]
        if worker is None or not worker.process.is_alive():
            self._workers[slot] = worker = _started()
        future = Task()
        self._busy[slot] = future
        waiting = threading.Thread(target=_ask, args=(worker, future, function, arguments), daemon=True)
        waiting.start()
        return future

    def died(self, error: BaseException) -> bool:
        """Whether the worker died."""
        return isinstance(error, WorkerError)

    def close(self) -> None:
        """End the workers, even in the middle of a cell."""
        processes = [worker.process for worker in self._workers if worker is not None]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(timeout=3)
            process.kill()
            process.join()


def _started() -> _Worker:
    spawn = multiprocessing.get_context("spawn")  # forked processes would hang in the threads of polars
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(theirs,))
    try:
        with _environment(ONE_THREAD):  # the process inherits these variables
            process.start()
    except OSError as error:
        raise EngineError(f"cannot start a worker: {error.strerror or error}") from None
    theirs.close()
    return _Worker(process, ours)


def _ask(worker: _Worker, future: Task, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Send work to a worker, wait for the answer, and put it into the future."""
    try:
        worker.connection.send((function, arguments))
        while isinstance(answer := worker.connection.recv(), Note):
            future.compiling = True
    except (EOFError, OSError):
        worker.process.join()
        future.set_exception(WorkerError(f"exit code {worker.process.exitcode}"))
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(answer)


def _serve(connection: Connection) -> None:
    """The loop of a worker: compute what it receives, until the connection is closed."""
    _prepare_worker()
    _jit.tell(lambda: connection.send(Note.COMPILING))
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        connection.send(function(*arguments))


class Dask:
    """A Dask cluster: one on this machine, or the one at an address."""

    in_background = True
    deaths = 2

    def __init__(self, workers: int, address: str) -> None:
        try:
            import dask
            import distributed
        except ImportError:
            raise EngineError('the dask engine needs: pip install "unipac[dask]"') from None
        self._killed = distributed.KilledWorker
        self._cluster = None
        self._settings = dask.config.set(
            {
                "distributed.scheduler.allowed-failures": self.deaths - 1,
                "distributed.nanny.pre-spawn-environ": ONE_THREAD | {"MALLOC_TRIM_THRESHOLD_": 65536},
            }
        )
        self._settings.__enter__()
        try:
            if address:
                self._client = distributed.Client(address, timeout=10)
            else:
                self._cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
                )
                self._client = distributed.Client(self._cluster)
        except (OSError, RuntimeError, ValueError) as error:
            self._settings.__exit__(None, None, None)
            raise EngineError(f"no Dask scheduler answers at {address}: {error}") from None
        self._executor = self._client.get_executor(pure=False)
        self.slots = 2 * max(sum(self._client.nthreads().values()), 1)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Send the work to the scheduler, which gives it to another worker if the first one dies."""
        return self._executor.submit(function, *arguments)  # type: ignore[no-any-return]

    def died(self, error: BaseException) -> bool:
        """Whether the cell has killed as many workers as the scheduler allows."""
        return isinstance(error, self._killed)

    def close(self) -> None:
        """Disconnect from the cluster; end it if this engine started it."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close(timeout=10)
        self._settings.__exit__(None, None, None)


def _prepare_worker() -> None:
    """Let this worker end when its parent ends, even by kill -9; only the parent reacts to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and restore them at the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
