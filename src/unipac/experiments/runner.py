"""Run experiments: compute the cells that are missing, and store each when it is finished."""

from __future__ import annotations

import datetime
import platform
import queue
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from unipac.experiments import engines, many
from unipac.experiments.playing import Broken, Computed, try_to_compute
from unipac.experiments.spec import Cell, Spec
from unipac.experiments.store import Store

DEATHS_ALLOWED = 2
"""A cell that has killed this many workers is given up."""


class Failure(NamedTuple):
    """A cell that could not be computed.

    >>> Failure("mine", None, "RuntimeError: no luck", details="").reason
    'RuntimeError: no luck'
    """

    experiment: str
    """The name of the experiment."""
    cell: Cell
    """Agent, instance and seed."""
    reason: str
    """The error in one line."""
    details: str
    """The traceback; empty if there is none."""


class Progress(NamedTuple):
    """The progress of a run.

    >>> import tempfile
    >>> from unipac.experiments import parse
    >>> seen = []
    >>> outcome = run([(parse(tables, name="mine"), Path(tempfile.mkdtemp()))], watch=seen.append)
    >>> [(progress.finished, progress.cells) for progress in seen][-1]
    (1, 1)
    """

    cells: int
    """The number of cells."""
    finished: int
    """The number of finished cells, including those of earlier runs."""
    rounds: int
    """The number of rounds to play in this run."""
    played: int
    """The number of rounds played so far in this run."""
    latest: tuple[str, Cell, Computed] | None
    """The experiment, the cell and the result that was finished last; None if this call reports no cell."""
    compiling: bool = False
    """Whether a worker is compiling kernels, which happens once per installation."""


class Outcome(NamedTuple):
    """The outcome of a run.

    >>> Outcome(cells=10, finished=9, computed=4, failures=[]).finished       # 5 of them in a former run
    9
    """

    cells: int
    """The number of cells."""
    finished: int
    """The number of finished cells, including those of earlier runs."""
    computed: int
    """The number of cells that this run computed."""
    failures: list[Failure]
    """The cells that could not be computed."""


class _Job(NamedTuple):
    spec: Spec
    store: Store
    cell: Cell


