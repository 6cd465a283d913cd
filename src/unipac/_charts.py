"""Charts of traces, searches and deployments; altair is imported when one is drawn."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._notebook import needed
from unipac._style import OKABE_ITO, PICTURE_CONFIG, REFERENCE, count_ticks, log_ticks, number, tick_labels
from unipac.metrics import certificate_violations

MOST_POINTS = 150
"""The most points of a line."""
ROUNDS_OF_POINT = 5
"""A point is the mean of at least this many rounds, unless that would leave fewer than ``FEW_POINTS`` points."""
FEW_POINTS = 30
"""Lines with at most this many points have marks at them: otherwise a line of one point would be invisible."""
MOST_DOTS = 600
"""The most rounds that are drawn as dots; those that break their certificate are always among them."""
MOST_BARS = 30
FEW_TICKS = 12
DECADES = 1e3
"""Losses smaller than the largest by more than this factor are drawn close to zero."""
WIDTH, HEIGHT, SQUARE, LETTERS = 520, 150, 360, 85
LOSS = "loss against the best action"
_STROKES = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolSize": 200}

Scale = Literal["near", "zero", "loss", "share"]
"""near: linear, not forced to include zero; loss: logarithmic, and yet with a zero; share: from 0 to 100 %."""


class Panel(NamedTuple):
    """Lines over the same rounds."""

    title: str
    lines: Mapping[str, Any]
    """Arrays by name, all of one length; NaN where nothing is known."""
    scale: Scale = "near"


# -- what is drawn -----------------------------------------------------------------------------


def bandit(trace: Any, what: str) -> Any:
    """A chart of a bandit's trace."""
    losses = {"certificate": trace.certificate} | ({} if trace.gap is None else {"gap": trace.gap})
    panels = [Panel("reward", {"reward": trace.reward}), Panel(LOSS, losses, "loss")]
    if (trace.level == 0).any():  # the agent does not explore in every round
        panels.append(Panel("share of rounds explored", {"share": trace.level > 0}, "share"))
    return _asked(trace, what, panels, "round", "rounds")


def episodes(trace: Any, what: str) -> Any:
    """A chart of episodes that were played."""
    share = {"planned anew": trace.replanned}
    if trace.explored.any():
        share["explored"] = trace.explored
    panels = [
        Panel("reward of an episode", {"reward": trace.reward}),
        Panel("loss against the best policy", {"certificate": trace.certificate, "gap": trace.gap}, "loss"),
        Panel("upper bound on the best value", {"bound": trace.bound}, "zero"),
        Panel("share of episodes" if len(share) > 1 else "share of episodes planned anew", share, "share"),
    ]
    return _asked(trace, what, panels, "episode", "stages")


def learning(trace: Any) -> Any:
    """A chart of episodes in an environment."""
    ends = {"terminated": trace.terminated, "truncated": trace.truncated}
    panels = [
        Panel("return of an episode", {"return": trace.returns}),
        Panel("steps of an episode", {"steps": trace.lengths}, "zero"),
        Panel("share of episodes", ends, "share"),
    ]
    return over(np.arange(len(trace)), panels, "episode")


def _asked(trace: Any, what: str, panels: Sequence[Panel], unit: str, members: str) -> Any:
    """One of the three charts of a trace."""
    check.require(what in ("overview", "gaps", "levels"), "what", '"overview", "gaps" or "levels"', what)
    if what == "gaps":
        return against(trace.certificate, trace.gap, unit)
    if what == "levels":
        return filling(trace.level, unit, members)
    return over(np.arange(len(trace)), panels, unit)


# -- lines over rounds -------------------------------------------------------------------------


def over(rounds: NDArray[Any], panels: Sequence[Panel], unit: str) -> Any:
    """Lines over rounds, one panel below the other; each point is the mean of the known values of some rounds."""
    alt = needed("altair")
    ends = [float(rounds[0]), float(rounds[-1])] if len(rounds) > 1 else [-1.0, 1.0]
    ticks = {"values": rounds.tolist()} if len(rounds) <= FEW_TICKS else {}  # else some are not integers
    found = [{name: _points(values, rounds) for name, values in panel.lines.items()} for panel in panels]
    lowest = max((k for k, lines in enumerate(found) if any(lines.values())), default=-1)
    drawn = []
    for k, (panel, lines) in enumerate(zip(panels, found, strict=True)):
        axis = alt.Axis(title=unit if k == lowest else None, format=",d", labelOverlap="greedy", **ticks)
        x = alt.X("round:Q", scale=alt.Scale(domain=ends, nice=False), axis=axis)
        drawn.append(_panel(alt, panel, lines, x))
    return _finished(alt.vconcat(*drawn, spacing=18).resolve_scale(color="independent"))


