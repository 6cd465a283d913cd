"""What every bandit agent shares: decisions, rewards that come late, traces, state on disk."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, SupportsFloat, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._constants import NEGLIGIBLE
from unipac._inputs import (
    LARGEST_REWARD,
    action_array,
    check_norms,
    check_rewards,
    floats,
    read_only,
)
from unipac._warnings import warn
from unipac.bandits.base import rounds as compiled
from unipac.bandits.base import saved
from unipac.bandits.base.confidence import make_confidence, set_radii
from unipac.bandits.base.records import Bounds, Decision, Level, Trace, empty_trace, write_gaps
from unipac.envs import BanditInstance
from unipac.linalg import levels as stack
from unipac.linalg.fast import fixed_actions
from unipac.linalg.fast.fixed_actions import Table
from unipac.theory import bounds as theory

Array = NDArray[np.float64]

INITIAL_LEVELS = 8

ONCE = 1
NOTHING = -1
LARGEST_DIM = 2**16
LARGEST_TRACE = 2**40


class LinearAgent:
    """A linear bandit agent over a stack of levels; the algorithms derive from it."""

    fixed_actions: Array | None
    """(n, d), read-only; None unless given at construction."""

    _table: Table
    _fixed: Array | None

    _evaluated: int
    """The decision whose action the kernels evaluated last, while nothing was learned since."""

    def __init__(
        self,
        dim: int,
        *,
        rule: int,
        radius: str,
        delta: float = 0.5,
        all_data: bool = False,
        noise: float = 1.0,
        norm: float = 1.0,
        regularization: float = 1.0,
        action_norm: float = 1.0,
        bonus_scale: float = 1.0,
        fixed_actions: ArrayLike | None = None,
    ) -> None:
        self.dim = check.count("dim", dim, most=LARGEST_DIM)
        self._parameters: dict[str, Any] = {
            "delta": check.probability("delta", delta),
            "noise": check.nonnegative("noise", noise),
            "norm": check.nonnegative("norm", norm),
            "regularization": check.positive("regularization", regularization),
            "action_norm": check.positive("action_norm", action_norm),
            "radius": radius,
            "bonus_scale": check.nonnegative("bonus_scale", bonus_scale),
        }
        self._confidence = make_confidence(
            self.dim, rule=rule, all_data=check.flag("all_data", all_data), **self._parameters
        )
        levels = stack.empty(INITIAL_LEVELS, self.dim, self._confidence.regularization)
        set_radii(levels, self._confidence, 1, 1)
        if fixed_actions is None:
            actions = np.empty((0, self.dim))
            self.fixed_actions = None
        else:
            actions = action_array("fixed_actions", fixed_actions, self.dim).copy()
            check_norms("fixed_actions", actions, self._confidence.action_norm)
            self.fixed_actions = read_only(actions)
        self._arms = actions
        self._set_state(levels)
        self._owner = secrets.randbits(63)
        self._pending: dict[int, Decision] = {}
        self._next_id = 0
        self._rounds = 0
        self._consistent = True

    def _set_state(self, levels: stack.Levels) -> None:
        """Take over these levels, into which the kernels write."""
        self._state, self._levels = compiled.pack(levels, self._confidence)
        self._evaluated = NOTHING
        self._single = np.empty((1, self.dim)), np.empty(1)  # where update puts its round for the kernel
        self._table = fixed_actions.filled(self._arms, levels)
        self._fixed = None
        if self.fixed_actions is not None:
            self._fixed = fixed_actions.packed(self._table)
            self._table = fixed_actions.unpacked(self._fixed)

    def __getstate__(self) -> dict[str, Any]:
        """For ``copy`` and ``pickle``: what shares its memory with another field is left out."""
        shared = ("_state", "_table", "_fixed", "_single")
        state = {name: value for name, value in self.__dict__.items() if name not in shared}
        state["_levels"] = stack.grown(self._levels, len(self._levels.size))
        state["_pending"] = dict(self._pending)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_state(self._levels)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items())
        return f"{type(self).__name__}({self.dim}, {arguments})"

    # -- what is known -------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether the certificates are proven: an unscaled radius under its theorem's assumptions."""
        return self._confidence.certified

    @property
    def consistent(self) -> bool:
        """False once some lower bound exceeded an upper one: then an assumption does not hold."""
        return self._consistent

    @property
    def rounds(self) -> int:
        """Rewards received so far, each counted ``times``."""
        return self._rounds

    @property
    def pending(self) -> Mapping[int, Decision]:
        """The decisions that wait for a reward at this moment, by id, oldest first."""
        return MappingProxyType(dict(self._pending))

    def bounds(self, actions: ArrayLike | None = None) -> Bounds:
        """Mean and bounds of every action; of the fixed ones if none are given."""
        X = self._action_set(actions)
        check_norms("actions", X, self._confidence.action_norm)
        out = np.empty((3, len(X)))
        self._bound_all(X, out)
        return Bounds(*out)

    def levels(self) -> list[Level]:
        """Size, proven bound on the size, and radius of each level in use."""
        levels, c = self._levels, self._confidence
        S = stack.top(levels)
        own = levels._replace(beta=np.empty_like(levels.beta))
        set_radii(own, c._replace(outer_delta=0.0), 1, S)  # of the levels, not of all data
        return [
            Level(i + 1, int(levels.size[i]), self._size_bound(i + 1), float(own.beta[i])) for i in range(S)
        ]

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε.

        ``theory.mistake_bound`` with the arguments of this agent; infinite if nothing bounds the number.
        """
        c = self._confidence
        if c.rule == stack.SINGLE or not c.certified:
            return math.inf
        names = ("delta", "noise", "norm", "regularization", "action_norm", "radius")
        return theory.mistake_bound(
            eps,
            self.dim,
            **{name: self._parameters[name] for name in names},
            nested=c.rule == stack.NESTED,
            all_data=c.outer_delta > 0.0,
        )

    # -- one round at a time -------------------------------------------------------------------

    def choose(self, actions: ArrayLike | None = None) -> Decision:
        """Choose one of n actions, the rows of an (n, d) array; learns nothing.

        Without an argument the choice is among ``fixed_actions``.
        """
        X = self._action_set(actions)
        chosen, level, mean, width, ucb, lcb, certificate, refuted = self._choose(X, actions is None)
        if refuted:
            self._refute()
        action = X[chosen].copy()
        action.setflags(write=False)
        certified = self._confidence.certified and self._consistent
        id_ = self._next_id
        fields = (id_, chosen, action, level, mean, width, ucb, lcb, certificate, certified, self._owner)
        decision = tuple.__new__(Decision, fields)
        self._pending[id_] = decision
        self._next_id = id_ + 1
        return decision

    def update(
        self,
        decision: Decision | SupportsIndex,
        reward: SupportsFloat,
        *,
        times: SupportsIndex = ONCE,
    ) -> None:
        """Learn the reward of a decision, given as such or by its id, now or later, in any order.

        With ``times`` it counts as that many rounds with this action and this reward, in one exact step.
        For the bounds to stay valid the reward must then be the mean over so many rounds, or free of noise.
        """
        waiting = self._waiting(decision)
        value = reward if isinstance(reward, float) else check.real("reward", reward)
        if not -LARGEST_REWARD <= value <= LARGEST_REWARD:
            check.real("reward", reward)
            raise ValueError(f"reward must be within ±{LARGEST_REWARD:g}, got {reward!r}")
        count = 1 if times is ONCE else check.count("times", times, most=check.LARGEST_COUNT)
        self._check_total("times", count)
        x, y = self._single
        x[0] = waiting.action
        y[0] = value
        self._learn(x, y, count, decision=waiting.id)
        del self._pending[waiting.id]
        self._rounds += count

    def forget(self, decision: Decision | SupportsIndex) -> None:
        """Give up waiting for the reward of a decision."""
        del self._pending[self._waiting(decision).id]

    def absorb(self, actions: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from m logged rounds: the actions taken, (m, d), and their rewards, (m,).

        The bounds stay valid if the rounds come in the order in which they were taken, each action was chosen
        without knowledge of its own noise, and none was left out or kept because of its reward.
        """
        X = action_array("actions", actions, self.dim, least=0)
        check_norms("actions", X, self._confidence.action_norm)
        y = floats("rewards", rewards)
        if y.shape != (len(X),):
            raise ValueError(
                f"rewards and actions must be as many, got rewards of shape {y.shape} for {len(X)} actions"
            )
        check_rewards("rewards", y)
        self._check_total("actions", len(y))
        self._learn(X, y, 1)
        self._rounds += len(y)

    # -- many rounds at once -------------------------------------------------------------------

    def play(
        self,
        actions: ArrayLike | BanditInstance,
        rewards: ArrayLike | None = None,
        *,
        rounds: SupportsIndex | None = None,
        seed: int | np.random.SeedSequence = 0,
        start: SupportsIndex | None = None,
        truth: ArrayLike | None = None,
    ) -> Trace:
        """Choose and learn for T rounds in compiled code: the same as a loop of choose and update.

        Args:
            actions: (T, n, d), or (n, d) if every round offers the same actions; or an instance from
                ``unipac.envs``.
            rewards: (T, n), what each action would bring in each round; not with an instance.
            rounds: T, with an instance.
            seed: of the instance's contexts and noise. Round k of an instance is a function of (seed, k).
            start: the first round of the instance to be played; by default ``agent.rounds``, so that
                ``play(instance, rounds=a)`` and then ``play(instance, rounds=b)`` is one run.
            truth: μ*; then the trace says in which rounds it was in all confidence sets.

        Returns:
            What happened in each round.
        """
        if isinstance(actions, BanditInstance):
            if rewards is not None:
                raise ValueError("rewards must not be given with an instance, which has its own")
            length, first = self._instance_rounds(actions, rounds, start)
            mu = self._truth(truth)
            trace = empty_trace(length, gap=True, covered=mu.size > 0)
            done = 0
            for count in _blocks(actions, first, length):
                part = trace.part(done, done + count)
                self._play_instance(actions, first + done, count, seed, mu, part)
                done += count
            return trace
        if rewards is None:
            raise ValueError("rewards must be given with an array of actions, got None")
        for name, value in (("rounds", rounds), ("start", start)):
            if value is not None:
                raise ValueError(f"{name} goes with an instance, not with an array of actions")
        X = action_array("actions", actions, self.dim, sequence=True)
        check_norms("actions", X, self._confidence.action_norm)
        y = floats("rewards", rewards)
        if y.ndim != 2 or y.shape[1] != X.shape[-2] or (X.ndim == 3 and len(y) != len(X)):
            shape = f"({'T' if X.ndim == 2 else len(X)}, {X.shape[-2]})"
            raise ValueError(f"rewards must have shape {shape}, got {y.shape}")
        check_rewards("rewards", y)
        self._check_total("rewards", len(y))
        mu = self._truth(truth)
        trace = empty_trace(len(y), gap=mu.size > 0, covered=mu.size > 0)
        self._play(X, y, mu, trace)
        if mu.size > 0:
            write_gaps(trace, X @ mu)
        return trace

    def stream(
        self,
        instance: BanditInstance,
        *,
        rounds: SupportsIndex,
        seed: int | np.random.SeedSequence = 0,
        start: SupportsIndex | None = None,
        truth: ArrayLike | None = None,
    ) -> Iterator[Trace]:
        """As ``play(instance, ...)``, but in traces of a few thousand rounds: memory does not grow."""
        length, first = self._instance_rounds(instance, rounds, start)
        return self._traces(instance, first, length, seed, self._truth(truth))

    def _traces(
        self,
        instance: BanditInstance,
        first: int,
        length: int,
        seed: int | np.random.SeedSequence,
        truth: Array,
    ) -> Iterator[Trace]:
        for count in _blocks(instance, first, length):
            trace = empty_trace(count, gap=True, covered=truth.size > 0)
            self._play_instance(instance, first, count, seed, truth, trace)
            first += count
            yield trace

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a file, from which ``unipac.load`` continues bit for bit."""
        saved.save(self, path)

    # -- what an algorithm may replace ---------------------------------------------------------

    def _choose(self, X: Array, fixed: bool) -> compiled.Verdict:
        """What is known of the choice among X, the fixed actions or not; a plain tuple will do.

        It refuses actions that are not finite or too long.
        """
        choice = compiled.choose(self._state, self._fixed if fixed else None, X)
        self._evaluated = self._next_id
        if choice[0] < 0:
            check_norms("actions", X, self._confidence.action_norm)
        return cast(compiled.Verdict, choice)

    def _bound_all(self, X: Array, out: Array) -> bool:
        """Write mean, ucb and lcb of every action; whether the sets have a point in common."""
        compiled.bound_all(self._state, X, out)
        self._evaluated = NOTHING
        return True

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        """Play rounds on checked arrays."""
        fixed = X.ndim == 2 and self.fixed_actions is not None and np.array_equal(X, self.fixed_actions)
        actions = X[None] if X.ndim == 2 else X
        self._evaluated = NOTHING
        done = 0
        while True:
            rest = trace.part(done, len(y))
            covered = np.empty(0, dtype=np.bool_) if rest.covered is None else rest.covered
            count, refuted = compiled.play(
                self._state,
                self._fixed,
                self._fixed if fixed else None,
                actions if X.ndim == 2 else actions[done:],
                y[done:],
                truth,
                compiled.Record(rest.index, rest.level, rest.certificate, rest.reward, covered),
            )
            done += count
            self._rounds += count
            if refuted:
                self._refute()
            if done == len(y):
                return
            self._make_room()

    def _learn(self, X: Array, y: Array, times: int, decision: int | None = None) -> None:
        """Learn rounds from checked arrays, each counted ``times``; that of a decision, if there was one."""
        if times > 1:
            self._make_room(X[0], times)
        known = decision == self._evaluated
        self._evaluated = NOTHING
        done = compiled.learn_all(self._state, self._fixed, X, y, times, known)
        while done < len(y):
            self._make_room()
            done += compiled.learn_all(self._state, self._fixed, X[done:], y[done:], times, False)

    def _size_bound(self, level: int) -> float:
        """The proven bound on the size of a level."""
        c = self._confidence
        if c.rule == stack.SINGLE:
            return math.inf
        return theory.level_size(self.dim, level, regularization=c.regularization, action_norm=c.action_norm)

    def _random_state(self) -> Any:
        """The state of the agent's own generator, None if it has none."""
        return None

    def _set_random_state(self, state: Any) -> None:
        pass

    # -- checks and bookkeeping ----------------------------------------------------------------

    def _action_set(self, actions: ArrayLike | None) -> Array:
        if actions is None:
            if self.fixed_actions is None:
                raise ValueError("actions must be given: this agent has no fixed_actions, got None")
            return self._arms
        return action_array("actions", actions, self.dim)

    def _truth(self, truth: ArrayLike | None) -> Array:
        """μ* as an array, empty if it is not given."""
        if truth is None:
            return np.empty(0)
        mu = floats("truth", truth)
        if mu.shape != (self.dim,):
            raise ValueError(f"truth must have shape ({self.dim},), got {mu.shape}")
        check_rewards("truth", mu)
        return mu

    def _waiting(self, decision: Decision | SupportsIndex) -> Decision:
        if type(decision) is Decision and self._pending.get(decision.id) is decision:
            return decision
        id_ = decision.id if isinstance(decision, Decision) else check.count("decision", decision, least=0)
        waiting = self._pending.get(id_)
        if waiting is None:
            if 0 <= id_ < self._next_id:
                raise ValueError(
                    f"decision must be waiting for a reward, got {id_}, "
                    "which was rewarded or forgotten before"
                )
            raise ValueError(f"decision must be one of this agent's, got the unknown id {id_}")
        if isinstance(decision, Decision) and decision.owner != self._owner:
            raise ValueError(f"decision must be one of this agent's, got decision {id_} of another agent")
        return waiting

    def _check_total(self, name: str, count: int) -> None:
        if self._rounds + count > check.LARGEST_COUNT:
            raise ValueError(
                f"{name} must keep the number of rounds within {check.LARGEST_COUNT}, "
                f"got {count} after {self._rounds}"
            )

    def _make_room(self, x: Array | None = None, times: int = 1) -> None:
        """Let the stack have room for the next level, and for all that ``times`` rounds with x can open."""
        needed = stack.top(self._levels) + 1
        if x is not None:
            c = self._confidence
            norm2 = max(float(x @ x), (NEGLIGIBLE * c.action_norm) ** 2)
            # 1/width² is at most this at the end, and a level takes all that is left if 4^l exceeds it.
            longest = (c.regularization + self._rounds * c.action_norm**2) / norm2 + times
            needed = max(needed, math.ceil(math.log(longest, 4)) + 2)
        capacity = len(self._levels.size)
        if needed > capacity:
            capacity = max(needed, 2 * capacity)
            self._set_state(stack.grown(self._levels, capacity))

    def _refute(self) -> None:
        if self._consistent:
            self._consistent = False
            warn(
                f"{type(self).__name__}: a lower bound exceeds an upper bound, so an assumption does not "
                "hold (noise, norm, linear rewards); certificates are void from here on",
                RuntimeWarning,
            )

    def _instance_rounds(
        self, instance: BanditInstance, rounds: SupportsIndex | None, start: SupportsIndex | None
    ) -> tuple[int, int]:
        fits = isinstance(instance, BanditInstance) and instance.dim == self.dim
        check.require(fits, "instance", f"a BanditInstance with dim {self.dim}", instance)
        if rounds is None:
            raise ValueError("rounds must be given with an instance, got None")
        length = check.count("rounds", rounds, least=0, most=LARGEST_TRACE)
        self._check_total("rounds", length)
        first = self._rounds if start is None else check.count("start", start, least=0)
        assumed = self._confidence
        if self.certified and (instance.noise > assumed.noise or instance.norm > assumed.norm * (1 + 1e-9)):
            warn(
                f"{type(self).__name__} assumes noise <= {assumed.noise:g} and norm <= {assumed.norm:g}, "
                f"but the instance has {instance.noise:g} and {instance.norm:g}: no certificate is valid",
                UserWarning,
            )
        return length, first

    def _play_instance(
        self,
        instance: BanditInstance,
        first: int,
        count: int,
        seed: int | np.random.SeedSequence,
        truth: Array,
        trace: Trace,
    ) -> None:
        offered = instance.rounds(first, count, seed)
        check_norms("actions of the instance", offered.actions, self._confidence.action_norm)
        self._play(offered.actions, offered.rewards, truth, trace)
        write_gaps(trace, offered.means)


def _blocks(instance: BanditInstance, first: int, length: int) -> Iterator[int]:
    """Cut rounds where the instance cuts its own blocks."""
    end = first + length
    while first < end:
        count = min(end, (first // instance.block + 1) * instance.block) - first
        yield count
        first += count
