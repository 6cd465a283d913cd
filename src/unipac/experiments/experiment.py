"""A built-in experiment: its description as data, its predictions and its conclusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unipac.experiments.findings import Finding
from unipac.experiments.reading import parse
from unipac.experiments.results import Results
from unipac.experiments.spec import Spec


def no_predictions(results: Results) -> list[Finding]:
    """Return no findings: for an experiment without predictions in code."""
    return []


def no_conclusion(results: Results) -> list[str]:
    """Return no paragraphs: for an experiment whose findings are its conclusion."""
    return []


@dataclass(frozen=True)
class Experiment:
    """An experiment of the library."""

    name: str
    title: str
    description: str
    tables: Callable[[bool], Mapping[str, Any]]
    """The tables of its spec, as in a TOML file; the argument is True for the full size."""
    predict: Callable[[Results], list[Finding]] = no_predictions
    """Tests predictions on the results, in addition to those that its tables state."""
    conclude: Callable[[Results], list[str]] = no_conclusion
    """Describes the results in plain words; each string is one paragraph."""

    def spec(self, full: bool = False) -> Spec:
        """The description of the experiment, at its full or its small size."""
        words = {"title": self.title, "description": self.description}
        return parse({**words, **self.tables(full)}, name=self.name)
