"""Draw the one kind of chart of the report: a line for each agent, solid if measured, dashed if a bound."""

from __future__ import annotations

import csv
import textwrap
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from unipac.report.style import PICTURE_CONFIG, REFERENCE, Looks, count_ticks, log_ticks, number, tick_labels

if TYPE_CHECKING:
    import altair as alt

MOST_POINTS = 48
"""The most points of one line; the eye could not separate more."""
MOST_SYMBOLS = 9
"""The most symbols on one line."""
MOST_BANDS = 6
"""Bands are drawn for at most this many agents; more would blend to grey."""
PICTURE_WIDTH, PICTURE_HEIGHT = 560, 330
PAGE_HEIGHT = 270
_DASHES = ([1, 0], [6, 4])
"""Dash patterns: solid for the first kind of line, dashed for the second."""


@dataclass(frozen=True)
class Axis:
    """The quantity on an axis, and its scale."""

    title: str
    """The quantity and its unit."""
    scale: Literal["log", "counts", "linear", "near", "whole"]
    """counts: logarithm of 1 + count, which can show zero; near: linear, not forced to include zero; whole:
    linear with ticks at whole numbers only."""

    def asked(self, scale: str | None) -> Axis:
        """The axis on another scale, if one is asked for; for counts, "log" keeps their own logarithm."""
        if scale == "linear" and self.scale in ("log", "counts"):
            return replace(self, scale="linear")
        return replace(self, scale="log") if scale == "log" and self.scale in ("linear", "near") else self


@dataclass(frozen=True)
class Panel:
    """One chart before it is drawn."""

    name: str
    """The name of its file, without suffix."""
    figure: str
    """The title of the figure that it belongs to."""
    title: str
    """The title of the panel: the instance."""
    x: Axis
    y: Axis
    rows: pl.DataFrame
    """Columns agent, line, x, y, low, high; low and high are null if there is no band."""
    lines: tuple[str, ...]
    """The names of the solid and the dashed lines."""
    looks: Looks
    reference: pl.DataFrame | None = None
    """Columns x, y: a grey dashed line that belongs to no agent, such as a lower bound; named last in `lines`."""
    width: int | None = None
    height: int | None = None
    """In pixels; None for the usual size."""

    @property
    def drawn(self) -> list[str]:
        """Those of `lines` that the panel really has."""
        present = set(self.rows["line"])
        return [line for line in self.lines if line in present or self._is_reference(line)]

    def _is_reference(self, line: str) -> bool:
        return self.reference is not None and line == self.lines[-1]

    @property
    def agents(self) -> list[str]:
        """The agents that have a line in this panel, in the order of the report."""
        present = set(self.rows["agent"])
        return [agent for agent in self.looks if agent in present]

    @property
    def alt(self) -> str:
        """The chart in words, with the last value of each line."""
        last = self.rows.sort("x").group_by("agent", "line", maintain_order=True).last().sort("agent", "line")
        values = [
            f"{agent}, {line}: {number(y)}" for agent, line, y in last.select("agent", "line", "y").rows()
        ]
        return (
            f"{self.figure}, {self.title}. Lines of {self.y.title} against {self.x.title}. "
            f"At the right end: {'; '.join(values[:24])}."
        )


def thin(rows: pl.DataFrame, most: int = MOST_POINTS) -> pl.DataFrame:
    """Keep at most `most` points of each line, evenly spaced along it, and always both ends."""
    position = pl.int_range(pl.len()).over("agent", "line")
    length = pl.len().over("agent", "line")
    stride = ((length - 1) / (most - 1)).clip(lower_bound=1.0)
    # Keep one point per stride; strides are counted from the end, so that the last point is always kept.
    back = length - 1 - position
    keep = (back == 0) | (position == 0) | ((back / stride).floor() != ((back - 1) / stride).floor())
    return rows.sort("x", maintain_order=True).filter(keep)


