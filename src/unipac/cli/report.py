"""``unipac report``: figures, numbers and findings of a run, as one page or as pictures."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unipac import __version__
from unipac.cli import completion as completing
from unipac.cli.console import Strict, out, safe, typed
from unipac.cli.exits import NOT_SEEN


class Format(enum.StrEnum):
    """The format of a report: one page, or pictures."""

    HTML = "html"
    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


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
    strict: Strict = False,
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

    The HTML file holds all it needs and works offline; pictures go to DIR/figures. Options that are left out are
    taken from the table `report` in the experiment's file.
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
    files = reports.build(sections, folder, format=format.value, command=typed(), title=title, details=made)
    everything = [finding for section in sections for finding in reports.findings(section)]
    missed = [finding for finding in everything if finding.seen is False]
    for finding in missed:
        out.print(
            f"[red]NOT seen[/]  {safe(finding.prediction)} [dim]{safe(finding.observation)}[/]",
            soft_wrap=True,
        )
    out.print(
        f"{sum(finding.seen is True for finding in everything)} of {len(everything)} predictions seen, "
        f"{len(missed)} not seen, {sum(finding.seen is None for finding in everything)} not decided"
    )
    if format is Format.HTML:
        out.print(f"Report: {safe(files[0])}", soft_wrap=True)
    else:
        out.print(f"{len(files)} pictures in {safe(folder / 'figures')}", soft_wrap=True)
    if strict and missed:
        raise typer.Exit(NOT_SEEN)


def _renamed(pairs: Sequence[str]) -> dict[str, str]:
    """Old labels with their new ones, from ``old=new``; an old label may contain "=", a new one may not."""
    from unipac.experiments import SpecError

    for pair in pairs:
        if "=" not in pair:
            raise SpecError(f"--label: must be OLD=NEW, got {pair!r}")
    return dict(pair.rsplit("=", 1) for pair in pairs)
