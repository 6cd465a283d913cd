"""What ``play_many`` returns: numbers of every seed, means and rates with intervals."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac.many.record import Asked, Told

COUNTED = "regret", "mistakes", "last_mistake", "level"
SEEN = "left", "undercut", "refuted"


class Estimate(NamedTuple):
    """A mean or a rate over seeds, and an interval that holds with the confidence asked for.

    >>> Estimate(0.5, 0.25, 0.75).low
    0.25
    """

    value: Array
    """The mean, or the rate."""
    low: Array
    """Where the interval begins."""
    high: Array
    """Where it ends."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Runs of one agent on one instance, one for each seed.

    Attributes:
        rounds: how many rounds each run had.
        first_seed: run i has the seed ``first_seed + i``.
        checkpoints: the numbers of rounds after which the regret was recorded, (K,).
        eps: the accuracies ε, increasing, (E,).
        regret: sum of the gaps of the first rounds, (N, K).
        mistakes: in how many rounds the gap exceeded ε, (N, E).
        last_mistake: the last round, from 1, whose gap exceeded the smallest ε; 0 if none did, (N,).
        level: the largest level in use at the end, for ``Guarded`` the number of closed ones, (N,).
        left: whether the true parameter ever was outside of a confidence set, (N,).
        undercut: whether a certificate ever was below the gap, (N,).
        refuted: whether bounds ever refuted the assumptions; certificates end there, (N,).

    >>> import unipac
    >>> agent = unipac.LinUCB(2)
    >>> runs = unipac.play_many(agent, unipac.envs.sphere(2, 4), rounds=50, seeds=6)
    >>> len(runs), runs.regret.shape, runs.mean("regret").value.shape
    (6, (6, 1), (1,))
    """

    rounds: int
    first_seed: int
    checkpoints: NDArray[np.int64]
    eps: Array
    regret: Array
    mistakes: NDArray[np.int64]
    last_mistake: NDArray[np.int64]
    level: NDArray[np.int64]
    left: NDArray[np.bool_]
    undercut: NDArray[np.bool_]
    refuted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        seen = ", ".join(f"{name} {int(getattr(self, name).sum())}" for name in SEEN)
        regret = f"regret {self.regret[:, -1].mean():.6g} after {self.checkpoints[-1]} rounds"
        return f"<{len(self)} runs of {self.rounds} rounds: mean {regret}; {seen}>"

    def mean(self, what: str = "regret", chance: float = 0.05) -> Estimate:
        """The mean over the seeds of what was counted, with Student's interval.

        Args:
            what: "regret", "mistakes", "last_mistake" or "level".
            chance: the interval misses the expectation with about this probability.
        """
        from scipy.special import stdtrit

        values = np.asarray(getattr(self, check.one_of("what", what, COUNTED)), dtype=np.float64)
        chance, n = check.share("chance", chance), len(self)
        middle = values.mean(axis=0)
        half = np.full_like(middle, math.inf)
        if n > 1:
            half = stdtrit(n - 1, 1.0 - chance / 2) * values.std(axis=0, ddof=1) / math.sqrt(n)
        return Estimate(middle, middle - half, middle + half)

    def rate(self, what: str = "left", chance: float = 0.05) -> Estimate:
        """The fraction of seeds in which something was seen, with the interval of Clopper and Pearson.

        Args:
            what: "left", "undercut" or "refuted".
            chance: the interval misses the probability with at most this probability.
        """
        from scipy.special import betaincinv

        seen = int(getattr(self, check.one_of("what", what, SEEN)).sum())
        chance, n = check.share("chance", chance), len(self)
        low = betaincinv(seen, n - seen + 1, chance / 2) if seen > 0 else 0.0
        high = betaincinv(seen + 1, n - seen, 1.0 - chance / 2) if seen < n else 1.0
        return Estimate(*(np.asarray(number, dtype=np.float64) for number in (seen / n, low, high)))


def runs_of(asked: Asked, told: Told, first_seed: int) -> Runs:
    """The results of all seeds, with one row for each."""
    regret, mistakes = np.ascontiguousarray(told.regret.T), np.ascontiguousarray(told.mistakes.T)
    seen = (array.astype(np.bool_) for array in (told.left, told.undercut, told.refuted))
    grids = asked.checkpoints, asked.eps
    return Runs(asked.rounds, first_seed, *grids, regret, mistakes, told.last, told.level, *seen)
