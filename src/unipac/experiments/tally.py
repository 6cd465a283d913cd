"""Count rewards, mistakes and certificates while a run is played, and make the table of its results."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unipac import metrics
from unipac._arrays import Array
from unipac.experiments.spec import Cell

SCHEMA: dict[str, Any] = {
    "agent": pl.String,
    "family": pl.String,
    "instance": pl.String,
    "seed": pl.Int64,
    "kind": pl.String,
    "certified": pl.Boolean,
    "consistent": pl.Boolean,
    "delta": pl.Float64,
    "round": pl.Int64,
    "free": pl.Int64,
    "regret": pl.Float64,
    "reward": pl.Float64,
    "certified_regret": pl.Float64,
    "claimed": pl.Float64,
    "explored": pl.Int64,
    "violations": pl.Int64,
    "uncovered": pl.Int64,
    "levels": pl.Int64,
    "plans": pl.Int64,
    "least_pulls": pl.Float64,
    "eps": pl.List(pl.Float64),
    "mistakes": pl.List(pl.Int64),
    "certificates_above": pl.List(pl.Int64),
    "bounds": pl.List(pl.Float64),
    "stages": pl.List(pl.Int64),
    "level_numbers": pl.List(pl.Int64),
    "sizes": pl.List(pl.Int64),
    "size_bounds": pl.List(pl.Float64),
}
"""The columns of a cell's table, one row per checkpoint; those on single levels are filled only in the last row."""


