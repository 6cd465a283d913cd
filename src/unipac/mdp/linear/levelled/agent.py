"""The family of agents for linear MDPs over levels of ridge regressions.

With finitely many states, given by their features, transitions are counted, and an episode costs the same however many
came before (``counted``, ``episodes``); with a feature map they are stored (``memory``), behind the same protocol.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac import _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._constants import NEGLIGIBLE, SMALLEST_RATIO
from unipac._inputs import check_norms, floats, read_only
from unipac._parameters import Converted, OptionalArrayParameter
from unipac.envs import FiniteMDP, LinearMDP
from unipac.linalg.levels import NESTED, SINGLE
from unipac.mdp.linear.counted.episodes import Rules
from unipac.mdp.linear.counted.memory import Counting
from unipac.mdp.linear.radius import CENTRED, centres, certified_radius, radius_rules
from unipac.mdp.linear.stored.memory import Storing
from unipac.mdp.linear.ways import ByWay
from unipac.mdp.protocol.ledger import Step
from unipac.mdp.protocol.policy import Policy
from unipac.mdp.protocol.records import StageLevel
from unipac.theory import mdp_bounds, mdp_radii

FINITE_ONLY = ("finite", "monotone", "vertex")
"""Radii for finitely many states."""

FeatureFunction = Callable[[Any], ArrayLike]
"""From an observation to features (n_actions, dim) of norm at most 1."""


@agent
class LinearAgent(ByWay):
    """Optimistic value iteration with features, over levels; the algorithms derive from it.

    {parameters}
    """

    rule: ClassVar[int]
    """How transitions are spread over levels, as in ``linalg.levels``."""

    features: OptionalArrayParameter = parameter(
        default=None,
        words="φ, (states, actions, d), norms at most 1, for finitely many states",
        kw_only=False,
    )
    feature_map: FeatureFunction | None = parameter(
        default=None, words="instead, a function from observations to φ, (actions, d), for any state space"
    )
    n_actions: Converted[int | None, int] = parameter(
        default=None, words="A, with a feature map that does not tell"
    )
    dim: Converted[int | None, int] = parameter(
        default=None, words="d, with a feature map that does not tell"
    )
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
    bonus_scale: float = parameter(
        default=1.0,
        check=check.nonnegative,
        words="multiplies the radius of the choice; bounds and certificates keep the proven one, but other than 1 the "
        "number of mistakes is not bounded",
    )
    replan: str = parameter(
        default="always",
        check=check.choice("lazy", "always"),
        words='"always" before every episode, or "lazy"',
    )
    replan_factor: float = parameter(
        default=1.25,
        check=check.at_least_one,
        words="lazy replanning waits until some det Σ has grown by this factor",
    )

    # -- parameters ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if (self.features is None) == (self.feature_map is None):
            raise ValueError("features must be given, or else a feature_map, got both or none")
        if self.features is not None:
            self.features = self.checked_features(self.features)
            self.n_states, self.n_actions, self.dim = self.features.shape
        else:
            check.require(callable(self.feature_map), "feature_map", "a function", self.feature_map)
            finite = self.radius in FINITE_ONLY
            expected = f"other than {self.radius!r} with a feature_map"
            check.require(not finite, "radius", expected, self.radius)
            self.n_states = 0
            told = (getattr(self.feature_map, name, getattr(self, name)) for name in ("n_actions", "dim"))
            self.n_actions, self.dim = map(check.count, ("n_actions", "dim"), told)
        expected = f"at least {SMALLEST_RATIO:g}, or widths are lost to rounding"
        check.require(self.regularization >= SMALLEST_RATIO, "regularization", expected, self.regularization)
        self.lazy = self.replan == "lazy"
        self.caps = np.array([self._largest_value(h) for h in range(self.horizon)], dtype=np.float64)
        self._way = self._make_way()

    def _make_way(self) -> Any:
        """What the agent does, by what it is given: the parts of the protocol that differ."""
        return Storing(self) if self.features is None else Counting(self)

    def _largest_value(self, h: int) -> float:
        """To which Q is clipped at entry h: H as in the papers, or what the radius is proven for."""
        return float(self.horizon - h if self.radius in CENTRED else self.horizon)

    def _known_episodes(self) -> int | None:
        """How many episodes the radius is made for, if it needs to know."""
        return None

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        features = mdp.features if isinstance(mdp, LinearMDP) else None
        if features is None:  # a table: one feature for each pair
            pairs = mdp.n_states * mdp.n_actions
            features = np.eye(pairs).reshape(mdp.n_states, mdp.n_actions, pairs)
        return {"features": features, "horizon": mdp.horizon}

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        given = parameters["features"] if parameters["feature_map"] is None else parameters["feature_map"]
        dim = given.shape[-1] if isinstance(given, np.ndarray) else getattr(given, "dim", parameters["dim"])
        found, expected = arrays["state.rows"].shape, (parameters["horizon"], dim)
        check.require(found[::2] == expected, "state.rows", "of this horizon and dim", found)

    @classmethod
    def checked_features(cls, features: Any) -> Array:
        """φ of shape (states, actions, d), checked and never to be written to."""
        phi = floats("features", features).copy()
        if phi.ndim != 3 or 0 in phi.shape:
            raise ValueError(f"features must have shape (states, actions, d), got {phi.shape}")
        check_norms("features", phi, 1.0)
        cls.refuse_negligible("features", phi)
        return read_only(phi)

    @staticmethod
    def refuse_negligible(name: str, phi: Array) -> None:
        """Refuse features so short that each would open a level; Assumption 1 implies norms of 1/√d or more."""
        shortest = float(np.sqrt((phi * phi).sum(axis=-1)).min())
        check.require(shortest >= NEGLIGIBLE, name, f"of norm at least {NEGLIGIBLE:g}", shortest)

    def make_rules(self, levels: int) -> Rules:
        """The constants for the kernels, for so many levels."""
        kind, constants = radius_rules(
            self.radius,
            levels,
            dim=self.dim,
            horizon=self.horizon,
            delta=self.delta,
            regularization=self.regularization,
            n_states=self.n_states,
            constant=self.constant,
            rule=self.rule,
            episodes=self._known_episodes(),
        )
        return Rules(
            rule=self.rule,
            kind=kind,
            horizon=self.horizon,
            regularization=self.regularization,
            scale=self.bonus_scale,
            rise=math.log(self.replan_factor) + 1e-9 if self.lazy else -1.0,
            constants=constants,
            centre=centres(self.radius, self.horizon),
        )

    # -- what is known -------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether every bound is proven to stay above Q*, with probability 1 − δ for all episodes."""
        if self.reward_range != (0.0, 1.0):
            return False
        return certified_radius(
            self.radius,
            dim=self.dim,
            horizon=self.horizon,
            delta=self.delta,
            regularization=self.regularization,
            constant=self.constant,
            rule=self.rule,
        )

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage."""
        with self._lock:
            data, levels = self._way.data, range(self._way.levels)
            places = [(h, i) for h in range(self.horizon) for i in levels]
            return [
                StageLevel(
                    h + 1, i + 1, int(data.size[h, i]), self._size_bound(i + 1), float(data.beta[h, i])
                )
                for h, i in places
            ]

    def _size_bound(self, level: int) -> float:
        if self.rule == SINGLE:
            return math.inf
        return mdp_radii.members_bound(self.dim, self.horizon, level, regularization=self.regularization)

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more episodes than this have a gap above ε.

        ``theory.flute_mistake_bound`` with the arguments of this agent; infinite if nothing is proven.
        """
        if self.guarantee != "uniform-PAC" or self.radius not in CENTRED:
            check.positive("eps", eps)
            return math.inf
        return mdp_bounds.flute_mistake_bound(
            eps,
            self.dim,
            self.horizon,
            self.delta,
            radius=cast(Literal["finite", "explicit"], self.radius),
            n_states=self.n_states or None,
            nested=self.rule == NESTED,
            regularization=self.regularization,
            replan_factor=self.replan_factor if self.lazy else 1.0,
        )

    def policy(self) -> Policy:
        """The greedy policy of the tightest estimate, for use after learning: (observation, stage) to action.

        With finitely many states ``np.asarray(policy)`` is its table (H, S).
        """
        with self._lock:
            policy: Policy = self._way.policy()
            return policy

    def certificate(self, observation: SupportsIndex) -> float:
        """How much the policy of the next episode can be worse than the best, if it starts in this state.

        It holds with probability 1 − δ for all episodes at once. NaN unless the agent is certified with a
        radius for finitely many states: nothing else is proven. To be asked between episodes; it changes no choice.
        """
        return super().certificate(observation)

    def _certificate(self, s: Any) -> float:
        return float(self._way.certificate(s))

    # -- the protocol, in either way -----------------------------------------------------------

    def on_scale(self, reward: Array, terminated: bool) -> Array:
        """Rewards on the scale from 0 to 1; the stages after an early end are worth 0, not ``low`` each."""
        low, high = self.reward_range
        scaled = (reward - low) / (high - low)
        if terminated:
            scaled[-1] -= (self.horizon - len(reward)) * low / (high - low)
        return scaled

    def _check_end(self, h: int, terminated: bool) -> None:
        if terminated and h < self.horizon - 1:
            sound = self.reward_range[0] <= 0.0
            expected = "(low, high) with low <= 0 if episodes terminate"
            check.require(sound, "reward_range", expected, self.reward_range)

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        check.require(self.features is not None, "feature_map", "absent for play; use learn or act", "one")
        check.require(self.reward_range == (0.0, 1.0), "reward_range", "(0, 1) for play", self.reward_range)
        super()._check_mdp(mdp)
        told = self._told(mdp)["features"]
        fits = told.shape == self.features.shape and np.array_equal(told, self.features)
        check.require(fits, "mdp", "one with the features of this agent", mdp)

    def _seen(self, name: str, observation: Any) -> Any:
        return super()._seen(name, observation) if self.n_states else self._way.seen(name, observation)

    def _prepare(self) -> None:
        (super()._prepare if self.n_states else self._way.prepare)()

    def _action(self, h: int, level: int | None, seen: Any) -> tuple[int, int]:
        choose = super()._action if self.n_states else self._way.action
        return choose(h, level, seen)

    def _finish(self, steps: list[Step]) -> None:
        (super()._finish if self.n_states else self._way.finish)(steps)
