"""Where commands print, and text that is safe to print."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from unipac._text import printable

out = Console(highlight=False, width=None if sys.stdout is not None and sys.stdout.isatty() else 120)
err = Console(stderr=True, highlight=False)

EXIT_CODES = (
    "Exit codes: 0 all well; 1 some cells failed; 2 something is wrong with the command, a file or a folder;"
    " 3 with --strict, a prediction was not seen; 130 interrupted; 143 terminated."
)
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with code 3, not 0, if a prediction is not seen. Example: --strict."),
]
"""The option of commands that judge predictions."""


def safe(text: object) -> str:
    """Escape foreign text, so that it can neither add markup nor control the terminal."""
    return escape(printable(str(text)))


def seconds(value: float) -> str:
    """A duration with a unit, rounded."""
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s" if value < 600 else f"{value / 60:,.0f} min"


def typed() -> str:
    """The command line that the user typed."""
    return shlex.join(["unipac", *sys.argv[1:]])
