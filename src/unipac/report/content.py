"""One experiment in the report: its figures, each with what theory predicts about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from unipac.experiments.findings import Finding
from unipac.experiments.results import Results, labels
from unipac.report import panels, predictions
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


class Figure(NamedTuple):
    """A figure and its sentence."""

    name: str
    drawn: Drawn
    finding: Finding

    @property
    def agents(self) -> set[str]:
        """Agents that have a line in some panel."""
        return {agent for panel in self.drawn.panels for agent in panel.agents}


def findings(section: Section) -> list[Finding]:
    """All findings of a section: those of its figures, then its own."""
    of_figures = [figure.finding for figure in figures_of(section.results, all_looks([section]))]
    return [*of_figures, *section.findings]


def all_looks(sections: Sequence[Section]) -> Looks:
    """A colour and a symbol for every agent of the report."""
    return looks(agent for section in sections for agent in labels(section.results.curves, "agent"))


def figures_of(results: Results, chosen: Looks) -> list[Figure]:
    """The figures for which there is something to draw or to say."""
    curves, mistakes, levels, times = results
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
        Figure("times", panels.times(times, chosen), predictions.times(times)),
    ]
    return [figure for figure in made if figure.drawn.panels or figure.finding.seen is not None]


def certified_agents(results: Results) -> dict[str, bool]:
    """Whether all runs of an agent are certified."""
    by_agent = results.curves.group_by("agent", maintain_order=True).agg(pl.col("certified").all())
    return {str(agent): bool(certified) for agent, certified in by_agent.rows()}
