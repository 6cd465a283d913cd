"""Summarise the runs of an agent as a line of a figure, and describe the lines in words."""

from __future__ import annotations

import polars as pl

from unipac.experiments.options import Options
from unipac.experiments.results import labels

SMALLEST_REGRET = 1e-12
"""Smaller values are rounding errors, and are left out of log axes."""
_BANDS = {
    "median": "The line is the median over the seeds; the band, drawn for up to six agents, holds 80 % of them.",
    "mean": "The line is the mean over the seeds; the band, drawn for up to six agents, is ± one standard error.",
}


def band(options: Options) -> str:
    """A sentence that explains the lines and their bands."""
    return _BANDS[options.lines or "median"]


def wanted(frame: pl.DataFrame, options: Options) -> pl.DataFrame:
    """The rows of the instances that the options name; all rows if they name none."""
    if options.instances is None:
        return frame
    instances = list(options.instances)
    named = [pl.col(column).cast(pl.String).is_in(instances) for column in ("family", "instance")]
    return frame.filter(named[0] | named[1])


def labelled(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the labels of agents as text."""
    return frame.with_columns(pl.col("agent").cast(pl.String))


def above(rows: pl.DataFrame, log: bool) -> pl.DataFrame:
    """The rows, without those that a log axis cannot show if the axis is one."""
    return rows.filter(pl.col("y") > SMALLEST_REGRET) if log else rows


def summarised(frame: pl.DataFrame, options: Options, line: str = "measured") -> pl.DataFrame:
    """One value of `y` for each agent and `x`, with a band where there is more than one seed.

    It is the median with the 10 % and 90 % quantiles, or the mean ± one standard error.
    """
    value = pl.col("y").cast(pl.Float64)
    several = pl.len() > 1
    if options.lines == "mean":
        error = value.std() / pl.len().sqrt()
        centre, low, high = value.mean(), value.mean() - error, value.mean() + error
    else:
        centre = value.median()
        low, high = value.quantile(0.1, "linear"), value.quantile(0.9, "linear")
    return (
        frame.group_by("agent", "x")
        .agg(y=centre, low=pl.when(several).then(low), high=pl.when(several).then(high))
        .select("agent", pl.lit(line).alias("line"), "x", "y", "low", "high")
        .sort("agent", "x")
    )


def plain(frame: pl.DataFrame, line: str) -> pl.DataFrame:
    """Lines without a band."""
    empty = pl.lit(None, dtype=pl.Float64)
    return frame.select(
        "agent", pl.lit(line).alias("line"), "x", "y", empty.alias("low"), empty.alias("high")
    ).sort("agent", "x")


def left_out(frame: pl.DataFrame, drawn: pl.DataFrame, why: str) -> str:
    """A sentence that names the agents without a line; empty if all have one."""
    present = set(labels(drawn, "agent"))
    absent = [agent for agent in labels(frame, "agent") if agent not in present]
    return f"Without a line ({why}): {', '.join(absent)}." if absent else ""


def sentences(*parts: str) -> str:
    """The parts that are not empty, joined by spaces."""
    return " ".join(part for part in parts if part)
