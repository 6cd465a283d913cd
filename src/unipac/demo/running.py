"""All parts of the demo: play them, tell them, write the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from unipac.demo import killer, lake, real, river, routing
from unipac.demo.part import Part
from unipac.experiments import files
from unipac.report.html import is_page
from unipac.report.inline import rendered, spec_of

PARTS: Mapping[str, ModuleType] = {
    "routing": routing,
    "data": real,
    "lake": lake,
    "river": river,
    "killer": killer,
}
QUICK: Mapping[str, Mapping[str, int]] = {
    "routing": {"decisions": 400},
    "data": {"decisions": 400},
    "lake": {"episodes": 300},
    "river": {"episodes": 300},
    "killer": {"last": 6},
}
"""Sizes that take a second or two: enough to see that everything runs, not to conclude anything."""
PAGE, NUMBERS = "index.html", "numbers.json"
MARK = b'{"unipac demo":'


def play(quick: bool = False, watch: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Play all parts; returns their numbers.

    Args:
        quick: in small.
        watch: called with the name of each part before it is played.
    """
    found = {}
    for name, part in PARTS.items():
        if watch is not None:
            watch(name)
        found[name] = part.play(**(QUICK[name] if quick else {}))
    return found


def tell(found: Mapping[str, Any]) -> list[Part]:
    """What all parts have to say of these numbers."""
    return [part.tell(found[name]) for name, part in PARTS.items()]


def write(found: Mapping[str, Any], folder: Path, details: Mapping[str, str]) -> Path:
    """Write the page and its numbers into a folder; returns the path of the page."""
    page, numbers = folder / PAGE, folder / NUMBERS
    files.make_folder(folder)
    files.is_there(page, is_page)
    text = json.dumps({"unipac demo": dict(details), **found}, separators=(",", ":"))
    files.write(numbers, text.encode(), files.begins_with(MARK))
    files.write(page, render(tell(found), details).encode(), is_page)
    return page


def render(parts: list[Part], details: Mapping[str, str]) -> str:
    """The page as text; the same parts give the same bytes."""
    specs: list[dict[str, Any]] = []
    charts = []
    for part in parts:
        charts.append([len(specs) + k for k in range(len(part.charts))])
        specs += [spec_of(chart.drawn) for chart in part.charts]
    every = [finding for part in parts for finding in part.findings]
    counts = {verdict: sum(f.seen is verdict for f in every) for verdict in (True, False, None)}
    return rendered(
        "demo/page.html.j2",
        specs,
        parts=list(zip(parts, charts, strict=True)),
        counts=counts,
        details=details,
    )
