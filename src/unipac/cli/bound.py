"""``unipac bound``: what the theory promises, and the staircase behind it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from unipac import theory
from unipac.cli.console import err, out
from unipac.cli.exits import USAGE


def bound(
    dim: Annotated[
        int,
        typer.Option(
            help="d, the length of the action vectors, a number without unit, at least 1; required. Example: --dim 5."
        ),
    ],
    delta: Annotated[
        float,
        typer.Option(
            help="δ, the probability that the promise fails, without unit, between 0 and 1. Example: --delta 0.01."
        ),
    ] = 0.05,
    eps: Annotated[
        list[float] | None,
        typer.Option(
            help="ε, in units of reward; 1, 0.5, 0.1, 0.01 by default. Several: --eps 0.1 --eps 0.01."
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="K, a number of rounds, for bounds on the regret as well; none by default. Example: --rounds 10000."
        ),
    ] = None,
    noise: Annotated[
        float,
        typer.Option(help="R, sub-Gaussian scale of the noise, in units of reward. Example: --noise 0.5."),
    ] = 1.0,
    norm: Annotated[
        float,
        typer.Option(
            help="S, bound on the norm of the unknown parameter, in reward per unit of length. Example: --norm 2."
        ),
    ] = 1.0,
    regularization: Annotated[
        float,
        typer.Option(
            help="λ > 0 of the ridge regressions, in squared units of --action-norm. Example: --regularization 0.1."
        ),
    ] = 1.0,
    action_norm: Annotated[
        float,
        typer.Option(
            help="L, bound on the norms of the actions, in the unit of your features. Example: --action-norm 2."
        ),
    ] = 1.0,
) -> None:
    """Show what the theory promises: how many decisions can be worse than ε, for all ε at once.

    As a function of ε the bound is a staircase; a second table lists its steps, the levels of NestedOFUL.

    Example: unipac bound --dim 5 --delta 0.05 --eps 0.1
    """
    common: dict[str, Any] = {
        "noise": noise,
        "norm": norm,
        "regularization": regularization,
        "action_norm": action_norm,
    }
    grid = sorted(eps or [1.0, 0.5, 0.1, 0.01], reverse=True)
    try:
        proven = theory.theorem_is_proven(dim, delta, **common)
        promised = _promised(grid, rounds, dim, delta, proven, common)
        steps = _steps(grid[-1], dim, delta, common)
    except ValueError as error:
        err.print(f"[bold red]unipac:[/] {escape(str(error))}", soft_wrap=True)
        raise typer.Exit(USAGE) from None
    out.print(
        f"With probability {1 - delta:g}, for all ε at once: the most rounds whose decision is worse than the"
        f" best by more than ε.\nd = {dim}, noise {noise:g}, norm {norm:g}, λ = {regularization:g}",
        soft_wrap=True,
    )
    out.print(promised)
    out.print(
        "A number is the sum of the sizes of all levels that can still be worse than ε. It is a staircase in ε: it"
        " changes only\nwhere one more level counts, so agents whose levels count alike have the same number,"
        " though their radii differ."
    )
    if steps is not None:
        out.print("\nThe staircase of NestedOFUL: a level counts if a round of it can lose more than ε.")
        out.print(steps)
    if not proven:
        out.print("The radius printed in the paper is not proven for these values, so it promises nothing.")
    out.print("OFUL and LinUCB promise no such bound: their number is infinite on some instances.")


NESTED: dict[str, Any] = {"radius": "mixture", "nested": True, "all_data": True}
"""The arguments by which ``unipac.theory`` computes bounds for NestedOFUL."""


def _promised(
    grid: list[float], rounds: int | None, dim: int, delta: float, proven: bool, common: dict[str, Any]
) -> Table:
    """A table of the bounds of each agent for a grid of ε."""
    agents: dict[str, dict[str, Any]] = {
        "NestedOFUL": NESTED,
        "UPACOFUL (mixture)": {"radius": "mixture"},
        "UPACOFUL (determinant)": {"radius": "determinant"},
    }
    if proven:
        agents["UPACOFUL (as printed)"] = {"radius": "theorem"}
    table = Table(header_style="bold")
    table.add_column("agent")
    for value in grid:
        table.add_column(f"worse than {value:g}", justify="right")
    if rounds is not None:
        table.add_column(f"regret after {rounds:,}", justify="right")
    for agent, kind in agents.items():
        texts = [_count(theory.mistake_bound(value, dim, delta, **kind, **common)) for value in grid]
        if rounds is not None:
            texts.append(f"{theory.regret_bound(rounds, dim, delta, **kind, **common):,.0f}")
        table.add_row(agent, *texts)
    return table


def _steps(eps: float, dim: int, delta: float, common: dict[str, Any]) -> Table | None:
    """A table of the levels that count at the smallest ε; None where the bound is infinite."""
    if theory.mistake_bound(eps, dim, delta, **NESTED, **common) == float("inf"):
        return None
    table = Table(header_style="bold")
    for heading in ("level", "holds at most", "counts for ε below", "rounds in all"):
        table.add_column(heading, justify="right")
    total = 0
    for level, size, gap in theory.staircase(eps, dim, delta, **NESTED, **common):
        total += size
        table.add_row(str(level), _count(size), f"{gap:.3g}", _count(total))
    return table


def _count(number: float) -> str:
    return f"{number:,}" if number < 10**9 else f"{number:.3g}"
