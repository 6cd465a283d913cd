"""The report as one HTML file that works offline: charts, their code and all numbers are inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from unipac._text import slug
from unipac.experiments import files as files_of_ours
from unipac.experiments.findings import Finding
from unipac.report.content import Figure, Section, all_looks, certified_agents
from unipac.report.inline import MARK, rendered, spec_of
from unipac.report.lines import Panel, draw
from unipac.report.tables import summary

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
    files_of_ours.is_there(path, is_page)  # if this must fail, then before the work
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
        specs.append(spec_of(draw(panel, page=True)))
        return len(specs) - 1

    counted = Counter(finding.verdict for part in parts for _, finding in part.findings)
    return rendered(
        "report/page.html.j2",
        specs,
        title=title,
        command=command,
        details=dict(details or {}),
        parts=parts,
        counts={verdict: counted[verdict] for verdict in VERDICTS},
        looks=chosen,
        place=place,
    )
