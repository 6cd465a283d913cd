"""Rename and reorder results as the options of a report ask."""

from __future__ import annotations

import polars as pl

from unipac.experiments.options import Options, check_labels
from unipac.experiments.results import Results, labels

LABELS = ("agent", "family", "instance")


def arranged(results: Results, options: Options) -> Results:
    """The results with the labels and the order of agents from the options; unchanged if there are none."""
    agents = labels(results.curves, "agent")
    places = [*labels(results.curves, "family"), *labels(results.curves, "instance")]
    check_labels(options, agents, places)
    if not options.labels and not options.order:
        return results
    first = [label for label in options.order or () if label in agents]
    order = {
        "agent": [*first, *(label for label in agents if label not in first)],
        "family": labels(results.curves, "family"),
        "instance": labels(results.curves, "instance"),
    }
    return Results(*(_arranged(frame, order, options) for frame in results))


def _arranged(frame: pl.DataFrame, order: dict[str, list[str]], options: Options) -> pl.DataFrame:
    if not set(LABELS) <= set(frame.columns):
        return frame
    kinds = {name: pl.Enum([options.labels.get(label, label) for label in order[name]]) for name in LABELS}
    words = dict(options.labels)
    named = frame.with_columns(
        pl.col(name).cast(pl.String).replace(words).cast(kind) for name, kind in kinds.items()
    )
    return named.sort("instance", "agent", maintain_order=True)
