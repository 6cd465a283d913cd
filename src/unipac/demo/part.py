"""What a part of the demo says: a question, findings, charts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from unipac.experiments.findings import Finding


class Chart(NamedTuple):
    """A chart, the sentence above it, and a text that describes it to those who cannot see it."""

    title: str
    drawn: Any
    alt: str


class Part(NamedTuple):
    """One section of the page; all but the question and the setting is computed from the numbers of a run."""

    name: str
    """A word, for links."""
    question: str
    """What the reader wants to know."""
    setting: str
    """What is decided, what is learned from, and what is assumed."""
    number: str
    """The result in one number."""
    meaning: str
    """What the number is."""
    findings: Sequence[Finding]
    """Sentences that could have turned out wrong."""
    charts: Sequence[Chart]
    code: str
    """The lines that make the agent."""


def grouped(values: Sequence[float], many: int) -> list[slice]:
    """At most so many groups of neighbours, of nearly the same size.

    >>> grouped([5, 6, 7, 8], 2)
    [slice(0, 2, None), slice(2, 4, None)]
    """
    count = min(many, len(values))
    edges = [round(k * len(values) / count) for k in range(count + 1)] if count else []
    return [slice(a, b) for a, b in pairwise(edges)]


def rounded(values: Any, digits: int = 4) -> list[float | None]:
    """Numbers as a chart and JSON need them: some digits, None for NaN."""
    return [None if value != value else float(f"{value:.{digits}g}") for value in map(float, values)]
