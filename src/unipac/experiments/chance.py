"""Does a promise that may fail with probability δ fail more often than that?"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from unipac.metrics import binomial_upper_tail

FALSE_ALARM = 1e-3
"""A promise counts as broken if so many failures, or more, had less than this chance."""


def certificate_delta() -> pl.Expr:
    """The probability with which certificates of a run may fail: δ, and for MDPs as much again.

    Their bounds on the regret also allow for the chance in the rewards.
    """
    return pl.col("delta") * pl.when(pl.col("kind") == "mdp").then(2.0).otherwise(1.0)


class Chance(NamedTuple):
    """Failures of a promise over many runs."""

    failures: int
    runs: int
    probability: float
    """That some agent fails on some instance as often as the one that does so least likely, at most."""
    who: str
    """That one."""

    @property
    def kept(self) -> bool:
        """Whether chance explains the failures."""
        return self.probability >= FALSE_ALARM

    @property
    def comment(self) -> str:
        """Who failed, for a sentence."""
        if self.failures == 0:
            return ""
        return f" (least likely under the theorem: {self.who}, probability {self.probability:.2g})"


def least_likely(runs: pl.DataFrame) -> Chance:
    """Judge the runs of each agent on each instance; the least chance is multiplied by the number of pairs.

    Only the seeds of one pair are independent: agents and instances share them.

    Args:
        runs: columns agent, instance, failed and delta.
    """
    pairs = runs.group_by("agent", "instance", maintain_order=True).agg(
        pl.col("failed").sum(), runs=pl.len(), delta=pl.col("delta").max()
    )
    least, who = 1.0, ""
    for row in pairs.filter(pl.col("failed") > 0).iter_rows(named=True):
        tail = binomial_upper_tail(row["failed"], row["runs"], min(1.0, row["delta"]))
        if tail < least or not who:
            least, who = tail, f"{row['agent']} on {row['instance']}, {row['failed']} of {row['runs']}"
    return Chance(int(runs["failed"].sum()), len(runs), min(1.0, least * len(pairs)), who)