def draw(panel: Panel, *, page: bool = False) -> alt.LayerChart:
    """The chart of a panel.

    Args:
        panel: a panel with at least one row.
        page: whether the chart is for the page, which has its own titles and legends and decides the width; if
            not, it is a picture that stands alone.
    """
    import altair as alt

    agents = panel.agents
    on_top = {agent: -i for i, agent in enumerate(agents)}  # the first agent is drawn last, above the others
    rows = thin(panel.rows).sort(pl.col("agent").replace_strict(on_top), maintain_order=True)
    chosen = [panel.looks[agent] for agent in agents]
    longest = max(len(agent) for agent in agents)
    legend: Any = None if page else alt.Legend(orient="bottom", columns=1 if longest > 30 else 2)
    color = alt.Color(
        "agent:N", scale=alt.Scale(domain=agents, range=[look.color for look in chosen]), legend=legend
    )
    shape = alt.Shape(
        "agent:N", scale=alt.Scale(domain=agents, range=[look.shape for look in chosen]), legend=legend
    )
    dash_legend: Any = None
    if not page and len(panel.drawn) > 1:
        dash_legend = alt.Legend(
            orient="bottom", symbolType="stroke", symbolStrokeWidth=2, symbolSize=500, direction="vertical"
        )
    dash = alt.StrokeDash(
        "line:N",
        scale=alt.Scale(domain=panel.drawn, range=[_DASHES[panel.lines.index(line)] for line in panel.drawn]),
        legend=dash_legend,
    )
    heights = _heights(rows, panel.y.scale)
    if panel.reference is not None:
        heights = pl.concat([heights, panel.reference["y"]])
    x, y = _encoded(alt.X, "x", panel.x, rows["x"]), _encoded(alt.Y, "y", panel.y, heights)
    layers = []
    band = rows.filter(pl.col("low").is_not_null() & (pl.col("low") != pl.col("high")))
    if len(band) and len(agents) <= MOST_BANDS:
        layers.append(
            alt.Chart(values(_above(band, y).select("agent", "line", "x", "low", "high")))
            .mark_area(opacity=0.14, aria=False)
            .encode(
                x=x,
                y=_encoded(alt.Y, "low", panel.y, heights),
                y2="high:Q",
                color=color,
                detail="line:N",
            )
        )
    marked = thin(rows, MOST_SYMBOLS).sort(pl.col("agent").replace_strict(on_top), maintain_order=True)
    tooltip = [
        alt.Tooltip("agent:N"),
        alt.Tooltip("line:N", title="line"),
        alt.Tooltip("x:Q", title=panel.x.title, format=",.4~g"),
        alt.Tooltip("y:Q", title=panel.y.title, format=",.4~g"),
    ]
    if panel.reference is not None:
        line = panel.reference.select(pl.lit(panel.lines[-1]).alias("line"), "x", "y")
        layers.append(
            alt.Chart(values(line))
            .mark_line(strokeWidth=2, color=REFERENCE, aria=False)
            .encode(x=x, y=y, strokeDash=dash)
        )
    layers.append(
        alt.Chart(values(rows.select("agent", "line", "x", "y")))
        .mark_line(strokeWidth=2, strokeJoin="round", aria=False)
        .encode(x=x, y=y, color=color, strokeDash=dash)
    )
    layers.append(
        alt.Chart(values(marked.select("agent", "line", "x", "y")))
        .mark_point(filled=True, size=42, opacity=1, aria=False)
        .encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip)
    )
    chart: alt.LayerChart = alt.layer(*layers).resolve_legend(color="shared", shape="shared")
    if page:
        chart = chart.properties(width="container", height=panel.height or PAGE_HEIGHT)
    else:
        letters = max(20, (panel.width or PICTURE_WIDTH) // 8)
        title = alt.Title(
            panel.figure, subtitle=textwrap.wrap(panel.title, letters), anchor="start", offset=12
        )
        size = {"width": panel.width or PICTURE_WIDTH, "height": panel.height or PICTURE_HEIGHT}
        chart = chart.properties(**size, title=title)
    return chart.properties(description=panel.alt)


def configured(chart: alt.LayerChart | alt.ConcatChart) -> alt.LayerChart | alt.ConcatChart:
    """A copy of the chart with its own fonts and greys, for a picture."""
    chart = chart.copy()
    chart.config = PICTURE_CONFIG
    return chart


def _heights(rows: pl.DataFrame, scale: str) -> pl.Series:
    low = pl.col("low")
    if scale == "log":  # a band that reaches down to zero must not stretch the axis
        low = pl.max_horizontal(low, pl.when(low.is_not_null()).then(pl.col("y") / 10))
    return pl.concat([rows["y"], rows.select(low).to_series().drop_nulls(), rows["high"].drop_nulls()])


def _above(band: pl.DataFrame, y: Any) -> pl.DataFrame:
    """The band, cut at the lower end of the axis."""
    low = y.to_dict()["scale"]["domain"][0]
    return band.with_columns(pl.col("low", "high").clip(lower_bound=low))


def _encoded(channel: type[Any], column: str, axis: Axis, values: pl.Series) -> Any:
    """The channel with a scale that covers the values, and readable ticks."""
    import altair as alt

    title = axis.title
    if axis.scale == "linear":
        high = float(values.max() or 0) or 1.0  # type: ignore[arg-type]
        scale = alt.Scale(domain=[min(0.0, float(values.min() or 0)), high * 1.05], nice=False)  # type: ignore[arg-type]
        return channel(f"{column}:Q", scale=scale, axis=alt.Axis(title=title, tickCount=5))
    if axis.scale == "near":
        low, high = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
        margin = 0.05 * (high - low) or 0.5
        scale = alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)
        return channel(f"{column}:Q", scale=scale, axis=alt.Axis(title=title, tickCount=5))
    if axis.scale == "whole":
        low, high = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
        every = max(1, round((high - low) / 10))
        ticks = alt.Axis(title=title, values=list(range(int(low), int(high) + 1, every)), format="d")
        return channel(
            f"{column}:Q", scale=alt.Scale(domain=[low - 0.25, high + 0.25], nice=False), axis=ticks
        )
    if axis.scale == "counts":
        high = float(values.max() or 0) * 1.3 + 1  # type: ignore[arg-type]
        places, labels = count_ticks(high)
        scale = alt.Scale(type="symlog", constant=1, domain=[0, max(high, 10.0)], nice=False)
    else:
        positive = values.filter(values > 0)
        low, high = float(positive.min()), float(positive.max())  # type: ignore[arg-type]
        margin = 1.25 if channel is alt.Y else 1.0
        if low == high:
            margin = 2.0
        low, high = low / margin, high * margin
        places, labels = log_ticks(low, high)
        scale = alt.Scale(type="log", domain=[low, high], nice=False)
    label = tick_labels(places, labels)
    ticks = alt.Axis(title=title, values=places, labelExpr=label, labelOverlap="greedy", labelFlush=False)
    return channel(f"{column}:Q", scale=scale, axis=ticks)


def values(rows: pl.DataFrame) -> alt.InlineData:
    """The rows as CSV inside the chart, which is short; four digits are more than the eye can see."""
    import altair as alt

    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows.columns)
    for row in rows.iter_rows():
        writer.writerow(f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row)
    kinds = {name: "string" if kind == pl.String else "number" for name, kind in rows.schema.items()}
    return alt.InlineData(values=text.getvalue(), format=alt.CsvDataFormat(type="csv", parse=kinds))