def _panel(alt: Any, panel: Panel, found: Mapping[str, list[dict[str, float]]], x: Any) -> Any:
    names = list(found)
    rows: list[dict[str, Any]] = [{"line": name, **row} for name, points in found.items() for row in points]
    lacking = [name for name, points in found.items() if not points]
    title = _title(alt, panel.title, f"no {' or '.join(lacking)} is known" if lacking and rows else None)
    if not rows:
        return _note(alt, f"no {' or '.join(lacking)} is known", title)
    few = min(len(points) for points in found.values() if points) <= FEW_POINTS
    known = [name for name in names if found[name]]
    told = len(names) == 1 and names[0] in panel.title
    legend = None if told else alt.Legend(**_STROKES, values=known)
    color = alt.Color(
        "line:N", scale=alt.Scale(domain=names, range=list(OKABE_ITO[: len(names)])), legend=legend
    )
    y = _heights(alt, "value:Q", [row["value"] for row in rows], panel.scale)
    hints = [alt.Tooltip(field, format=form) for field, form in (("round:Q", ",d"), ("value:Q", ".4g"))]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.8, strokeJoin="round", point={"size": 28} if few else False)
        .encode(x=x, y=y, color=color, tooltip=["line:N", *hints])
        .properties(width=WIDTH, height=HEIGHT, title=title)
    )


