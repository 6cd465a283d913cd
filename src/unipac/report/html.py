"""The report as one HTML file that works offline: charts, their code and all numbers are inside."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jinja2
import polars as pl
from markupsafe import Markup, escape

from unipac._text import slug
from unipac.experiments import files as files_of_ours
from unipac.experiments.findings import Finding
from unipac.report.content import Figure, Section, all_looks, certified_agents
from unipac.report.lines import Panel, draw
from unipac.report.style import CONFIG
from unipac.report.tables import summary

MARK = b'<meta name="generator" content="unipac">'
MOST_COLUMNS = 11
"""A table with more columns is cut in two."""
VERDICTS = ("seen", "NOT seen", "not decided")


class _Part(NamedTuple):
    """A section with everything that the page shows of it."""

    id: str
    section: Section
    figures: list[Figure]
    certified: dict[str, bool | None]
    table: pl.DataFrame

    @property
    def tables(self) -> list[pl.DataFrame]:
        """The table, cut in two if it is wide; both parts begin with agent and instance."""
        names = self.table.columns
        if len(names) <= MOST_COLUMNS:
            return [self.table]
        cut = 2 + (len(names) - 2) // 2
        return [self.table.select(names[:cut]), self.table.select(*names[:2], *names[cut:])]

    @property
    def findings(self) -> list[tuple[str, Finding]]:
        """Every finding with the place on the page that it belongs to."""
        of_figures = [
            (f"{self.id}-{figure.name}", figure.finding) for figure in self.figures if figure.finding
        ]
        place = f"{self.id}-findings"
        others = [(place, finding) for finding in (*self.section.findings, *self.besides)]
        return of_figures + others

    @property
    def besides(self) -> list[Finding]:
        """The decided findings of figures that are not drawn."""
        drawn = {figure.name for figure in self.figures}
        items = self.section.found.items()
        return [finding for name, finding in items if name not in drawn and finding.seen is not None]


def write(
    sections: Sequence[Section],
    path: Path,
    command: str,
    *,
    title: str = "unipac report",
    details: Mapping[str, str] | None = None,
) -> Path:
    """Write the page; the same input gives the same bytes.

    Args:
        sections: one per experiment.
        path: the path of the file.
        command: the command that writes this report again.
        title: the title of the page.
        details: more about how the page was made, by name.
    """
    files_of_ours.is_there(path, is_page)  # fail before the work, not after it
    page = render(sections, command, title=title, details=details)
    files_of_ours.write(path, page.encode(), is_page)
    return path


def is_page(stream: BinaryIO) -> bool:
    """Whether a file is a page that unipac wrote."""
    return MARK in stream.read(1000)


def render(
    sections: Sequence[Section], command: str, *, title: str, details: Mapping[str, str] | None = None
) -> str:
    """The page as text."""
    chosen = all_looks(sections)
    parts = []
    for i, section in enumerate(sections, start=1):
        parts.append(
            _Part(
                id=f"{slug(section.name.lower())}-{i}",
                section=section,
                figures=[figure.with_looks(chosen) for figure in section.figures],
                certified=certified_agents(section.shown),
                table=summary(section.shown),
            )
        )
    specs: list[dict[str, Any]] = []

    def place(panel: Panel) -> int:
        """Add the chart of a panel to the page, and return its number."""
        specs.append(_spec(panel))
        return len(specs) - 1

    counted = Counter(finding.verdict for part in parts for _, finding in part.findings)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["maths"] = lambda text: escape(text).replace("N_ε", Markup("N<sub>ε</sub>"))
    template = environment.from_string(files("unipac.report").joinpath("page.html.j2").read_text("utf-8"))
    return template.render(
        title=title,
        command=command,
        details=dict(details or {}),
        parts=parts,
        counts={verdict: counted[verdict] for verdict in VERDICTS},
        looks=chosen,
        place=place,
        library=Markup(_library()),
        config=_inline(CONFIG),
        policy=_policy,
        # a function, because rendering the page fills the list of charts
        specs=lambda: _inline(specs),
    )


def _spec(panel: Panel) -> dict[str, Any]:
    """The chart as a Vega-Lite specification, without the parts that the page states once for all charts."""
    spec: dict[str, Any] = draw(panel, page=True).to_dict(validate=False)
    for shared in ("$schema", "config"):
        spec.pop(shared, None)
    tables: dict[str, Any] = spec.setdefault("datasets", {})
    for holder in (spec, *spec.get("layer", ())):
        data = holder.get("data", {})
        if "format" in data:
            kinds = data.pop("format")["parse"]
            name = data.setdefault("name", f"data-{len(tables)}")
            text = data.pop("values", tables.get(name))
            tables[name] = _table(text, kinds) if isinstance(text, str) else text
    return spec


def _table(text: str, kinds: Mapping[str, str]) -> dict[str, list[Any]]:
    """A CSV as names and rows, from which the page makes records; Vega would compile code to read the CSV."""
    names, *rows = csv.reader(StringIO(text))
    return {
        "names": names,
        "rows": [[_cell(kinds[n], c) for n, c in zip(names, row, strict=True)] for row in rows],
    }


def _cell(kind: str, text: str) -> str | float | None:
    if kind == "string":
        return text
    number = float(text or "nan")
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _inline(data: object) -> Markup:
    """Data as JSON that cannot close the script element around it."""
    return Markup(json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"))


def _policy(scripts: Sequence[str]) -> Markup:
    """What the page may do: run these scripts and no others, style itself, and load nothing from anywhere.

    Vega writes the styles of a chart when it draws it, so these cannot be told beforehand. Its expressions are
    interpreted (``ast``), not compiled, so that the page needs no ``unsafe-eval``.
    """
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    rules = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'"
    return Markup(f"{rules}; base-uri 'none'; form-action 'none'")


@cache
def _library() -> str:
    """Vega, Vega-Lite and vega-embed as one script; the version of Vega-Lite is the one that Altair writes."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.VEGALITE_VERSION.split(".")[:2])
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return script.replace("</script", "<\\/script")
