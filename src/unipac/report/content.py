"""One experiment in the report: its figures, each with what theory predicts about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import polars as pl

from unipac.experiments.findings import Finding
from unipac.experiments.results import Results, labels
from unipac.report import panels, predictions, searches
from unipac.report.panels import Drawn
from unipac.report.style import Looks, looks


@dataclass(frozen=True)
class Section:
    """What the report tells about one experiment."""

    name: str
    """Short, as on the command line."""
    title: str
    description: str
    """One paragraph."""
    results: Results
    findings: Sequence[Finding] = ()
    """Beyond those of the figures."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What was chosen, by name."""
    command: str = ""
    """That ran it."""

    @cached_property
    def figures(self) -> list[Figure]:
        """All of them, in the colours of this section."""
        return figures_of(self.results, all_looks([self]))


class Figure(NamedTuple):
    """A figure and its sentence."""

    name: str
    drawn: Drawn
    finding: Finding

    @property
    def agents(self) -> set[str]:
        """Agents that have a line in some panel."""
        return {agent for panel in self.drawn.panels for agent in panel.agents}

    def with_looks(self, chosen: Looks) -> Figure:
        """The same in the colours of a whole report."""
        panels = [replace(panel, looks=chosen) for panel in self.drawn.panels]
        return self._replace(drawn=self.drawn._replace(panels=panels))


def findings(section: Section) -> list[Finding]:
    """All findings of a section: those of its figures, then its own."""
    return [*(figure.finding for figure in section.figures), *section.findings]


def all_looks(sections: Sequence[Section]) -> Looks:
    """A colour and a symbol for every agent of the report."""
    return looks(agent for section in sections for agent in labels(section.results.curves, "agent"))


def figures_of(results: Results, chosen: Looks) -> list[Figure]:
    """The figures for which there is something to draw or to say; searches have one of their own."""
    played = pl.col("kind").cast(pl.String) != "search"
    searched = results.curves.filter(~played)
    curves, times = results.curves.filter(played), results.times.filter(played)
    mistakes, levels = results.mistakes, results.levels
    made = [
        Figure("regret", panels.regret(curves, chosen), predictions.regret(curves)),
        Figure("mistakes", panels.mistakes(mistakes, chosen), predictions.mistakes(mistakes)),
        Figure(
            "mistakes-over-time",
            panels.mistakes_over_time(mistakes, chosen),
            predictions.mistakes_over_time(mistakes),
        ),
        Figure("levels", panels.levels(levels, chosen), predictions.levels(levels)),
        Figure(
            "certificates", panels.certificates(curves, chosen), predictions.certificates(curves, mistakes)
        ),
        Figure("pulls", searches.pulls(searched, chosen), searches.finding(searched)),
        Figure("times", panels.times(times, chosen), predictions.times(times)),
    ]
    return [figure for figure in made if figure.drawn.panels or figure.finding.seen is not None]


def certified_agents(results: Results) -> dict[str, bool]:
    """Whether all runs of an agent are certified."""
    by_agent = results.curves.group_by("agent", maintain_order=True).agg(pl.col("certified").all())
    return {str(agent): bool(certified) for agent, certified in by_agent.rows()}
