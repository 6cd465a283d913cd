"""The family of agents for linear MDPs over levels of ridge regressions.

With finitely many states, given by their features, transitions are counted, and an episode costs the same however many
came before (``counted``, ``episodes``); with a feature map they are stored (``stored``), behind the same protocol.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._constants import NEGLIGIBLE
from unipac._inputs import check_norms, floats, read_only
from unipac._memory import require_room
from unipac.envs import FiniteMDP
from unipac.envs.simulation import World
from unipac.linalg import ridge
from unipac.linalg.levels import NESTED, SINGLE
from unipac.linalg.soundness import check_factors, check_levels, check_shape, check_sums
from unipac.mdp.base.agent import TERMINAL, EpisodicAgent, Step
from unipac.mdp.base.plan import Episode, Plan
from unipac.mdp.base.policy import Policy, TablePolicy
from unipac.mdp.base.records import EpisodeTrace, StageLevel
from unipac.mdp.linear.base import backward, counted, pessimism
from unipac.mdp.linear.base import episodes as kernels
from unipac.mdp.linear.base.counted import Counted, Planned
from unipac.mdp.linear.base.radius import certified_radius, radius_rules
from unipac.mdp.linear.base.stored import FeaturePolicy, SavedStored, Stored
from unipac.theory import mdp_bounds, mdp_radii

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

FeatureFunction = Callable[[Any], ArrayLike]
"""From an observation to features (n_actions, dim) of norm at most 1."""

INITIAL_LEVELS = 8

WIDTH_TOLERANCE = 1e-6
"""Relative; by so much may rounding have moved a width that is kept up to date."""


class Saved(NamedTuple):
    """What counted data go to a file; radii, log-determinants and plans follow from it."""

    rows: Array
    """(H, S, d, d + 2): of the levels in use."""
    size: Integers
    rotations: Integers
    rewards: Array
    arrivals: Array
    width2: Array
    planned: Planned
    """Of the levels of the last plan, where plans are kept."""


@agent
class LinearAgent(EpisodicAgent):
    """Optimistic value iteration with features, over levels; the algorithms derive from it.

    {parameters}
    """

    rule: ClassVar[int]
    """How transitions are spread over levels, as in ``linalg.levels``."""

    features: Any = parameter(
        None, None, "φ, (states, actions, d), norms at most 1, for finitely many states", positional=True
    )
    feature_map: FeatureFunction | None = parameter(
        None, None, "instead, a function from observations to φ, (actions, d), for any state space"
    )
    n_actions: int | None = parameter(None, None, "A, with a feature map that does not tell")  # type: ignore[assignment]
    dim: int | None = parameter(None, None, "d, with a feature map that does not tell")
    delta: float = parameter(0.05, check.probability, "δ, the probability that some bound fails")
    regularization: float = parameter(1.0, check.positive, "λ > 0 of the ridge regressions")
    radius: str = parameter(
        "theorem",
        check.choice("theorem", "explicit", "finite", "mixture"),
        '"theorem" as in the paper, "explicit" with all constants, "finite" for finitely many states, or the '
        'heuristic "mixture"',
    )
    constant: float = parameter(1.0, check.positive, 'C of "theorem", which the paper does not give')
    bonus_scale: float = parameter(
        1.0,
        check.nonnegative,
        "multiplies the radius of the choice; bounds and certificates keep the proven one, but other than 1 the "
        "number of mistakes is not bounded",
    )
    replan: str = parameter(
        "always", check.choice("lazy", "always"), '"always" before every episode, or "lazy"'
    )
    replan_factor: float = parameter(
        1.25, check.at_least_one, "lazy replanning waits until some det Σ has grown by this factor"
    )

    # -- parameters ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if (self.features is None) == (self.feature_map is None):
            raise ValueError("features must be given, or else a feature_map, got both or none")
        if self.features is not None:
            phi = floats("features", self.features).copy()
            if phi.ndim != 3 or 0 in phi.shape:
                raise ValueError(f"features must have shape (states, actions, d), got {phi.shape}")
            check_norms("features", phi, 1.0)
            _refuse_negligible("features", phi)
            self.features = read_only(phi)
            self.n_states, self.n_actions, self.dim = phi.shape
            self._check_room(INITIAL_LEVELS)
        else:
            check.require(
                callable(self.feature_map), "feature_map", "a function of observations", self.feature_map
            )
            check.require(
                self.radius != "finite", "radius", "other than 'finite' with a feature_map", self.radius
            )
            self.n_states = 0
            told: Any = (
                getattr(self.feature_map, "n_actions", self.n_actions),
                getattr(self.feature_map, "dim", self.dim),
            )
            self.n_actions = check.count("n_actions", told[0])
            self.dim = check.count("dim", told[1])
        self._cap = np.array([self._largest_value(h) for h in range(self.horizon)], dtype=np.float64)

    def _largest_value(self, h: int) -> float:
        """To which Q is clipped at entry h."""
        return float(self.horizon)

    def _check_room(self, levels: int) -> None:
        """Say what will be allocated, if it is too much."""
        H, S, A, d = self.horizon, self.n_states, self.n_actions, self.dim
        assert A is not None
        assert d is not None
        per_level = d * (d + 2) + S * d + d + S * A
        numbers = H * levels * ((1 + (self.replan == "lazy")) * per_level + 2 * S * A + S)
        what = f"{H} stages and {levels} levels of {d} features of {S} states and {A} actions"
        require_room("features", what, 8 * numbers)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        features = getattr(mdp, "features", None)
        if features is None:  # a table: one feature for each pair
            pairs = mdp.n_states * mdp.n_actions
            features = np.eye(pairs).reshape(mdp.n_states, mdp.n_actions, pairs)
        return {"features": features, "horizon": mdp.horizon}

    # -- state ---------------------------------------------------------------------------------

    @property
    def _lazy(self) -> bool:
        return self.replan == "lazy"

    def _make_rules(self, levels: int) -> kernels.Rules:
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
        return kernels.Rules(
            rule=self.rule,
            kind=kind,
            horizon=self.horizon,
            regularization=self.regularization,
            scale=self.bonus_scale,
            rise=math.log(self.replan_factor) + 1e-9 if self._lazy else -1.0,
            constants=constants,
        )

    def _known_episodes(self) -> int | None:
        """How many episodes the radius is made for, if it needs to know."""
        return None

    def _empty(self) -> Any:
        self._rules = self._make_rules(INITIAL_LEVELS)
        if self.features is None:
            return Stored(self.n_actions, self.dim, self._rules, self._cap)
        data = counted.empty(self.features.copy(), self.horizon, INITIAL_LEVELS, self.regularization)
        for h in range(self.horizon):
            kernels.set_radii(data, self._rules, h, 1, 1)
        return self._held(data, counted.not_planned(data, self._lazy))

    def _held(self, data: Counted, planned: Planned) -> kernels.Memory:
        """These data, with plans to be made from them."""
        capacity = data.size.shape[1]
        plan = backward.empty(self._cap, capacity, self.n_states, self.n_actions)
        proof = plan
        if self.bonus_scale != 1.0:
            proof = backward.empty(self._cap, capacity, self.n_states, self.n_actions)
        return kernels.Memory(data, planned, plan, proof, np.ones(self.horizon, dtype=np.int64))

    def _make_room(self) -> None:
        """Let there be room for one more level."""
        memory: kernels.Memory = self.state
        capacity = memory.data.size.shape[1]
        if self.rule != SINGLE and counted.top(memory.data) >= capacity:
            capacity *= 2
            self._check_room(capacity)
            self._rules = self._make_rules(capacity)
            plan = backward.grown(memory.plan, capacity)
            self.state = kernels.Memory(
                counted.grown(memory.data, capacity),
                counted.grown_planned(memory.planned, capacity),
                plan,
                plan if memory.proof is memory.plan else backward.grown(memory.proof, capacity),
                memory.dirty,
            )

    def _saved(self) -> Any:
        if self.features is None:
            return self.state.saved()
        data, planned = self.state.data, self.state.planned
        S, P = counted.top(data), int(planned.levels[0])
        names = Saved._fields[:-1]
        kept = Planned(*(array[:, :P] for array in planned[:4]), planned.levels)
        return Saved(*(getattr(data, name)[:, :S] for name in names), kept)

    def _restored(self, saved: Any) -> Any:
        if self.features is None:
            return self._restored_store(saved)
        H, d, S = self.horizon, self.dim, saved.size.shape[1]
        shapes = counted.empty(self.features.copy(), H, 1, 1.0)
        planned = saved.planned
        P = int(planned.levels[0]) if planned.levels.shape == (1,) else -1
        kept = P if self._lazy else 0
        check_levels(saved.size, self.rule)
        for name in Saved._fields[:-1]:
            model = getattr(shapes, name)
            check_shape(getattr(saved, name), (H, S, *model.shape[2:]))
        for name in Planned._fields[:-1]:
            check_shape(getattr(planned, name), (H, kept, *getattr(shapes, name).shape[2:]))
        if (
            not 0 <= P <= S
            or saved.rotations.min() < 0
            or saved.rotations.max() > max(counted.REFRESH_EVERY, d)
        ):
            raise ValueError("the levels are not those of any data")
        if saved.size.sum(axis=1).max() > self._episodes:
            raise ValueError("there are more transitions than episodes")
        capacity = max(INITIAL_LEVELS, S + 1)
        self._check_room(capacity)
        self._rules = self._make_rules(capacity)
        data = self._counted(saved, saved.size, capacity)
        memory = self._held(data, counted.not_planned(data, self._lazy))
        if P > 0 and self._lazy:
            before = self._counted(planned, saved.size[:, :P], capacity)  # no more than there are now
            old = memory._replace(data=before, planned=counted.not_planned(before, True))
            kernels.prepare(old, self._rules, P)
            memory = old._replace(data=data)
            memory.dirty[:] = 1
        memory.planned.levels[0] = P
        return memory

    def _counted(self, saved: Any, size: Integers, capacity: int) -> Counted:
        """Data of which the sums are given; the rest is computed."""
        H, S = self.horizon, saved.rows.shape[1]
        data = counted.empty(self.features.copy(), H, capacity, self.regularization)
        members = np.cumsum(size, axis=1) if self.rule == NESTED else size
        for name in ("rows", "rewards", "arrivals"):
            getattr(data, name)[:, :S] = getattr(saved, name)
        data.size[:, :S] = size
        if hasattr(saved, "rotations"):
            data.rotations[:, :S] = saved.rotations
        for h in range(H):
            for i in range(S):
                n = float(members[h, i])
                check_factors(data.rows[h, i], self.regularization, n, 1.0, 0.0)
                check_sums(data.rewards[h, i], data.arrivals[h, i], n, self.horizon + 1.0)
                data.logdet[h, i] = ridge.log_determinant(data.rows[h, i], self.regularization)
                counted.compute_widths(data, h, i)
            difference = np.abs(data.width2[h, :S] - saved.width2[h])
            if not (difference <= WIDTH_TOLERANCE * data.width2[h, :S] + 1e-300).all():
                raise ValueError("widths are not those of the data")
            data.width2[h, :S] = saved.width2[h]
            kernels.set_radii(data, self._rules, h, 1, S)
            data.first[h] = 1
            counted.find_first(data, h, S)
        return data

    def _restored_store(self, saved: SavedStored) -> Stored:
        capacity = max(INITIAL_LEVELS, saved.size.shape[1] + 1)
        self._rules = self._make_rules(capacity)
        store = Stored(self.n_actions, self.dim, self._rules, self._cap)
        store.restore(saved, self._episodes)
        return store

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

    @property
    def guarantee(self) -> str:
        """What is proven of the number of mistakes: "uniform-PAC", "regret" or "none"."""
        return self.theorem if self.certified and self.bonus_scale == 1.0 else "none"

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage."""
        with self._lock:
            data = self.state.data
            S = counted.top(data) if self.features is not None else self.state.S
            return [
                StageLevel(
                    h + 1, i + 1, int(data.size[h, i]), self._size_bound(i + 1), float(data.beta[h, i])
                )
                for h in range(self.horizon)
                for i in range(S)
            ]

    def _size_bound(self, level: int) -> float:
        if self.rule == SINGLE:
            return math.inf
        return mdp_radii.members_bound(self.dim, self.horizon, level, regularization=self.regularization)

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more episodes than this have a gap above ε.

        ``theory.flute_mistake_bound`` with the arguments of this agent; infinite if nothing is proven.
        """
        if self.guarantee != "uniform-PAC" or self.radius not in ("finite", "explicit"):
            check.positive("eps", eps)
            return math.inf
        return mdp_bounds.flute_mistake_bound(
            eps,
            self.dim,
            self.horizon,
            self.delta,
            radius=self.radius,
            n_states=self.n_states or None,
            nested=self.rule == NESTED,
            regularization=self.regularization,
            replan_factor=self.replan_factor if self._lazy else 1.0,
        )

    def policy(self) -> Policy:
        """The greedy policy of the tightest estimate, for use after learning: (observation, stage) to action.

        With finitely many states ``np.asarray(policy)`` is its table (H, S).
        """
        with self._lock:
            if self.features is None:
                frozen = Stored(self.n_actions, self.dim, self._rules, self._cap)
                frozen.restore(self.state.saved(), self._episodes)
                frozen.plan()
                return FeaturePolicy(frozen, self._seen)
            data: Counted = self.state.data
            S = counted.top(data)
            plan = backward.empty(self._cap, data.size.shape[1], self.n_states, self.n_actions)
            backward.backward(data, plan, S, np.ones(self.horizon, dtype=np.int64), self.bonus_scale)
            return TablePolicy(plan.action[:, S - 1].copy())

    def certificate(self, observation: SupportsIndex) -> float:
        """How much the policy of the next episode can be worse than the best, if it starts in this state.

        It holds with probability 1 − δ for all episodes at once. NaN unless the agent is certified with
        radius "finite": nothing else is proven. To be asked between episodes; it changes no choice.
        """
        return super().certificate(observation)

    def _certificate(self, s: Any) -> float:
        if self.features is None or self.radius != "finite":
            return math.nan
        plan = self._plan()
        data: Counted = self.state.data
        low = pessimism.lower_values(data, self.state.plan, counted.top(data), plan.action.shape[1])
        return float(plan.bound[s] - low[0, -1, s])

    # -- the protocol --------------------------------------------------------------------------

    def _plan(self) -> Plan:
        self._make_room()
        memory: kernels.Memory = self.state
        S = counted.top(memory.data)
        fresh = bool(kernels.prepare(memory, self._rules, S))
        P = 1 if self.rule == SINGLE else S + 1
        action, level = np.empty((2, self.horizon, P, self.n_states), dtype=np.int64)
        backward.tabulate(memory.data, memory.plan, self.rule == SINGLE, self.horizon, action, level)
        return Plan(action, level, memory.proof.V[0, S - 1].copy(), None, fresh)

    def _learn(self, episode: Episode) -> None:
        self._make_room()
        reward = self._on_scale(episode.reward, bool(episode.following[-1] == TERMINAL))
        kernels.learn_episode(
            self.state, self._rules, episode.state, episode.action, episode.level, reward, episode.following
        )

    def _on_scale(self, reward: Array, terminated: bool) -> Array:
        """Rewards on the scale from 0 to 1; the stages after an early end are worth 0, not ``low`` each."""
        low, high = self.reward_range
        scaled = (reward - low) / (high - low)
        if terminated:
            scaled[-1] -= (self.horizon - len(reward)) * low / (high - low)
        return scaled

    def _check_end(self, h: int, terminated: bool) -> None:
        if terminated and h < self.horizon - 1:
            low = self.reward_range[0]
            expected = "(low, high) with low <= 0 if episodes terminate"
            check.require(low <= 0.0, "reward_range", expected, self.reward_range)

    def _play(self, world: World, states: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
        done = 0
        while done < len(states):
            self._make_room()
            rest = trace.part(done, len(states))
            record = kernels.Record(rest.gap, rest.level, rest.reward, rest.bound, rest.replanned)
            count = kernels.play(self.state, self._rules, world, states[done:], uniforms[done:], record)
            done += count
            self._episodes += count

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        check.require(self.features is not None, "feature_map", "absent for play; use learn or act", "one")
        if self.reward_range != (0.0, 1.0):
            raise ValueError("reward_range must be (0, 1) for play on a LinearMDP")
        super()._check_mdp(mdp)
        told = self._told(mdp)["features"]
        fits = told.shape == self.features.shape and np.array_equal(told, self.features)
        check.require(fits, "mdp", "one with the features of this agent", mdp)

    # -- with a feature map --------------------------------------------------------------------

    def _seen(self, name: str, observation: Any) -> Any:
        if self.features is not None:
            return super()._seen(name, observation)
        if isinstance(observation, np.ndarray) and name in ("seen", "following"):
            phi = observation  # from a file
        else:
            assert self.feature_map is not None
            phi = self.feature_map(observation)  # type: ignore[assignment]
        phi = floats(f"feature_map({name})", phi)
        if phi.shape != (self.n_actions, self.dim):
            raise ValueError(
                f"feature_map({name}) must have shape ({self.n_actions}, {self.dim}), got {phi.shape}"
            )
        check_norms(f"feature_map({name})", phi, 1.0)
        _refuse_negligible(f"feature_map({name})", phi)
        return phi.copy()

    def _prepare(self) -> None:
        if self.features is not None:
            super()._prepare()
            return
        if self.state.is_full:
            self._rules = self._make_rules(2 * len(self._rules.constants))
            self.state.grow(self._rules)
        self.state.prepare()

    def _action(self, h: int, level: int | None, seen: Any) -> tuple[int, int]:
        if self.features is not None:
            return super()._action(h, level, seen)
        previous = self.state.S + 1 if level is None else level + 1
        if self.state.planned < self.state.S:  # after loading in the middle of an episode
            self._prepare()
        action, found = self.state.choose(h, seen, previous)
        return int(action), int(found) - 1

    def _finish(self, steps: list[Step]) -> None:
        if self.features is not None:
            super()._finish(steps)
            return
        rewards = self._on_scale(
            np.array([step.reward for step in steps]), isinstance(steps[-1].following, int)
        )
        for h, (step, reward) in enumerate(zip(steps, rewards.tolist(), strict=True)):
            terminal = isinstance(step.following, int)
            taken = step.seen[step.action]
            self.state.learn(h, step.level + 1, taken, reward, None if terminal else step.following, terminal)
        self.state.end_episode()


def _refuse_negligible(name: str, phi: Array) -> None:
    """Refuse features so short that each would open a level; Assumption 1 implies norms of 1/√d or more."""
    shortest = float(np.sqrt((phi * phi).sum(axis=-1)).min())
    check.require(shortest >= NEGLIGIBLE, name, f"of norm at least {NEGLIGIBLE:g}", shortest)
