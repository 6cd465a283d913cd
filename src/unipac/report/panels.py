"""Make the panels of each figure: aggregate data frames to lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import polars as pl

from unipac._text import slug
from unipac.experiments.options import Options
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
from unipac.report.summaries import (
    SMALLEST_REGRET,
    above,
    band,
    labelled,
    left_out,
    plain,
    sentences,
    summarised,
    wanted,
)

REGRET = ("agent", "family", "instance", "seed", "kind", "round", "regret")
MISTAKES = ("agent", "family", "instance", "seed", "kind", "round", "eps", "mistakes", "bound")
LEVELS = ("agent", "family", "instance", "seed", "stage", "level", "size", "bound")
CERTIFICATES = (*REGRET, "certified_regret")
TIMES = ("agent", "family", "instance", "seed", "kind", "round", "seconds", "plans")

MOST_OF_FAMILY = 3
"""The most instances of one sweep in figures whose x axis does not show rounds."""
USUAL = Options()


class Drawn(NamedTuple):
    """The panels of a figure."""

    title: str
    panels: list[Panel]
    caption: str
    """How to read the panels, and what is left out."""


def regret(curves: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """Cumulative regret: one line with a band for each agent."""
    require(curves, REGRET, "curves")
    curves = wanted(curves, options)
    positive = curves.filter(pl.col("regret") > SMALLEST_REGRET)
    log = options.y != "linear"
    return over_rounds(
        "Regret",
        curves.filter(pl.col("regret").is_not_null()),
        chosen or looks(labels(curves, "agent")),
        lambda part: above(summarised(part.rename({"regret": "y"}), options), log),
        y=Axis("cumulative regret", "log"),
        options=options,
        caption=sentences(
            band(options),
            "Zeros are not drawn." if log else "",
            left_out(curves, positive if log else curves, "regret unknown or zero throughout"),
        ),
    )


def mistakes(mistakes: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """N_ε at the end against ε, with its bound."""
    require(mistakes, MISTAKES, "mistakes")
    title = options.title or "Mistakes for every ε at once"
    chosen = chosen or looks(labels(mistakes, "agent"))
    if mistakes["eps"].n_unique() == 1:
        return Drawn(title, [], "There is one ε only: see the table.")
    final = final_counts(mistakes)
    units = split(wanted(final, options), join_growing=False, of_family=MOST_OF_FAMILY)
    panels = []
    for name, belongs in units.shown.items():
        part = labelled(final.filter(belongs))
        measured = part.rename({"eps": "x", "mistakes": "y"}).with_columns(pl.col("y").cast(pl.Float64))
        bound = part.group_by("agent", x="eps").agg(y=pl.col("bound").max()).filter(pl.col("y").is_finite())
        rows = [summarised(measured, options), plain(bound, "proven bound")]
        panels.append(
            Panel(
                name=f"mistakes-{slug(name.lower())}",
                figure=title,
                title=name,
                x=Axis("ε", "log").asked(options.x),
                y=Axis(f"{rounds_name(part)} with a gap above ε", "counts").asked(options.y),
                rows=pl.concat(rows, how="vertical"),
                lines=("measured", "proven bound"),
                looks=chosen,
                width=options.width,
                height=options.height,
            )
        )
    caption = f"{band(options)} Dashed: the proven bound, where there is one."
    scale = "" if options.y == "linear" else "The counts are on a log(1 + n) axis."
    return Drawn(title, panels, sentences(caption, scale, units.note))


def mistakes_over_time(
    mistakes: pl.DataFrame,
    chosen: Looks | None = None,
    options: Options = USUAL,
    *,
    eps: float | None = None,
) -> Drawn:
    """N_ε for one ε along the rounds, or at the end of runs of growing length."""
    require(mistakes, MISTAKES, "mistakes")
    title = options.title or "Mistakes over time"
    chosen = chosen or looks(labels(mistakes, "agent"))
    units = split(wanted(mistakes, options), join_growing=True)
    panels = []
    for name in units.shown:
        at, part = mistakes_along(mistakes, units, name, eps)
        if at is None:
            continue
        part = labelled(part).with_columns(y=pl.col("mistakes").cast(pl.Float64))
        rows = summarised(part.filter(pl.col("x") > 0), options)
        counts = [n for n in rows.group_by("agent").agg(pl.col("y").max())["y"] if n > 0]
        far_apart = len(counts) > 0 and min(counts) * 30 < max(counts)  # medians may all be 0
        scale: Literal["counts", "linear"] = (
            "counts" if options.y == "log" or (options.y is None and far_apart) else "linear"
        )
        counted = rounds_name(part)
        length = f"length of the run, {counted}" if name in units.growing else counted
        panels.append(
            Panel(
                name=f"mistakes-over-time-{slug(name.lower())}",
                figure=title,
                title=f"{name}, ε = {accuracy(at)}",
                x=Axis(length, "log").asked(options.x),
                y=Axis(f"{counted} with a gap above ε", scale),
                rows=rows,
                lines=("measured",),
                looks=chosen,
                width=options.width,
                height=options.height,
            )
        )
    grows = "Where instances differ in length, each is one point, at its last round." if units.growing else ""
    return Drawn(title, panels, sentences(band(options), grows, units.note))


def mistakes_along(
    mistakes: pl.DataFrame, units: Panels, name: str, eps: float | None
) -> tuple[float | None, pl.DataFrame]:
    """The ε of a panel, and its counts with a column `x` of rounds; ε is None if nobody made a mistake."""
    part = mistakes.filter(units.shown[name])
    grid = part["eps"].unique().sort(descending=True)
    if eps is not None and eps not in grid:
        raise ValueError(f"eps must be one of {grid.to_list()}, got {eps!r}")
    at = typical_eps(final_counts(part)) if eps is None else eps
    if at is None:
        return None, part.clear()
    return at, along_rounds(mistakes.filter(pl.col("eps") == at), units, name)


def levels(levels: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """The largest size of each level over seeds and stages, with its bound."""
    require(levels, LEVELS, "levels")
    title = options.title or "Level sizes"
    chosen = chosen or looks(labels(levels, "agent"))
    has_levels = (pl.col("bound").is_finite() | (pl.col("level") > 1)).any().over("agent")
    used = levels.filter(has_levels & (pl.col("size") > 0)).with_columns(round=pl.lit(0))
    units = split(wanted(used, options), join_growing=False, of_family=MOST_OF_FAMILY)
    panels = []
    for name, belongs in units.shown.items():
        part = labelled(used.filter(belongs))
        largest = part.group_by("agent", x=pl.col("level").cast(pl.Float64)).agg(
            y=pl.col("size").max().cast(pl.Float64), bound=pl.col("bound").max()
        )
        bound = largest.select("agent", "x", y="bound").filter(pl.col("y").is_finite())
        rows = pl.concat([plain(largest.drop("bound"), "largest size"), plain(bound, "proven bound")])
        panels.append(
            Panel(
                name=f"levels-{slug(name.lower())}",
                figure=title,
                title=name,
                x=Axis("level", "whole"),
                y=Axis("vectors in the level", "log").asked(options.y),
                rows=rows,
                lines=("largest size", "proven bound"),
                looks=chosen,
                width=options.width,
                height=options.height,
            )
        )
    caption = "Solid: the largest size over seeds and stages. Dashed: the proven bound, where there is one."
    without = left_out(levels, used, "no levels")
    return Drawn(title, panels, sentences(caption, without, units.note))


def certificates(curves: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """The average certificate of a round against the average gap."""
    require(curves, CERTIFICATES, "curves")
    curves = wanted(curves, options)
    lines = {"gap": "regret", "certificate": "certified_regret"}
    certified = curves.filter(pl.col("certified_regret").is_not_null())
    log = options.y != "linear"

    def aggregated(part: pl.DataFrame) -> pl.DataFrame:
        per_round = [
            summarised(part.with_columns(y=pl.col(column) / free_rounds(part)), options, line)
            for line, column in lines.items()
        ]
        return above(pl.concat(per_round), log)

    return over_rounds(
        "Certificates and gaps",
        certified,
        chosen or looks(labels(curves, "agent")),
        aggregated,
        y=Axis("average over the choices so far", "log"),
        options=options,
        caption=sentences(
            band(options),
            "Solid: the true average gap. Dashed: the average certificate, what the agent can vouch for.",
            "Zeros are not drawn." if log else "",
            left_out(curves, certified, "nothing certified"),
        ),
        lines=tuple(lines),
    )


def times(times: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """Seconds against rounds; for MDPs also plans against episodes."""
    require(times, TIMES, "times")
    chosen = chosen or looks(labels(times, "agent"))
    seconds = over_rounds(
        "Time",
        times.filter(pl.col("seconds") > 0),
        chosen,
        lambda part: summarised(part.rename({"seconds": "y"}), options),
        y=Axis("seconds", "log"),
        options=options,
        caption=band(options),
    )
    planned = times.filter(pl.col("plans") > 0).with_columns(pl.col("plans").cast(pl.Float64))
    if len(planned) == 0:
        return seconds
    plans = over_rounds(
        "Plans",
        planned,
        chosen,
        lambda part: summarised(part.rename({"plans": "y"}), options),
        y=Axis("times planned", "log"),
        options=options,
        caption="",
    )
    return Drawn(options.title or "Time and plans", seconds.panels + plans.panels, seconds.caption)


def over_rounds(
    title: str,
    frame: pl.DataFrame,
    chosen: Looks,
    aggregated: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    y: Axis,
    options: Options,
    caption: str,
    lines: tuple[str, ...] = ("measured",),
) -> Drawn:
    """A figure whose x axes show rounds; `aggregated` turns the rows of a panel into lines."""
    units = split(wanted(frame, options), join_growing=True)
    panels = []
    for name in units.shown:
        part = labelled(along_rounds(frame, units, name)).filter(pl.col("x") > 0)
        rows = aggregated(part)
        if len(rows) == 0:
            continue
        counted = rounds_name(part)
        length = f"length of the run, {counted}" if name in units.growing else counted
        panels.append(
            Panel(
                name=f"{slug(title.lower())}-{slug(name.lower())}",
                figure=options.title or title,
                title=name,
                x=Axis(length, "log").asked(options.x),
                y=y.asked(options.y),
                rows=rows,
                lines=lines,
                looks=chosen,
                width=options.width,
                height=options.height,
            )
        )
    grows = "Where instances differ in length, each is one point, at its last round." if units.growing else ""
    return Drawn(options.title or title, panels, sentences(caption, grows, units.note))
