"""``unipac serve``, ``token`` and ``backup``: a decision service, who may use it, and copies of what it knows."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import typer

from unipac.cli.exits import USAGE
from unipac.cli.log import show_log

app = typer.Typer(
    name="unipac",
    help='A durable decision service. Experiments, reports and data sets: pip install "unipac[experiments]".',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)
EXITS = "Exits with 0 after SIGTERM, 2 if the file does not fit, 3 if the log is damaged, 70 after a failed commit."

_File = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG.toml", help="The file of the service. Example: config.toml.", show_default=False
    ),
]


@app.callback()
def _root() -> None:
    pass


app.command("log")(show_log)


@app.command(epilog=EXITS)
def serve(config: _File) -> None:
    """Serve decisions over HTTP, as a file describes them; each answer leaves when its log is on the disk.

    Example: unipac serve config.toml
    """
    from unipac.serve.main import run

    raise typer.Exit(run(config))


@app.command()
def token(
    name: Annotated[str, typer.Argument(help="Who will use it. Example: shop.", show_default=False)],
    scopes: Annotated[
        str,
        typer.Argument(
            help="Some of read, decide, reward, export, metrics, admin, with commas. Example: decide,reward.",
            show_default=False,
        ),
    ],
    deployment: Annotated[
        str,
        typer.Option(
            help="Name of the only deployment it is for; * is all of them. Example: --deployment router."
        ),
    ] = "*",
    file: Annotated[
        Path, typer.Option(help="File of the tokens that the service reads. Example: --file tokens.")
    ] = Path("tokens"),
) -> None:
    """Make a token, show it once, and put its SHA-256 into the file; one of the same name is replaced.

    A service that runs reads the file again on SIGHUP. Example: unipac token shop decide,reward
    """
    from unipac.serve import tokens

    try:
        secret, kept = tokens.made(name, scopes.split(","), deployment)
        tokens.add(file, kept)
    except (OSError, ValueError) as error:
        raise _failed(error) from error
    print(secret)


@app.command()
def backup(
    config: _File,
    target: Annotated[
        Path,
        typer.Argument(
            help="The file of the copy, which must not exist. Example: copy.sqlite.", show_default=False
        ),
    ],
) -> None:
    """Copy the database of a service to a file, while it runs or not.

    A service that runs is asked for it, with the token in the variable UNIPAC_TOKEN if it has tokens (scope admin). The
    copy is a whole database: put it in the place of the other one to restore it.

    Example: unipac backup config.toml copy.sqlite
    """
    from unipac.serve import config as config_
    from unipac.serve.sqlite import Sqlite

    try:
        told = config_.read(config)
        if not told.store.startswith("sqlite:"):
            raise ValueError("store must be a file of SQLite for this, got PostgreSQL, whose pg_dump does it")
        if target.exists():
            raise ValueError(f"target must be a new file, got {str(target)!r}, which exists")
        path = Path(told.store.removeprefix("sqlite:"))
        if not path.exists():
            raise ValueError(f"store must exist, got {str(path)!r}, which does not")
        try:
            database = Sqlite(path)
        except ValueError as error:
            if "locked" not in str(error):
                raise
            _ask(told.address, target)
        else:
            database.backup(target)
            database.close()
    except (OSError, ValueError) as error:
        raise _failed(error) from error
    print(f"{target}: {target.stat().st_size:,} bytes")


def _ask(address: str, target: Path) -> None:
    """Get the copy from the running service."""
    request = urllib.request.Request(f"{address}/v1/backup")
    secret = os.environ.get("UNIPAC_TOKEN")
    if secret:
        request.add_header("Authorization", f"Bearer {secret}")
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        with (
            urllib.request.urlopen(request, timeout=600) as answer,
            open(unfinished, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file,
        ):
            while part := answer.read(2**20):
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except urllib.error.HTTPError as error:
        why = (
            "UNIPAC_TOKEN must be a token with the scope admin" if error.code in (401, 403) else error.reason
        )
        raise ValueError(f"the service at {address} has refused a backup: {error.code}, {why}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _failed(error: Exception) -> Any:
    typer.echo(f"unipac: {error}", err=True)
    return typer.Exit(USAGE)