def run(
    parts: Sequence[tuple[Spec, Path]],
    *,
    engine: str = "serial",
    workers: int | None = None,
    command: str | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Compute the missing cells of some experiments.

    Args:
        parts: each experiment with its folder.
        engine: "serial", "processes", "dask" or "dask=tcp://host:port". A script that asks for processes must
            guard its entry by ``if __name__ == "__main__"``. "many" and "cuda" play all seeds of an agent on an
            instance at once, by ``unipac.play_many``, on the cores or on a GPU; their rounds have other draws.
        workers: the number of workers, for the engines that have them; one per core by default.
        command: the command that the user typed, for the report.
        watch: called with the progress: at the start, after each cell, and about every 0.2 s in between.

    Returns:
        How many cells are finished, and which ones failed. If a cell fails, the others are still computed. Cells
        that an earlier run finished are not computed again.

    Example:
        >>> import tempfile
        >>> from unipac.experiments import parse
        >>> outcome = run([(parse(tables, name="mine"), Path(tempfile.mkdtemp()))])
        >>> outcome.cells, outcome.finished, outcome.failures
        (1, 1, [])
    """
    engines.check(engine, workers)
    device = many.DEVICES.get(engine)
    if device is not None:
        for spec, _ in parts:
            many.check(spec, device)
        parts = [(replace(spec, at_once=True), folder) for spec, folder in parts]
    with ExitStack() as stack:
        jobs: deque[_Job] = deque()
        total = finished = 0
        for spec, folder in parts:
            store = Store(folder)
            stack.enter_context(store.alone())
            done = store.open(spec)
            cells = list(spec.cells())
            missing = [_Job(spec, store, cell) for cell in cells if cell.name not in done]
            jobs.extend(_kinds_in_turn(missing))
            total += len(cells)
            finished += len(cells) - len(missing)
            if missing:
                store.note({"run": describe(command, engine, workers)})
        watched = watch or (lambda progress: None)
        rounds = sum(job.cell.instance.rounds for job in jobs)
        begun = Progress(total, finished, rounds, 0, None)
        watched(begun)
        if not jobs:
            return Outcome(total, finished, 0, [])
        if device is not None:
            return _run_at_once(jobs, device, workers, begun, watched)
        started = engines.start(engine, min(workers, len(jobs)) if workers else workers)
        stack.callback(started.close)
        return _run(jobs, started, begun, watched)


def _run(
    jobs: deque[_Job], engine: engines.Engine, progress: Progress, watch: Callable[[Progress], None]
) -> Outcome:
    under_way: dict[Future[Any], _Job] = {}
    done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    deaths: Counter[tuple[int, str]] = Counter()
    failures: list[Failure] = []
    computed = 0

    def begin() -> None:
        while jobs and len(under_way) < engine.slots:
            job = jobs.popleft()
            future = engine.submit(try_to_compute, job.cell, job.spec.folder)
            under_way[future] = job
            future.add_done_callback(done.put)

    def show() -> None:
        watch(progress._replace(latest=None, compiling=_compiling(under_way)))

    while jobs or under_way:
        begin()
        future = _next(done, show)
        job = under_way.pop(future)
        error = future.exception()
        key = (id(job.store), job.cell.name)
        if error is None and isinstance(future.result(), Broken):
            failures.append(Failure(job.spec.name, job.cell, *future.result()))
        elif error is None:
            result: Computed = future.result()
            if engine.in_background:
                begin()  # before this cell is written, so that no worker waits for the disk
            _keep(job, result)
            computed += 1
            progress = _went_on(progress, job, result, _compiling(under_way))
            watch(progress)
        elif engine.died(error):
            deaths[key] += engine.deaths
            if deaths[key] < DEATHS_ALLOWED:
                jobs.append(job)
            else:
                reason = f"killed its worker {deaths[key]} times (out of memory?)"
                failures.append(Failure(job.spec.name, job.cell, reason, ""))
        else:
            reason = f"{type(error).__name__}: {error}"
            details = "".join(traceback.format_exception(error))
            failures.append(Failure(job.spec.name, job.cell, reason, details))
    return Outcome(progress.cells, progress.finished, computed, failures)


def _run_at_once(
    jobs: Iterable[_Job],
    device: str,
    workers: int | None,
    progress: Progress,
    watch: Callable[[Progress], None],
) -> Outcome:
    """Play all seeds of an agent on an instance at once; a pair that fails is a failure of all its cells."""
    failures: list[Failure] = []
    computed = 0
    for group in _seeds_together(jobs, many.AT_ONCE[device]):
        cells, first = [job.cell for job in group], group[0]
        watch(progress._replace(latest=None))
        try:
            results = many.compute(many.made(first.cell, first.spec.folder), cells, device, workers)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            failures += [Failure(job.spec.name, job.cell, reason, traceback.format_exc()) for job in group]
            continue
        for job, result in zip(group, results, strict=True):
            _keep(job, result)
            computed += 1
            progress = _went_on(progress, job, result, False)
            watch(progress)
    return Outcome(progress.cells, progress.finished, computed, failures)


def _seeds_together(jobs: Iterable[_Job], most: int) -> Iterator[list[_Job]]:
    """Jobs of one agent on one instance whose seeds follow one another, of at most so many rounds in all."""
    pairs: dict[tuple[int, str, str], list[_Job]] = {}
    for job in jobs:
        pairs.setdefault((id(job.store), job.cell.agent.label, job.cell.instance.label), []).append(job)
    for pair in pairs.values():
        pair.sort(key=lambda job: job.cell.seed)
        largest = max(1, most // pair[0].cell.instance.rounds)
        begin = 0
        for i in range(1, len(pair) + 1):
            if i == len(pair) or pair[i].cell.seed != pair[i - 1].cell.seed + 1 or i - begin == largest:
                yield pair[begin:i]
                begin = i


def _keep(job: _Job, result: Computed) -> None:
    job.store.commit(job.cell, result.parquet)
    job.store.note(
        {
            "cell": job.cell.name,
            "seconds": result.seconds,
            "rounds": result.checkpoints,
            "elapsed": result.elapsed,
            "compiling": result.compiling,
        }
    )


def _went_on(progress: Progress, job: _Job, result: Computed, compiling: bool) -> Progress:
    return progress._replace(
        finished=progress.finished + 1,
        played=progress.played + job.cell.instance.rounds,
        latest=(job.spec.name, job.cell, result),
        compiling=compiling,
    )


def _kinds_in_turn(jobs: Sequence[_Job]) -> list[_Job]:
    """Sort by seed and, within a seed, alternate kinds of agents: then workers first compile different kernels."""
    before: Counter[tuple[int, str]] = Counter()
    places = []
    for job in jobs:
        key = (job.cell.seed, job.cell.agent.kind)
        places.append((job.cell.seed, before[key]))
        before[key] += 1
    order = sorted(range(len(jobs)), key=places.__getitem__)
    return [jobs[i] for i in order]


def _compiling(under_way: Iterable[Future[Any]]) -> bool:
    return any(getattr(future, "compiling", False) for future in under_way)


def _next(done: queue.SimpleQueue[Future[Any]], meanwhile: Callable[[], None]) -> Future[Any]:
    """Wait for the next future that is done; the wait is interrupted now and then, so that Ctrl-C works at once."""
    while True:
        try:
            return done.get(timeout=0.2)
        except queue.Empty:
            meanwhile()


def describe(command: str | None, engine: str, workers: int | None) -> dict[str, Any]:
    """When a run started, by which command, on which machine and with which versions."""
    return {
        "command": command,
        "engine": engine,
        "workers": workers,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "versions": versions(),
    }


def versions() -> Mapping[str, str]:
    """The versions of the libraries on which the bytes of a result depend."""
    return {name: metadata.version(name) for name in ("unipac", "numpy", "numba", "scipy", "polars")}


def _processor() -> str:
    """The name of the processor, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
