"""The panels of each figure: data frames aggregated to lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from unipac._text import slug
from unipac.experiments.results import labels
from unipac.report.frames import (
    Panels,
    along_rounds,
    final_counts,
    free_rounds,
    require,
    rounds_name,
    split,
    typical_eps,
)
from unipac.report.lines import Axis, Panel
from unipac.report.style import Looks, accuracy, looks

REGRET = ("agent", "family", "instance", "seed", "kind", "round", "regret")
MISTAKES = ("agent", "family", "instance", "seed", "kind", "round", "eps", "mistakes", "bound")
LEVELS = ("agent", "family", "instance", "seed", "stage", "level", "size", "bound")
CERTIFICATES = (*REGRET, "certified_regret")
TIMES = ("agent", "family", "instance", "seed", "kind", "round", "seconds", "plans")

SMALLEST_REGRET = 1e-12
"""Less is rounding, and has no place on a log axis."""
MOST_OF_FAMILY = 3
"""Instances of one sweep in the figures that have no rounds on the x axis."""
BAND = "The line is the median over the seeds; the band, drawn for up to six agents, holds 80 % of them."


class Drawn(NamedTuple):
    """The panels of a figure."""

    title: str
    panels: list[Panel]
    caption: str
    """How to read them, and what is left out."""


def regret(curves: pl.DataFrame, chosen: Looks | None = None) -> Drawn:
    """Cumulative regret: median over the seeds with a band."""
    require(curves, REGRET, "curves")
    positive = curves.filter(pl.col("regret") > SMALLEST_REGRET)
    dropped = _left_out(curves, positive, "regret unknown or zero throughout")
    return _over_rounds(
        "Regret",
        curves.filter(pl.col("regret").is_not_null()),
        chosen or looks(labels(curves, "agent")),
        lambda part: _median_with_band(part.rename({"regret": "y"})).filter(pl.col("y") > SMALLEST_REGRET),
        y=Axis("cumulative regret", "log"),
        caption=_sentences(BAND, "Both axes are logarithmic; zeros are not drawn.", dropped),
    )


def mistakes(mistakes: pl.DataFrame, chosen: Looks | None = None) -> Drawn:
    """N_ε at the end against ε, with its bound."""
    require(mistakes, MISTAKES, "mistakes")
    title = "Mistakes for every ε at once"
    chosen = chosen or looks(labels(mistakes, "agent"))
    if mistakes["eps"].n_unique() == 1:
        return Drawn(title, [], "There is one ε only: see the table.")
    final = final_counts(mistakes)
    units = split(final, join_growing=False, of_family=MOST_OF_FAMILY)
    panels = []
    for name, belongs in units.shown.items():
        part = _labelled(final.filter(belongs))
        measured = part.rename({"eps": "x", "mistakes": "y"}).with_columns(pl.col("y").cast(pl.Float64))
        bound = part.group_by("agent", x="eps").agg(y=pl.col("bound").max()).filter(pl.col("y").is_finite())
        rows = pl.concat(
            [_median_with_band(measured, line="measured"), _plain(bound, "proven bound")], how="vertical"
        )
        panels.append(
            Panel(
                name=f"mistakes-{slug(name.lower())}",
                figure=title,
                title=name,
                x=Axis("ε", "log"),
                y=Axis(f"{rounds_name(part)} with a gap above ε", "counts"),
                rows=rows,
                lines=("measured", "proven bound"),
                looks=chosen,
            )
        )
    caption = f"{BAND} Dashed: the proven bound, where there is one. The counts are on a log(1 + n) axis."
    return Drawn(title, panels, _sentences(caption, units.note))


def mistakes_over_time(
    mistakes: pl.DataFrame, chosen: Looks | None = None, *, eps: float | None = None
) -> Drawn:
    """N_ε for one ε along the rounds, or at the end of runs of growing length."""
    require(mistakes, MISTAKES, "mistakes")
    title = "Mistakes over time"
    chosen = chosen or looks(labels(mistakes, "agent"))
    units = split(mistakes, join_growing=True)
    panels = []
    for name in units.shown:
        at, part = mistakes_along(mistakes, units, name, eps)
        if at is None:
            continue
        part = _labelled(part).with_columns(y=pl.col("mistakes").cast(pl.Float64))
        rows = _median_with_band(part.filter(pl.col("x") > 0))
        counts = [n for n in rows.group_by("agent").agg(pl.col("y").max())["y"] if n > 0]
        far_apart = len(counts) > 0 and min(counts) * 30 < max(counts)  # medians may all be 0
        counted = rounds_name(part)
        length = f"length of the run, {counted}" if name in units.growing else counted
        panels.append(
            Panel(
                name=f"mistakes-over-time-{slug(name.lower())}",
                figure=title,
                title=f"{name}, ε = {accuracy(at)}",
                x=Axis(length, "log"),
                y=Axis(f"{counted} with a gap above ε", "counts" if far_apart else "linear"),
                rows=rows,
                lines=("measured",),
                looks=chosen,
            )
        )
    grows = (
        " Where instances differ in length, each is one point, at its last round." if units.growing else ""
    )
    return Drawn(title, panels, _sentences(f"{BAND}{grows}", units.note))


def mistakes_along(
    mistakes: pl.DataFrame, units: Panels, name: str, eps: float | None
) -> tuple[float | None, pl.DataFrame]:
    """The ε of a panel and its counts, with a column `x` of rounds; None where nobody made a mistake."""
    part = mistakes.filter(units.shown[name])
    grid = part["eps"].unique().sort(descending=True)
    if eps is not None and eps not in grid:
        raise ValueError(f"eps must be one of {grid.to_list()}, got {eps!r}")
    at = typical_eps(final_counts(part)) if eps is None else eps
    if at is None:
        return None, part.clear()
    return at, along_rounds(mistakes.filter(pl.col("eps") == at), units, name)


def levels(levels: pl.DataFrame, chosen: Looks | None = None) -> Drawn:
    """The largest size of each level over seeds and stages, with its bound."""
    require(levels, LEVELS, "levels")
    title = "Level sizes"
    chosen = chosen or looks(labels(levels, "agent"))
    has_levels = (pl.col("bound").is_finite() | (pl.col("level") > 1)).any().over("agent")
    used = levels.filter(has_levels & (pl.col("size") > 0)).with_columns(round=pl.lit(0))
    units = split(used, join_growing=False, of_family=MOST_OF_FAMILY)
    panels = []
    for name, belongs in units.shown.items():
        part = _labelled(used.filter(belongs))
        largest = part.group_by("agent", x=pl.col("level").cast(pl.Float64)).agg(
            y=pl.col("size").max().cast(pl.Float64), bound=pl.col("bound").max()
        )
        bound = largest.select("agent", "x", y="bound").filter(pl.col("y").is_finite())
        rows = pl.concat([_plain(largest.drop("bound"), "largest size"), _plain(bound, "proven bound")])
        panels.append(
            Panel(
                name=f"levels-{slug(name.lower())}",
                figure=title,
                title=name,
                x=Axis("level", "whole"),
                y=Axis("vectors in the level", "log"),
                rows=rows,
                lines=("largest size", "proven bound"),
                looks=chosen,
            )
        )
    caption = "Solid: the largest size over seeds and stages. Dashed: the proven bound, where there is one."
    without = _left_out(levels, used, "no levels")
    return Drawn(title, panels, _sentences(caption, without, units.note))


def certificates(curves: pl.DataFrame, chosen: Looks | None = None) -> Drawn:
    """The average certificate of a round against the average gap."""
    require(curves, CERTIFICATES, "curves")
    chosen = chosen or looks(labels(curves, "agent"))
    lines = {"gap": "regret", "certificate": "certified_regret"}
    known = curves.filter(pl.col("certified_regret").is_not_null())

    def aggregated(part: pl.DataFrame) -> pl.DataFrame:
        per_round = [
            _median_with_band(part.with_columns(y=pl.col(column) / free_rounds(part)), line=line)
            for line, column in lines.items()
        ]
        return pl.concat(per_round).filter(pl.col("y") > SMALLEST_REGRET)

    return _over_rounds(
        "Certificates and gaps",
        known,
        chosen,
        aggregated,
        y=Axis("average over the choices so far", "log"),
        caption=_sentences(
            BAND,
            "Solid: the true average gap. Dashed: the average certificate, what the agent can vouch for.",
            "Zeros are not drawn.",
            _left_out(curves, known, "nothing certified"),
        ),
        lines=tuple(lines),
    )


def times(times: pl.DataFrame, chosen: Looks | None = None) -> Drawn:
    """Seconds against rounds; for MDPs also plans against episodes."""
    require(times, TIMES, "times")
    chosen = chosen or looks(labels(times, "agent"))
    seconds = _over_rounds(
        "Time",
        times.filter(pl.col("seconds") > 0),
        chosen,
        lambda part: _median_with_band(part.rename({"seconds": "y"})),
        y=Axis("seconds", "log"),
        caption=BAND,
    )
    planned = times.filter(pl.col("plans") > 0).with_columns(pl.col("plans").cast(pl.Float64))
    if len(planned) == 0:
        return seconds
    plans = _over_rounds(
        "Plans",
        planned,
        chosen,
        lambda part: _median_with_band(part.rename({"plans": "y"})),
        y=Axis("times planned", "log"),
        caption="",
    )
    return Drawn("Time and plans", seconds.panels + plans.panels, seconds.caption)


def _over_rounds(
    title: str,
    frame: pl.DataFrame,
    chosen: Looks,
    aggregated: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    y: Axis,
    caption: str,
    lines: tuple[str, ...] = ("measured",),
) -> Drawn:
    """A figure with rounds on its x axes."""
    units = split(frame, join_growing=True)
    panels = []
    for name in units.shown:
        part = _labelled(along_rounds(frame, units, name)).filter(pl.col("x") > 0)
        rows = aggregated(part)
        if len(rows) == 0:
            continue
        counted = rounds_name(part)
        length = f"length of the run, {counted}" if name in units.growing else counted
        panels.append(
            Panel(
                name=f"{slug(title.lower())}-{slug(name.lower())}",
                figure=title,
                title=name,
                x=Axis(length, "log"),
                y=y,
                rows=rows,
                lines=lines,
                looks=chosen,
            )
        )
    grows = "Where instances differ in length, each is one point, at its last round." if units.growing else ""
    return Drawn(title, panels, _sentences(caption, grows, units.note))


def _labelled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("agent").cast(pl.String))


def _median_with_band(frame: pl.DataFrame, line: str = "measured") -> pl.DataFrame:
    """Median, 10 % and 90 % quantiles of `y` by agent and `x`; no band where there is one seed."""
    value = pl.col("y").cast(pl.Float64)
    several = pl.len() > 1
    return (
        frame.group_by("agent", "x")
        .agg(
            y=value.median(),
            low=pl.when(several).then(value.quantile(0.1, "linear")),
            high=pl.when(several).then(value.quantile(0.9, "linear")),
        )
        .select("agent", pl.lit(line).alias("line"), "x", "y", "low", "high")
        .sort("agent", "x")
    )


def _plain(frame: pl.DataFrame, line: str) -> pl.DataFrame:
    """Lines without a band."""
    empty = pl.lit(None, dtype=pl.Float64)
    return frame.select(
        "agent", pl.lit(line).alias("line"), "x", "y", empty.alias("low"), empty.alias("high")
    ).sort("agent", "x")


def _left_out(frame: pl.DataFrame, drawn: pl.DataFrame, why: str) -> str:
    """A sentence that names the agents without a line, or nothing."""
    present = set(labels(drawn, "agent"))
    absent = [agent for agent in labels(frame, "agent") if agent not in present]
    return f"Without a line ({why}): {', '.join(absent)}." if absent else ""


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)
