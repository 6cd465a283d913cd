"""One experiment in the report: its figures, and its findings on predictions and theorems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import polars as pl

from unipac.experiments.findings import Finding
from unipac.experiments.options import FIGURES, Options
from unipac.experiments.results import Results, labels
from unipac.report import earnings, panels, predictions, searches
from unipac.report.arranging import arranged
from unipac.report.panels import Drawn
from unipac.report.style import Looks, looks

ONLY_IF_ASKED = ("reward", "promises", "explored")
"""Figures that are drawn only if the options name them."""


@dataclass(frozen=True)
class Section:
    """The part of a report about one experiment.

    With the ``folder`` of a finished run:

    >>> from unipac.report import section
    >>> part = section(folder)
    >>> part.name, len(part.figures) > 0
    ('mine', True)
    """

    name: str
    """The short name, as on the command line."""
    title: str
    """The title for readers."""
    description: str
    """One paragraph."""
    results: Results
    """The tables of its results."""
    findings: Sequence[Finding] = ()
    """Findings on the predictions that the experiment states itself."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """The parameters of the experiment, by name."""
    command: str = ""
    """The commands that ran it, one per line."""
    options: Options = field(default_factory=Options)
    """How it is shown."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """The registered name of each agent, by its label; it decides the colour, which is the same in all reports."""
    conclusion: Sequence[str] = ()
    """The results in plain words; one entry is one paragraph."""
    missing: str = ""
    """Which cells have no result, in words."""
    made: Mapping[str, str] = field(default_factory=dict)
    """How the results were made: date, machine, versions, digest."""
    general: bool = True
    """Whether to test what theory expects of every experiment, such as sublinear regret. If not, only the
    experiment's own predictions and the theorems on its agents are tested."""

    @cached_property
    def shown(self) -> Results:
        """The results with the labels and in the order that the options ask for."""
        return arranged(self.results, self.options)

    @cached_property
    def found(self) -> dict[str, Finding]:
        """The finding of each figure: on theorems, and if `general` also on what theory expects."""
        tests = {name: kind.find for name, kind in _KINDS.items() if kind.proven or self.general}
        made = {name: find(self.shown) for name, find in tests.items() if find is not None}
        return {name: finding for name, finding in made.items() if finding.seen is not None or self.general}

    @cached_property
    def figures(self) -> list[Figure]:
        """All figures, in the colours of this section."""
        return self._figures(all_looks([self]))

    def _figures(self, chosen: Looks) -> list[Figure]:
        usual = tuple(name for name in FIGURES if name not in ONLY_IF_ASKED)
        names = usual if self.options.figures is None else self.options.figures
        made = []
        for name in names:
            drawn = _KINDS[name].draw(self.shown, chosen, self._options_of(name))
            finding = self.found.get(name)
            if drawn.panels or (finding is not None and finding.seen is not None):
                made.append(Figure(name, drawn, finding))
        return made

    def _options_of(self, figure: str) -> Options:
        """The options of one figure; the instances that they name have their new labels."""
        options = self.options.of(figure)
        words = options.labels
        named = options.instances and tuple(words.get(label, label) for label in options.instances)
        return replace(options, instances=named)


class Figure(NamedTuple):
    """A figure and its finding, if there is one."""

    name: str
    drawn: Drawn
    finding: Finding | None

    @property
    def agents(self) -> set[str]:
        """Agents that have a line in some panel."""
        return {agent for panel in self.drawn.panels for agent in panel.agents}

    @property
    def lines(self) -> list[tuple[str, bool]]:
        """The kinds of lines in any panel, each with whether it is dashed; empty if there is only one kind."""
        if not self.drawn.panels:
            return []
        kinds = self.drawn.panels[0].lines
        present = {line for panel in self.drawn.panels for line in panel.drawn}
        drawn = [(line, i > 0) for i, line in enumerate(kinds) if line in present]
        return drawn if len(drawn) > 1 else []

    def with_looks(self, chosen: Looks) -> Figure:
        """The same figure in the colours of a whole report."""
        panels = [replace(panel, looks=chosen) for panel in self.drawn.panels]
        return self._replace(drawn=self.drawn._replace(panels=panels))


