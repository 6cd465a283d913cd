"""``unipac log``: what is in the log of a deployment, whether it is whole, and where it leads."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from unipac.cli.console import err, out, safe
from unipac.cli.exits import USAGE

STORES = ("sqlite:", "postgresql:", "postgres:")


def show_log(
    log: Annotated[
        str,
        typer.Argument(
            help="The folder of a deployment's log, or the store of a service that is stopped. "
            "Examples: router, sqlite:decisions.sqlite.",
            show_default=False,
        ),
    ],
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Check every record and the chain of the folder. Example: --verify."),
    ] = False,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="Apply all events of the folder, compare with its snapshots, print the digest. Example: --replay.",
        ),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the rounds of a folder whose reward is final to a Parquet file; the word parquet stands for "
            "one beside the folder, of its name; none by default. Example: --export rounds.parquet.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what is in the log of a deployment, which may write it meanwhile; a service must be stopped.

    Example: unipac log router --verify
    """
    try:
        if log.startswith(STORES):
            if export is not None:
                raise ValueError(
                    f"export must be of the folder of a deployment, got {log!r}, the store of a service"
                )
            said = _of_service(log, replay)
        else:
            folder = Path(log)
            said = (
                _exported(folder, export)
                if export
                else _replayed(folder)
                if replay
                else _shown(folder, verify)
            )
    except (OSError, ValueError) as error:
        err.print(f"unipac: {safe(error)}", soft_wrap=True)
        raise typer.Exit(USAGE) from error
    out.print(safe(said), soft_wrap=True)


def _of_service(store: str, replay: bool) -> str:
    """All deployments of a store; each record and the chain are checked in any case."""
    from unipac.serve.checking import checked

    told = []
    for found in checked(store, replay):
        told.append(f"{found.name}: {found.events:,} events are whole; the chain ends in {found.chain}")
        if found.digest is not None:
            known = f"; as the snapshots at {', '.join(map(str, found.passed))} say" if found.passed else ""
            told.append(f"    they lead to {found.digest}{known}")
    return "\n".join(told) or "there are no deployments"


def _shown(log: Path, verify: bool) -> str:
    from unipac.deployment import reading

    found = reading.described(log)
    if verify:
        whole = f"{found['events']:,} events in {found['segments']} segments are whole"
        return f"{whole}; the chain ends in {found['chain']}"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found["kinds"].items()))
    last = "never" if found["last"] is None else f"{datetime.fromtimestamp(found['last']):%Y-%m-%d %H:%M:%S}"
    snapshots = ", ".join(f"{seq:,}" for seq in found["snapshots"]) or "none"
    return "\n".join((
        f"agent      {found['agent']}, window {found['window']}",
        f"events     {found['events']:,}: {kinds}",
        f"last       {last}",
        f"segments   {found['segments']}, {found['bytes']:,} bytes",
        f"snapshots  {snapshots}",
        f"blanked    {found['blanked']:,}",
    ))  # fmt: skip


def _replayed(log: Path) -> str:
    from unipac.deployment import reading

    made, passed = reading.replayed(log)
    known = f"; as the snapshots at {', '.join(f'{seq:,}' for seq in passed)} say" if passed else ""
    return f"{made._seq + 1:,} events lead to {made.digest()}{known}\n{made!r}"


def _exported(log: Path, target: Path) -> str:
    import polars

    from unipac import logs

    if str(target) == "parquet":
        target = log.with_name(f"{log.resolve().name}.parquet")
    found: Any = logs.read(log)
    polars.DataFrame(found.to_dict()).write_parquet(target)
    return f"{len(found):,} rounds in {target}"
