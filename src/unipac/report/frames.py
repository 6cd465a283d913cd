"""Operations on data frames that figures and findings share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from unipac.experiments.results import labels

CELL = ("agent", "family", "instance", "seed")
"""The columns that identify one run."""
MOST_PANELS = 8


def require(frame: pl.DataFrame, columns: Sequence[str], name: str) -> None:
    """Raise a ``ValueError`` that names the missing columns, if there are any."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ValueError(f"{name} must have the columns {', '.join(columns)}; missing: {', '.join(missing)}")


def grouped(frame: pl.DataFrame, keys: Sequence[str], *values: pl.Expr) -> pl.DataFrame:
    """Aggregate values by keys; sort by labels, in the order in which they appear in `frame`, then by other keys.

    For millions of rows the streaming engine of polars needs far less memory, but it loses the order.
    """
    table = frame.lazy().group_by(keys).agg(*values).collect(engine="streaming")
    columns = [column for column in ("family", "instance", "agent") if column in keys]
    order = [pl.col(column).cast(pl.String).cast(pl.Enum(labels(frame, column))) for column in columns]
    return table.sort(*order, *(key for key in keys if key not in columns))


def free_rounds(curves: pl.DataFrame) -> pl.Expr:
    """The number of rounds so far with a choice; all rounds, if there is no column `free`."""
    return pl.col("free") if "free" in curves.columns else pl.col("round")


def final_counts(mistakes: pl.DataFrame, *others: str) -> pl.DataFrame:
    """The counts at the end of each run for every ε: the largest, since counts never fall.

    Args:
        mistakes: a frame with the columns of `CELL`, kind, round, eps, mistakes and bound.
        others: the names of more columns to keep.
    """
    return grouped(mistakes, (*CELL, "kind", "eps"), pl.col("round", "mistakes", "bound", *others).max())


class Panels(NamedTuple):
    """Which parts of a frame get a chart of their own."""

    shown: dict[str, pl.Expr]
    """For each title of a panel, the condition on rows that belong to it."""
    growing: frozenset[str]
    """The titles of panels that show a family whose instances differ in length, one point per instance."""
    note: str
    """A sentence on what is not shown; empty if all is shown."""


def split(
    frame: pl.DataFrame, *, join_growing: bool, most: int | None = MOST_PANELS, of_family: int | None = None
) -> Panels:
    """One panel per instance, or per family if all its instances end at different rounds and are joined.

    If there are more than `most`, some are chosen, spread evenly over each family, and `note` says so.

    Args:
        frame: a frame with the columns family, instance and round.
        join_growing: whether a family whose instances all end at different rounds makes one panel, in which
            each instance is a point at its last round.
        most: the largest number of panels; None for all.
        of_family: the largest number of panels of one family; None for no such limit.
    """
    final = grouped(frame, ("family", "instance"), pl.col("round").max())
    final = final.with_columns(pl.col("family", "instance").cast(pl.String))
    families: dict[str, list[str]] = {}
    growing: set[str] = set()
    for (family,), part in final.group_by("family", maintain_order=True):
        instances = part["instance"].to_list()
        if join_growing and len(instances) > 1 and part["round"].n_unique() == len(instances):
            growing.add(str(family))
            families[str(family)] = [str(family)]
        else:
            families[str(family)] = instances
    total = sum(len(instances) for instances in families.values())
    most = total if most is None else most
    kept = {family: families[family] for family in spread(list(families), most)}
    quota = most if total <= most else max(1, most // len(kept))
    quota = quota if of_family is None else min(quota, of_family)
    shown: dict[str, pl.Expr] = {}
    for family, instances in kept.items():
        for title in spread(instances, quota):
            column = "family" if family in growing else "instance"
            shown[title] = (pl.col("family") == family) & (pl.col(column) == title)
    note = "" if len(shown) == total else f"{len(shown)} of {total} instances are drawn; the table has all."
    return Panels(shown, frozenset(growing), note)


def spread(items: list[str], most: int) -> list[str]:
    """At most `most` of the items, evenly spread, with the first and the last; if `most` is 1, the last.

    Example:
        >>> spread(list("abcdefghi"), 3)
        ['a', 'e', 'i']
    """
    if len(items) <= most:
        return items
    if most == 1:
        return items[-1:]
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def along_rounds(frame: pl.DataFrame, panels: Panels, title: str) -> pl.DataFrame:
    """The rows of one panel with a column `x`, the round; for a growing family, only the end of each run."""
    part = frame.filter(panels.shown[title])
    if title not in panels.growing:
        return part.with_columns(x=pl.col("round").cast(pl.Float64))
    at_end = pl.col("round") == pl.col("round").max().over(*CELL)
    return part.filter(at_end).with_columns(x=pl.col("round").max().over("instance").cast(pl.Float64))


def rounds_name(frame: pl.DataFrame) -> str:
    """The word for rounds in this frame, such as episodes."""
    kinds = set(labels(frame, "kind"))
    names = {"bandit": "rounds", "mdp": "episodes", "search": "pulls"}
    return " or ".join(name for kind, name in names.items() if kind in kinds) or "rounds or episodes"


def typical_eps(final: pl.DataFrame) -> float | None:
    """The ε for mistakes over time: the largest at which at least half of the agents made ten or more mistakes.

    If there is none, the largest at which one agent did; else the one with the most mistakes; None without mistakes.

    Args:
        final: the result of `final_counts`.
    """
    counts = (
        final.group_by("agent", "instance", "eps")
        .agg(pl.col("mistakes").mean())
        .group_by("agent", "eps")
        .agg(pl.col("mistakes").max())
        .group_by("eps")
        .agg(many=(pl.col("mistakes") >= 10).mean(), most=pl.col("mistakes").max())
        .sort("eps", descending=True)
    )
    for enough in (pl.col("many") >= 0.5, pl.col("many") > 0, pl.col("most") == pl.col("most").max()):
        candidates = counts.filter(enough & (pl.col("most") > 0))
        if len(candidates):
            return float(candidates["eps"][0])
    return None
