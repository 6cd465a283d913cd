"""Agents for any observations, given by a feature map: transitions are stored, see ``memory``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from unipac._arrays import Array
from unipac._inputs import check_norms, floats
from unipac._memory import require_room
from unipac.mdp.linear.counted.memory import INITIAL_LEVELS
from unipac.mdp.linear.counted.sums import Counted
from unipac.mdp.linear.stored.files import FeaturePolicy, SavedStored, Stored
from unipac.mdp.protocol.ledger import Step

if TYPE_CHECKING:
    from unipac.mdp.linear.levelled.agent import LinearAgent


class Storing:
    """What an agent does with features of observations. Its ``state`` is a Stored."""

    def __init__(self, agent: LinearAgent) -> None:
        self.agent = agent

    # -- state ---------------------------------------------------------------------------------

    def empty(self, levels: int = INITIAL_LEVELS) -> Stored:
        """No data, with room for so many levels."""
        a = self.agent
        what = f"{a.horizon} stages and {levels} levels of {a.dim} features"
        require_room("feature_map", what, 16 * a.horizon * levels * a.dim * (a.dim + 2))
        return Stored(a.n_actions, a.dim, a.make_rules(levels), a.caps)

    def saved(self) -> SavedStored:
        """What goes to a file."""
        saved: SavedStored = self.agent.state.saved()
        return saved

    def restored(self, saved: SavedStored) -> Stored:
        """The state that leads there; a ``ValueError`` if no data do."""
        store = self.empty(max(INITIAL_LEVELS, saved.size.shape[1] + 1))
        store.restore(saved, self.agent.episodes)
        return store

    # -- the protocol --------------------------------------------------------------------------

    def seen(self, name: str, observation: Any) -> Array:
        """The features of an observation, checked; those of a file are features already."""
        a = self.agent
        assert a.feature_map is not None
        phi = observation if name in ("seen", "following") else a.feature_map(observation)
        phi = floats(f"feature_map({name})", phi)
        if phi.shape != (a.n_actions, a.dim):
            raise ValueError(f"feature_map({name}) must have shape ({a.n_actions}, {a.dim}), got {phi.shape}")
        check_norms(f"feature_map({name})", phi, 1.0)
        a.refuse_negligible(f"feature_map({name})", phi)
        return phi.copy()

    def prepare(self) -> None:
        """Before the first action of an episode."""
        store: Stored = self.agent.state
        if store.is_full:
            store.grow(self.agent.make_rules(2 * len(store.rules.constants)))
        store.prepare()

    def action(self, h: int, level: int | None, phi: Array) -> tuple[int, int]:
        """The action at entry h and the level to remember, from 0."""
        store: Stored = self.agent.state
        if store.planned < store.S:  # after loading in the middle of an episode
            self.prepare()
        action, found = store.choose(h, phi, store.S + 1 if level is None else level + 1)
        return int(action), int(found) - 1

    def finish(self, steps: list[Step]) -> None:
        """Learn from a finished episode."""
        store: Stored = self.agent.state
        terminated = isinstance(steps[-1].following, int)
        rewards = self.agent.on_scale(np.array([step.reward for step in steps]), terminated)
        for h, (step, reward) in enumerate(zip(steps, rewards.tolist(), strict=True)):
            terminal = terminated and h == len(steps) - 1
            following = None if terminal else step.following
            store.learn(h, step.level + 1, step.seen[step.action], reward, following, terminal)
        store.end_episode()

    @property
    def levels(self) -> int:
        """How many are in use."""
        levels: int = self.agent.state.S
        return levels

    @property
    def data(self) -> Counted:
        """The sums of all levels."""
        data: Counted = self.agent.state.data
        return data

    def policy(self) -> FeaturePolicy:
        """The greedy policy of the tightest estimate."""
        frozen = self.restored(self.saved())
        frozen.plan()
        return FeaturePolicy(frozen, self.seen)

    def certificate(self, phi: Any) -> float:
        """Nothing is proven."""
        return math.nan
