"""Test whether a promise that may fail with probability δ fails more often than that."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from unipac.metrics import binomial_upper_tail

FALSE_ALARM = 1e-3
"""A promise counts as broken if the probability of at least the observed failures is below this."""


def certificate_delta() -> pl.Expr:
    """The probability with which the certificates of a run may fail: δ for bandits, 2δ for MDPs.

    For MDPs the second δ covers the randomness of the rewards, which enter the bounds on the regret.
    """
    return pl.col("delta") * pl.when(pl.col("kind") == "mdp").then(2.0).otherwise(1.0)


class Chance(NamedTuple):
    """Failures of a promise over many runs."""

    failures: int
    runs: int
    probability: float
    """A bound on the probability that any pair of agent and instance fails as surprisingly often as the worst did."""
    who: str
    """The worst pair, with its number of failures; empty if there are none."""

    @property
    def kept(self) -> bool:
        """Whether chance can explain the failures."""
        return self.probability >= FALSE_ALARM

    @property
    def comment(self) -> str:
        """The worst pair and its probability, as the end of a sentence; empty without failures."""
        if self.failures == 0:
            return ""
        return f" (least likely under the theorem: {self.who}, probability {self.probability:.2g})"


def least_likely(runs: pl.DataFrame) -> Chance:
    """Test each pair of agent and instance; the smallest probability is multiplied by the number of pairs.

    Pairs share seeds, so only runs of the same pair are independent.

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