class Tally:
    """Counts of a run so far, and the rows of its table.

    Args:
        cell: the cell that is played.
        agent: the agent that plays it.
        delta: the probability with which its guarantees may fail; NaN if it has none.
        sound: whether the assumptions of the agent hold; if not, none of its claims is certified.
    """

    def __init__(self, cell: Cell, agent: Any, *, delta: float, sound: bool) -> None:
        self.cell = cell
        self.sound = sound
        self.agent = agent
        self.delta = delta
        self.rows: list[dict[str, Any]] = []
        self.eps = np.array(cell.eps)
        self.round = 0
        self.forced = 0
        self.regret: float | None = 0.0
        self.reward = 0.0
        self.mistakes = np.zeros(len(self.eps), dtype=np.int64)
        self.certificates_above = np.zeros(len(self.eps), dtype=np.int64)
        self.violations = 0
        self.uncovered: int | None = None
        self.plans = 0
        self.least_pulls: float | None = None
        self.certified_regret = 0.0
        self.claimed = 0.0
        self._above_rewards = 0.0
        self.bounds = [_bound(agent, eps) if sound else math.inf for eps in cell.eps]

    @property
    def certified(self) -> bool:
        """Whether the claims of the agent are proven on this instance."""
        searched = self.cell.agent.kind == "search" and getattr(self.agent, "theorem", "none") != "none"
        return self.sound and bool(getattr(self.agent, "_proven", getattr(self.agent, "certified", searched)))

    def add_forced(self, count: int, reward: float) -> None:
        """Add rounds without a choice; their gap is 0."""
        self.round += count
        self.forced += count
        self.reward += count * reward

    def add_rounds(
        self, *, gap: Array, reward: Array, certificate: Array, covered: NDArray[np.bool_] | None = None
    ) -> None:
        """Add rounds of a bandit."""
        self._add_gaps(gap, reward)
        self.violations += int(metrics.certificate_violations(certificate, gap).sum())
        self.certified_regret += float(certificate.sum())
        self.claimed += float(certificate.sum())
        if self.certified:
            self.certificates_above += metrics.mistakes(certificate, self.eps)
        if covered is not None:
            self.uncovered = (self.uncovered or 0) + int(len(covered) - covered.sum())

    def add_episodes(self, trace: Any, horizon: int) -> None:
        """Add episodes of an MDP."""
        before = self.round - self.forced
        regret = (self.regret or 0.0) + np.cumsum(trace.gap)
        self._add_gaps(trace.gap, trace.reward)
        self.plans += int(trace.replanned.sum())
        self.claimed += float(trace.certificate.sum())
        if self.certified and math.isfinite(self.delta):
            claimed = self._above_rewards + np.cumsum(trace.bound - trace.reward)
            numbers = np.arange(before + 1, before + 1 + len(trace.gap))
            certified = claimed + metrics.aggregate_slack(numbers, horizon=horizon, delta=self.delta)
            self.violations += int((certified < regret).sum())
            self._above_rewards, self.certified_regret = float(claimed[-1]), float(certified[-1])

    def add_returns(self, returns: Array) -> None:
        """Add episodes whose gaps are unknown, by their sums of rewards."""
        self.round += len(returns)
        self.reward += float(returns.sum())
        self.regret = None
        self.claimed = math.nan

    def add_answer(self, *, pulls: int, gap: float, certificate: float, least: float | None = None) -> None:
        """Add the answer of a search: one choice, after pulls whose gaps do not count.

        Args:
            pulls: the number of pulls.
            gap: the gap of the answer.
            certificate: the certificate of the answer.
            least: the mean number of pulls that any method needs; None if unknown.
        """
        self.least_pulls = least
        self.round = pulls
        self.forced = pulls - 1
        self.claimed = math.nan  # a search has a certificate for its answer only
        self.regret = gap
        self.certified_regret = certificate
        self.violations = int(certificate < gap)

    def _add_gaps(self, gap: Array, reward: Array) -> None:
        assert self.regret is not None
        self.round += len(gap)
        self.regret += float(gap.sum())
        self.reward += float(reward.sum())
        self.mistakes += metrics.mistakes(gap, self.eps)

    def write_row(self) -> None:
        """Append a row with the counts at a checkpoint."""
        cell, kind = self.cell, self.cell.agent.kind
        known = self.regret is not None
        proven = self.certified and known
        none = [None] * len(self.eps)
        self.rows.append(
            {
                "agent": cell.agent.label,
                "family": cell.instance.family,
                "instance": cell.instance.label,
                "seed": cell.seed,
                "kind": kind,
                "certified": self.certified,
                "consistent": bool(getattr(self.agent, "consistent", True)),
                "delta": self.delta,
                "round": self.round,
                "free": self.round - self.forced,
                "regret": self.regret,
                "reward": self.reward if kind != "search" else None,
                "certified_regret": self.certified_regret if proven else None,
                "claimed": self.claimed if math.isfinite(self.claimed) else None,
                "explored": getattr(self.agent, "explored", None) if kind == "bandit" else None,
                "violations": self.violations if proven else None,
                "uncovered": self.uncovered,
                "levels": max((level.level for level in self._levels() if level.size > 0), default=0),
                "least_pulls": self.least_pulls,
                "plans": self.plans if kind == "mdp" and known else None,
                "eps": self.eps.tolist(),
                "mistakes": self.mistakes.tolist() if known and kind != "search" else None,
                "certificates_above": (
                    self.certificates_above.tolist() if self.certified and kind == "bandit" else none
                ),
                "bounds": self.bounds,
            }
        )

    def _levels(self) -> list[Any]:
        return self.agent.levels() if hasattr(self.agent, "levels") else []

    def to_parquet(self) -> bytes:
        """The table as a Parquet file; the same numbers always give the same bytes."""
        levels = self._levels()
        self.rows[-1] |= {
            "stages": [getattr(level, "stage", 1) for level in levels],
            "level_numbers": [level.level for level in levels],
            "sizes": [level.size for level in levels],
            "size_bounds": [float(level.bound) for level in levels],
        }
        file = io.BytesIO()
        pl.DataFrame(self.rows, schema=SCHEMA).write_parquet(file, compression="zstd", statistics=False)
        return file.getvalue()


def _bound(agent: Any, eps: float) -> float:
    return float(agent.mistake_bound(eps)) if hasattr(agent, "mistake_bound") else math.inf
