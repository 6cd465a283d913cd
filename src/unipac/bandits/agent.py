"""What every bandit agent shares: decisions, rewards that come late, traces, state on disk."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac import _storage as storage
from unipac._constants import NEGLIGIBLE
from unipac.bandits import rounds as compiled
from unipac.bandits.confidence import make_confidence, set_radii
from unipac.envs import BanditInstance
from unipac.linalg import levels as stack
from unipac.linalg import table
from unipac.theory import bounds as theory

Array = NDArray[np.float64]

NORM_TOLERANCE = 1e-6
"""Relative excess over the bound on ‖x‖ that passes for rounding."""

INITIAL_LEVELS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """An action chosen, with what is known of it at that moment."""

    id: int
    """Names the decision when its reward comes."""
    index: int
    """Row of the chosen action."""
    action: Array
    """(d,), read-only."""
    level: int
    """The first level in which the action is wider than 2^-level: small means much to learn."""
    mean: float
    """Estimated reward, in the set that attains ``ucb``."""
    width: float
    """‖x‖_{Σ⁻¹} in that set, without the radius."""
    ucb: float
    """The least upper bound on the expected reward."""
    lcb: float
    """The greatest lower bound on it."""
    certificate: float
    """With probability 1 − δ, for all rounds at once, the best action is better by no more than this.

    NaN where ``certified`` is False.
    """
    certified: bool
    """Whether the bounds are proven: an unscaled radius under its theorem's assumptions."""


class Bounds(NamedTuple):
    """What is known of each of n actions."""

    mean: Array
    """(n,)."""
    ucb: Array
    """(n,)."""
    lcb: Array
    """(n,)."""


class Level(NamedTuple):
    """The state of one level."""

    level: int
    size: int
    """How many rounds belong to it."""
    bound: float
    """No more than this many ever will; infinite where nothing bounds it."""
    radius: float
    """β of its confidence set."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened in T rounds, as arrays of length T."""

    index: NDArray[np.int64]
    level: NDArray[np.int64]
    certificate: Array
    reward: Array
    gap: Array | None = None
    """Expected loss against the best action, where the instance or ``truth`` tells it."""
    covered: NDArray[np.bool_] | None = None
    """Whether ``truth`` was in all confidence sets at the time of the choice, where it was given."""

    def __len__(self) -> int:
        return len(self.index)


