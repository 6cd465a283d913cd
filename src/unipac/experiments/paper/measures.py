"""Measures of results, for the predictions of the paper's experiments."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from unipac.experiments.findings import Finding
from unipac.experiments.results import Results, ends


def only(frame: pl.DataFrame, **values: str) -> pl.DataFrame:
    """The rows with these labels, such as ``agent=``, ``family=`` or ``instance=``."""
    for column, value in values.items():
        frame = frame.filter(pl.col(column).cast(pl.String) == value)
    return frame


def largest(frame: pl.DataFrame, column: str) -> float:
    """The largest value of a column."""
    return _number(frame.select(pl.col(column).max()).item())


def smallest(frame: pl.DataFrame, column: str) -> float:
    """The smallest value of a column."""
    return _number(frame.select(pl.col(column).min()).item())


def mean(frame: pl.DataFrame, column: str) -> float:
    """The mean of a column."""
    return _number(frame.select(pl.col(column).mean()).item())


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The least-squares slope of y against x."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    a = a - a.mean()
    return float(a @ (b - b.mean()) / (a @ a))


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope on log-log scales, without points at zero; NaN if fewer than two points are left."""
    pairs = [(math.log(a), math.log(b)) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    return slope(*zip(*pairs, strict=True)) if len(pairs) > 1 else math.nan


def mistakes_by_forced(results: Results, agent: str, eps: float, family: str) -> dict[int, float]:
    """Mean N_ε at the end, by the number K of forced rounds, for the instances of a family."""
    frame = ends(only(results.mistakes, agent=agent, family=family).filter(pl.col("eps") == eps))
    forced = pl.col("instance").cast(pl.String).str.extract(r"forced=(.*)$").cast(pl.Float64)
    means = frame.group_by(forced.alias("forced")).agg(pl.col("mistakes").mean()).sort("forced")
    return {int(k): n for k, n in means.select("forced", "mistakes").iter_rows()}


def growth(counts: dict[int, float], since: float) -> float:
    """The slope against log K, for K of at least ``since``."""
    late = {k: n for k, n in counts.items() if k >= since}
    return slope([math.log(k) for k in late], list(late.values()))


def mean_regret(results: Results, agent: str, instance: str) -> float:
    """The mean regret over the seeds at the end."""
    return mean(ends(only(results.curves, agent=agent, instance=instance)), "regret")


def compared_regret(
    results: Results, instances: Sequence[str], claim: str, agent: str, against: str, most: float
) -> Finding:
    """Whether an agent has at most so many times the regret of another one, on each of some instances."""
    ratios = [mean_regret(results, agent, i) / mean_regret(results, against, i) for i in instances]
    return Finding(
        f"Expected from pilot runs: {claim}.",
        all(ratio <= most for ratio in ratios),
        f"{numbers(ratios)} times, on {', '.join(instances)}.",
    )


def mean_curve(
    results: Results, agent: str, instance: str, column: str = "regret"
) -> tuple[list[int], list[float]]:
    """The rounds of the checkpoints, and the mean of a column over the seeds at each."""
    frame = only(results.curves, agent=agent, instance=instance)
    means = frame.group_by("round").agg(pl.col(column).mean()).sort("round")
    return means["round"].to_list(), means[column].to_list()


def late_gaps(results: Results, agent: str, instance: str) -> list[float]:
    """The mean gap over the second half of the rounds of each seed."""
    frame = only(results.curves, agent=agent, instance=instance)
    half = frame.filter(pl.col("round") <= largest(frame, "round") / 2)
    both = ends(half).join(ends(frame), on="seed", suffix="_end")
    rounds = pl.col("round_end") - pl.col("round")
    return both.select((pl.col("regret_end") - pl.col("regret")) / rounds).to_series().to_list()


def late_share(results: Results, agent: str, instance: str) -> float:
    """The mean gap in the second half of a run, divided by that in the first half."""
    frame = only(results.curves, agent=agent, instance=instance)
    length = largest(frame, "round")
    half = ends(frame.filter(pl.col("round") <= length / 2))
    first = mean(half, "regret")
    middle = largest(half, "round")
    early = first / middle
    late = (mean_regret(results, agent, instance) - first) / (length - middle)
    return late / early if early > 0 else 0.0


def last_mistake(results: Results, agent: str, instance: str) -> float:
    """The checkpoint by which the last mistake above the smallest ε has happened: the median over the seeds."""
    frame = only(results.mistakes, agent=agent, instance=instance)
    frame = frame.filter(pl.col("eps") == pl.col("eps").min())
    final = frame.filter(pl.col("mistakes") == pl.col("mistakes").max().over("seed"))
    return _number(final.group_by("seed").agg(pl.col("round").min())["round"].median())  # type: ignore[arg-type]


def within(value: float, low: float, high: float) -> bool:
    """Whether low ≤ value ≤ high; False for NaN."""
    return low <= value <= high


def numbers(values: Sequence[float]) -> str:
    """Numbers for a sentence."""
    return ", ".join(f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}" for value in values)
