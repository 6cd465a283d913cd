"""What the agents for finite linear MDPs share: the episode protocol, compiled play, state on disk."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._constants import NEGLIGIBLE
from unipac._inputs import check_norms, floats, read_only
from unipac._progress import shown
from unipac.envs import LinearMDP
from unipac.linalg.levels import NESTED, SINGLE
from unipac.mdp.base import saved
from unipac.mdp.base.policy import FeaturePolicy, Policy, TablePolicy
from unipac.mdp.base.records import EpisodeTrace, StageLevel, empty_trace
from unipac.mdp.linear.base import backward, counted, pessimism
from unipac.mdp.linear.base import episodes as compiled
from unipac.mdp.linear.base.radius import certified_radius, radius_rules
from unipac.mdp.linear.base.stored import Stored
from unipac.theory import mdp_bounds, mdp_radii

Array = NDArray[np.float64]

FeatureFunction = Callable[[Any], ArrayLike]
"""From an observation to features (n_actions, dim) of norm at most 1."""

INITIAL_LEVELS = 8

BLOCK = 1024
"""Episodes whose random numbers are drawn at once."""

LARGEST_TRACE = 2**36


class EpisodicAgent:
    """An agent for linear MDPs; the algorithms derive from it.

    With finitely many states, given by their ``features``, transitions are counted; with a ``feature_map``
    they are stored.
    """

    features: Array | None
    """(states, actions, d), read-only; None with a feature map."""

    def __init__(
        self,
        features: ArrayLike | None,
        *,
        feature_map: FeatureFunction | None,
        n_actions: int | None,
        dim: int | None,
        horizon: int,
        rule: int,
        radius: str,
        delta: float,
        regularization: float,
        constant: float,
        bonus_scale: float,
        replan: str,
        replan_factor: float,
        reward_range: tuple[float, float],
        episodes: int | None = None,
    ) -> None:
        if (features is None) == (feature_map is None):
            raise ValueError("features must be given, or else a feature_map, got both or none")
        if features is not None:
            phi = floats("features", features).copy()
            if phi.ndim != 3 or 0 in phi.shape:
                raise ValueError(f"features must have shape (states, actions, d), got {phi.shape}")
            check_norms("features", phi, 1.0)
            _refuse_negligible("features", phi)
            self.features = read_only(phi)
            self.n_states, self.n_actions, self.dim = phi.shape
        else:
            check.require(callable(feature_map), "feature_map", "a function of observations", feature_map)
            check.require(radius != "finite", "radius", "other than 'finite' with a feature_map", radius)
            self.features = None
            self.n_states = 0
            told: Any = (getattr(feature_map, "n_actions", n_actions), getattr(feature_map, "dim", dim))
            self.n_actions = check.count("n_actions", told[0])
            self.dim = check.count("dim", told[1])
        self._feature_map = feature_map
        self.horizon = check.count("horizon", horizon, most=10_000)
        low, high = (check.real("reward_range", value) for value in reward_range)
        check.require(low < high, "reward_range", "(low, high) with low < high", reward_range)
        factor = check.real("replan_factor", replan_factor)
        check.require(factor >= 1.0, "replan_factor", ">= 1", replan_factor)
        self._parameters: dict[str, Any] = {
            "horizon": self.horizon,
            "delta": check.probability("delta", delta),
            "regularization": check.positive("regularization", regularization),
            "radius": radius,
            "constant": check.positive("constant", constant),
            "bonus_scale": check.nonnegative("bonus_scale", bonus_scale),
            "replan": check.one_of("replan", replan, ("lazy", "always")),
            "replan_factor": factor,
            "reward_range": [low, high],
        }
        self._rule = rule
        self._length = None if episodes is None else check.count("episodes", episodes)
        stages = range(self.horizon)
        cap = np.array([self.horizon - h if rule == NESTED else self.horizon for h in stages], dtype=float)
        self._stored: Stored | None = None
        if features is None:
            self._stored = Stored(self.n_actions, self.dim, self._make_rules(INITIAL_LEVELS), cap)
        else:
            data = counted.empty(phi, self.horizon, INITIAL_LEVELS, regularization)
            self._set_state(data, backward.empty(cap, INITIAL_LEVELS, self.n_states, self.n_actions))
            for h in stages:
                compiled.set_radii(data, self._rules, h, 1, 1)
        self._dirty = np.ones(self.horizon, dtype=np.int64)
        self._below = np.empty(self.dim + 2)
        self._episodes = 0
        self._stage = 0
        self._previous = 0
        self._opened = False
        self._waiting: tuple[Any, int, int] | None = None

    def _set_state(self, data: counted.Counted, plan: backward.Plan) -> None:
        """Take over these arrays, into which the kernels write."""
        self._data, self._plan = data, plan
        self._rules = self._make_rules(data.size.shape[1])

    def _make_rules(self, levels: int) -> compiled.Rules:
        p = self._parameters
        kind, constants = radius_rules(
            p["radius"],
            levels,
            dim=self.dim,
            horizon=self.horizon,
            delta=p["delta"],
            regularization=p["regularization"],
            n_states=self.n_states,
            constant=p["constant"],
            rule=self._rule,
            episodes=self._length,
        )
        return compiled.Rules(
            rule=self._rule,
            kind=kind,
            horizon=self.horizon,
            regularization=p["regularization"],
            scale=p["bonus_scale"],
            rise=-1.0 if p["replan"] == "always" else math.log(p["replan_factor"]) + 1e-9,
            constants=constants,
        )

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items())
        if self.features is None:
            return f"{type(self).__name__}(feature_map={self._feature_map!r}, {arguments})"
        shape = "x".join(map(str, self.features.shape))
        return f"{type(self).__name__}(<{shape} features>, {arguments})"

    # -- what is known -------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether every Q of a plan is proven to stay above Q*, with probability 1 − δ for all episodes."""
        p = self._parameters
        if p["bonus_scale"] != 1.0 or p["reward_range"] != [0.0, 1.0]:
            return False
        if self._length is not None and self._episodes > self._length:
            return False
        return certified_radius(
            p["radius"],
            dim=self.dim,
            horizon=self.horizon,
            delta=p["delta"],
            regularization=p["regularization"],
            constant=p["constant"],
            rule=self._rule,
        )

    @property
    def episodes(self) -> int:
        """Episodes finished so far."""
        return self._episodes

    def levels(self) -> list[StageLevel]:
        """Size, proven bound on the size, and radius of each level of each stage."""
        data = self._data if self._stored is None else self._stored.data
        S = counted.top(data) if self._stored is None else self._stored.S
        return [
            StageLevel(h + 1, i + 1, int(data.size[h, i]), self._size_bound(i + 1), float(data.beta[h, i]))
            for h in range(self.horizon)
            for i in range(S)
        ]

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more episodes than this have a gap above ε.

        ``theory.flute_mistake_bound`` with the arguments of this agent; infinite if nothing is proven.
        """
        p = self._parameters
        if self._rule == SINGLE or not self.certified or p["radius"] not in ("finite", "explicit"):
            return math.inf
        return mdp_bounds.flute_mistake_bound(
            eps,
            self.dim,
            self.horizon,
            p["delta"],
            radius=p["radius"],
            n_states=self.n_states or None,
            nested=self._rule == NESTED,
            regularization=p["regularization"],
            replan_factor=p["replan_factor"] if p["replan"] == "lazy" else 1.0,
        )

    def policy(self) -> Policy:
        """The greedy policy of the tightest estimate, for use after learning: (observation, stage) to action.

        With finitely many states ``np.asarray(policy)`` is its table (H, S).
        """
        if self._stored is None:
            S = counted.top(self._data)
            plan = backward.grown(self._plan, self._plan.Q.shape[1])
            backward.backward(self._data, plan, S, np.ones_like(self._dirty))
            return TablePolicy(plan.action[:, S - 1].copy())
        frozen = Stored(self.n_actions, self.dim, self._stored.rules, self._stored.cap)
        frozen.restore({name: array.copy() for name, array in self._stored.arrays().items()})
        frozen.plan()
        return FeaturePolicy(frozen, self._features_of)

    def certificate(self, observation: SupportsIndex) -> float:
        """How much the policy of the next episode can be worse than the best, if it starts in this state.

        It holds with probability 1 − δ for all episodes at once. NaN unless the agent is certified with
        radius "finite": nothing else is proven. To be asked between episodes; it changes no choice.
        """
        if self._waiting is not None or self._stage != 0:
            raise ValueError("certificate must be asked between episodes")
        if self._stored is not None or not self.certified or self._parameters["radius"] != "finite":
            return math.nan
        s = check.count("observation", observation, least=0, most=self.n_states - 1)
        self._make_room()
        S = counted.top(self._data)
        compiled.prepare(self._data, self._plan, self._rules, S, self._dirty)
        levels = 1 if self._rule == SINGLE else S + 1
        low = pessimism.lower_values(self._data, self._plan, S, levels)
        return float(self._plan.V[0, S - 1, s] - low[0, levels - 1, s])

    def _size_bound(self, level: int) -> float:
        if self._rule == SINGLE:
            return math.inf
        return mdp_radii.members_bound(
            self.dim, self.horizon, level, regularization=self._parameters["regularization"]
        )

    # -- one stage at a time -------------------------------------------------------------------

    def act(self, observation: Any) -> int:
        """The action for a state; the first one after the end of an episode begins the next."""
        if self._waiting is not None:
            raise ValueError("act must be followed by observe, got a second act")
        if self._stored is not None:
            return self._act_stored(self._stored, self._features_of("observation", observation))
        s = check.count("observation", observation, least=0, most=self.n_states - 1)
        if self._stage == 0:
            self._make_room()
            S = counted.top(self._data)
            compiled.prepare(self._data, self._plan, self._rules, S, self._dirty)
            self._previous = S + 1
        a, level = compiled.choose(self._data, self._plan, self._rules, self._stage, s, self._previous)
        self._waiting = (s, a, level)
        return a

    def _act_stored(self, stored: Stored, phi: Array) -> int:
        if self._stage == 0:
            if stored.is_full and self._rule != SINGLE:
                stored.grow(self._make_rules(2 * stored.data.size.shape[1]))
            stored.prepare()
            self._previous = stored.S + 1
        a, level = stored.choose(self._stage, phi, self._previous)
        self._waiting = (phi[a].copy(), a, level)
        return a

    def observe(
        self,
        reward: SupportsFloat,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn what followed the last action.

        After ``terminated`` all later values are 0; an episode ``truncated`` before H keeps the value of
        the next state.
        """
        if self._waiting is None:
            raise ValueError("observe must follow act, got no action to observe")
        low, high = self._parameters["reward_range"]
        value = check.real("reward", reward)
        check.require(low <= value <= high, "reward", f"in [{low:g}, {high:g}] (reward_range)", reward)
        value = (value - low) / (high - low)
        terminated = check.flag("terminated", terminated)
        truncated = check.flag("truncated", truncated)
        if terminated and self._stage < self.horizon - 1:
            # The stages left are worth 0, which is −low/(high − low) each on the scale of the agent.
            check.require(
                low <= 0.0, "reward_range", "(low, high) with low <= 0 if episodes terminate", (low, high)
            )
            value -= (self.horizon - 1 - self._stage) * low / (high - low)
        s, a, level = self._waiting
        if self._stored is not None:
            last = terminated or self._stage == self.horizon - 1
            phi = None if last else self._features_of("next_observation", next_observation)
            self._stored.learn(self._stage, level, s, value, phi, terminated)
            self._end_stage(level, terminated or truncated)
            return
        following = check.count("next_observation", next_observation, least=0, most=self.n_states - 1)
        S = counted.top(self._data)
        compiled.learn(
            self._data,
            self._rules,
            S,
            self._dirty,
            self._stage,
            level,
            s,
            a,
            value,
            -1 if terminated else following,
            self._below,
        )
        if self._stage == 0:
            self._opened = self._rule != SINGLE and level > S
        self._end_stage(level, terminated or truncated)

    def _end_stage(self, level: int, over: bool) -> None:
        self._waiting = None
        self._previous = level
        self._stage += 1
        if not over and self._stage < self.horizon:
            return
        if self._stored is not None:
            self._stored.end_episode()
        elif self._opened:
            compiled.end_with_new_level(self._data, self._plan, counted.top(self._data))
        self._stage = 0
        self._episodes += 1

    def learn(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        episodes: SupportsIndex,
        seed: int | None = None,
        progress: bool = False,
    ) -> Array:
        """Play episodes of a Gymnasium environment, of at most H steps each.

        Args:
            env: with the states of this agent as observations, and its actions.
            episodes: how many.
            seed: of the environment's first reset.
            progress: show a bar with episodes/s and the time left.

        Returns:
            The sum of rewards of each episode.
        """
        if self._waiting is not None or self._stage != 0:
            raise ValueError("learn must not begin in the middle of an episode")
        count = check.count("episodes", episodes, least=0)
        returns = np.zeros(count)
        for k in shown(range(count), "learning", check.flag("progress", progress)):
            observation, _ = env.reset(seed=seed if k == 0 else None)
            done = False
            while not done:
                action = self.act(observation)
                observation, reward, terminated, truncated, _ = env.step(action)
                self.observe(reward, observation, bool(terminated), bool(truncated))
                returns[k] += float(reward)
                done = self._stage == 0
        return returns

    # -- many episodes at once -----------------------------------------------------------------

    def play(
        self,
        mdp: LinearMDP,
        *,
        episodes: SupportsIndex,
        seed: int | np.random.SeedSequence = 0,
        initial_states: ArrayLike | None = None,
        start: SupportsIndex | None = None,
    ) -> EpisodeTrace:
        """Play whole episodes in compiled code.

        Args:
            mdp: an MDP with the features and the horizon of this agent.
            episodes: K.
            seed: of the transitions; episode k is a function of (seed, k).
            initial_states: (K,) the first state of each episode; drawn from ``mdp.initial`` by default.
            start: the number of the first episode; by default ``agent.episodes``: two calls are one run.

        Returns:
            What happened, with the exact gap of every episode's policy.
        """
        check.require(self._stored is None, "feature_map", "absent for play; use learn or act", "one")
        self._check_mdp(mdp)
        if self._parameters["reward_range"] != [0.0, 1.0]:
            raise ValueError("reward_range must be (0, 1) for play on a LinearMDP")
        K = check.count("episodes", episodes, least=0, most=LARGEST_TRACE)
        first = self._episodes if start is None else check.count("start", start, least=0)
        if self._waiting is not None or self._stage != 0:
            raise ValueError("play must not begin in the middle of an episode")
        starts = self._initial_states(initial_states, K)
        world = compiled.World(
            transitions=mdp.transitions.copy(),
            cumulative=np.cumsum(mdp.transitions, axis=3),
            rewards=mdp.rewards.copy(),
            optimal=mdp.optimal_value().copy(),
        )
        thresholds = np.cumsum(mdp.initial)
        trace = empty_trace(K, self.horizon)
        done = 0
        while done < K:
            block, offset = divmod(first + done, BLOCK)
            count = min(K - done, BLOCK - offset)
            uniforms = _uniforms(seed, block, self.horizon)[offset : offset + count]
            if starts is None:
                drawn = np.searchsorted(thresholds, uniforms[:, 0], side="right")
                states = np.minimum(drawn, self.n_states - 1).astype(np.int64)
            else:
                states = starts[done : done + count]
            self._play(world, states, uniforms[:, 1:].copy(), trace.part(done, done + count))
            done += count
        return trace

    def _play(
        self, world: compiled.World, states: NDArray[np.int64], uniforms: Array, trace: EpisodeTrace
    ) -> None:
        done = 0
        while done < len(states):
            self._make_room()
            rest = trace.part(done, len(states))
            record = compiled.Record(rest.gap, rest.level, rest.reward, rest.bound, rest.replanned)
            count = compiled.play(
                self._data,
                self._plan,
                self._rules,
                world,
                states[done:],
                uniforms[done:],
                self._dirty,
                record,
            )
            done += count
            self._episodes += count

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a file, from which ``unipac.load`` continues bit for bit."""
        saved.save(self, path)

    # -- checks and bookkeeping ----------------------------------------------------------------

    def _features_of(self, name: str, observation: Any) -> Array:
        """The features (A, d) of an observation, checked."""
        assert self._feature_map is not None
        phi = floats(f"feature_map({name})", self._feature_map(observation))
        if phi.shape != (self.n_actions, self.dim):
            raise ValueError(
                f"feature_map({name}) must have shape ({self.n_actions}, {self.dim}), got {phi.shape}"
            )
        check_norms(f"feature_map({name})", phi, 1.0)
        _refuse_negligible(f"feature_map({name})", phi)
        return phi

    def _check_mdp(self, mdp: LinearMDP) -> None:
        fits = (
            isinstance(mdp, LinearMDP)
            and mdp.horizon == self.horizon
            and self.features is not None
            and np.array_equal(mdp.features, self.features)
        )
        expected = f"a LinearMDP with horizon {self.horizon} and the features of this agent"
        check.require(fits, "mdp", expected, mdp)

    def _initial_states(self, states: ArrayLike | None, count: int) -> NDArray[np.int64] | None:
        if states is None:
            return None
        array = np.asarray(states)
        sound = array.shape == (count,) and array.dtype.kind in "iu"
        if not sound or (count > 0 and (array.min() < 0 or array.max() >= self.n_states)):
            raise ValueError(
                f"initial_states must be {count} integers from 0 to {self.n_states - 1}, "
                f"got shape {array.shape} of type {array.dtype}"
            )
        return np.ascontiguousarray(array, dtype=np.int64)

    def _make_room(self) -> None:
        """Let there be room for one more level."""
        capacity = self._data.size.shape[1]
        if self._rule != SINGLE and counted.top(self._data) >= capacity:
            capacity *= 2
            self._set_state(counted.grown(self._data, capacity), backward.grown(self._plan, capacity))


def _refuse_negligible(name: str, phi: Array) -> None:
    """Refuse features so short that each would open a level; Assumption 1 implies norms of 1/√d or more."""
    shortest = float(np.sqrt((phi * phi).sum(axis=-1)).min())
    check.require(shortest >= NEGLIGIBLE, name, f"of norm at least {NEGLIGIBLE:g}", shortest)


def _uniforms(seed: int | np.random.SeedSequence, block: int, horizon: int) -> Array:
    """The random numbers of one block of episodes, (BLOCK, 1 + H)."""
    if isinstance(seed, np.random.SeedSequence):
        entropy: int | Sequence[int] | None = seed.entropy
        key = tuple(seed.spawn_key)
    else:
        entropy, key = check.count("seed", seed, least=0), ()
    sequence = np.random.SeedSequence(entropy, spawn_key=(*key, block))
    return np.random.default_rng(sequence).random((BLOCK, 1 + horizon))
