"""What theory predicts about each figure, held against the same data frames."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from unipac.experiments.findings import Finding
from unipac.metrics import binomial_upper_tail
from unipac.report.frames import CELL, ends, final_counts, grouped, require, split
from unipac.report.panels import (
    CERTIFICATES,
    LEVELS,
    MISTAKES,
    REGRET,
    SMALLEST_REGRET,
    TIMES,
    mistakes_along,
)
from unipac.report.style import accuracy, number

FALSE_ALARM = 1e-3
"""A share of failures counts against a guarantee if chance gives as many less often than this."""
FLAT = 0.02
"""Relative differences of means below this are not told apart."""
MOST_LISTED, MOST_PANELS_LISTED = 6, 3
"""Agents and panels that a sentence names."""


def regret(curves: pl.DataFrame) -> Finding:
    """Whether the mean gap falls, for every agent with a guarantee.

    The mean gap of the last tenth of the rounds is compared with that of all rounds. A pair of agent and
    instance is left out if it has no regret or no checkpoint near nine tenths. It is undecided if the two are
    within 2 % or two standard errors of each other, or if the gap does not fall but the run is too short for
    the agent to know anything: its average certificate has not halved over the last two decades of rounds.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, certified, certified_regret.
    """
    require(curves, (*CERTIFICATES, "certified"), "curves")
    prediction = (
        "The regret of every agent with a guarantee grows sublinearly: "
        "the mean gap over the last tenth of the rounds is below that over all rounds."
    )
    known = curves.filter(pl.col("certified") & pl.col("regret").is_not_null())
    if len(known) == 0:
        return Finding(prediction, None, "No agent with a guarantee and a known gap.")
    pairs = _late_and_overall(known).with_columns(
        change=pl.col("late") / pl.col("overall") - 1, error=pl.col("error") / pl.col("overall")
    )
    if len(pairs) == 0:
        return Finding(prediction, None, "No regret at all, or no checkpoint near nine tenths of the rounds.")
    margin = pl.max_horizontal(pl.lit(FLAT), 2 * pl.col("error").fill_null(0.0))
    falls = len(pairs.filter(pl.col("change") < -margin))
    rises = len(pairs.filter((pl.col("change") > margin) & pl.col("begun")))
    undecided = len(pairs) - falls - rises
    worst = pairs.sort("change", descending=True, maintain_order=True).row(0, named=True)
    late, overall = worst["words"].split("|")
    return Finding(
        prediction,
        False if rises else None if undecided else True,
        f"It falls for {falls} of {len(pairs)} pairs of agent and instance"
        f"{f'; too early to tell for {undecided}' if undecided else ''}. "
        f"Slowest: {worst['agent']} on {worst['instance']}, {number(worst['late'])} {late} "
        f"against {number(worst['overall'])} {overall}.",
    )


def _late_and_overall(curves: pl.DataFrame) -> pl.DataFrame:
    """Mean gaps by agent and instance; pairs without regret or without a checkpoint near 9/10 are left out.

    Where the instances of a family differ in length, the mean gap of the longest is compared with that of the
    one before, because such instances may well keep all their mistakes for the end.
    """
    sweep = pl.col("family").cast(pl.String).is_in(list(split(curves, join_growing=True).growing))
    runs = _before_the_end(curves.filter(~sweep)).filter(pl.col("round") >= 0.5 * pl.col("last"))
    joined = _before_the_end(ends(curves.filter(sweep)).with_columns(instance=pl.col("family")))
    overall = pl.col("total") / pl.col("last")
    rest = (pl.col("total") - pl.col("regret")) / (pl.col("last") - pl.col("round"))
    gaps = pl.concat(
        [
            runs.with_columns(late=rest, overall=overall, words=pl.lit("over the last tenth|over all")),
            joined.with_columns(
                late=overall,
                overall=pl.col("regret") / pl.col("round"),
                words=pl.lit("in the longest run|in a shorter one"),
            ).filter(pl.col("overall") > 0),
        ]
    )
    return gaps.group_by("agent", "instance", "words", maintain_order=True).agg(
        pl.col("late", "overall").mean(),
        pl.col("begun").all(),
        error=(pl.col("late") - pl.col("overall")).std() / pl.len().sqrt(),
    )


def _before_the_end(curves: pl.DataFrame) -> pl.DataFrame:
    """The last checkpoint before 9/10 of each run that has regret, with the last round and the total.

    `begun` says whether the average certificate has halved over the last two decades, or is unknown.
    """
    curves = curves.with_columns(
        pl.col("instance").cast(pl.String), certificate=pl.col("certified_regret") / pl.col("round")
    )
    end = ends(curves).select(*CELL, last="round", total="regret", claimed="certificate")
    lately = pl.col("round") >= 0.01 * pl.col("last")
    before = pl.col("round") <= 0.9 * pl.col("last")
    return (
        curves.join(end, on=CELL, how="inner")
        .sort("round", maintain_order=True)
        .group_by(CELL, maintain_order=True)
        .agg(
            pl.col("round", "regret").filter(before).last(),
            pl.col("last", "total").first(),
            begun=(pl.col("claimed").first() <= 0.5 * pl.col("certificate").filter(lately).first()).fill_null(
                True
            ),
        )
        .filter(pl.col("round").is_not_null() & (pl.col("total") > SMALLEST_REGRET))
    )


def mistakes(mistakes: pl.DataFrame) -> Finding:
    """Whether N_ε stays below its bound for all ε at once, in a share 1-δ of the runs.

    Args:
        mistakes: columns agent, family, instance, seed, kind, round, eps, mistakes, bound, delta.
    """
    require(mistakes, (*MISTAKES, "delta"), "mistakes")
    prediction = "With probability 1 − δ, N_ε is below its bound for all ε at once."
    final = final_counts(mistakes, "delta").filter(pl.col("bound").is_finite())
    if len(final) == 0:
        return Finding(prediction, None, "No agent has a proven bound.")
    final = final.with_columns(ratio=pl.col("mistakes") / pl.col("bound"))
    chance = _least_likely(
        final.group_by(CELL, maintain_order=True).agg(
            failed=(pl.col("ratio") > 1).any(), delta=pl.col("delta").first()
        )
    )
    closest = final.sort("ratio", descending=True, maintain_order=True).row(0, named=True)
    return Finding(
        prediction,
        chance.probability >= FALSE_ALARM,
        f"{chance.failures} of {chance.runs} runs failed{chance.comment}. Closest to the bound: "
        f"{closest['agent']} on {closest['instance']}, N_ε = {number(closest['mistakes'])} of at most "
        f"{number(closest['bound'])} at ε = {accuracy(closest['eps'])} ({number(closest['ratio'], 2)}).",
    )


class _Chance(NamedTuple):
    """Failures of a guarantee that may fail with probability δ."""

    failures: int
    runs: int
    probability: float
    """Of as many failures, for the agent, or the agent and instance, with the least likely number of them."""
    who: str

    @property
    def comment(self) -> str:
        if self.failures == 0:
            return ""
        return f" (least likely under the theorem: {self.who}, probability {number(self.probability, 2)})"


def _least_likely(runs: pl.DataFrame) -> _Chance:
    """Where failures are least likely under the theorem: tried by agent, and by agent and instance.

    Args:
        runs: columns of `CELL`, failed and delta (the largest of a group is taken).
    """
    least, who = 1.0, ""
    for keys in (["agent"], ["agent", "instance"]):
        counted = runs.group_by(keys, maintain_order=True).agg(
            pl.col("failed").sum(), runs=pl.len(), delta=pl.col("delta").max()
        )
        for row in counted.filter(pl.col("failed") > 0).iter_rows(named=True):
            tail = binomial_upper_tail(row["failed"], row["runs"], min(1.0, row["delta"]))
            if tail < least or not who:
                who = f"{' on '.join(row[key] for key in keys)}, {row['failed']} of {row['runs']}"
                least = tail
    return _Chance(int(runs["failed"].sum()), len(runs), least, who)


class _Growth(NamedTuple):
    """How the count of mistakes of one agent grew over the last half of the decades of rounds."""

    agent: str
    panel: str
    per_decade: float
    rise: float
    total: float
    bound: float
    since: float
    """Rounds before that half."""

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.bound)

    @property
    def stopped(self) -> bool:
        return self.rise <= max(1.0, 0.1 * self.total)

    @property
    def must_have_stopped(self) -> bool:
        return self.since > self.bound


def mistakes_over_time(mistakes: pl.DataFrame, eps: float | None = None) -> Finding:
    """Whether agents with a bound on N_ε stop making mistakes of size ε.

    They stop if the count rises by at most one, or a tenth of itself, over the last half of the decades of
    rounds; and then they must not grow faster than every agent without a bound. Not decided for runs of less
    than two decades, nor while an agent goes on and that half begins before as many rounds as its bound.

    Args:
        mistakes: columns agent, family, instance, seed, kind, round, eps, mistakes, bound.
        eps: one of the grid; by default that of the figure.
    """
    require(mistakes, MISTAKES, "mistakes")
    prediction = (
        "Agents with a bound on N_ε stop making mistakes of size ε; the others may go on, like log K."
    )
    grown = list(_growths(mistakes, eps))
    bounded = [growth for growth in grown if growth.bounded]
    unbounded = [growth for growth in grown if not growth.bounded]
    if not bounded:
        return Finding(prediction, None, "No agent with a bound made mistakes over two decades of rounds.")
    free = max((growth.per_decade for growth in unbounded), default=math.inf)
    goes_on = [growth for growth in bounded if not growth.stopped]
    faster = [growth for growth in bounded if growth.per_decade > free + 1 and growth.must_have_stopped]
    seen: bool | None
    if any(growth.must_have_stopped for growth in goes_on) or faster:
        seen = False
    else:
        seen = None if goes_on else True
    waiting = "" if seen is not None else " Some still go on, in runs too short to tell."
    return Finding(
        prediction,
        seen,
        "New mistakes per decade of rounds, over the last half of the decades, "
        f"{_growths_in_words(grown)}.{waiting}",
    )


def _growths_in_words(grown: list[_Growth]) -> str:
    """The growth of each agent, for the panels with the fastest first."""
    by_panel: dict[str, list[_Growth]] = {}
    for growth in sorted(grown, key=lambda growth: growth.per_decade, reverse=True):
        by_panel.setdefault(growth.panel, []).append(growth)
    told = []
    for panel, members in list(by_panel.items())[:MOST_PANELS_LISTED]:
        agents = [
            f"{growth.agent} {number(growth.per_decade, 2)}{'' if growth.bounded else ' (no bound)'}"
            for growth in members[:MOST_LISTED]
        ]
        told.append(f"{panel}: {_listed(agents, len(members))}")
    left = len(by_panel) - len(told)
    return "; ".join(told) + (f"; and {left} more instances, none faster" if left > 0 else "")


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
                since=middle["x"][-1],
            )


def levels(levels: pl.DataFrame) -> Finding:
    """Whether no level holds more than its bound, which is sure and not a matter of chance.

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

    A run fails if some certificate was below its gap, or if the certified regret was below the regret at a
    checkpoint. For MDPs the latter holds with probability 1-2δ: δ for the bounds, δ for the rewards.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, certified_regret, violations,
            delta.
        mistakes: columns agent, family, instance, seed, kind, round, eps, mistakes, bound,
            certificates_above.
    """
    require(curves, (*REGRET, "certified_regret", "violations", "delta"), "curves")
    prediction = (
        "With probability 1 − δ every certificate is at least the true gap, "
        "and certificates above ε are at most as many as the bound on N_ε says."
    )
    claims = curves.filter(pl.col("certified_regret").is_not_null())
    checked = claims.filter(pl.col("regret").is_not_null() | pl.col("violations").is_not_null())
    if len(checked) == 0:
        return Finding(prediction, None, "No run has both certificates and known gaps.")
    below = pl.col("certified_regret") < pl.col("regret") * (1 - 1e-9) - SMALLEST_REGRET
    runs = checked.group_by(CELL, maintain_order=True).agg(
        failed=((pl.col("violations") > 0).fill_null(False) | below.fill_null(False)).any(),
        delta=pl.col("delta").first() * pl.when(pl.col("kind").first() == "mdp").then(2.0).otherwise(1.0),
    )
    chance = _least_likely(runs)
    above, counts = _certificates_above(mistakes)
    final = ends(checked).filter(pl.col("regret") > SMALLEST_REGRET)
    tightness = (
        final.group_by("agent", maintain_order=True)
        .agg(ratio=(pl.col("certified_regret") / pl.col("regret")).median())
        .rows()
    )
    listed = _listed(
        [f"{agent} {number(ratio, 2)}" for agent, ratio in tightness[:MOST_LISTED]], len(tightness)
    )
    parts = [f"{chance.failures} of {chance.runs} runs had a certificate below its gap{chance.comment}."]
    if counts:
        parts.append(f"Certificates above ε were more than proven in {above} of {counts} counts.")
    if listed:
        parts.append(f"Certified regret over regret, median: {listed}.")
    return Finding(prediction, chance.probability >= FALSE_ALARM and above == 0, " ".join(parts))


def _certificates_above(mistakes: pl.DataFrame | None) -> tuple[int, int]:
    """Of how many runs and ε more certificates exceeded ε than proven, and how many there are."""
    if mistakes is None:
        return 0, 0
    require(mistakes, (*MISTAKES, "certificates_above"), "mistakes")
    largest = final_counts(mistakes, "certificates_above").filter(
        pl.col("bound").is_finite() & pl.col("certificates_above").is_not_null()
    )
    return len(largest.filter(pl.col("certificates_above") > pl.col("bound"))), len(largest)


def times(times: pl.DataFrame) -> Finding:
    """Whether time grows at most linearly in the rounds, and the number of plans far slower.

    Both are exponents over the last decade of rounds: at most 1.25 for seconds, at most 0.5 for plans, where
    the latter is not decided in runs of less than 10⁵ episodes. Agents that plan in every episode are not
    asked: what a plan costs may grow with what was stored.

    Args:
        times: columns agent, family, instance, seed, kind, round, seconds, plans.
    """
    require(times, TIMES, "times")
    prediction = (
        "Time grows at most linearly in the rounds, and agents that plan lazily plan like the logarithm."
    )
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
    if seconds["exponent"][0] > 1.25 or len(many.filter(pl.col("end") >= 1e5)):
        return Finding(prediction, False, text)
    if len(many):
        return Finding(prediction, None, f"{text} The runs are too short to tell.")
    return Finding(prediction, True, text)


def _exponent(row: dict[str, object]) -> str:
    return f"{row['exponent']:.2f} ({row['agent']} on {row['instance']})"


def _exponents(times: pl.DataFrame, column: str, least: float) -> pl.DataFrame:
    """Exponent of growth over the last decade of rounds by agent and instance, largest first.

    Args:
        times: with that column.
        column: what grows; its median over the seeds is taken.
        least: pairs that end with less are left out.
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
