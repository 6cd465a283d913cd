"""The charts of the demo: marks on common axes, labelled where they are, in the same two colours everywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from unipac.report.lines import values
from unipac.report.style import OKABE_ITO, log_ticks, number

PROMISED, PROVEN, OTHER, THIRD = OKABE_ITO[0], OKABE_ITO[2], OKABE_ITO[1], OKABE_ITO[3]
"""The colours of certificates, of what is proven to be best, and of what is compared."""
TRUE, GREY = "#1d2329", "#5b646d"
"""The colours of true losses, and of remarks."""
HEIGHT = 290


def points(x: Any, y: Any, color: str, **style: Any) -> Any:
    """A dot for each pair; pairs with a None are left out."""
    look = {"filled": True, "size": 14, "opacity": 0.45, "color": color, "aria": False, **style}
    return _chart(x=x, y=y).mark_point(**look)


def line(x: Any, y: Any, color: str, **style: Any) -> Any:
    """A line through points."""
    look = {"strokeWidth": 2.4, "strokeJoin": "round", "color": color, "aria": False, **style}
    return _chart(x=x, y=y).mark_line(**look)


def band(x: Any, low: Any, high: Any, color: str, **style: Any) -> Any:
    """The space between two lines."""
    look = {"opacity": 0.18, "color": color, "aria": False, **style}
    return _chart(x=x, y=low, high=high).mark_area(**look).encode(y2="high:Q")


def level(y: float, x: Sequence[float], color: str = GREY, **style: Any) -> Any:
    """A thin dashed line across."""
    return line(list(x), [y, y], color, **{"strokeWidth": 1.2, "strokeDash": [4, 3], **style})


def moment(x: float, y: Sequence[float], color: str = GREY, **style: Any) -> Any:
    """A thin dashed line upwards."""
    return line([x, x], list(y), color, **{"strokeWidth": 1.2, "strokeDash": [4, 3], **style})


def words(x: float, y: float, text: str, color: str = GREY, **style: Any) -> Any:
    """A label at a place of the chart."""
    look = {"align": "left", "baseline": "middle", "fontSize": 12.5, "lineHeight": 16, "aria": False, **style}
    return _chart(x=[x], y=[y]).mark_text(text=text.split("\n"), color=color, **look)


def _chart(**columns: Any) -> Any:
    table = pl.DataFrame({name: [_float(v) for v in column] for name, column in columns.items()})
    return alt.Chart(values(table.drop_nulls()))


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def across(title: str, low: float, high: float, *, log: bool = False) -> Any:
    """The axis of rounds."""
    return _axis(alt.X, "x:Q", title, low, high, log)


def upwards(title: str, low: float, high: float, *, log: bool = False, **axis: Any) -> Any:
    """The other axis."""
    return _axis(alt.Y, "y:Q", title, low, high, log, **axis)


def _axis(channel: Any, column: str, title: str, low: float, high: float, log: bool, **axis: Any) -> Any:
    scale: dict[str, Any] = {"domain": [low, high], "nice": False}
    look: dict[str, Any] = {"title": title, "grid": False, **(axis or {"tickCount": 5})}
    if log:
        places, _ = log_ticks(low, high)
        labels = [many(place) for place in places]
        named = f"{json.dumps(labels, ensure_ascii=False)}[indexof({json.dumps(places)}, datum.value)]"
        look |= {"values": places, "labelExpr": named, "labelFlush": False}
        scale |= {"type": "log", "clamp": True}
    return channel(column, scale=alt.Scale(**scale), axis=alt.Axis(**look))


def many(count: float) -> str:
    """A number of rounds as people say it.

    >>> many(10_000), many(10**6), many(3 * 10**9)
    ('10,000', '1 million', '3 billion')
    """
    for size, name in ((10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{number(count / size)} {name}"
    return number(count)


def layered(*layers: Any, x: Any, y: Any, height: int = HEIGHT) -> Any:
    """The layers on common axes, as wide as the page allows."""
    chart = alt.layer(*(layer.encode(x=x, y=y) for layer in layers))
    return chart.properties(width="container", height=height)
