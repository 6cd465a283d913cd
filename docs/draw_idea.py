"""Draw the pictures of docs/idea.md into docs/figures, from the runs of idea_runs.py.

python docs/draw_idea.py [--again]

The numbers behind the pictures stand beside them, in idea.json; ``--again`` draws those without a new run.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert

sys.path.insert(0, str(Path(__file__).parent))
from idea_runs import numbers

from unipac.report.style import HOMES, OKABE_ITO, PICTURE_CONFIG, log_ticks, number

FIGURES = Path(__file__).parent / "figures"
NUMBERS = FIGURES / "idea.json"

BLUE, RED, OLIVE = (HOMES[name].color for name in ("NestedOFUL", "OFUL", "UPACOFUL"))
PINK = OKABE_ITO[3]
"""Of what only searches."""
PADDING = {"left": 14, "right": 44, "top": 14, "bottom": 14}
"""More at the right, where labels are longer in some fonts than in others."""
INK, GREY, PALE = "#1d2329", "#6b747d", "#eceff2"
LEVELS = ("#7fb8da", "#56a0cd", "#3585bd", "#176aa8", "#084f8c", "#062f63")
"""Shades of the blue, the darker the higher the level."""


def shades(many: int) -> tuple[str, ...]:
    """Colours for levels 1, 2, ..."""
    return LEVELS[:many]


def frame(**columns: Any) -> pl.DataFrame:
    """A data frame of columns, in which a single value is repeated."""
    return pl.DataFrame(columns)


def x_log(title: str, high: float, low: float = 1.0) -> alt.X:
    """A logarithmic axis with few ticks."""
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return alt.X("x:Q", scale=scale, axis=_ticks(title, low, high))


def y_log(title: str | None, low: float, high: float) -> alt.Y:
    """The same, upwards."""
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)
    return alt.Y("y:Q", scale=scale, axis=_ticks(title, low, high))


def y_linear(title: str | None, low: float, high: float, **options: Any) -> alt.Y:
    """A linear axis upwards."""
    scale = alt.Scale(domain=[low, high], nice=False)
    return alt.Y("y:Q", scale=scale, axis=alt.Axis(title=title, grid=False, **options))


def _ticks(title: str | None, low: float, high: float) -> alt.Axis:
    places, labels = log_ticks(low, high)
    named = f"{json.dumps(labels, ensure_ascii=False)}[indexof({json.dumps(places)}, datum.value)]"
    return alt.Axis(title=title, values=places, labelExpr=named, grid=False, labelFlush=False)


def words(x: Any, y: Any, text: str, color: str = INK, **options: Any) -> alt.Chart:
    """A label at a place of the chart."""
    style = {
        "align": "left",
        "baseline": "middle",
        "fontSize": 12,
        "color": color,
        "lineHeight": 15,
        **options,
    }
    return alt.Chart(frame(x=[x], y=[y])).mark_text(text=text.split("\n"), **style).encode(x="x:Q", y="y:Q")


def line(x: Any, y: Any, color: str, **options: Any) -> alt.Chart:
    """A line through points."""
    data = frame(x=[float(v) for v in x], y=y, n=list(range(len(x)))).drop_nulls()
    style = {"color": color, "strokeWidth": 2, "aria": False, **options}
    return alt.Chart(data).mark_line(**style).encode(x="x:Q", y="y:Q", order="n:Q")


def dots(x: Any, y: Any, color: str, **options: Any) -> alt.Chart:
    """Points."""
    data = frame(x=[float(v) for v in x], y=y)
    style = {"filled": True, "size": 26, "opacity": 1, "color": color, "aria": False, **options}
    return alt.Chart(data).mark_point(**style).encode(x="x:Q", y="y:Q")


def level_line(y: float, low: float, high: float, color: str = GREY, **options: Any) -> alt.Chart:
    """A dashed line across."""
    return line([low, high], [y, y], color, strokeWidth=1, strokeDash=[4, 3], **options)


def finished(
    *layers: Any, x: alt.X, y: alt.Y, width: int, height: int, title: str | None = None
) -> alt.LayerChart:
    """Layers with common axes."""
    chart = alt.layer(*(layer.encode(x=x, y=y) for layer in layers)).properties(width=width, height=height)
    if title:
        chart = chart.properties(title=alt.Title(title, anchor="start", fontSize=13, offset=8))
    return chart


def guarantees(data: dict[str, Any]) -> alt.HConcatChart:
    """Picture 1."""
    last = 1e18
    said = {
        "PAC": (0.235, "0.1 in every round,\nfor ever"),
        "regret": (0.66, "ever more rarely,\nbut never stopping"),
        "uniform-PAC": (0.235, "the last mistake\nis behind it"),
    }
    panels = []
    for (guarantee, (height, text)), color in zip(said.items(), (PINK, RED, BLUE), strict=True):
        run = data[guarantee]
        after = (run["round"][-1], 0.1) if guarantee == "PAC" else (1, 0.0)
        layers = [
            level_line(0.3, 1, last),
            line([after[0], last], [after[1]] * 2, color, strokeWidth=2.5),
            dots(run["round"], run["lost"], color, size=20, opacity=0.75),
            words(last, height, text, color, align="right"),
        ]
        first = guarantee == "PAC"
        if first:
            layers.append(words(last, 0.335, "good enough: ε = 0.3", GREY, align="right", fontSize=11))
        y = y_linear(
            "lost in the round" if first else None, -0.03, 0.7, values=[0, 0.1, 0.3, 0.5], labels=first
        )
        panels.append(finished(*layers, x=x_log("round", last), y=y, width=206, height=200, title=guarantee))
    return alt.hconcat(*panels, spacing=18)


def comes_back(data: dict[str, Any]) -> alt.LayerChart:
    """Picture 2."""
    oful, ours = data["OFUL"], data["NestedOFUL"]
    last = 1e18
    layers = [
        level_line(0.5, 1, last, INK),
        line(ours["round"][1:], ours["upper"][1:], BLUE),
        line(oful["round"][1:], oful["upper"][1:], RED),
        dots(ours["taken"][1:], ours["taken at"][1:], BLUE, size=46),
        dots(oful["taken"][1:], oful["taken at"][1:], RED, size=46),
        words(last, 0.5, "good arm", dx=8),
        words(3e6, 0.575, "OFUL: the bound grows for ever, so it comes back (dots) for ever", RED),
        words(3e6, 0.425, "NestedOFUL: the bound stops below what the good arm brings", BLUE),
    ]
    y = y_linear("upper bound of the bad arm", 0.38, 0.88, values=[0.4, 0.5, 0.6, 0.7, 0.8], format=".1f")
    return finished(*layers, x=x_log("round", last), y=y, width=620, height=260)


def levels(data: dict[str, Any]) -> alt.LayerChart:
    """Picture 3."""
    last, shown = len(data["level"]), max(data["level"])
    layers: list[Any] = []
    for n, color in enumerate(shades(shown), 1):
        rounds = [k for k, level in enumerate(data["level"], 1) if level == n]
        layers.append(level_line(2.0**-n, 1, last))
        layers.append(dots(rounds, [data["width"][k - 1] for k in rounds], color, size=16, opacity=0.8))
        layers.append(words(last, 2 ** (0.5 - n), f"level {n}", color, fontWeight=600, dx=12))
        layers.append(words(last, 2 ** (0.5 - n), f"{number(len(rounds))} rounds", GREY, dx=66))
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(type="log", domain=[2.0**-shown, 1], nice=False),
        axis=alt.Axis(
            title="width of the action when it came",
            values=[2.0**-n for n in range(shown + 1)],
            labelExpr="datum.value == 1 ? '1' : '1/' + round(1/datum.value)",
            grid=False,
        ),
    )
    return finished(*layers, x=x_log("round", last), y=y, width=520, height=300)


def radii(data: dict[str, Any]) -> alt.LayerChart:
    """Picture 4."""
    last = data["round"][-1]
    layers: list[Any] = []
    for n, (size, color) in enumerate(zip(data["size"], shades(len(data["size"])), strict=True), 1):
        values = data[f"level {n}"]
        layers.append(line(data["round"], values, color))
        layers.append(words(last, values[-1], f"level {n}", color, fontWeight=600, dx=10))
        room = f"{number(size)} rounds, {number(data['most'][n - 1])} at most"
        layers.append(words(last, values[-1], room, GREY, dx=62))
    layers.append(line(data["round"], data["all data"], RED, strokeWidth=2.5))
    layers.append(words(last, data["all data"][-1], "all data", RED, fontWeight=600, dx=10))
    layers.append(words(last, data["all data"][-1], "grows for ever", GREY, dx=68))
    y = y_linear("radius of the confidence set", 1.6, 3.1, tickCount=6)
    return finished(*layers, x=x_log("round", last), y=y, width=440, height=290)


def nested(data: dict[str, Any]) -> alt.HConcatChart:
    """Picture 5."""
    many = 6
    colors = list(shades(many))
    panels: list[Any] = []
    for title, wide in (("disjoint levels", 0), ("nested levels", many)):
        cells = [(n, j) for n in range(1, many + 1) for j in range(max(1, n - wide), n + 1)]
        table = frame(learns=[n for n, _ in cells], of=[j for _, j in cells])
        axis = {"labelAngle": 0, "grid": False, "ticks": False, "domain": False}
        panels.append(
            alt.Chart(table)
            .mark_rect(cornerRadius=2, stroke="#ffffff", strokeWidth=2, aria=False)
            .encode(
                x=alt.X("of:O", axis=alt.Axis(title="rounds of level", **axis)),
                y=alt.Y(
                    "learns:O",
                    sort="descending",
                    axis=alt.Axis(title="teach level" if not wide else None, **axis),
                ),
                color=alt.Color(
                    "of:O", scale=alt.Scale(domain=list(range(1, many + 1)), range=colors), legend=None
                ),
            )
            .properties(width=138, height=220, title=alt.Title(title, anchor="start", fontSize=13, offset=8))
        )
    last = data["round"][-1]
    looks = (("UPACOFUL", OLIVE, [1, 0]), ("OFUL", RED, [1, 0]), ("NestedOFUL", BLUE, [6, 4]))
    lines: list[Any] = [
        line(data["round"], data[name]["regret"], color, strokeWidth=2.5, strokeDash=dash)
        for name, color, dash in looks
    ]
    ends = {name: data[name]["regret"][-1] for name, _, _ in looks}
    lines += [
        words(last, ends["UPACOFUL"], "UPACOFUL", OLIVE, dx=8),
        words(last, ends["OFUL"], "OFUL", RED, dx=8, dy=-7),
        words(last, ends["NestedOFUL"], "NestedOFUL", BLUE, dx=8, dy=8),
    ]
    y = y_log("lost in all", 4, ends["UPACOFUL"] * 1.4)
    title = "what that is worth"
    panels.append(finished(*lines, x=x_log("round", last, 10), y=y, width=200, height=220, title=title))
    return alt.hconcat(*panels, spacing=22).resolve_scale(color="independent")


def certificates(data: dict[str, Any]) -> alt.HConcatChart:
    """Picture 6."""
    last, low, high = 1e5, 2e-3, 5.0
    panels = []
    for name, run in data.items():
        first = not panels
        vacuous = (
            alt.Chart(frame(x=[1.0], x2=[last], y=[2.0], y2=[high]))
            .mark_rect(color=PALE, aria=False)
            .encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q")
        )
        lost = [value if value >= low else None for value in run["lost"]]
        middle = len(lost) * 2 // 3
        layers = [
            vacuous,
            line(run["round"], lost, INK, strokeWidth=1.3, strokeDash=[2, 2]),
            line(run["round"], run["certificate"], BLUE, strokeWidth=2.5),
            words(last, 3.1, "vacuous", GREY, dx=-6, align="right"),
        ]
        if first:
            layers.append(
                words(run["round"][middle], run["certificate"][middle], "promised", BLUE, dx=6, dy=-12)
            )
            layers.append(words(run["round"][5], 0.012, "lost in truth,\nat most", INK, dx=-14))
        y = y_log("of one decision" if first else None, low, high)
        y.axis.labels = first
        panels.append(finished(*layers, x=x_log("round", last), y=y, width=206, height=240, title=name))
    return alt.hconcat(*panels, spacing=18)


DRAWN = {
    "1-guarantees": guarantees,
    "2-comes-back": comes_back,
    "3-levels": levels,
    "4-radii": radii,
    "5-nested": nested,
    "6-certificates": certificates,
}


def chart(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """A picture in the words of Vega-Lite."""
    drawn = DRAWN[name](data)
    drawn.config = {**PICTURE_CONFIG, "background": "#ffffff", "padding": PADDING}
    spec: dict[str, Any] = drawn.to_dict()
    return spec


def picture(name: str, data: dict[str, Any]) -> str:
    """A picture, as SVG."""
    return str(vl_convert.vegalite_to_svg(chart(name, data))) + "\n"


def skeleton(svg: str) -> tuple[list[str], int]:
    """The words of a picture, and how many paths it has: what does not hang on the version of the renderer."""
    return re.findall(r">([^<>]+)</text>", svg), svg.count("<path")


def main() -> None:
    """Run, unless told not to, and draw."""
    if sys.argv[1:] == ["--again"]:
        found = json.loads(NUMBERS.read_text(encoding="utf-8"))
    else:
        found = numbers()
        parts = (f'"{name}":{json.dumps(data, separators=(",", ":"))}' for name, data in found.items())
        NUMBERS.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    for name in DRAWN:
        (FIGURES / f"idea-{name}.svg").write_text(picture(name, found[name]), encoding="utf-8")


if __name__ == "__main__":
    main()
