"""Tables of the numbers behind the figures, one row per agent and instance."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unipac.experiments.judging import late
from unipac.experiments.results import Results, ends, labels
from unipac.report.frames import final_counts, free_rounds, rounds_name, spread
from unipac.report.predictions import ratio_of_certified
from unipac.report.style import accuracy, duration, number

PAIR = ["agent", "instance"]
FASTEST = 1e-9
"""Times per round below this, in seconds, are left out: there many rounds were learned in one step."""


def numbers(results: Results, eps: Sequence[float]) -> pl.DataFrame:
    """Means over the seeds at the end of the runs.

    Columns: agent, instance, runs, rounds, certified, reward (per round) and regret, their standard errors
    reward_error and regret_error, mistakes_ε and bound_ε for each ε, certificate (average per choice, where
    proven), ratio (certified regret over regret, median of the runs), claimed (the mean certificate of the last
    fifth, proven or not), explored, pulls_ratio (mean pulls over the lower bound), violated (runs with a
    certificate below its gap), uncovered (runs in which the truth left a confidence set), refuted (runs whose
    rewards refute the assumptions), seconds (per round), plans.
    """
    end = ends(results.curves)
    table = end.group_by(PAIR, maintain_order=True).agg(
        runs=pl.len(),
        rounds=pl.when((pl.col("kind").cast(pl.String) == "search").all())
        .then(pl.col("round").mean())  # a search stops by itself, so its runs differ in length
        .otherwise(pl.col("round").max()),
        certified=pl.col("certified").all(),
        reward=(pl.col("reward") / pl.col("round")).mean(),
        reward_error=(pl.col("reward") / pl.col("round")).std() / pl.col("reward").count().sqrt(),
        regret=pl.col("regret").mean(),
        regret_error=pl.col("regret").std() / pl.col("regret").count().sqrt(),
        certificate=(pl.col("certified_regret") / free_rounds(end)).mean(),
        violated=(pl.col("violations") > 0).sum().cast(pl.Int64)
        * pl.when(pl.col("violations").count() > 0).then(1),
        uncovered=(pl.col("uncovered") > 0).sum().cast(pl.Int64)
        * pl.when(pl.col("uncovered").count() > 0).then(1),
        plans=pl.col("plans").cast(pl.Float64).mean(),
        explored=_mean(end, "explored"),
        pulls_ratio=pl.col("round").mean() / pl.col("least_pulls").max()
        if "least_pulls" in end.columns
        else pl.lit(None, dtype=pl.Float64),
        refuted=(~pl.col("consistent")).sum().cast(pl.Int64) if "consistent" in end.columns else pl.lit(0),
    )
    for more in (ratio_of_certified(results.curves), _claimed(results.curves)):
        table = table.join(more, on=PAIR, how="left", maintain_order="left")
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


def _mean(frame: pl.DataFrame, column: str) -> pl.Expr:
    """The mean of a column; null if the frame has no such column."""
    return (
        pl.col(column).cast(pl.Float64).mean() if column in frame.columns else pl.lit(None, dtype=pl.Float64)
    )


def _claimed(curves: pl.DataFrame) -> pl.DataFrame:
    """The mean certificate of the last fifth of the choices, proven or not, for each agent and instance."""
    if not {"claimed", "free"} <= set(curves.columns):
        return curves.select(*PAIR, claimed=pl.lit(None, dtype=pl.Float64)).unique(PAIR)
    parts = [
        late(part, "claimed").select(
            *(pl.lit(name).alias(key) for key, name in zip(PAIR, pair, strict=True)), "value"
        )
        for pair, part in curves.with_columns(pl.col(PAIR).cast(pl.String)).group_by(
            PAIR, maintain_order=True
        )
    ]
    claims = pl.concat(parts).group_by(PAIR).agg(claimed=pl.col("value").mean())
    return claims.with_columns(pl.col(name).cast(curves.schema[name]) for name in PAIR)


def some_eps(final: pl.DataFrame, most: int = 3) -> list[float]:
    """A few ε of the grid, large to small, at which some agent made mistakes.

    Args:
        final: the result of `final_counts`.
        most: the largest number of ε to return.
    """
    active = final.filter(pl.col("mistakes") > 0)["eps"].unique().sort(descending=True).to_list()
    inner = active[len(active) // 6 : len(active) - len(active) // 6]
    return [float(eps) for eps in spread(inner, most)]


def summary(results: Results) -> pl.DataFrame:
    """The table as text for readers; columns without any value are left out.

    With the ``folder`` of a finished run:

    >>> from unipac.report import section
    >>> summary(section(folder).results)["agent"].to_list()
    ['ours']
    """
    eps = some_eps(final_counts(results.mistakes))
    table = numbers(results, eps)
    counted = rounds_name(results.curves)
    single = " or ".join(name.removesuffix("s") for name in counted.split(" or "))
    columns: dict[str, list[str]] = {
        "agent": table["agent"].to_list(),
        "instance": table["instance"].to_list(),
        "guarantee": ["certified" if proven else "not certified" for proven in table["certified"]],
        "runs": [number(n) for n in table["runs"]],
        counted: [number(n) for n in table["rounds"]],
        f"reward per {single}": [
            _decimal(mean) + (f" ± {_decimal(error)}" if error is not None else "")
            for mean, error in table.select("reward", "reward_error").rows()
        ],
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
    columns["certified regret / regret"] = [number(x) for x in table["ratio"]]
    columns["late certificate"] = [
        number(x) + ("" if proven or x is None else " (not proven)")
        for x, proven in table.select("claimed", "certified").rows()
    ]
    columns["explored"] = [number(x) for x in table["explored"]]
    columns["pulls / lower bound"] = [number(x) for x in table["pulls_ratio"]]
    failures = {"certificate below gap": "violated", "truth outside set": "uncovered"}
    if table["refuted"].sum() > 0:
        failures["assumptions refuted"] = "refuted"
    for head, column in failures.items():
        columns[head] = [
            "–" if failed is None else f"{failed} of {runs}"
            for failed, runs in table.select(column, "runs").rows()
        ]
    columns[f"time per {single}"] = [duration(x) for x in table["seconds"]]
    columns["plans"] = [number(x) for x in table["plans"]]
    return pl.DataFrame(
        {head: cells for head, cells in columns.items() if any(cell != "–" for cell in cells)}
    )


def _decimal(value: float | None) -> str:
    """A reward; small ones have four decimals, so that a mean and its error have the same number."""
    small = value is not None and abs(value) < 10
    return f"{value:.4f}".replace("-", "−") if small else number(value, 4)
