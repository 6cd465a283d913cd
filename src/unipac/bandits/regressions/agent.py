"""Ridge regressions that are evaluated one at a time, for algorithms whose choice is not compiled.

The state is a stack as in ``linalg.levels``; here it has entries 0, 1, ..., and the algorithm says which of them learn
from a round. Files hold the factors; log-determinants follow from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unipac import _declarations as declare
from unipac._agents import agent
from unipac._arrays import Array
from unipac._inputs import LARGEST_REWARD
from unipac._jit import jit
from unipac._memory import require_room
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import Step
from unipac.linalg import levels as stack, ridge
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import Saved, check_factors, check_growth, check_ratio
from unipac.theory import radii
from unipac.theory.elimination import fixed_design

_learn_entry = stack._learn

MISSING = -1
"""The entry of a regression that has no data and no place yet."""


def regressions(count: int, dim: int, regularization: float) -> Levels:
    """So many regressions without data."""
    require_room("dim", f"{count} regressions", 8 * count * dim * (dim + 2))
    levels = stack.empty(count, dim, regularization)
    for rows in levels.rows:
        ridge.reset(rows, regularization)
    return levels


def evaluated(levels: Levels, entry: int, Y: Array, regularization: float) -> tuple[Array, Array]:
    """Means and widths of the rows of Y in one of the regressions."""
    mean, width2 = np.zeros(len(Y)), (Y * Y).sum(axis=1) / regularization
    if entry != MISSING:
        evaluate_all(levels.rows, entry + 1, entry + 1, np.ascontiguousarray(Y), 0, len(Y), mean, width2)
    return mean, np.sqrt(width2)


@jit
def insert(
    levels: Levels,
    entries: NDArray[np.int64],
    x: Array,
    y: float,
    times: int,
    regularization: float,
) -> None:
    """Let some of the regressions learn ``times`` equal rounds."""
    S, d, _ = levels.rows.shape
    first, once = int(np.int64(0)), int(np.int64(1))
    means, width2, below = np.empty(S), np.empty(S), np.empty(d + 2)
    evaluate_all(levels.rows, once, S, x.reshape((1, d)), first, once, means, width2)
    for i in range(entries.size):
        _learn_entry(levels, entries[i] + 1, x, y, times, width2, regularization, below)
        levels.size[entries[i]] += times


def saved(levels: Levels) -> Saved:
    """What goes to a file."""
    return Saved(levels.rows, levels.size, levels.rotations)


def restored(
    saved: Saved, dim: int, regularization: float, action_norm: float, weights: Array | None = None
) -> Levels:
    """The regressions of a file; a ``ValueError`` if no data could have led to them.

    ``weights``, (S,), are the total weights of their rounds, if a round does not weigh 1.
    """
    S = len(saved.size)
    shapes = saved.rows.shape == (S, dim, dim + 2) and saved.rotations.shape == (S,)
    if not shapes or S == 0 or saved.size.min() < 0 or saved.rotations.min() < 0:
        raise ValueError("the regressions are not those of any data")
    levels = Levels(saved.rows, np.zeros(S), np.zeros(S), saved.size, saved.rotations)
    held = saved.size if weights is None else weights
    for rows, weight in zip(saved.rows, held.tolist(), strict=True):
        check_factors(rows, regularization, weight, action_norm, LARGEST_REWARD)
    levels.logdet[:] = [ridge.log_determinant(rows, regularization) for rows in saved.rows]
    return levels


@agent
class RegressionsAgent(BanditAgent):
    """A bandit agent over ridge regressions; the algorithms derive from it.

    {parameters}
    """

    noise: float = declare.noise()
    norm: float = declare.norm()
    regularization: float = declare.regularization()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ratio(self.regularization, self.action_norm)

    def _entries(self) -> int | None:
        """How many regressions there are; None if it changes."""
        return 1

    def _has_level(self, level: int) -> bool:
        return level <= len(self.state.size)  # where their number changes, the next one may be opened

    def _empty(self) -> Levels:
        return regressions(self._entries() or 1, self.dim, self.regularization)

    def _saved(self) -> Saved:
        return saved(self.state)

    def _restored(self, saved: Any) -> Levels:
        S, count = len(saved.size), self._entries()
        sound = count == S if count is not None else 1 <= S <= stack.MOST_LEVELS
        if not sound or saved.size.max() > self.rounds:
            raise ValueError("the regressions are not those of so many rounds")
        return restored(saved, self.dim, self.regularization, self.action_norm)

    def _values(self, entry: int, Y: Array) -> tuple[Array, Array]:
        """Means and widths of the rows of Y in one of the regressions."""
        return evaluated(self.state, entry, Y, self.regularization)

    def _mixture(self, entry: int, delta: float) -> float:
        """The radius of one of the regressions that holds at all times with probability 1 − δ."""
        logdet = max(float(self.state.logdet[entry]), 0.0) if entry != MISSING else 0.0
        return radii.mixture(
            logdet, delta, noise=self.noise, norm=self.norm, regularization=self.regularization
        )

    def _fixed_design(self, p: float) -> float:
        """The radius of one side of one direction, if actions do not depend on the noise; its bound fails with p."""
        return fixed_design(p, noise=self.noise, norm=self.norm, regularization=self.regularization)

    def _insertion(self, entries: Sequence[int], x: Array, y: float, times: int) -> Step:
        """The step by which some of the regressions learn."""
        where = np.array(entries, dtype=np.int64)
        return insert, (self.state, where, x, y, times, self.regularization)

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        check_growth(times, self.regularization, self.action_norm)
        return self._insertion((0,), x, y, times)