def findings(section: Section) -> list[Finding]:
    """All findings of a section: those of its figures, and those on its own predictions.

    Undecided findings of figures that are not drawn are left out.

    With the ``folder`` of a finished run:

    >>> from unipac.report import section
    >>> {finding.verdict for finding in findings(section(folder))} <= {"seen", "NOT seen", "not decided"}
    True
    """
    undecided = [name for name, finding in section.found.items() if finding.seen is None]
    figures = {figure.name for figure in section.figures} if undecided else set()
    kept = [finding for name, finding in section.found.items() if finding.seen is not None or name in figures]
    return [*kept, *section.findings]


def all_looks(sections: Sequence[Section]) -> Looks:
    """A colour and a symbol for every agent of the report."""
    names: dict[str, str] = {}
    for section in sections:
        words = section.options.labels
        names |= {words.get(label, label): name for label, name in section.agents.items()}
    shown = (agent for section in sections for agent in labels(section.shown.curves, "agent"))
    return looks(shown, names)


class _Kind(NamedTuple):
    """One kind of figure: how it is drawn, and how its finding is made."""

    draw: Callable[[Results, Looks, Options], Drawn]
    find: Callable[[Results], Finding] | None = None
    proven: bool = False
    """Whether its finding tests a theorem on certified agents, rather than an expectation."""


def _played(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("kind").cast(pl.String) != "search")


def _searched(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("kind").cast(pl.String) == "search")


_KINDS: Mapping[str, _Kind] = {
    "reward": _Kind(lambda r, chosen, o: earnings.reward(_played(r.curves), chosen, o)),
    "regret": _Kind(
        lambda r, chosen, o: panels.regret(_played(r.curves), chosen, o),
        lambda r: predictions.regret(_played(r.curves)),
        False,
    ),
    "promises": _Kind(lambda r, chosen, o: earnings.promises(_played(r.curves), chosen, o)),
    "explored": _Kind(lambda r, chosen, o: earnings.explored(_played(r.curves), chosen, o)),
    "mistakes": _Kind(
        lambda r, chosen, o: panels.mistakes(r.mistakes, chosen, o),
        lambda r: predictions.mistakes(r.mistakes),
        True,
    ),
    "mistakes-over-time": _Kind(
        lambda r, chosen, o: panels.mistakes_over_time(r.mistakes, chosen, o),
        lambda r: predictions.mistakes_over_time(r.mistakes),
        False,
    ),
    "levels": _Kind(
        lambda r, chosen, o: panels.levels(r.levels, chosen, o), lambda r: predictions.levels(r.levels), True
    ),
    "certificates": _Kind(
        lambda r, chosen, o: panels.certificates(_played(r.curves), chosen, o),
        lambda r: predictions.certificates(_played(r.curves), r.mistakes),
        True,
    ),
    "pulls": _Kind(
        lambda r, chosen, o: searches.pulls(_searched(r.curves), chosen, o),
        lambda r: searches.finding(_searched(r.curves)),
        True,
    ),
    "times": _Kind(
        lambda r, chosen, o: panels.times(_played(r.times), chosen, o),
        lambda r: predictions.times(_played(r.times)),
        False,
    ),
}


def certified_agents(results: Results) -> dict[str, bool | None]:
    """For each agent, whether all of its runs are certified (True), none (False), or some (None)."""
    share = pl.col("certified").cast(pl.Float64).mean()
    by_agent = results.curves.group_by("agent", maintain_order=True).agg(share)
    return {str(agent): {1.0: True, 0.0: False}.get(part) for agent, part in by_agent.rows()}
