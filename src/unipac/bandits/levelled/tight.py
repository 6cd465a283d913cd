"""The optimistic agents that keep the sets behind certificates: what they share."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from unipac import _declarations as declare
from unipac._agents import agent
from unipac._arrays import Array
from unipac.bandits.levelled.agent import OptimisticAgent
from unipac.bandits.levelled.confidence import Confidence
from unipac.bandits.protocol.records import Trace
from unipac.bandits.sets import agent as parameters, state as sets
from unipac.bandits.sets.agent import assumes
from unipac.bandits.sets.state import SavedSets, State
from unipac.linalg.levels import SINGLE, Levels
from unipac.linalg.soundness import Saved


class SavedTight(NamedTuple):
    """What goes to a file."""

    levels: Saved
    sets: SavedSets


@assumes
@agent
class TightAgent(OptimisticAgent):
    """Optimism over levels; choices may use set A, certificates use A, B and C, unless ``tight`` is False.

    {parameters}
    """

    learns_in: ClassVar[tuple[str, ...]] = (*OptimisticAgent.learns_in, "_known")

    tight: bool = declare.tight()
    blocks: int = declare.blocks()
    misspecification: declare.Misspecification = declare.misspecification()
    rewards_within: tuple[float, float] | None = declare.rewards_within()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._keeps_sets = self.tight and getattr(self, "all_data", True)
        parameters.check_parameters(self, self._keeps_sets)
        self._parts = self.blocks if self._keeps_sets else 1
        self._in_blocks = self.blocks > 1

    @property
    def _chooses_by_sets(self) -> bool:
        return self._keeps_sets and not (self.rule == SINGLE and self.radius == "determinant")

    def _sets(self) -> Confidence:
        """With these sets, levels keep δ/2, and C has δ/8; a single set has δ/4, the choice of a paper all of δ."""
        plain = super()._sets()
        if not self._keeps_sets:
            return plain
        if self.rule != SINGLE:
            return plain._replace(outer_delta=self.delta / 8)
        share = self.delta / 4 if self._chooses_by_sets else self.delta
        return plain._replace(delta=share, outer_delta=self.delta / 4)

    def _no_data(self) -> Array:
        if not self._keeps_sets:
            return sets.NONE.copy()
        return parameters.no_data(self, 3 * self.delta / (8 if self.rule == SINGLE else 16))

    # -- state ---------------------------------------------------------------------------------

    def _empty(self) -> Any:
        self._known, self._spare = self._no_data(), sets.Spare()
        return super()._empty()

    def _with_sets(self, levels: Levels) -> State:
        return State(levels, self._known)

    def _own_what_is_learned(self) -> None:
        self._known = self._known.copy()
        super()._own_what_is_learned()

    def _saved(self) -> SavedTight:
        return SavedTight(super()._saved(), sets.saved(self._known))

    def _restored(self, saved: SavedTight) -> Any:
        self._known = sets.restored(saved.sets, self._no_data(), self.rounds)
        return super()._restored(saved.levels)

    def _held_sets(self, n: int) -> tuple[Array | None, Array | None]:
        return (self._known, self._spare.room(n, self._known)) if self._keeps_sets else (None, None)

    # -- the protocol, compiled ----------------------------------------------------------------

    def _check_logged(self, X: Array) -> None:
        parameters.check_blocks("actions", X, self.blocks)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        self._check_logged(X)
        return super()._bounds(X)

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        return (math.nan, True) if sets.refuted(self._known) else super()._certify(best, ucb, lcb)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        self._check_logged(X)
        super()._play(X, y, truth, trace)
