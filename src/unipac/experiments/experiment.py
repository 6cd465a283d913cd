"""A built-in experiment: its description as data, and what theory predicts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unipac.experiments.findings import Finding
from unipac.experiments.reading import parse
from unipac.experiments.results import Results
from unipac.experiments.spec import Spec


def no_predictions(results: Results) -> list[Finding]:
    """For an experiment that only shows."""
    return []


def no_conclusion(results: Results) -> list[str]:
    """For an experiment that speaks by its findings alone."""
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
    """What theory predicts, held against results, beside what its tables predict."""
    conclude: Callable[[Results], list[str]] = no_conclusion
    """What the results say in plain words: a sentence or two for each paragraph."""

    def spec(self, full: bool = False) -> Spec:
        """The description of what is run."""
        words = {"title": self.title, "description": self.description}
        return parse({**words, **self.tables(full)}, name=self.name)
