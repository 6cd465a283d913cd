"""The base class of bandit instances, whose rounds are pure functions of a seed and a number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.arrays import integers, read_only
from unipac.envs.bandits.pulls import Normals, signs, sum_pulls
from unipac.envs.bandits.rounds import Rounds
from unipac.envs.streams import Stream, stream_of

NoiseKind = Literal["gaussian", "rademacher"]
"""Distribution of the noise: normal, or ±1 times the scale.

>>> from typing import get_args
>>> get_args(NoiseKind)
('gaussian', 'rademacher')
"""

ROUNDING = 1e-12
"""Relative amount by which a length may exceed its bound."""

_BLOCK_ENTRIES = 2**20
_BLOCK_ROUNDS = 4096
_PIECE_ENTRIES = 2**15  # a quarter of a megabyte
_PIECE_ROUNDS = 256


class BanditInstance(ABC):
    """A stochastic bandit with vector actions that knows its optimum.

    Every action has Euclidean norm at most 1, up to rounding. Round k is a pure function of
    (seed, k), however the rounds are split into calls: randomness is drawn in blocks of `block`
    rounds, and the generator of a block is derived from the seed and the number of the block.

    A subclass implements `_contexts`, which writes the action sets of one block. A subclass whose rounds
    differ in their noise sets `uneven` and also implements `_scales`.

    Attributes:
        name: name of the instance.
        dim: dimension d of the actions.
        n_actions: number n of actions in a round.
        noise: sub-Gaussian scale of the noise, the largest one if rounds differ; 0 if there is no noise.
        noise_kind: ``"gaussian"`` (standard deviation `noise`) or ``"rademacher"`` (±`noise`).
        theta: the true parameter, read-only; None where the mean reward is not linear.
        norm: a bound on the norm of theta.
        actions: the action set, (n, d) and read-only, if it never changes; else None.
        block: how many rounds are drawn at once; it depends on n·d only.
        uneven: whether rounds differ in their noise; if so, `Rounds.noise` has each round's scale.

    Example:
        >>> from unipac.envs import soare
        >>> instance = soare(dim=3)
        >>> instance
        <soare: 4 actions in dimension 3, gaussian noise 1>
        >>> first, second = instance.rounds(0, 2, seed=7), instance.rounds(1, 1, seed=7)
        >>> bool((first.rewards[1] == second.rewards[0]).all())
        True
    """

    uneven: bool = False
    blocks: int = 1
    """Into how many blocks of equal length its actions fall, each of them zero outside of one."""

    def __init__(
        self,
        name: str,
        dim: int,
        n_actions: int,
        *,
        theta: Array | None = None,
        norm: float | None = None,
        actions: Array | None = None,
        noise: float = 0.0,
        noise_kind: NoiseKind = "gaussian",
    ) -> None:
        kinds = get_args(NoiseKind)
        check.require(noise_kind in kinds, "noise_kind", f"one of {kinds}", noise_kind)
        self.name = name
        self.dim = dim
        self.n_actions = n_actions
        self.noise = check.nonnegative("noise", noise)
        self.noise_kind = noise_kind
        self.theta = None if theta is None else read_only(theta)
        if norm is None:
            length = 0.0 if theta is None else float(np.linalg.norm(theta))
            norm = length if length > 1.0 + ROUNDING else 1.0  # a unit vector may come out a little too long
        self.norm = norm
        self.actions = None if actions is None else read_only(actions)
        self.block = min(max(_BLOCK_ENTRIES // (n_actions * dim), 1), _BLOCK_ROUNDS)
        self._latest: tuple[object, Rounds] | None = None
        self._spare: list[Rounds] = []
        self._normals = Normals()
        self._means: Array | None = None

    def __repr__(self) -> str:
        noise = f"{self.noise_kind} noise {self.noise:g}" if self.noise else "no noise"
        return f"<{self.name}: {self.n_actions} actions in dimension {self.dim}, {noise}>"

    def rounds(self, start: int, count: int, seed: int | np.random.SeedSequence) -> Rounds:
        """Rounds ``start, ..., start + count - 1``, numbered from 0.

        Args:
            start: number of the first round; there is no upper limit.
            count: how many rounds.
            seed: seed of the contexts and of the noise.

        Returns:
            Fresh arrays, C-contiguous and of type float64.
        """
        start = check.count("start", start, least=0)
        count = check.count("count", count, least=0)
        stream = stream_of(seed)
        drawn = self._room(count)
        if self.actions is not None:
            self._contexts(0, np.random.default_rng(0), drawn.actions, drawn.means)
        for index, source, target in self._cuts(start, count):
            whole = source.stop - source.start == self.block
            kept = None if whole else self._kept_block(index, stream)
            room = self._part(drawn, target)
            if kept is None:
                self._draw(index, stream, room)
            else:
                part = self._part(kept, source)
                room.rewards[:] = part.rewards
                if room.noise is not None:
                    room.noise[:] = part.noise
                if self.actions is None:
                    room.actions[:] = part.actions
                    room.means[:] = part.means
        return drawn

    def pieces(self, start: int, count: int, seed: int | np.random.SeedSequence) -> Iterator[Rounds]:
        """The same rounds as `rounds`, a few hundred at a time, for a single pass through them.

        The arrays of a piece are views of memory that is used again, and must not be written to. They are
        valid until the next piece is requested; the last piece is valid until the next call of `pieces`.
        No piece crosses the end of a block.

        Args:
            start: number of the first round; there is no upper limit.
            count: how many rounds.
            seed: seed of the contexts and of the noise.

        Returns:
            Rounds in order, at most 256 at a time. If the set of actions never changes, each piece holds
            it as an array of shape (n, d).

        Example:
            >>> from unipac.envs import sphere
            >>> instance = sphere(dim=2, n_actions=3)
            >>> [len(piece.rewards) for piece in instance.pieces(4000, 200, seed=0)]
            [96, 104]
        """
        start = check.count("start", start, least=0)
        count = check.count("count", count, least=0)
        return self._pieces(start, count, stream_of(seed))

    def _pieces(self, start: int, count: int, stream: Stream) -> Iterator[Rounds]:
        length = min(max(_PIECE_ENTRIES // (self.n_actions * self.dim), 1), _PIECE_ROUNDS)
        room: Rounds | None = None
        for index, source, _ in self._cuts(start, count):
            if source.stop < self.block:  # the next call may continue in this block
                block = self._kept_block(index, stream)
            elif self._latest is not None and self._latest[0] == (index, stream):
                block = self._latest[1]
            else:
                room = self._spare_room() if room is None else room
                self._draw(index, stream, room)
                block = room
            for first in range(source.start, source.stop, length):
                yield self._part(block, slice(first, min(first + length, source.stop)))
        if room is not None:
            self._spare[:] = [room]

    def _spare_room(self) -> Rounds:
        """Arrays for a block; those of an earlier pass are used again, since allocation takes time."""
        try:
            return self._spare.pop()
        except IndexError:
            return self._room(self.block)

    def pulls(
        self, arms: ArrayLike, counts: ArrayLike, *, batch: int, seed: int | np.random.SeedSequence
    ) -> Array:
        """Sums of the rewards of ``counts[i]`` pulls of arm ``arms[i]``, each with its own noise.

        The sums are drawn from their exact distribution in one step, however large the counts. They depend
        only on the seed, the number of the batch, arms and counts: batches can be drawn in any order, and
        repeatedly. A batch takes a few microseconds with Gaussian noise, and about thirty with Rademacher
        noise, which needs a binomial number for each arm.

        Args:
            arms: rows of ``actions``, integers of shape (m,); an arm may occur more than once.
            counts: how many pulls of each, integers >= 0, (m,).
            batch: number of the batch, from 0.
            seed: seed of the noise; the sums are unrelated to the rewards of ``rounds``.

        Returns:
            The sums, (m,).

        Raises:
            ValueError: if the set of actions changes from round to round, or if an argument is invalid.

        Example:
            >>> from unipac.envs import soare
            >>> soare(dim=2, noise=0.0).pulls([0, 2], [10, 1000], batch=0, seed=1)
            array([ 10.   , 995.004165])
        """
        means = self._arm_means() if self._means is None else self._means
        rows, times = integers("arms", arms), integers("counts", counts)
        if rows.ndim != 1 or rows.shape != times.shape:
            shapes = (rows.shape, times.shape)
            check.require(False, "arms and counts", "two arrays of shape (m,)", shapes)
        batch = check.count("batch", batch, least=0)
        gaussian = self.noise_kind == "gaussian"
        if gaussian:
            drawn, row = self._normals.of(len(rows), batch, seed)
        else:
            drawn, row = signs(times, batch, seed), 0
        sums = np.empty(len(rows))
        bad = sum_pulls(means, rows, times, drawn, row, self.noise, gaussian, sums)
        if bad >= 0:
            check.count(f"arms[{bad}]", int(rows[bad]), least=0, most=self.n_actions - 1)
            check.count(f"counts[{bad}]", int(times[bad]), least=0)
        return sums

    def _arm_means(self) -> Array:
        """Mean rewards of the fixed actions, (n,)."""
        if self._means is None:
            if self.actions is None or self.theta is None:
                what = "changing actions" if self.actions is None else "unknown mean rewards"
                raise ValueError(f"pulls must be asked of an instance with fixed arms, got {what}: {self!r}")
            self._means = self.actions @ self.theta
        return self._means

    @abstractmethod
    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        """Write actions (block, n, d) and means (block, n) of block `index`.

        If the action set never changes, the arrays are (n, d) and (n,), and nothing is drawn.
        """

    def _scales(self, rng: np.random.Generator) -> Array:
        """The noise scale of each round of one block, (block,); called only if `uneven`."""
        raise NotImplementedError

    def _noise(self, rng: np.random.Generator) -> Array:
        """The noise of one block, (block,)."""
        return self._noise_of(rng, self.noise)

    def _noise_of(self, rng: np.random.Generator, scale: float | Array) -> Array:
        """The noise of one block, (block,), for one scale or for a scale per round."""
        if self.noise == 0.0:
            return np.zeros(self.block)
        if self.noise_kind == "gaussian":
            return np.asarray(scale * rng.standard_normal(self.block))
        return np.where(rng.integers(0, 2, self.block) == 1, scale, np.negative(scale))

    def _room(self, count: int) -> Rounds:
        """Uninitialised arrays for `count` rounds."""
        lead = (count,) if self.actions is None else ()
        return Rounds(
            np.empty((*lead, self.n_actions, self.dim)),
            np.empty((*lead, self.n_actions)),
            np.empty((count, self.n_actions)),
            np.empty(count) if self.uneven else None,
        )

    def _part(self, rounds: Rounds, which: slice) -> Rounds:
        noise = None if rounds.noise is None else rounds.noise[which]
        if self.actions is None:
            return Rounds(rounds.actions[which], rounds.means[which], rounds.rewards[which], noise)
        return Rounds(rounds.actions, rounds.means, rounds.rewards[which], noise)

    def _cuts(self, start: int, count: int) -> Iterator[tuple[int, slice, slice]]:
        """For each block that overlaps the rounds: its number, the slice in it, and the slice in the request."""
        last = start + count - 1
        for index in range(start // self.block, last // self.block + 1 if count else 0):
            offset = start - index * self.block
            source = slice(max(offset, 0), min(offset + count, self.block))
            yield index, source, slice(source.start - offset, source.stop - offset)

    def _draw(self, index: int, stream: Stream, room: Rounds) -> None:
        """Write a whole block. Contexts and noise use one generator; all contexts are drawn first."""
        rng = stream.generator(index)
        self._contexts(index, rng, room.actions, room.means)
        if room.noise is None:
            noise = self._noise(rng)
        else:
            room.noise[:] = self._scales(rng)
            noise = self._noise_of(rng, room.noise)
        np.add(room.means, noise[:, None], out=room.rewards)

    def _kept_block(self, index: int, stream: Stream) -> Rounds:
        """A block of which only a part is needed now; the latest one is cached for the next call."""
        latest = self._latest
        if latest is None or latest[0] != (index, stream):
            room = self._room(self.block)
            self._draw(index, stream, room)
            latest = self._latest = ((index, stream), room)
        return latest[1]
