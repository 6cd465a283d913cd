"""A log of decisions: the actions offered, the action taken, and its reward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._inputs import check_norms, check_rewards, floats, read_only
from unipac.envs import BanditInstance

TOLERANCE = 1e-9
"""Relative difference from 1/n up to which a propensity counts as uniform."""


class Log:
    """T logged decisions in the order in which they were made.

    Args:
        sets: the actions offered: (T, n, d), or (n, d) if they were the same in all rounds, or T arrays (n_t, d).
        index: index of the action taken in its set, integers (T,).
        rewards: rewards of the actions taken, (T,).
        propensities: probabilities with which these actions were taken, (T,), if known.
        ids: ids of the decisions, if they have any.
        times: times of the decisions, (T,), if known.
        holdout: whether the choice was random instead of the agent's, booleans (T,), if there is a holdout.
        holdout_share: the requested share of holdout rounds.

    Raises:
        ValueError: if shapes do not match, an index is outside its set, or numbers are not finite. For oddities that
            are possible, see `check`.

    Attributes:
        vectors: all offered vectors, stacked, (N, d); only one set if it was always the same.
        starts: row of ``vectors`` at which the set of each round begins, (T,).
        sizes: number of actions offered in each round, (T,).

    Example:
        >>> log = Log([[1.0, 0.0], [0.0, 1.0]], index=[0, 1, 1], rewards=[0.0, 1.0, 1.0])
        >>> log
        <Log: 3 rounds, 2 actions in dimension 2, mean reward 0.666667>
        >>> log.actions.tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        sets: ArrayLike | Sequence[ArrayLike],
        index: ArrayLike,
        rewards: ArrayLike,
        propensities: ArrayLike | None = None,
        *,
        ids: Sequence[Any] | None = None,
        times: ArrayLike | None = None,
        holdout: ArrayLike | None = None,
        holdout_share: float | None = None,
    ) -> None:
        y = floats("rewards", rewards)
        check.require(y.ndim == 1, "rewards", "of shape (T,)", y.shape)
        check_rewards("rewards", y)
        rounds = len(y)
        vectors, starts, sizes = _stacked(sets, rounds)
        taken = np.asarray(index) if rounds else np.zeros(0, dtype=np.int64)
        check.require(taken.dtype.kind in "iu", "index", "an array of integers", taken.dtype)
        check.require(taken.shape == (rounds,), "index", f"of shape ({rounds},), one per reward", taken.shape)
        bad = np.flatnonzero((taken < 0) | (taken >= sizes))
        if len(bad):
            t = int(bad[0])
            check.require(False, f"index[{t}]", f"from 0 to {sizes[t] - 1}", int(taken[t]))
        self.vectors = read_only(vectors)
        """All vectors that were offered, (N, d), round by round; only one set if sets do not change."""
        self.starts, self.sizes = starts, sizes
        self.index = taken.astype(np.int64)
        self.rewards = read_only(y.copy())
        self.propensities = _optional("propensities", propensities, rounds)
        self.times = _optional("times", times, rounds)
        check.require(ids is None or hasattr(ids, "__iter__"), "ids", "a list", ids)
        self.ids = None if ids is None else tuple(ids)
        if self.ids is not None:
            check.require(len(self.ids) == rounds, "ids", f"{rounds}, one per reward", len(self.ids))
        self.holdout: NDArray[np.bool_] | None = None
        if holdout is not None:
            flags = np.asarray(holdout)
            sound = flags.shape == (rounds,) and (flags.dtype.kind == "b" or not rounds)
            check.require(sound, "holdout", f"booleans of shape ({rounds},)", flags)
            self.holdout = flags.astype(np.bool_)
        self.holdout_share = None if holdout_share is None else check.real("holdout_share", holdout_share)

    @property
    def dim(self) -> int:
        """Length d of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def actions(self) -> Array:
        """The vectors that were taken, (T, d)."""
        return np.asarray(self.vectors[self.starts + self.index])

    @property
    def is_uniform(self) -> bool:
        """Whether the propensities say that every choice was uniform."""
        p = self.propensities
        return p is not None and bool((np.abs(p * self.sizes - 1.0) <= TOLERANCE).all())

    def offered(self, t: int) -> Array:
        """The vectors offered in round t, (n_t, d), read-only."""
        first = self.starts[t]
        return self.vectors[first : first + self.sizes[t]]

    def __len__(self) -> int:
        return len(self.rewards)

    def __getitem__(self, rounds: slice | ArrayLike) -> Log:
        """Some of the rounds, by a slice or by their numbers, in that order."""
        number = np.arange(len(self))[rounds if isinstance(rounds, slice) else np.asarray(rounds)]
        check.require(number.ndim == 1, "rounds", "a slice or an array of numbers", rounds)
        part = Log.__new__(Log)
        part.vectors, part.holdout_share = self.vectors, self.holdout_share
        part.starts, part.sizes = self.starts[number], self.sizes[number]
        part.index, part.rewards = self.index[number], read_only(self.rewards[number])
        part.propensities = None if self.propensities is None else self.propensities[number]
        part.times = None if self.times is None else self.times[number]
        part.holdout = None if self.holdout is None else self.holdout[number]
        part.ids = None if self.ids is None else tuple(self.ids[t] for t in number.tolist())
        return part

    def __repr__(self) -> str:
        if len(self) == 0:
            return f"<Log: 0 rounds in dimension {self.dim}>"
        low, high = int(self.sizes.min()), int(self.sizes.max())
        count = f"{low}" if low == high else f"{low} to {high}"
        mean = float(self.rewards.mean())
        return f"<Log: {len(self):,} rounds, {count} actions in dimension {self.dim}, mean reward {mean:.6g}>"

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns in the format of `from_frame`: ``vectors``, ``index``, ``reward``, and the optional ones it has."""
        columns: dict[str, list[Any]] = {
            "vectors": [self.offered(t).tolist() for t in range(len(self))],
            "index": self.index.tolist(),
            "reward": self.rewards.tolist(),
        }
        if self.ids is not None:
            columns["id"] = list(self.ids)
        for name, values in (
            ("propensity", self.propensities),
            ("at", self.times),
            ("holdout", self.holdout),
        ):
            if values is not None:
                columns[name] = values.tolist()
        return columns


