"""``unipac new``: a folder with an experiment that runs, to begin your own with."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from unipac.cli.console import err, out, safe
from unipac.cli.exits import USAGE

FILES = ("README.md", "config.toml", "my_agent.py", "my_instance.py", "test_my_agent.py")
TITLE = "my-experiment"
"""The placeholder in the templates for the name of the folder."""


def new(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the folder to make, here: letters, digits, - and _. Example: unipac new shop.",
            show_default=False,
        ),
    ],
) -> None:
    """Make a folder with an experiment that runs: its file, an agent and an instance of your own, a test.

    Example: unipac new shop, then cd shop, unipac run config.toml, unipac report results/config
    """
    try:
        made = make(name, Path())
    except (OSError, ValueError) as error:
        err.print(f"unipac: {safe(error)}", soft_wrap=True)
        raise typer.Exit(USAGE) from error
    out.print(f"{safe(made)} has {', '.join(FILES)}. Next:", soft_wrap=True)
    for line in (f"cd {made}", "unipac run config.toml", "unipac report results/config"):
        out.print(f"    [cyan]{safe(line)}[/]", soft_wrap=True)
    out.print("    [cyan]python -m pytest[/]    (after pip install pytest)", soft_wrap=True)


def make(name: str, parent: Path) -> Path:
    """Make the folder ``name`` in ``parent``, completely or not at all."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        raise ValueError(
            f"NAME must be 1 to 64 letters, digits, - and _, the first a letter, got {name[:80]!r}"
        )
    target = parent / name
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ValueError(f"NAME must be that of a new folder, but {target} is there and is no folder")
    if target.is_dir() and any(target.iterdir()):
        raise ValueError(f"NAME must be that of a new or empty folder, but {target} has files in it")
    room = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=parent))
    try:
        unfinished = room / name
        unfinished.mkdir()
        for file in FILES:
            text = resources.files("unipac.cli").joinpath("template", file).read_text(encoding="utf-8")
            (unfinished / file).write_text(text.replace(TITLE, name), encoding="utf-8")
        os.rename(unfinished, target)  # fails if somebody has put files there meanwhile
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return target
