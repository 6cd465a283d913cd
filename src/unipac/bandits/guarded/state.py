"""What a guard keeps: all data, the closed levels, and the heuristic that it watches over."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac import _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._inputs import LARGEST_REWARD
from unipac._parameters import Converted
from unipac.bandits.guarded import kernels
from unipac.bandits.levelled.cut import BallBounds
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Level
from unipac.linalg import levels as stack
from unipac.linalg import ridge
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import check_factors
from unipac.theory.bounds import level_size
from unipac.theory.elimination import guarded_mistake_bound

KEPT = 256
"""For so many actions scratch memory is kept."""


class Saved(NamedTuple):
    """What goes to a file: all data, then the closed levels; and what the heuristic has learned."""

    rows: Array
    size: NDArray[np.int64]
    rotations: NDArray[np.int64]
    heuristic: Any


@agent
class GuardAgent(BallBounds, BanditAgent):
    """A stack of closed levels over a heuristic: state, files and bounds.

    {parameters}
    """

    heuristic: Converted[BanditAgent, Any] = parameter(
        words="a fresh bandit agent; it is copied", kw_only=False
    )
    delta: float = declare.delta()
    noise: float = declare.noise()
    norm: float = declare.norm()
    regularization: float = declare.regularization()
    gate: float = parameter(
        default=16.0, check=check.positive, words="g: level l is closed after g d 4^l rounds"
    )
    radius: str = parameter(
        default="mixture",
        check=check.choice("mixture", "ball"),
        words='of all data: "ball" cuts their set with the ball ‖θ‖ ≤ S: smaller certificates, not compiled',
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        low, high = self.reward_range or (-math.inf, math.inf)
        self._rules = kernels.Rules(
            gate=self.gate * self.dim,
            delta=self.delta / 2,
            noise=self.noise,
            norm=self.norm,
            regularization=self.regularization,
            action_norm=self.action_norm,
            low=low,
            high=high,
        )

    # -- state ---------------------------------------------------------------------------------

    def _empty(self) -> Levels:
        self._inner = copy.copy(self.heuristic)
        self._work_for = (0, 0)
        self._room: kernels.Scratch | None = None
        levels = stack.empty(self._most_closed(0) + 1, self.dim, self.regularization)
        kernels.set_radii(levels, self._rules, 0, 0)
        self._closed = kernels.close(levels, 0, 0, self._rules)
        return levels

    def _most_closed(self, rounds: int) -> int:
        """How many levels are closed after so many rounds, or one more."""
        return max(0, math.floor(math.log((rounds + 1) / self._rules.gate, 4))) + 1

    def _make_room(self, times: int) -> None:
        needed = self._most_closed(self._rounds + times) + 1
        if needed > len(self.state.size):
            self.state = stack.grown(self.state, needed + 2)

    def _workspace(self, n: int) -> kernels.Work:
        """Scratch memory for a choice among n actions; kept, as making it takes as long as using it."""
        if n > KEPT:
            return kernels.workspace(n, self.dim, self._closed + 1)
        if self._work_for != (n, self._closed):
            self._work_for = (n, self._closed)
            self._work = kernels.workspace(n, self.dim, self._closed + 1)
        return self._work

    def _scratch(self) -> kernels.Scratch:
        """Likewise for learning."""
        if self._room is None or len(self._room.means) != len(self.state.size):
            self._room = kernels.scratch(self.state)
        return self._room

    def _saved(self) -> Saved:
        used = self._closed + 1
        levels: Levels = self.state
        return Saved(levels.rows[:used], levels.size[:used], levels.rotations[:used], self._inner._saved())

    def _restored(self, saved: Saved) -> Levels:
        levels = stack.empty(self._most_closed(self._rounds) + 1, self.dim, self.regularization)
        self._closed = kernels.close(levels, 0, self._rounds, self._rules)
        used = self._closed + 1
        shapes = [array.shape for array in saved[:3]]
        sound = shapes == [(used, self.dim, self.dim + 2), (used,), (used,)]
        if not sound or saved.size.min() < 0 or saved.size[0] != self._rounds or saved.rotations.min() < 0:
            raise ValueError("the levels are not those of any data")
        levels.rows[:used], levels.size[:used], levels.rotations[:used] = saved[:3]
        for i in range(used):
            check_factors(levels.rows[i], self.regularization, self._rounds, self.action_norm, LARGEST_REWARD)
            levels.logdet[i] = ridge.log_determinant(levels.rows[i], self.regularization)
        kernels.set_radii(levels, self._rules, 0, self._closed)
        self._inner._rounds = self._rounds
        self._inner.state = self._inner._restored(saved.heuristic)
        return levels

    def _has_level(self, level: int) -> bool:
        return level <= self._closed

    # -- the protocol --------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given."""
        return True

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        if self._is_cut():
            return super()._bounds(X)
        mean, width2 = np.empty(len(X)), np.empty(len(X))
        evaluate_all(self.state.rows, 1, 1, X, 0, len(X), mean, width2)
        width = np.sqrt(width2)
        bonus = self.state.beta[0] * width
        return mean, width, mean + bonus, mean - bonus

    def _covers(self, truth: Array, X: Array) -> bool:
        within = not self._is_cut() or super()._covers(truth, X)
        return bool(within and kernels.covers(self.state, self._closed, truth))

    # -- what is known -------------------------------------------------------------------------

    def levels(self) -> list[Level]:
        """Explored rounds, the proven bound on them, and radius of each closed level."""
        with self._lock:
            found = []
            for i in range(1, self._closed + 1):
                bound = level_size(self.dim, i, self.regularization, self.action_norm)
                found.append(Level(i, int(self.state.size[i]), bound, float(self.state.beta[i])))
            return found

    @property
    def explored(self) -> int:
        """In how many rounds the guard chose, to explore, and not the heuristic."""
        return sum(level.size for level in self.levels())

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε."""
        names = ("delta", "gate", "noise", "norm", "regularization", "action_norm")
        return guarded_mistake_bound(eps, self.dim, **{name: getattr(self, name) for name in names})
