"""Report the cells that failed: on the screen, and in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from unipac._text import printable
from unipac.cli.console import err, safe

FILE = "failures.txt"
MARK = "unipac: cells that failed\n\n"


def tell(failures: Sequence[Any], folder: Path) -> None:
    """Print failures and write them to a file; if there are none, remove the file of an earlier run."""
    from unipac.experiments import files

    file = folder / FILE
    if not failures:
        files.remove(file, is_ours)
        return
    text = MARK + "\n".join(_described(failure) for failure in failures)
    files.write(file, text.encode(errors="backslashreplace"), is_ours)
    err.print(f"\n[bold red]{len(failures):,} {'cell' if len(failures) == 1 else 'cells'} failed:[/]")
    for failure in failures[:10]:
        err.print(f"  {safe(failure.cell)}: {safe(failure.reason)}", soft_wrap=True)
    if len(failures) > 10:
        err.print(f"  and {len(failures) - 10:,} more")
    err.print(f"Specs and tracebacks are in {safe(file)}; the same command tries again.", soft_wrap=True)


def is_ours(stream: BinaryIO) -> bool:
    """Whether a file is a list of failures that unipac wrote."""
    mark = MARK.encode()
    return stream.read(len(mark)) == mark


def _described(failure: Any) -> str:
    from unipac.experiments.spec import to_json

    spec = to_json(failure.cell.as_dict()).decode()
    return printable(f"{failure.experiment}: {failure.cell}\n{failure.reason}\n{spec}{failure.details}")
