"""Test the predictions that an experiment states on its results, for each instance separately."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.special import stdtrit

from unipac.experiments.findings import Finding
from unipac.experiments.results import Results, ends
from unipac.experiments.stated import Prediction

CONFIDENCE = 0.95
"""The confidence of the interval that decides; an interval that contains the threshold decides nothing."""
MOST_LISTED = 6


def judge(prediction: Prediction, instances: Sequence[str], results: Results) -> Finding:
    """Whether a prediction is seen on every one of these instances.

    In run s the difference is D_s = measure of the agent − threshold (times the measure of the other agent in the
    same run). The sign of its mean decides, if the interval of Student's t at 95 %, mean(D) ± t sd(D)/√n, does not
    contain 0, or if all of several D_s are equal. Otherwise, and for a single run, the instance is undecided.
    """
    verdicts: list[bool | None] = []
    observed = []
    for instance in instances:
        verdict, words = _judged(prediction, instance, results)
        verdicts.append(verdict)
        observed.append(f"{instance}: {words}")
    seen = False if False in verdicts else None if None in verdicts or not verdicts else True
    left = len(observed) - MOST_LISTED
    more = f"; and {left} more instances" if left > 0 else ""
    return Finding(prediction.sentence, seen, f"{'; '.join(observed[:MOST_LISTED])}{more}.")


def _judged(prediction: Prediction, instance: str, results: Results) -> tuple[bool | None, str]:
    ours = measured(results, prediction.measure, prediction.agent, instance, prediction.eps)
    if prediction.times is None:
        pairs = [(value, 1.0) for value in ours.values()]
    else:
        theirs = measured(results, prediction.measure, prediction.times, instance, prediction.eps)
        pairs = [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
    if not pairs or not all(map(math.isfinite, np.ravel(pairs))):
        return None, "not known in all runs"
    a, b = np.array(pairs).T
    sign = 1.0 if prediction.at_least is not None else -1.0
    words = f"{_short(a.mean())}"
    if prediction.times is not None:
        ratio = f", ratio {_short(a.mean() / b.mean())}" if b.mean() != 0 else ""
        words += f" against {_short(b.mean())}{ratio}"
    return _sign(sign * (a - prediction.threshold * b)), words


def _sign(differences: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool | None:
    """Whether the mean is at least 0; None if the interval does not decide it."""
    n, mean = len(differences), float(differences.mean())
    if n == 1:
        return None
    if differences.min() == differences.max():
        return mean >= 0.0
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * float(differences.std(ddof=1)) / math.sqrt(n)
    return None if abs(mean) <= half else mean > 0.0


def measured(
    results: Results, measure: str, agent: str, instance: str, eps: float | None = None
) -> dict[int, float]:
    """A measure of ``stated.MEASURES`` for every run of one agent on one instance, by seed; NaN if unknown."""

    def of(frame: pl.DataFrame) -> pl.DataFrame:
        named = (pl.col("agent").cast(pl.String) == agent) & (pl.col("instance").cast(pl.String) == instance)
        return frame.filter(named)

    if measure == "mistakes":
        rows = ends(of(results.mistakes).filter(pl.col("eps") == eps)).select("seed", value="mistakes")
    elif measure in ("gap", "certificate"):
        rows = late(of(results.curves), "regret" if measure == "gap" else "claimed")
    else:
        values = {
            "reward": pl.col("reward") / pl.col("round"),
            "regret": pl.col("regret"),
            "explored": pl.col("explored"),
            "pulls": pl.col("round"),
        }
        rows = ends(of(results.curves)).select("seed", value=values[measure])
    return {seed: math.nan if value is None else float(value) for seed, value in rows.iter_rows()}


def late(curves: pl.DataFrame, column: str) -> pl.DataFrame:
    """The mean of a column over about the last fifth of the choices, since the last checkpoint before it, by seed."""
    end = ends(curves).select("seed", last="free", total=column)
    before = (
        curves.join(end, on="seed")
        .filter(pl.col("free") <= 0.8 * pl.col("last"))
        .sort("round")
        .group_by("seed", maintain_order=True)
        .last()
    )
    spent = pl.col("last") - pl.col("free")
    rows = before.select("seed", value=(pl.col("total") - pl.col(column)) / spent)
    return end.select("seed").join(rows, on="seed", how="left")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
