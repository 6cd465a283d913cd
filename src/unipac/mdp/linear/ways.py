"""Agents whose data are kept in one of several ways, each an object of its own: counted, stored, or bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unipac.envs.play.simulation import World
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.records import EpisodeTrace

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class ByWay(EpisodicAgent):
    """Leaves state, plans and loops to its way, such as a ``Counting``, a ``Storing`` or a ``Bounding``."""

    _way: Any

    def _empty(self) -> Any:
        return self._way.empty()

    def _saved(self) -> Any:
        return self._way.saved()

    def _restored(self, saved: Any) -> Any:
        return self._way.restored(saved)

    def _plan(self) -> Plan:
        plan: Plan = self._way.plan()
        return plan

    def _learn(self, episode: Episode) -> Change:
        return self._way.learn, (episode,)

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        """As often as the way needs more room, from where it stopped."""
        done = 0
        while done < len(states):
            rest = trace.part(done, len(states))
            count = self._way.play(world, states[done:], uniforms[done:], rest)
            done += count
            self._ledger.episodes += count