class LinearAgent:
    """A linear bandit agent over a stack of levels; the algorithms derive from it."""

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
        self.dim = check.count("dim", dim)
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
            self.dim, rule=rule, all_data=all_data, **self._parameters
        )
        confidence = self._confidence
        self._levels = stack.empty(INITIAL_LEVELS, self.dim, confidence.regularization)
        self._table = table.empty(np.empty((0, self.dim)), INITIAL_LEVELS)
        self.fixed_actions: Array | None = None
        set_radii(self._levels, confidence, 1, 1)
        if fixed_actions is not None:
            actions = self._actions("fixed_actions", fixed_actions).copy()
            self._table = table.empty(actions, INITIAL_LEVELS)
            table.compute(self._table, self._levels, 1)
            table.bound(self._table, self._levels, 1)
            self.fixed_actions = _read_only(actions)
        self._pending: dict[int, Decision] = {}
        self._next_id = 0
        self._rounds = 0
        self._consistent = True

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
        """The decisions that wait for a reward, by id, oldest first."""
        return MappingProxyType(self._pending)

    def bounds(self, actions: ArrayLike | None = None) -> Bounds:
        """Mean and bounds of every action; of the fixed ones if none are given."""
        X = self._action_set(actions)
        self._check_norms("actions", X)
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
            Level(l, int(levels.size[l - 1]), self._size_bound(l), float(own.beta[l - 1]))
            for l in range(1, S + 1)
        ]

    # -- one round at a time -------------------------------------------------------------------

    def choose(self, actions: ArrayLike | None = None) -> Decision:
        """Choose one of n actions, the rows of an (n, d) array; learns nothing.

        Without an argument the choice is among ``fixed_actions``.
        """
        X = self._action_set(actions)
        self._check_norms("actions", X)
        choice = self._choose(X, actions is None)
        if choice.refuted:
            self._refute()
        decision = Decision(
            self._next_id,
            choice.index,
            _read_only(X[choice.index].copy()),
            choice.level,
            choice.mean,
            choice.width,
            choice.ucb,
            choice.lcb,
            choice.certificate,
            self._confidence.certified,
        )
        self._pending[decision.id] = decision
        self._next_id += 1
        return decision

    def update(
        self,
        decision: Decision | SupportsIndex,
        reward: SupportsFloat,
        *,
        times: SupportsIndex = 1,
    ) -> None:
        """Learn the reward of a decision, given as such or by its id, now or later, in any order.

        With ``times`` it counts as that many rounds with this action and this reward, in one exact step.
        """
        waiting = self._waiting(decision)
        value = check.real("reward", reward)
        count = check.count("times", times)
        self._check_total("times", count)
        self._make_room(waiting.action, count)
        compiled.update(
            self._levels, self._table, self._confidence, waiting.action.copy(), value, count
        )
        del self._pending[waiting.id]
        self._rounds += count

    def forget(self, decision: Decision | SupportsIndex) -> None:
        """Give up waiting for the reward of a decision."""
        del self._pending[self._waiting(decision).id]

    def absorb(self, actions: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from m logged rounds: the actions taken, (m, d), and their rewards, (m,).

        The bounds stay valid if each logged action was chosen without knowledge of its own noise.
        """
        X = self._actions("actions", actions)
        y = _floats("rewards", rewards)
        if y.shape != (len(X),):
            raise ValueError(f"rewards must have shape ({len(X)},) as actions do, got {y.shape}")
        _check_finite("rewards", y)
        self._check_total("actions", len(y))
        done = 0
        while done < len(y):
            self._make_room(X[done], 1)
            done += compiled.absorb(
                self._levels, self._table, self._confidence, X[done:], y[done:]
            )
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
            known_gap, mu = True, self._truth(truth)
            trace = _empty_trace(length, known_gap, mu.size > 0)
            done = 0
            for count in _blocks(actions, first, length):
                part = _part(trace, done, done + count)
                self._play_instance(actions, first + done, count, seed, mu, part)
                done += count
            return trace
        if rewards is None:
            raise ValueError("rewards must be given with an array of actions, got None")
        for name, value in (("rounds", rounds), ("start", start)):
            if value is not None:
                raise ValueError(f"{name} goes with an instance, not with an array of actions")
        X = self._actions("actions", actions, fixed_or_not=True)
        y = _floats("rewards", rewards)
        expected = (len(y), X.shape[-2]) if X.ndim == 2 else X.shape[:2]
        if y.ndim != 2 or y.shape != expected:
            shape = f"(T, {X.shape[-2]})" if X.ndim == 2 else str(expected)
            raise ValueError(f"rewards must have shape {shape}, got {y.shape}")
        _check_finite("rewards", y)
        self._check_total("rewards", len(y))
        mu = self._truth(truth)
        trace = _empty_trace(len(y), mu.size > 0, mu.size > 0)
        self._play(X, y, mu, trace)
        if trace.gap is not None:
            _write_gaps(trace.gap, X @ mu, trace.index)
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
        mu = self._truth(truth)
        for count in _blocks(instance, first, length):
            trace = _empty_trace(count, True, mu.size > 0)
            self._play_instance(instance, first, count, seed, mu, trace)
            first += count
            yield trace

    # -- state on disk -------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a file, from which ``unipac.load`` continues bit for bit."""
        waiting = list(self._pending.values())
        header = {
            "agent": type(self).__name__,
            "dim": self.dim,
            "parameters": self._parameters,
            "rounds": self._rounds,
            "next_id": self._next_id,
            "consistent": self._consistent,
            "pending": [[d.id, d.index, d.level] for d in waiting],
            "random": self._random_state(),
        }
        values = [[d.mean, d.width, d.ucb, d.lcb, d.certificate] for d in waiting]
        arrays: dict[str, NDArray[Any]] = {
            **{f"levels.{name}": array for name, array in self._levels._asdict().items()},
            **{f"table.{name}": array for name, array in self._table._asdict().items()},
            "pending.actions": np.array([d.action for d in waiting]).reshape(-1, self.dim),
            "pending.values": np.array(values, dtype=np.float64).reshape(-1, 5),
        }
        storage.write(path, header, arrays)

    def _restore(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state; raises ``KeyError``, ``TypeError`` or ``ValueError`` if it does not fit."""
        capacity = len(arrays["levels.size"])
        levels = stack.empty(capacity, self.dim, 1.0)
        fixed = table.empty(self._table.actions, capacity)
        self._levels = stack.Levels(*(_like(arrays, "levels", *item) for item in levels._asdict().items()))
        self._table = table.Table(*(_like(arrays, "table", *item) for item in fixed._asdict().items()))
        actions = arrays["pending.actions"]
        values = arrays["pending.values"].tolist()
        if actions.shape != (len(header["pending"]), self.dim):
            raise ValueError(f"the pending decisions have actions of shape {actions.shape}")
        self._pending = {
            id_: Decision(id_, index, _read_only(action), level, *numbers, self.certified)
            for (id_, index, level), action, numbers in zip(
                header["pending"], actions, values, strict=True
            )
        }
        self._rounds = check.count("rounds", header["rounds"], least=0)
        self._next_id = check.count("next_id", header["next_id"], least=0)
        self._consistent = bool(header["consistent"])
        self._set_random_state(header["random"])

    # -- what an algorithm may replace ---------------------------------------------------------

    def _choose(self, X: Array, fixed: bool) -> compiled.Verdict:
        return compiled.Verdict(
            *compiled.choose(self._levels, self._table, self._confidence, X, fixed)
        )

    def _bound_all(self, X: Array, out: Array) -> bool:
        """Write mean, ucb and lcb of every action; whether the sets have a point in common."""
        compiled.bound_all(self._levels, X, out)
        return True

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        """Play rounds on checked arrays."""
        fixed = (
            X.ndim == 2
            and self.fixed_actions is not None
            and np.array_equal(X, self.fixed_actions)
        )
        actions = X[None] if X.ndim == 2 else X
        covered = np.empty(0, dtype=np.bool_) if trace.covered is None else trace.covered
        record = compiled.Record(trace.index, trace.level, trace.certificate, trace.reward, covered)
        done = 0
        while done < len(y):
            self._make_room(None, 1)
            rest = compiled.Record(*(array[done:] for array in record))
            count, refuted = compiled.play(
                self._levels,
                self._table,
                self._confidence,
                actions if X.ndim == 2 else actions[done:],
                y[done:],
                truth,
                fixed,
                rest,
            )
            done += count
            self._rounds += count
            if refuted:
                self._refute()

    def _size_bound(self, level: int) -> float:
        """The proven bound on the size of a level."""
        c = self._confidence
        if c.rule == stack.SINGLE:
            return math.inf
        return theory.level_size(
            self.dim, level, regularization=c.regularization, action_norm=c.action_norm
        )

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
            return self._table.actions
        return self._actions("actions", actions, check_norms=False)

    def _actions(
        self,
        name: str,
        actions: ArrayLike,
        *,
        fixed_or_not: bool = False,
        check_norms: bool = True,
    ) -> Array:
        """An (n, d) array in the form that kernels take; (T, n, d) too if ``fixed_or_not``."""
        X = _floats(name, actions)
        shapes = f"(n, {self.dim}) or (T, n, {self.dim})" if fixed_or_not else f"(n, {self.dim})"
        if X.ndim != 2 and not (fixed_or_not and X.ndim == 3):
            raise ValueError(f"{name} must have shape {shapes}, got {X.shape}")
        if X.shape[-1] != self.dim or X.shape[-2] == 0:
            raise ValueError(f"{name} must have shape {shapes} with n >= 1, got {X.shape}")
        if check_norms:
            self._check_norms(name, X)
        return X

    def _check_norms(self, name: str, X: Array) -> None:
        limit = self._confidence.action_norm
        rows = X if X.ndim == 2 else X.reshape(-1, self.dim)
        bad = compiled.first_invalid(rows, limit * (1.0 + NORM_TOLERANCE))
        if bad < 0:
            return
        where = f"{name}[{bad}]" if X.ndim == 2 else f"{name}[{bad // X.shape[1]}, {bad % X.shape[1]}]"
        if not np.isfinite(rows[bad]).all():
            raise ValueError(f"{name} must be finite, got {where} = {rows[bad]}")
        norm = np.linalg.norm(rows[bad])
        raise ValueError(
            f"{name} must have norms at most {limit:g} (the argument action_norm), "
            f"got {where} of norm {norm:.9g}"
        )

    def _truth(self, truth: ArrayLike | None) -> Array:
        """μ* as an array, empty if it is not given."""
        if truth is None:
            return np.empty(0)
        mu = _floats("truth", truth)
        if mu.shape != (self.dim,):
            raise ValueError(f"truth must have shape ({self.dim},), got {mu.shape}")
        _check_finite("truth", mu)
        return mu

    def _waiting(self, decision: Decision | SupportsIndex) -> Decision:
        if isinstance(decision, Decision):
            id_ = decision.id
        else:
            id_ = check.count("decision", decision, least=0)
        waiting = self._pending.get(id_)
        if waiting is None:
            if 0 <= id_ < self._next_id:
                raise ValueError(
                    f"decision must be waiting for a reward, got {id_}, "
                    "which was rewarded or forgotten before"
                )
            raise ValueError(f"decision must be one of this agent's, got the unknown id {id_}")
        if isinstance(decision, Decision) and not np.array_equal(waiting.action, decision.action):
            raise ValueError(
                f"decision must be one of this agent's, got one with id {id_} but another action"
            )
        return waiting

    def _check_total(self, name: str, count: int) -> None:
        if self._rounds + count > check.LARGEST_COUNT:
            raise ValueError(
                f"{name} must keep the number of rounds within {check.LARGEST_COUNT}, "
                f"got {count} after {self._rounds}"
            )

    def _make_room(self, x: Array | None, times: int) -> None:
        """Let the stack have room for every level that ``times`` rounds with x can open."""
        needed = stack.top(self._levels) + 1
        if x is not None and times > 1:
            c = self._confidence
            norm2 = max(float(x @ x), (NEGLIGIBLE * c.action_norm) ** 2)
            # 1/width² is at most this at the end, and a level takes all that is left if 4^l exceeds it.
            longest = (c.regularization + self._rounds * c.action_norm**2) / norm2 + times
            needed = max(needed, math.ceil(math.log(longest, 4)) + 2)
        capacity = len(self._levels.size)
        if needed > capacity:
            capacity = max(needed, 2 * capacity)
            self._levels = stack.grown(self._levels, capacity)
            self._table = table.grown(self._table, capacity)

    def _refute(self) -> None:
        if self._consistent:
            self._consistent = False
            warnings.warn(
                f"{type(self).__name__}: a lower bound exceeds an upper bound, so an assumption does not "
                "hold (noise, norm, linear rewards); certificates are void from here on",
                RuntimeWarning,
                stacklevel=3,
            )

    def _instance_rounds(
        self, instance: BanditInstance, rounds: SupportsIndex | None, start: SupportsIndex | None
    ) -> tuple[int, int]:
        if instance.dim != self.dim:
            raise ValueError(f"instance must have dim {self.dim}, got {instance!r}")
        if rounds is None:
            raise ValueError("rounds must be given with an instance, got None")
        length = check.count("rounds", rounds, least=0)
        self._check_total("rounds", length)
        first = self._rounds if start is None else check.count("start", start, least=0)
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
        self._check_norms("the actions of the instance", offered.actions)
        self._play(offered.actions, offered.rewards, truth, trace)
        assert trace.gap is not None
        _write_gaps(trace.gap, offered.means, trace.index)


def _floats(name: str, values: ArrayLike) -> Array:
    """A writable float64 array in C order; one form only, so that each kernel is compiled once."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError
        return np.require(array, np.float64, ["C", "W", "A"])
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array of real numbers, got {_describe(values)}"
        ) from None


def _describe(values: object) -> str:
    text = repr(values)
    return f"{type(values).__name__} {text if len(text) < 60 else text[:56] + ' ...'}"


def _check_finite(name: str, array: Array) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        bad = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name} must be finite, got {name}{list(bad)} = {array[bad]}")


