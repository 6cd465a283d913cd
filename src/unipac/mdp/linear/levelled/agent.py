"""The family of agents for linear MDPs over levels of ridge regressions.

With finitely many states, given by their features, transitions are counted, and an episode costs the same however many
came before (``counted``); with a feature map they are stored (``stored``), behind the same methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._parameters import OptionalArrayParameter
from unipac.envs import FiniteMDP
from unipac.envs.play.simulation import World
from unipac.linalg.levels import NESTED, SINGLE
from unipac.mdp.linear.counted.memory import CountedMemory
from unipac.mdp.linear.features import check_regularization, check_same, checked_features, told_by
from unipac.mdp.linear.radius import CENTRED, Settings
from unipac.mdp.linear.stored.memory import StoredMemory
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.ledger import Step
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.policy import Policy
from unipac.mdp.protocol.records import EpisodeTrace, StageLevel
from unipac.theory import mdp_bounds, mdp_radii

FeatureFunction = Callable[[Any], ArrayLike]
"""From an observation to features (n_actions, dim) of norm at most 1."""


@agent
class LinearAgent(EpisodicAgent):
    """Optimistic value iteration with features, over levels; the algorithms derive from it.

    {parameters}
    """

    traces_certificates = False
    _rule: ClassVar[int]
    """How transitions are spread over levels, as in ``linalg.levels``."""

    features: OptionalArrayParameter = parameter(
        default=None,
        words="φ, (states, actions, d), norms at most 1, for finitely many states",
        kw_only=False,
    )
    feature_map: FeatureFunction | None = parameter(
        default=None, words="instead, a function from observations to φ, (actions, d), for any state space"
    )
    n_actions: int | None = parameter(  # type: ignore[assignment]
        default=None, words="A, if the feature map does not state it"
    )
    dim: int | None = parameter(default=None, words="d, if the feature map does not state it")
    delta: float = declare.delta()
    regularization: float = declare.regularization()
    radius: str = parameter(
        default="theorem",
        check=check.choice("theorem", "explicit", "finite", "mixture"),
        words='"theorem" as in the paper, "explicit" with all constants, "finite" for finitely many states, or the '
        'heuristic "mixture"',
    )
    constant: float = parameter(
        default=1.0, check=check.positive, words='C of "theorem", which the paper does not give'
    )
    bonus_scale: float = declare.bonus_scale()
    replan: str = declare.replan("always")
    replan_factor: float = declare.replan_factor(1.25)

    # -- parameters ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if (self.features is None) == (self.feature_map is None):
            raise ValueError("features must be given, or else a feature_map, got both or none")
        if self.features is not None:
            self.features = checked_features(self.features)
            sizes = self.features.shape
        else:
            check.require(callable(self.feature_map), "feature_map", "a function", self.feature_map)
            expected = "other than 'finite' with a feature_map"
            check.require(self.radius != "finite", "radius", expected, self.radius)
            names = ("n_actions", "dim")
            values = (getattr(self.feature_map, name, getattr(self, name)) for name in names)
            sizes = 0, *map(check.count, names, values)
        check_regularization(self.regularization)
        self.n_states, self.n_actions, self.dim = sizes
        settings = Settings(
            horizon=self.horizon,
            n_states=sizes[0],
            n_actions=sizes[1],
            dim=sizes[2],
            reward_range=self.reward_range,
            rule=self._rule,
            caps=np.array([self._largest_value(h) for h in range(self.horizon)], dtype=np.float64),
            radius=self.radius,
            delta=self.delta,
            regularization=self.regularization,
            constant=self.constant,
            bonus_scale=self.bonus_scale,
            replan_factor=self.replan_factor if self.replan == "lazy" else None,
            total_episodes=getattr(self, "total_episodes", None),
        )
        self._memory: CountedMemory | StoredMemory
        if self.feature_map is not None:
            self._memory = StoredMemory(settings, self.feature_map)
        else:
            self._memory = CountedMemory(settings, cast(Array, self.features))

    def _largest_value(self, h: int) -> float:
        """The cap of Q at entry h: H as in the papers, or the largest value for which the radius is proven."""
        return float(self.horizon - h if self.radius in CENTRED else self.horizon)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return told_by(mdp)

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        phi = parameters["features"] if parameters["feature_map"] is None else parameters["feature_map"]
        dim = phi.shape[-1] if isinstance(phi, np.ndarray) else getattr(phi, "dim", parameters["dim"])
        shape, expected = arrays["state.rows"].shape, (parameters["horizon"], dim)
        check.require(shape[::2] == expected, "state.rows", "of this horizon and dim", shape)

    # -- questions to the agent ----------------------------------------------------------------

    @property
    def _proven(self) -> bool:
        """Whether every bound is proven to stay above Q*, with probability 1 − δ for all episodes."""
        return self._memory.settings.certified

    @property
    def certified(self) -> bool:
        """Whether there are certificates; they are proven with the radius "finite" alone: for finitely many states."""
        return self._proven and self.radius == "finite"

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage."""
        with self._lock:
            data, levels = self._memory.data, range(self._memory.levels)
            places = [(h, i) for h in range(self.horizon) for i in levels]
            return [
                StageLevel(
                    h + 1, i + 1, int(data.size[h, i]), self._size_bound(i + 1), float(data.beta[h, i])
                )
                for h, i in places
            ]

    def _size_bound(self, level: int) -> float:
        a = self._memory.settings
        if a.rule == SINGLE:
            return math.inf
        return mdp_radii.members_bound(a.dim, a.horizon, level, regularization=a.regularization)

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, at most this many episodes have a gap above ε.

        ``theory.flute_mistake_bound`` with the arguments of this agent; infinite if nothing is proven.
        """
        if self.guarantee != "uniform-PAC" or self.radius not in CENTRED:
            check.positive("eps", eps)
            return math.inf
        a = self._memory.settings
        return mdp_bounds.flute_mistake_bound(
            eps,
            a.dim,
            a.horizon,
            a.delta,
            radius=cast(Literal["finite", "explicit"], a.radius),
            n_states=a.n_states or None,
            nested=a.rule == NESTED,
            regularization=a.regularization,
            replan_factor=a.replan_factor or 1.0,
        )

    def policy(self) -> Policy:
        """The greedy policy of the tightest estimate, for use after learning: (observation, stage) to action.

        With finitely many states ``np.asarray(policy)`` is its table (H, S).
        """
        with self._lock:
            return self._memory.policy()

    def certificate(self, observation: SupportsIndex) -> float:
        """How much worse than the best the policy of the next episode can be, if it starts in this state.

        It holds with probability 1 − δ for all episodes at once; NaN unless the agent is ``certified``. Call it
        between episodes; it changes no choice.
        """
        return super().certificate(observation)

    def _certificate(self, s: Any) -> float:
        return self._memory.certificate(s)

    # -- the protocol, by the memory -----------------------------------------------------------

    @property
    def state(self) -> Any:
        """Everything that was learned."""
        return self._memory.state

    @state.setter
    def state(self, state: Any) -> None:
        self._memory.state = state

    def _empty(self) -> Any:
        return self._memory.empty()

    def _saved(self) -> Any:
        return self._memory.saved()

    def _restored(self, saved: Any) -> Any:
        return self._memory.restored(saved, self.episodes)

    def _seen(self, name: str, observation: Any) -> Any:
        return self._memory.seen(name, observation)

    def _prepare(self) -> None:
        self._memory.prepare()

    def _action(self, h: int, level: int | None, seen: Any) -> tuple[int, int]:
        return self._memory.action(h, level, seen)

    def _plan(self) -> Plan:
        return self._memory.plan()

    def _finish(self, steps: list[Step]) -> Change:
        return self._memory.finish(steps)

    def _learn(self, episode: Episode) -> Change:
        return self._memory.learn(cast(Any, episode))

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        """Play in parts: each time the memory needs more room, continue where it stopped."""
        done = 0
        while done < len(states):
            rest = trace.part(done, len(states))
            done += self._ledger.run(*self._memory.playing(world, states[done:], uniforms[done:], rest))

    def _check_end(self, h: int, terminated: bool) -> None:
        if terminated and h < self.horizon - 1:
            sound = self.reward_range[0] <= 0.0
            expected = "(low, high) with low <= 0 if episodes terminate"
            check.require(sound, "reward_range", expected, self.reward_range)

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        check.require(self.features is not None, "feature_map", "absent for play; use learn or act", "one")
        check.require(self.reward_range == (0.0, 1.0), "reward_range", "(0, 1) for play", self.reward_range)
        super()._check_mdp(mdp)
        check_same(mdp, self.features)
