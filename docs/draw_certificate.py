"""Draw the picture of the README, docs/figures/certificate.svg and its dark twin, from a run of the demo's router.

python docs/draw_certificate.py [--again]

The numbers behind the picture stand beside it, in certificate.json; ``--again`` draws those without a new run.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert

from unipac.demo import routing
from unipac.report.style import PICTURE_CONFIG

FIGURES = Path(__file__).parent / "figures"
NUMBERS = FIGURES / "certificate.json"
KEPT = ("certificate", "lost", "broken", "dim")
SIZE = {"width": 660, "height": 330}
PAPER = {"light": "#ffffff", "dark": "#0d1117"}
MARK = re.compile(r'<path transform="translate\(([-\d.]+),([-\d.]+)\)( rotate\(90\))?" (d="[^"]*"[^/]*)/>')
"""A dot of a chart, as Vega writes it."""
INK = {
    "light": {"true": "#1d2329", "promised": "#0072b2", "proven": "#00845f"},
    "dark": {"true": "#f0f3f6", "promised": "#58b5f0", "proven": "#3fc493"},
}
AXES = {
    "light": {
        "labelColor": "#3c434a",
        "titleColor": "#1d2329",
        "domainColor": "#9aa1a9",
        "tickColor": "#9aa1a9",
    },
    "dark": {
        "labelColor": "#c4ccd4",
        "titleColor": "#f0f3f6",
        "domainColor": "#6b747d",
        "tickColor": "#6b747d",
    },
}


def chart(found: dict[str, Any], theme: str) -> dict[str, Any]:
    """The picture in the words of Vega-Lite."""
    drawn = routing.falling(np.array(found["certificate"]), np.array(found["lost"]), **INK[theme])
    drawn = drawn.properties(**SIZE)
    axis = {**PICTURE_CONFIG["axis"], **AXES[theme], "labelFontSize": 12}
    drawn.config = {**PICTURE_CONFIG, "axis": axis, "background": PAPER[theme], "padding": 14}
    spec: dict[str, Any] = drawn.to_dict()
    return spec


def picture(found: dict[str, Any], theme: str) -> str:
    """The picture, as SVG."""
    return compact(str(vl_convert.vegalite_to_svg(chart(found, theme)))) + "\n"


def compact(svg: str) -> str:
    """The same picture in a third of the bytes: thousands of dots have few looks, each of which is told once."""
    looks: dict[str, str] = {}

    def used(found: re.Match[str]) -> str:
        x, y, turned, look = found.groups()
        name = looks.setdefault(look, f"dot{len(looks)}")
        return f'<use href="#{name}" transform="translate({float(x):.1f},{float(y):.1f}){turned or ""}"/>'

    text = MARK.sub(used, svg)
    told = "".join(f'<path id="{name}" {look}/>' for look, name in looks.items())
    head, end, rest = text.partition(">")
    return f"{head}{end}<defs>{told}</defs>{rest}"


def path(theme: str) -> Path:
    """Where a picture lies."""
    return FIGURES / ("certificate.svg" if theme == "light" else "certificate-dark.svg")


def main() -> None:
    """Run, unless told not to, and draw."""
    if sys.argv[1:] == ["--again"]:
        found = json.loads(NUMBERS.read_text(encoding="utf-8"))
    else:
        played = routing.play()
        found = {name: played[name] for name in KEPT}
        NUMBERS.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    for theme in PAPER:
        path(theme).write_text(picture(found, theme), encoding="utf-8")


if __name__ == "__main__":
    main()
