"""``unipac demo``: certificates beside the truth in five small worlds, and a page that says what came out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from unipac import __version__
from unipac.cli.console import Strict, err, out, safe, seconds, typed
from unipac.cli.exits import NOT_SEEN, USAGE


def demo(
    folder: Annotated[
        Path,
        typer.Option("--out", help="Folder of the page and its numbers. Example: --out results/look."),
    ] = Path("results/demo"),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A small size, in which little can be concluded. Example: unipac demo --quick."
        ),
    ] = False,
    strict: Strict = False,
) -> None:
    """Show certificates at work: a router of requests, real data, FrozenLake, a river, and OFUL's weak spot.

    It takes half a minute, and a minute or two more when kernels are compiled, once per installation. The page works
    offline. Example: unipac demo
    """
    from unipac.demo import running

    begin = time.perf_counter()
    try:
        found = running.play(quick, engine="processes", watch=lambda words: out.print(words, soft_wrap=True))
    except ImportError as error:
        err.print(f"unipac: {safe(error)}", soft_wrap=True)
        raise typer.Exit(USAGE) from error
    details = {"command": typed(), "version": f"unipac {__version__}"}
    page = running.write(found, folder, details)
    every = [finding for part in running.tell(found) for finding in part.findings]
    for part in running.tell(found):
        out.print(
            f"\n[bold]{safe(part.question)}[/]\n  {safe(part.number)} {safe(part.meaning)}", soft_wrap=True
        )
        for finding in part.findings:
            color = {True: "green", False: "red", None: "yellow"}[finding.seen]
            told = f"{safe(finding.prediction)} [dim]{safe(finding.observation)}[/]"
            out.print(f"  [{color}]{finding.verdict:>11}[/]  {told}", soft_wrap=True)
    out.print(f"\nPage: {safe(page)} ({seconds(time.perf_counter() - begin)})", soft_wrap=True)
    if strict and any(finding.seen is False for finding in every):
        raise typer.Exit(NOT_SEEN)
