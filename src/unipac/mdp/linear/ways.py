"""Agents whose data are kept in one of several ways, each an object of its own: counted, stored, or bounded."""

from __future__ import annotations

from typing import Any

from unipac._arrays import Array, Integers
from unipac.envs.play.simulation import World
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Episode, Plan
from unipac.mdp.protocol.records import EpisodeTrace


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

    def _learn(self, episode: Episode) -> None:
        self._way.learn(episode)

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        """As often as the way needs more room, from where it stopped."""
        done = 0
        while done < len(states):
            rest = trace.part(done, len(states))
            count = self._way.play(world, states[done:], uniforms[done:], rest)
            done += count
            self._episodes += count
