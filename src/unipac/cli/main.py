"""The entry point of the command ``unipac``: it handles missing packages, signals, and closed output.

Its top-level imports are only Python and the library, so that it can name packages that are missing.
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
"""The packages that the extra ``experiments`` installs."""
NEEDED_TO_SERVE = ("starlette", "uvicorn", "httptools", "uvloop", "prometheus_client", "typer")
"""The packages that the extra ``serve`` installs."""
SERVING = ("serve", "token", "backup")
"""The commands that need only these packages."""
ALSO_SERVING = ("log", "-h", "--help", "")
"""What works if only these are installed; without a command the help is shown."""


def main() -> None:
    """Run a command; errors that a user can understand are printed as one sentence."""
    listen()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ε shows a question mark
    code, command = 0, (sys.argv[1:2] or [""])[0]
    serves = command in SERVING or (
        command in ALSO_SERVING and bool(_missing(NEEDED)) and not _missing(NEEDED_TO_SERVE)
    )
    needed = NEEDED_TO_SERVE if serves else NEEDED
    try:
        missing = _missing(needed)
        if missing is None and serves:
            from unipac.cli import serve

            serve.app(prog_name="unipac")
        elif missing is None:
            from unipac.cli import app as cli

            cli.app(prog_name="unipac")
        elif command == "warm":  # it needs no extras, so an image without them can be warmed
            from unipac._warm import warm

            try:
                print(warm(sys.argv[2:], progress=True))
            except ValueError as error:
                _complain(str(error))
                code = USAGE
        else:
            raise ModuleNotFoundError(name=missing)  # now rather than when the first figure is drawn
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED
    except Stopped as stopped:
        _complain(str(stopped))
        code = stopped.code
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in (*NEEDED, *needed):
            raise
        extra = "serve" if serves and name in NEEDED_TO_SERVE else "experiments"
        _complain(f'{error.name} is missing; pip install "unipac[{extra}]"')
        code = USAGE
    except Exception as error:
        if not _is_for_users(error):
            raise
        _complain(f"cannot write the output: {error.strerror}" if isinstance(error, OSError) else str(error))
        code = USAGE
    sys.exit(_flushed(code))


def _missing(needed: tuple[str, ...]) -> str | None:
    """The first of these packages that is not installed."""
    return next((name for name in needed if find_spec(name) is None), None)


def _is_for_users(error: Exception) -> bool:
    """Whether the message of an error is enough for a user, without a traceback."""
    if isinstance(error, OSError):  # an error of the standard output has no file name
        return error.filename is None and error.errno in (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF)
    from unipac.experiments import SpecError, StoreError
    from unipac.experiments.engines import EngineError

    return isinstance(error, (SpecError, StoreError, EngineError))


def _complain(message: str) -> None:
    red, plain = ("\033[1;31m", "\033[0m") if sys.stderr is not None and sys.stderr.isatty() else ("", "")
    with contextlib.suppress(OSError):  # stderr may be closed
        print(f"{red}unipac:{plain} {printable(message)}", file=sys.stderr, flush=True)


def _flushed(code: int) -> int:
    """Write all output and return the exit code; a reader that stops early, such as ``head``, is no error."""
    if sys.stdout is None:
        return code
    try:
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # Python would flush once more when it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE and code == 0:
            _complain(f"cannot write the output: {error.strerror}")
            return USAGE
    return code
