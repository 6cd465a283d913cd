"""The numbers behind the figures, one row per agent and instance."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unipac.experiments.results import Results, ends, labels
from unipac.report.frames import final_counts, free_rounds, rounds_name, spread
from unipac.report.style import accuracy, duration, number

PAIR = ["agent", "instance"]
FASTEST = 1e-9
"""Seconds; rounds that take less were taken many at once."""


def numbers(results: Results, eps: Sequence[float]) -> pl.DataFrame:
    """Means over the seeds at the end of the runs.

    Columns: agent, instance, runs, rounds, certified, regret, regret_error (standard error), for each ε
    mistakes_ε and bound_ε, certificate (average per choice), violated (runs with a certificate below its
    gap), uncovered (runs in which the truth left a set), refuted (runs whose rewards refute the assumptions),
    seconds (per round), plans.
    """
    end = ends(results.curves)
    table = end.group_by(PAIR, maintain_order=True).agg(
        runs=pl.len(),
        rounds=pl.col("round").max(),
        certified=pl.col("certified").all(),
        regret=pl.col("regret").mean(),
        regret_error=pl.col("regret").std() / pl.col("regret").count().sqrt(),
        certificate=(pl.col("certified_regret") / free_rounds(end)).mean(),
        violated=(pl.col("violations") > 0).sum().cast(pl.Int64)
        * pl.when(pl.col("violations").count() > 0).then(1),
        uncovered=(pl.col("uncovered") > 0).sum().cast(pl.Int64)
        * pl.when(pl.col("uncovered").count() > 0).then(1),
        plans=pl.col("plans").cast(pl.Float64).mean(),
        refuted=(~pl.col("consistent")).sum().cast(pl.Int64) if "consistent" in end.columns else pl.lit(0),
    )
    final = final_counts(results.mistakes)
    for level in eps:
        at = final.filter(pl.col("eps") == level).group_by(PAIR)
        counts = at.agg(
            pl.col("mistakes").mean().alias(f"mistakes_{level}"),
            pl.col("bound").max().alias(f"bound_{level}"),
        )
        table = table.join(counts, on=PAIR, how="left", maintain_order="left")
    per_round = pl.col("seconds") / pl.col("round")
    spent = ends(results.times).group_by(PAIR).agg(seconds=per_round.median())
    spent = spent.filter(pl.col("seconds") > FASTEST)
    order = [pl.Enum(labels(results.curves, column)) for column in ("instance", "agent")]
    return (
        table.join(spent, on=PAIR, how="left", maintain_order="left")
        .with_columns(pl.col("agent", "instance").cast(pl.String))
        .sort(pl.col("instance").cast(order[0]), pl.col("agent").cast(order[1]))
    )


def some_eps(final: pl.DataFrame, most: int = 3) -> list[float]:
    """A few ε of the grid, large to small, at which some agent made mistakes.

    Args:
        final: of `final_counts`.
        most: how many.
    """
    active = final.filter(pl.col("mistakes") > 0)["eps"].unique().sort(descending=True).to_list()
    inner = active[len(active) // 6 : len(active) - len(active) // 6]
    return [float(eps) for eps in spread(inner, most)]


def summary(results: Results) -> pl.DataFrame:
    """The table as text for readers. Columns in which nothing is known are left out."""
    eps = some_eps(final_counts(results.mistakes))
    table = numbers(results, eps)
    counted = rounds_name(results.curves)
    columns: dict[str, list[str]] = {
        "agent": table["agent"].to_list(),
        "instance": table["instance"].to_list(),
        "guarantee": ["certified" if proven else "not certified" for proven in table["certified"]],
        "runs": [number(n) for n in table["runs"]],
        counted: [number(n) for n in table["rounds"]],
        "regret": [
            number(mean) + (f" ± {number(error, 2)}" if error is not None else "")
            for mean, error in table.select("regret", "regret_error").rows()
        ],
    }
    for level in eps:
        columns[f"N at ε = {accuracy(level)}"] = [
            number(count) + (f" ≤ {number(bound)}" if bound is not None and bound < float("inf") else "")
            for count, bound in table.select(f"mistakes_{level}", f"bound_{level}").rows()
        ]
    columns["average certificate"] = [number(x) for x in table["certificate"]]
    failures = {"certificate below gap": "violated", "truth outside set": "uncovered"}
    if table["refuted"].sum() > 0:
        failures["assumptions refuted"] = "refuted"
    for head, column in failures.items():
        columns[head] = [
            "–" if failed is None else f"{failed} of {runs}"
            for failed, runs in table.select(column, "runs").rows()
        ]
    single = " or ".join(name.removesuffix("s") for name in counted.split(" or "))
    columns[f"time per {single}"] = [duration(x) for x in table["seconds"]]
    columns["plans"] = [number(x) for x in table["plans"]]
    return pl.DataFrame(
        {head: cells for head, cells in columns.items() if any(cell != "–" for cell in cells)}
    )