def _points(values: Any, rounds: NDArray[Any]) -> list[dict[str, float]]:
    y = np.asarray(values, dtype=np.float64)
    count = min(len(y), max(FEW_POINTS, min(MOST_POINTS, len(y) // ROUNDS_OF_POINT)))
    ends = np.linspace(0, len(y), count + 1).astype(np.int64).tolist()
    rows = []
    for begin, end in pairwise(ends):
        known = y[begin:end][np.isfinite(y[begin:end])]
        if len(known) > 0:
            rows.append({"round": float(rounds[begin]), "value": float(known.mean())})
    return rows


def _heights(alt: Any, field: str, values: Sequence[float], scale: Scale) -> Any:
    """The vertical channel."""
    if scale == "loss":
        return _losses(alt.Y, alt, field, values, None)
    if scale == "share":
        return alt.Y(
            field, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title=None, format="%", tickCount=3)
        )
    low, high = min(values), max(values)
    around = {"domain": [low - 0.5, high + 0.5]} if low == high else {}  # else the only tick would be rounded
    scaled = alt.Scale(zero=scale == "zero", nice=True, **around)
    return alt.Y(field, scale=scaled, axis=alt.Axis(title=None, tickCount=4))


def _losses(channel: Any, alt: Any, field: str, values: Sequence[float], title: str | None) -> Any:
    """A channel for losses: logarithmic above the smallest one, with a place for zero."""
    largest = max(values)
    if largest <= 0:
        return channel(field, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title=title, tickCount=4))
    smallest = max(min(value for value in values if value > 0), largest / DECADES)
    high = largest * 1.05
    places, labels = log_ticks(smallest, high)
    scale = {"type": "symlog", "constant": smallest, "domain": [0, high], "clamp": True}
    return _ticked(channel, alt, field, [0.0, *places], ["0", *labels], title, **scale)


# -- certificates against gaps -----------------------------------------------------------------


def against(certificate: NDArray[Any], gap: NDArray[Any] | None, unit: str) -> Any:
    """Each certificate over the loss that it bounds: what is proven lies above the line."""
    alt = needed("altair")
    heading = "certificates against losses"
    if gap is None or not np.isfinite(gap).any():
        return _finished(_note(alt, "no gap is known", _title(alt, heading)))
    both = np.flatnonzero(np.isfinite(certificate) & np.isfinite(gap))
    if len(both) == 0:
        return _finished(_note(alt, "no certificate is known", _title(alt, heading)))
    certificate, gap = certificate[both], gap[both]
    broken = certificate_violations(certificate, gap)
    said = f"the loss exceeded the certificate in {number(broken.sum())} of {number(len(both))} {unit}s"
    said += " (orange)" if broken.any() else ""
    order = np.concatenate([_thinned(np.flatnonzero(~broken)), _thinned(np.flatnonzero(broken))])
    rows = [
        {"round": int(both[k]), "gap": max(0.0, float(gap[k])), "certificate": float(certificate[k])}
        | {"broken": bool(broken[k])}
        for k in order
    ]
    losses = [row[name] for row in rows for name in ("gap", "certificate")]
    x = _losses(alt.X, alt, "gap:Q", losses, "loss against the best (gap)")
    y = _losses(alt.Y, alt, "certificate:Q", losses, "certificate")
    ends = [{"gap": loss, "certificate": loss} for loss in np.linspace(0, max(losses), 100).tolist()]
    color = alt.condition(
        "datum.broken",
        alt.value(OKABE_ITO[1]),
        alt.Color("round:Q", scale=alt.Scale(scheme="viridis"), legend=alt.Legend(title=unit, format=",d")),
    )
    dots = (
        alt.Chart(alt.Data(values=rows))
        .mark_circle(size=30, opacity=0.7)
        .encode(x=x, y=y, color=color, tooltip=["round:Q", "gap:Q", "certificate:Q"])
    )
    line = alt.Chart(alt.Data(values=ends)).mark_line(color=REFERENCE, strokeDash=[5, 4]).encode(x=x, y=y)
    title = _title(alt, heading, f"{said}; dashed: equal")
    return _finished(alt.layer(line, dots).properties(width=SQUARE, height=SQUARE, title=title))


def _thinned(which: NDArray[Any]) -> NDArray[Any]:
    """At most ``MOST_DOTS`` of these rounds, spread evenly over a logarithmic scale."""
    return which[_spread(len(which), MOST_DOTS)] if len(which) else which


def _spread(length: int, most: int) -> NDArray[np.int64]:
    """At most ``most`` of the numbers below ``length``, spread over a logarithmic scale, with both ends."""
    if length <= most:
        return np.arange(length)
    return np.unique(np.geomspace(1, length, most).astype(np.int64)) - 1


# -- levels ------------------------------------------------------------------------------------


def filling(level: NDArray[Any], unit: str, members: str) -> Any:
    """How many rounds, or stages, each level has so far; level 0 means no level."""
    alt = needed("altair")
    title = _title(alt, f"{members} in each level so far")
    used = sorted(set(np.unique(level).tolist()) - {0})
    if not used:
        return _finished(_note(alt, "no level is used", title))
    times = _spread(len(level), MOST_POINTS)
    rows = []
    for one in used:
        sizes = np.searchsorted(np.nonzero(level == one)[0], times, side="right")
        begin = max(0, int(np.count_nonzero(sizes == 0)) - 1)
        pairs = zip(times[begin:].tolist(), sizes[begin:].tolist(), strict=True)
        rows += [{"round": t + 1, "level": one, "size": size} for t, size in pairs]
    x = _ticked(
        alt.X,
        alt,
        "round:Q",
        *log_ticks(1, max(len(level), 10)),
        unit,
        type="log",
        domain=[1, max(len(level), 10)],
    )
    most = max(row["size"] for row in rows) * 1.2 + 1
    y = _ticked(
        alt.Y,
        alt,
        "size:Q",
        *count_ticks(most),
        members,
        type="symlog",
        constant=1,
        domain=[0, max(most, 10)],
    )
    legend = alt.Legend(title="level", columns=math.ceil(len(used) / 14), **_STROKES)
    color = alt.Color("level:O", scale=alt.Scale(scheme="viridis"), legend=legend)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(
        strokeWidth=1.8, interpolate="step-after", point={"size": 28} if len(level) <= FEW_POINTS else False
    )
    hints = ["level:O", "round:Q", "size:Q"]
    chart = lines.encode(x=x, y=y, color=color, tooltip=hints)
    return _finished(chart.properties(width=WIDTH, height=2 * HEIGHT, title=title))


# -- searches ----------------------------------------------------------------------------------

_SAMPLED = {"rewards": "arm", "next states": "pair s·A + a", "episodes": "policy"}


def search(
    heading: str,
    pulls: NDArray[Any],
    certificates: Sequence[float],
    counts: NDArray[Any],
    samples: str,
) -> Any:
    """The certificate of a search over its pulls, and how often each arm was pulled."""
    alt = needed("altair")
    where = _spread(len(pulls), 4 * MOST_POINTS)
    rows = [
        {"pulls": int(pulls[k]), "certificate": float(certificates[k])}
        for k in where.tolist()
        if math.isfinite(certificates[k])
    ]
    title = _title(alt, "how much better another answer can be", textwrap.wrap(heading, LETTERS))
    if rows:
        most = max(float(pulls[-1]), 10.0)
        x = _ticked(
            alt.X, alt, "pulls:Q", *count_ticks(most), "pulls", type="symlog", constant=1, domain=[0, most]
        )
        y = _losses(alt.Y, alt, "certificate:Q", [row["certificate"] for row in rows], "certificate")
        line = alt.Chart(alt.Data(values=rows)).mark_line(
            strokeWidth=1.8,
            interpolate="step-after",
            color=OKABE_ITO[0],
            point={"size": 28, "color": OKABE_ITO[0]} if len(rows) <= FEW_POINTS else False,
        )
        above = line.encode(x=x, y=y, tooltip=["pulls:Q", "certificate:Q"])
        above = above.properties(width=WIDTH, height=HEIGHT, title=title)
    else:
        above = _note(alt, "no certificate is known", title)
    return _finished(alt.vconcat(above, _bars(alt, counts, _SAMPLED[samples]), spacing=18))


def _bars(alt: Any, counts: NDArray[Any], unit: str) -> Any:
    shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_BARS])
    kind = unit.partition(" ")[0]
    left_out = (
        f"the {len(shown)} that were pulled most, of {number(len(counts))}"
        if len(shown) < len(counts)
        else None
    )
    title = _title(alt, f"pulls of each {kind}", left_out)
    if counts.sum() == 0:
        return _note(alt, f"no {kind} was pulled", title)
    rows = [{"arm": int(k), "pulls": int(counts[k])} for k in shown.tolist()]
    y = alt.Y("arm:O", axis=alt.Axis(title=unit, grid=False))
    x = alt.X("pulls:Q", axis=alt.Axis(title="pulls", tickCount=5, labelOverlap="greedy"))
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(color=OKABE_ITO[0])
        .encode(x=x, y=y, tooltip=["arm:O", "pulls:Q"])
    )
    return bars.properties(width=WIDTH, height={"step": 14}, title=title)