def _read_only(array: Array) -> Array:
    view = array.view()
    view.setflags(write=False)
    return view


def _empty_trace(length: int, with_gap: bool, with_covered: bool) -> Trace:
    return Trace(
        index=np.empty(length, dtype=np.int64),
        level=np.empty(length, dtype=np.int64),
        certificate=np.empty(length),
        reward=np.empty(length),
        gap=np.empty(length) if with_gap else None,
        covered=np.empty(length, dtype=np.bool_) if with_covered else None,
    )


def _part(trace: Trace, begin: int, end: int) -> Trace:
    """A view of some rounds of a trace."""
    cut = slice(begin, end)
    return Trace(
        trace.index[cut],
        trace.level[cut],
        trace.certificate[cut],
        trace.reward[cut],
        None if trace.gap is None else trace.gap[cut],
        None if trace.covered is None else trace.covered[cut],
    )


def _write_gaps(gap: Array, means: Array, index: NDArray[np.int64]) -> None:
    if means.ndim == 1:
        gap[:] = means.max() - means[index]
    else:
        gap[:] = means.max(axis=1) - means[np.arange(len(index)), index]


def _blocks(instance: BanditInstance, first: int, length: int) -> Iterator[int]:
    """Cut rounds where the instance cuts its own blocks."""
    end = first + length
    while first < end:
        count = min(end, (first // instance.block + 1) * instance.block) - first
        yield count
        first += count


def _like(
    arrays: Mapping[str, NDArray[Any]], group: str, name: str, model: NDArray[np.generic]
) -> NDArray[Any]:
    """A saved array, if it has the form of ``model``."""
    array = arrays[f"{group}.{name}"]
    if array.shape != model.shape or array.dtype != model.dtype or not np.isfinite(array).all():
        raise ValueError(f"{group}.{name} has shape {array.shape} and type {array.dtype}")
    return np.require(array, requirements=["C", "W"])
