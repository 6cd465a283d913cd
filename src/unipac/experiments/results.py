"""The results of a run as tidy data frames, for figures and findings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from unipac.experiments.spec import cell_name
from unipac.experiments.store import Store, StoreError
from unipac.experiments.tally import SCHEMA

WHO = ["agent", "family", "instance", "seed"]


class Results(NamedTuple):
    """Four tables of one experiment; all have the columns agent, family, instance, seed and kind.

    With the ``folder`` of a finished run:

    >>> results = load(folder)
    >>> results.curves["round"].max(), results.levels.columns[-2:]
    (50, ['size', 'bound'])
    """

    curves: pl.DataFrame
    """One row per checkpoint of a cell: certified, consistent, delta, round, free (the rounds so far with a
    choice), regret, reward, certified_regret (only where proven), claimed (the sum of all certificates so far,
    proven here or not), explored (rounds in which a guard explored), violations, uncovered, levels, plans,
    least_pulls (for a search: the mean number of pulls that any method needs)."""
    mistakes: pl.DataFrame
    """One row per checkpoint and ε: certified, delta, round, eps, mistakes (N_ε so far), certificates_above
    (rounds whose certificate exceeded ε), bound (proven, on N_ε of all rounds)."""
    levels: pl.DataFrame
    """One row per stage and level, at the end of a cell: stage, level, size, bound."""
    times: pl.DataFrame
    """One row per checkpoint: round, seconds, plans. It is empty if no times were kept."""


def load(folder: str | os.PathLike[str]) -> Results:
    """Read the finished cells of a run."""
    store = Store(folder)
    spec = store.spec()
    files = store.tables()
    if not files:
        raise StoreError(f"{store.cells}: holds no finished cell; run the experiment first")
    try:
        frame = pl.read_parquet(files, schema=SCHEMA, glob=False, missing_columns="insert")
        frame = frame.with_columns(
            pl.col("agent").cast(_enum(entry["label"] for entry in spec["agents"])),
            pl.col("family").cast(_enum(entry["family"] for entry in spec["instances"])),
            pl.col("instance").cast(_enum(entry["label"] for entry in spec["instances"])),
            pl.col("kind").cast(_enum(["bandit", "mdp", "search"])),
        ).sort("instance", "agent", "seed", "round")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise StoreError(
            f"{store.cells}: holds a table of another form ({error}); delete it and run again"
        ) from None
    return Results(
        curves=frame.select(
            *WHO,
            "kind",
            "certified",
            "consistent",
            "delta",
            "round",
            "free",
            "regret",
            "reward",
            "certified_regret",
            "claimed",
            "explored",
            "violations",
            "uncovered",
            "levels",
            "plans",
            "least_pulls",
        ),
        mistakes=frame.filter(pl.col("mistakes").is_not_null())
        .select(
            *WHO,
            "kind",
            "certified",
            "delta",
            "round",
            "eps",
            "mistakes",
            "certificates_above",
            pl.col("bounds").alias("bound"),
        )
        .explode("eps", "mistakes", "certificates_above", "bound"),
        levels=frame.filter(pl.col("sizes").list.len() > 0)
        .select(
            *WHO,
            "kind",
            pl.col("stages").alias("stage"),
            pl.col("level_numbers").alias("level"),
            pl.col("sizes").alias("size"),
            pl.col("size_bounds").alias("bound"),
        )
        .explode("stage", "level", "size", "bound"),
        times=_times(frame, store.machine()),
    )


def labels(frame: pl.DataFrame, column: str) -> list[str]:
    """The different labels of a column, in the order in which they appear."""
    return frame[column].unique(maintain_order=True).cast(pl.String).to_list()


def ends(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows at the last checkpoint of each run: one for curves and times, one per ε for mistakes."""
    return frame.filter(pl.col("round") == pl.col("round").max().over(WHO))


def _enum(labels: Iterable[str]) -> pl.Enum:
    """A column type for labels, in the order of the experiment."""
    return pl.Enum(list(dict.fromkeys(labels)))


def _times(frame: pl.DataFrame, lines: list[dict[str, Any]]) -> pl.DataFrame:
    """The wall times of the cells of a frame; if a cell has several lines, the last one counts."""
    timed = {line["cell"]: line for line in lines if "cell" in line}
    pairs = frame.select("agent", "instance", "seed").unique()
    rows = []
    for agent, instance, seed in pairs.iter_rows():
        line = timed.get(cell_name(agent, instance, seed))
        if line is not None:
            rows.append((agent, instance, seed, line["rounds"], line["elapsed"]))
    schema: dict[str, Any] = {
        "agent": pl.String,
        "instance": pl.String,
        "seed": pl.Int64,
        "round": pl.List(pl.Int64),
        "seconds": pl.List(pl.Float64),
    }
    times = pl.DataFrame(rows, schema=schema, orient="row").explode("round", "seconds")
    times = times.with_columns(pl.col(name).cast(frame.schema[name]) for name in ("agent", "instance"))
    keys = ["agent", "instance", "seed", "round"]
    return times.join(frame.select(*keys, "family", "kind", "plans"), on=keys, how="inner").select(
        *WHO, "kind", "round", "seconds", "plans"
    )