# -- what all share ----------------------------------------------------------------------------


def _ticked(
    channel: Any,
    alt: Any,
    field: str,
    places: list[float],
    labels: list[str],
    title: str | None,
    **scale: Any,
) -> Any:
    """A channel with these ticks."""
    label = tick_labels(places, labels)
    ticks = alt.Axis(title=title, values=places, labelExpr=label, labelOverlap="greedy", labelFlush=False)
    return channel(field, scale=alt.Scale(**scale, nice=False), axis=ticks)


def _title(alt: Any, text: str, subtitle: str | list[str] | None = None) -> Any:
    below = {} if subtitle is None else {"subtitle": subtitle, "subtitleFontSize": 12}
    return alt.Title(text, anchor="start", frame="group", fontSize=13, offset=8, **below)


def _note(alt: Any, text: str, title: Any) -> Any:
    """A sentence in the place of a chart."""
    chart = alt.Chart(alt.Data(values=[{}])).mark_text(text=text, color=REFERENCE, fontSize=13)
    return chart.properties(width=WIDTH, height=HEIGHT, title=title)


def _finished(chart: Any) -> Any:
    chart.config = PICTURE_CONFIG
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _offline(kind))  # altair takes other attributes for its own
    return chart


@functools.cache
def _offline(kind: Any) -> Any:
    """A class of charts that notebooks show as pictures: by default altair loads scripts from another host."""

    def shown(self: Any, *args: Any, **options: Any) -> Any:
        chosen = needed("altair").renderers.active != "default"
        if chosen or find_spec("vl_convert") is None:
            return kind._repr_mimebundle_(self, *args, **options)
        text = StringIO()
        self.save(text, format="svg")
        return {"image/svg+xml": text.getvalue()}

    return type(kind.__name__, (kind,), {"_repr_mimebundle_": shown, "__module__": kind.__module__})
