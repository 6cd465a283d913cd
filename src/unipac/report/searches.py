"""Searches in the report: their pulls against the lower bound for any method, and whether their answers hold."""

from __future__ import annotations

import polars as pl

from unipac._text import slug
from unipac.experiments.chance import least_likely
from unipac.experiments.findings import Finding
from unipac.experiments.options import Options
from unipac.experiments.results import labels
from unipac.report.lines import Axis, Panel
from unipac.report.panels import USUAL, Drawn
from unipac.report.style import Looks, looks, number
from unipac.report.summaries import wanted

TITLE = "Pulls against the lower bound"
PAIR = ("agent", "instance")
MOST_LISTED = 10


def pulls(curves: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """Mean pulls of each search on each instance against the lower bound of the instance.

    Args:
        curves: the rows of searches, with the columns agent, instance, round, certified_regret, least_pulls.
        chosen: the colour and symbol of each agent.
        options: the options of a report.
    """
    stopped = _stopped(wanted(curves, options) if options.instances else curves)
    if len(stopped) == 0:
        return Drawn(options.title or TITLE, [], "No search with a known lower bound has stopped by itself.")
    names = ", ".join(labels(stopped, "instance"))
    error = [pl.col("mean") - pl.col("error"), pl.col("mean") + pl.col("error")]
    low, high = error if options.lines == "mean" else [pl.col("low"), pl.col("high")]
    measured = stopped.select(
        "agent", pl.lit("mean pulls").alias("line"), x="least", y="mean", low=low, high=high
    )
    least = stopped.select(x="least", y="least").unique().sort("x")
    if len(least) == 1:  # a line needs two ends
        least = pl.concat([least / 2, least * 2])
    panel = Panel(
        name=slug(TITLE.lower()),
        figure=options.title or TITLE,
        title=names,
        x=Axis("pulls that any method needs on average", "log").asked(options.x),
        y=Axis("pulls until it stopped", "log").asked(options.y),
        rows=measured.with_columns(pl.col("agent").cast(pl.String)).sort("agent", "line", "x"),
        lines=("mean pulls", "lower bound"),
        looks=chosen or looks(labels(curves, "agent")),
        reference=least,
        width=options.width,
        height=options.height,
    )
    width = "is ± one standard error" if options.lines == "mean" else "holds 80 % of them"
    caption = (
        "One point for each search and instance: the mean over the seeds; the band, drawn for up to six searches,"
        f" {width}. Dashed, one for all: T* log(1/(2.4 δ)), the least mean number of pulls of any method."
    )
    return Drawn(options.title or TITLE, [panel], caption)


def finding(curves: pl.DataFrame) -> Finding:
    """Whether answers hold in a share 1-δ of the runs, and no search beats the lower bound.

    A search is below the bound if its mean is below by more than three standard errors. Instances on which a run
    did not stop by itself are not tested.

    Args:
        curves: the rows of searches, with the columns of `pulls`, and delta, certified, violations.
    """
    prediction = (
        "With probability 1 − δ the answer of a search is no worse than its certificate says, and none needs"
        " fewer pulls on average than T* log(1/(2.4 δ))."
    )
    proven = curves.filter(pl.col("certified") & pl.col("violations").is_not_null())
    if len(proven) == 0:
        return Finding(prediction, None, "No search has certificates.")
    chance = least_likely(proven.with_columns((pl.col("violations") > 0).alias("failed")))
    stopped = _stopped(proven)
    failures = f"{chance.failures} of {chance.runs} answers did not hold{chance.comment}."
    if len(stopped) == 0:
        return Finding(prediction, chance.kept, failures)
    below = stopped.filter(pl.col("mean") + 3 * pl.col("error").fill_null(0.0) < pl.col("least"))
    ratios = (
        stopped.group_by("agent", maintain_order=True)
        .agg(low=(pl.col("mean") / pl.col("least")).min(), high=(pl.col("mean") / pl.col("least")).max())
        .sort("low", maintain_order=True)
    )
    listed = [
        f"{agent} {number(low, 2)}" + (f" to {number(high, 2)}" if high > low else "")
        for agent, low, high in ratios.head(MOST_LISTED).rows()
    ]
    left = len(ratios) - len(listed)
    return Finding(
        prediction,
        chance.kept and len(below) == 0,
        f"{failures} Mean pulls over the lower bound: {', '.join(listed)}{f' and {left} more' if left else ''}.",
    )


def _stopped(curves: pl.DataFrame) -> pl.DataFrame:
    """Mean pulls by search and instance, if every run proved its arm best and the lower bound is known."""
    if "least_pulls" not in curves.columns:
        return pl.DataFrame()
    value = pl.col("round").cast(pl.Float64)
    several = pl.len() > 1
    return (
        curves.filter(pl.col("certified"))
        .group_by(PAIR, maintain_order=True)
        .agg(
            least=pl.col("least_pulls").max(),
            mean=value.mean(),
            error=value.std() / pl.len().sqrt(),
            low=pl.when(several).then(value.quantile(0.1, "linear")),
            high=pl.when(several).then(value.quantile(0.9, "linear")),
            done=(pl.col("certified_regret") <= 0).all(),
        )
        .filter(pl.col("done") & (pl.col("least") > 0))
        .sort("agent", "least", maintain_order=True)
    )