def uniform(instance: BanditInstance, rounds: int, *, seed: int = 0) -> Log:
    """A log of uniform choices on an instance, with their propensities.

    Args:
        instance: an instance from ``unipac.envs`` or ``unipac.data``.
        rounds: number of rounds.
        seed: seed of the contexts and the noise; the choices use a separate stream.

    Example:
        >>> from unipac.envs import sphere
        >>> uniform(sphere(3, 4), 100, seed=1).is_uniform
        True
    """
    check.require(isinstance(instance, BanditInstance), "instance", "a BanditInstance", instance)
    drawn = instance.rounds(0, rounds, seed)
    n = instance.n_actions
    index = np.random.default_rng((0x6C6F67, check.seed("seed", seed))).integers(n, size=rounds)
    return Log(drawn.actions, index, drawn.rewards[np.arange(rounds), index], np.full(rounds, 1.0 / n))


def _stacked(sets: Any, rounds: int) -> tuple[Array, Integers, Integers]:
    """All vectors, stacked; the row where the set of each round begins; and the size of each set."""
    try:
        array = np.asarray(sets, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)  # sets of different sizes
    if array.ndim == 2 and array.shape[0] > 0:
        vectors, count = floats("sets", sets).copy(), array.shape[0]
        starts, sizes = np.zeros(rounds, dtype=np.int64), np.full(rounds, count, dtype=np.int64)
    elif array.ndim == 3 and array.shape[1] > 0:
        check.require(len(array) == rounds, "sets", f"{rounds} sets, one per reward", len(array))
        vectors, count = floats("sets", sets).reshape(-1, array.shape[2]).copy(), array.shape[1]
        starts, sizes = count * np.arange(rounds), np.full(rounds, count, dtype=np.int64)
    else:
        check.require(isinstance(sets, (list, tuple)), "sets", "(T, n, d), (n, d) or T arrays (n, d)", sets)
        check.require(len(sets) == rounds, "sets", f"{rounds} sets, one per reward", len(sets))
        rows = [floats(f"sets[{t}]", one) for t, one in enumerate(sets)]
        for t, one in enumerate(rows):
            fits = one.ndim == 2 and len(one) > 0 and one.shape[1] == rows[0].shape[1]
            expected = f"of shape (n, {rows[0].shape[-1]}) with n >= 1"
            check.require(fits, f"sets[{t}]", expected, one.shape)
        vectors = np.concatenate(rows) if rows else np.empty((0, 0))
        sizes = np.array([len(one) for one in rows], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
    check_norms("sets", vectors, check.LARGEST)
    return vectors, starts.astype(np.int64), sizes


def _optional(name: str, values: ArrayLike | None, rounds: int) -> Array | None:
    """Finite numbers (T,), or None; `check` judges whether they are plausible."""
    if values is None:
        return None
    array = floats(name, values)
    check.require(array.shape == (rounds,), name, f"of shape ({rounds},), one per reward", array.shape)
    check.require(bool(np.isfinite(array).all()), name, "finite", values)
    return read_only(array.copy())
