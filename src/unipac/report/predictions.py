"""Test what theory predicts about each figure, on the data frames of the figure.

>>> from unipac.report import predictions
>>> predictions.Finding("Regret stays below 100.", None, "no run is finished.").verdict
'not decided'
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from unipac.experiments.chance import certificate_delta, least_likely
from unipac.experiments.findings import Finding
from unipac.experiments.results import ends
from unipac.report.frames import CELL, final_counts, free_rounds, grouped, require, split
from unipac.report.panels import (
    CERTIFICATES,
    LEVELS,
    MISTAKES,
    REGRET,
    TIMES,
    mistakes_along,
)
from unipac.report.style import accuracy, number
from unipac.report.summaries import SMALLEST_REGRET

FLAT = 0.02
"""Means whose relative difference is below this count as equal."""
MOST_LISTED, MOST_PANELS_LISTED = 6, 3
"""The most agents, and the most panels, that a sentence names."""


def regret(curves: pl.DataFrame) -> Finding:
    """Whether the mean gap falls, for every agent with a guarantee.

    For each pair of agent and instance with regret and at least two seeds, the mean gap of the last fifth of the
    rounds is compared with that of all rounds. Families whose instances differ in length are left out. The gap
    falls or rises if the two means differ by more than 2 % and by more than two standard errors. A rise contradicts
    the guarantee only if the mean gap of the last fifth is above the average certificate; otherwise the
    certificates still admit such gaps.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, certified, certified_regret.
    """
    require(curves, (*CERTIFICATES, "certified"), "curves")
    prediction = (
        "In the long run the regret of every agent with a guarantee grows sublinearly: "
        "the mean gap over the last fifth of the rounds is below that over all rounds."
    )
    tested = curves.filter(pl.col("certified") & pl.col("regret").is_not_null())
    if len(tested) == 0:
        return Finding(prediction, None, "No agent with a guarantee and a known gap.")
    pairs = _late_and_overall(tested).with_columns(
        change=pl.col("late") / pl.col("overall") - 1, error=pl.col("error") / pl.col("overall")
    )
    if len(pairs) == 0:
        return Finding(prediction, None, "No regret in two runs or more, or no checkpoint at four fifths.")
    margin = pl.max_horizontal(pl.lit(FLAT), 2 * pl.col("error"))
    falls = len(pairs.filter(pl.col("change") < -margin))
    rises = len(pairs.filter((pl.col("change") > margin) & (pl.col("late") > pl.col("claimed"))))
    undecided = len(pairs) - falls - rises
    worst = pairs.sort("change", descending=True, maintain_order=True).row(0, named=True)
    return Finding(
        prediction,
        False if rises else None if undecided else True,
        f"It falls for {falls} of {len(pairs)} pairs of agent and instance"
        f"{f'; too early to tell for {undecided}' if undecided else ''}. "
        f"Slowest: {worst['agent']} on {worst['instance']}, {number(worst['late'])} over the last fifth "
        f"against {number(worst['overall'])} over all.",
    )


def _late_and_overall(curves: pl.DataFrame) -> pl.DataFrame:
    """For each agent and instance: mean gaps, late and overall, and the average certificate at the end."""
    growing = pl.col("family").cast(pl.String).is_in(list(split(curves, join_growing=True).growing))
    curves = curves.filter(~growing).with_columns(pl.col("instance").cast(pl.String))
    end = ends(curves).select(
        *CELL, last="round", total="regret", claimed=pl.col("certified_regret") / free_rounds(curves)
    )
    before = (
        curves.join(end, on=CELL, how="inner")
        .filter(pl.col("round").is_between(0.5 * pl.col("last"), 0.8 * pl.col("last")))
        .sort("round", maintain_order=True)
        .unique(CELL, keep="last", maintain_order=True)
        .filter(pl.col("total") > SMALLEST_REGRET)
    )
    gaps = before.with_columns(
        late=(pl.col("total") - pl.col("regret")) / (pl.col("last") - pl.col("round")),
        overall=pl.col("total") / pl.col("last"),
    )
    return (
        gaps.group_by("agent", "instance", maintain_order=True)
        .agg(
            pl.col("late", "overall", "claimed").mean(),
            error=(pl.col("late") - pl.col("overall")).std() / pl.len().sqrt(),
        )
        .filter(pl.col("error").is_not_null())
    )


def mistakes(mistakes: pl.DataFrame) -> Finding:
    """Whether N_ε stays below its bound for all ε at once, in a share 1-δ of the runs.

    Bounds above the number of rounds cannot fail and are not tested.

    Args:
        mistakes: columns agent, family, instance, seed, kind, round, eps, mistakes, bound, delta.
    """
    require(mistakes, (*MISTAKES, "delta"), "mistakes")
    prediction = "With probability 1 − δ, N_ε is below its bound for all ε at once."
    final = final_counts(mistakes, "delta").filter(pl.col("bound") < pl.col("round"))
    if len(final) == 0:
        return Finding(prediction, None, "No proven bound is below the number of rounds.")
    none = pl.when(pl.col("mistakes") > 0).then(math.inf).otherwise(0.0)  # the ratio if the bound is 0
    final = final.with_columns(
        ratio=pl.when(pl.col("bound") > 0).then(pl.col("mistakes") / pl.col("bound")).otherwise(none)
    )
    chance = least_likely(
        final.group_by(CELL, maintain_order=True).agg(
            failed=(pl.col("ratio") > 1).any(), delta=pl.col("delta").first()
        )
    )
    closest = final.sort("ratio", descending=True, maintain_order=True).row(0, named=True)
    return Finding(
        prediction,
        chance.kept,
        f"{chance.failures} of {chance.runs} runs broke a bound{chance.comment}. Closest to the bound: "
        f"{closest['agent']} on {closest['instance']}, N_ε = {number(closest['mistakes'])} of at most "
        f"{number(closest['bound'])} at ε = {accuracy(closest['eps'])} ({number(closest['ratio'], 2)}).",
    )


class _Growth(NamedTuple):
    """How the mistakes of one agent grew over the second half of the rounds on a log scale."""

    agent: str
    panel: str
    per_decade: float
    rise: float
    total: float
    bound: float

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.bound)

    @property
    def stopped(self) -> bool:
        return self.rise <= 1.0


def mistakes_over_time(mistakes: pl.DataFrame, eps: float | None = None) -> Finding:
    """Whether agents with a bound on N_ε stop making mistakes of size ε.

    An agent has stopped if its count rises by at most one over the last half of the decades of rounds. While the
    count rises, the prediction is undecided: the theorem bounds the number of mistakes, not when they happen. It
    is refuted if a count exceeds its bound. Runs of less than two decades are left out.

    Args:
        mistakes: columns agent, family, instance, seed, kind, round, eps, mistakes, bound.
        eps: an ε of the grid; by default that of the figure.
    """
    require(mistakes, MISTAKES, "mistakes")
    prediction = (
        "Agents with a bound on N_ε stop making mistakes of size ε; the others may go on, like log K."
    )
    grown = list(_growths(mistakes, eps))
    bounded = [growth for growth in grown if growth.bounded]
    if not bounded:
        return Finding(prediction, None, "No agent with a bound made mistakes over two decades of rounds.")
    seen: bool | None = True if all(growth.stopped for growth in bounded) else None
    if any(growth.total > growth.bound for growth in bounded):
        seen = False
    waiting = "" if seen is not None else " Some go on, still below their bound."
    return Finding(
        prediction,
        seen,
        "New mistakes per decade of rounds, over the last half of the decades, "
        f"{_growths_in_words(grown)}.{waiting}",
    )


def _growths_in_words(grown: list[_Growth]) -> str:
    """The growth of each agent, by panel; the panels with the fastest growth come first."""
    by_panel: dict[str, list[_Growth]] = {}
    for growth in sorted(grown, key=lambda growth: growth.per_decade, reverse=True):
        by_panel.setdefault(growth.panel, []).append(growth)
    parts = []
    for panel, members in list(by_panel.items())[:MOST_PANELS_LISTED]:
        agents = [
            f"{growth.agent} {number(growth.per_decade, 2)}{'' if growth.bounded else ' (no bound)'}"
            for growth in members[:MOST_LISTED]
        ]
        parts.append(f"{panel}: {_listed(agents, len(members))}")
    left = len(by_panel) - len(parts)
    return "; ".join(parts) + (f"; and {left} more instances, none faster" if left > 0 else "")


def _listed(shown: list[str], total: int) -> str:
    return ", ".join(shown) + (f" and {total - len(shown)} more" if total > len(shown) else "")


def _growths(mistakes: pl.DataFrame, eps: float | None) -> Iterator[_Growth]:
    over_seeds = grouped(
        mistakes,
        ("agent", "family", "instance", "kind", "round", "eps"),
        pl.col("mistakes").mean(),
        pl.col("bound").max(),
    ).with_columns(seed=0)
    units = split(over_seeds, join_growing=True, most=None)
    for name in units.shown:
        at, part = mistakes_along(over_seeds, units, name, eps)
        if at is None:
            continue
        mean = part.filter(pl.col("x") > 0).select("agent", "x", "mistakes", "bound")
        for (agent,), line in mean.sort("x").group_by("agent", maintain_order=True):
            first, last = line["x"][0], line["x"][-1]
            if last < 100 * first:
                continue
            middle = line.filter(pl.col("x") <= math.sqrt(first * last))
            rise = line["mistakes"][-1] - middle["mistakes"][-1]
            yield _Growth(
                agent=str(agent),
                panel=f"on {name}, ε = {accuracy(at)}",
                per_decade=rise / math.log10(last / middle["x"][-1]),
                rise=rise,
                total=line["mistakes"][-1],
                bound=line["bound"][-1],
            )


def levels(levels: pl.DataFrame) -> Finding:
    """Whether no level holds more than its bound, which must hold with certainty.

    Args:
        levels: columns agent, family, instance, seed, stage, level, size, bound.
    """
    require(levels, LEVELS, "levels")
    prediction = "No level ever holds more vectors than its bound."
    bounded = levels.filter(pl.col("bound").is_finite()).with_columns(ratio=pl.col("size") / pl.col("bound"))
    if len(bounded) == 0:
        return Finding(prediction, None, "No level has a proven bound.")
    over = bounded.filter(pl.col("ratio") > 1)
    fullest = bounded.sort("ratio", descending=True, maintain_order=True).row(0, named=True)
    return Finding(
        prediction,
        len(over) == 0,
        f"{len(over):,} of {len(bounded):,} levels exceed it. Fullest: level {fullest['level']} of "
        f"{fullest['agent']} on {fullest['instance']}, {number(fullest['size'])} of at most "
        f"{number(fullest['bound'])} ({number(fullest['ratio'], 2)}).",
    )


def certificates(curves: pl.DataFrame, mistakes: pl.DataFrame | None = None) -> Finding:
    """Whether certificates hold in a share 1-δ of the runs, and are as rarely large as proven.

    A run fails if a certificate was below its gap, or if at a checkpoint the certified regret was below the
    regret. For MDPs the certified regret holds with probability 1-2δ: δ for the bounds, δ for the rewards.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, certified_regret, violations,
            delta.
        mistakes: columns agent, family, instance, seed, kind, round, eps, mistakes, bound,
            certificates_above.
    """
    require(curves, (*REGRET, "certified_regret", "violations", "delta"), "curves")
    prediction = (
        "With probability 1 − δ every certificate is at least the true gap (for MDPs, with 1 − 2δ every bound"
        " on the regret is at least the regret), and certificates above ε are at most as many as the bound on"
        " N_ε says."
    )
    claims = curves.filter(pl.col("certified_regret").is_not_null())
    checked = claims.filter(pl.col("regret").is_not_null() | pl.col("violations").is_not_null())
    if len(checked) == 0:
        return Finding(prediction, None, "No run has both certificates and known gaps.")
    below = pl.col("certified_regret") < pl.col("regret") * (1 - 1e-9) - SMALLEST_REGRET
    runs = checked.group_by(CELL, maintain_order=True).agg(
        failed=((pl.col("violations") > 0).fill_null(False) | below.fill_null(False)).any(),
        delta=certificate_delta().first(),
    )
    chance = least_likely(runs)
    above, counts = _certificates_above(mistakes)
    ratios = ratio_of_certified(checked).filter(pl.col("ratio").is_not_null())
    listed = _listed(
        [
            f"{agent} on {instance} {number(ratio, 2)}"
            for agent, instance, ratio in ratios.head(MOST_LISTED).rows()
        ],
        len(ratios),
    )
    parts = [f"{chance.failures} of {chance.runs} runs had one below the truth{chance.comment}."]
    if counts:
        parts.append(f"Certificates above ε were more than proven in {above} of {counts} counts.")
    if listed:
        parts.append(f"Certified regret over regret, median of the runs: {listed}.")
    return Finding(prediction, chance.kept and above == 0, " ".join(parts))


def ratio_of_certified(curves: pl.DataFrame) -> pl.DataFrame:
    """Certified regret divided by regret at the end: the median over the seeds of each agent and instance."""
    ratio = pl.when(pl.col("regret") > SMALLEST_REGRET).then(pl.col("certified_regret") / pl.col("regret"))
    pairs = ends(curves).group_by("agent", "instance", maintain_order=True)
    return pairs.agg(ratio=ratio.median())


def _certificates_above(mistakes: pl.DataFrame | None) -> tuple[int, int]:
    """For how many pairs of run and ε more certificates exceeded ε than proven, and how many pairs there are."""
    if mistakes is None:
        return 0, 0
    require(mistakes, (*MISTAKES, "certificates_above"), "mistakes")
    largest = final_counts(mistakes, "certificates_above").filter(
        (pl.col("bound") < pl.col("round")) & pl.col("certificates_above").is_not_null()
    )
    return len(largest.filter(pl.col("certificates_above") > pl.col("bound"))), len(largest)


def times(times: pl.DataFrame) -> Finding:
    """Whether time grows like K log K at most, and the number of plans far slower.

    Both are judged by their exponents over the last decade of rounds. Seconds: at most 1.25, undecided up to 1.5, as
    wall time is noisy. Plans: at most 0.5, undecided up to 0.9 and in runs of less than 10⁵ episodes. Agents that plan
    in half of the episodes or more are left out: the cost of a plan may grow with the data.

    Args:
        times: columns agent, family, instance, seed, kind, round, seconds, plans.
    """
    require(times, TIMES, "times")
    prediction = "Time grows no faster than K log K, and agents that plan lazily plan like a power of log K."
    unknown = pl.when(pl.col("kind") == "mdp").then(1.0).otherwise(0.0)
    planned = (pl.col("plans").max().over(CELL) / pl.col("round").max().over(CELL)).fill_null(unknown)
    lazy = times.filter(planned < 0.5)
    seconds = _exponents(lazy, "seconds", least=0.01)
    if len(seconds) == 0:
        return Finding(prediction, None, "No run of a decade or more took a hundredth of a second.")
    plans = _exponents(lazy.filter(pl.col("plans").is_not_null()), "plans", least=1.0)
    text = f"Largest exponent over the last decade: {_exponent(seconds.row(0, named=True))}."
    if len(plans):
        text += f" Of plans: {_exponent(plans.row(0, named=True))}."
    many = plans.filter(pl.col("exponent") > 0.5)
    if seconds["exponent"][0] > 1.5 or len(many.filter((pl.col("end") >= 1e5) & (pl.col("exponent") > 0.9))):
        return Finding(prediction, False, text)
    if len(many) or seconds["exponent"][0] > 1.25:
        return Finding(prediction, None, f"{text} The runs are too short to tell.")
    return Finding(prediction, True, text)


def _exponent(row: dict[str, object]) -> str:
    return f"{row['exponent']:.2f} ({row['agent']} on {row['instance']})"


def _exponents(times: pl.DataFrame, column: str, least: float) -> pl.DataFrame:
    """The exponent of growth over the last decade of rounds for each agent and instance, largest first.

    Args:
        times: a frame with that column.
        column: the quantity that grows; its median over the seeds is taken.
        least: pairs whose last value is smaller are left out.
    """
    line = times.group_by("agent", "instance", "round", maintain_order=True).agg(
        pl.col(column).cast(pl.Float64).median()
    )
    line = line.filter((pl.col(column) > 0) & (pl.col("round") > 0)).sort("round", maintain_order=True)
    pair = ["agent", "instance"]
    last = line.group_by(pair, maintain_order=True).agg(
        end=pl.col("round").last(), at_end=pl.col(column).last()
    )
    start = (
        line.join(last, on=pair)
        .filter(
            (pl.col("round") <= pl.col("end") / 10)
            & (pl.col("round") >= pl.col("end") / 100)
            & (pl.col("at_end") >= least)
        )
        .group_by(pair, maintain_order=True)
        .last()
    )
    return start.select(
        *pair,
        "end",
        exponent=(pl.col("at_end") / pl.col(column)).log() / (pl.col("end") / pl.col("round")).log(),
    ).sort("exponent", descending=True, maintain_order=True)
