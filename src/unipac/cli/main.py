"""The command ``unipac`` around its commands: missing packages, signals, output that nobody reads.

It imports nothing beyond Python, so that it can say what is missing.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from importlib.util import find_spec

from unipac._text import printable
from unipac.cli.exits import FAILED, USAGE, Stopped, listen

NEEDED = (
    "altair",
    "filelock",
    "jinja2",
    "markupsafe",
    "polars",
    "rich",
    "threadpoolctl",
    "typer",
    "vl_convert",
)
"""What the extra ``experiments`` brings."""


def main() -> None:
    """Run a command; errors are told in a sentence."""
    listen()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no ε shows a question mark
    code = 0
    try:
        missing = next((name for name in NEEDED if find_spec(name) is None), None)
        if missing is None:
            from unipac.cli import app as cli

            cli.app(prog_name="unipac")
        elif sys.argv[1:] == ["warm"]:  # it needs nothing but the library, as in an image without the extras
            from unipac._warm import warm

            print(warm(progress=True))
        else:
            raise ModuleNotFoundError(name=missing)  # now, and not when the first figure is drawn
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED
    except Stopped as stopped:
        _complain(str(stopped))
        code = stopped.code
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        _complain(f'{error.name} is missing; pip install "unipac[experiments]"')
        code = USAGE
    except Exception as error:
        if not _is_for_users(error):
            raise
        _complain(f"cannot write the output: {error.strerror}" if isinstance(error, OSError) else str(error))
        code = USAGE
    sys.exit(_flushed(code))


def _is_for_users(error: Exception) -> bool:
    """Whether an error speaks for itself."""
    if isinstance(error, OSError):  # of the standard output: those of files are told with their names
        return error.filename is None and error.errno in (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF)
    from unipac.experiments import SpecError, StoreError
    from unipac.experiments.engines import EngineError

    return isinstance(error, (SpecError, StoreError, EngineError))


def _complain(message: str) -> None:
    red, plain = ("\033[1;31m", "\033[0m") if sys.stderr is not None and sys.stderr.isatty() else ("", "")
    with contextlib.suppress(OSError):  # who closed it does not want to know
        print(f"{red}unipac:{plain} {printable(message)}", file=sys.stderr, flush=True)


def _flushed(code: int) -> int:
    """The exit code, once all output is written; a reader that left early, such as ``head``, is no error."""
    if sys.stdout is None:
        return code
    try:
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # Python would try once more at the very end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE and code == 0:
            _complain(f"cannot write the output: {error.strerror}")
            return USAGE
    return code
