"""All parts of the demo: play them, tell them, write the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from types import ModuleType
from typing import Any

from unipac.demo import killer, lake, real, river, routing
from unipac.demo.part import Part
from unipac.experiments import engines, files
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


def play(
    quick: bool = False, *, engine: str = "serial", watch: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Play all parts; returns their numbers, which do not depend on the engine.

    Args:
        quick: whether to play a small size.
        engine: "serial", or "processes" for one part on each core.
        watch: called with a few words when something begins.
    """
    say = watch or (lambda words: None)
    engines.check(engine)
    working = engines.start(engine)
    waiting, found = list(PARTS), {}
    under_way: dict[Future[Any], str] = {}
    compiling = False
    try:
        while waiting or under_way:
            while waiting and len(under_way) < working.slots:
                name = waiting.pop(0)
                say(f"{name} ...")
                under_way[working.submit(_played, name, quick)] = name
            for future in wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED).done:
                numbers = future.result()
                if isinstance(numbers, Exception):
                    raise numbers
                found[under_way.pop(future)] = numbers
            if not compiling and any(getattr(future, "compiling", False) for future in under_way):
                compiling = True
                say("compiling kernels, once per installation: a minute or two ...")
    finally:
        working.close()
    return {name: found[name] for name in PARTS}


def _played(name: str, quick: bool) -> dict[str, Any] | Exception:
    """The numbers of one part, or the exception, which a worker would otherwise lose."""
    try:
        numbers: dict[str, Any] = PARTS[name].play(**(QUICK[name] if quick else {}))
    except Exception as error:
        return error
    return numbers


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
