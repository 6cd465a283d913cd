"""The base class of the instances: rounds which are pure functions of a seed and a number."""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check

FloatArray = NDArray[np.float64]
NoiseKind = Literal["gaussian", "rademacher"]

ROUNDING = 1e-12
"""Relative; by so much a length may be too large."""

_BLOCK_ENTRIES = 2**20
_BLOCK_ROUNDS = 4096


class Rounds(NamedTuple):
    """Consecutive rounds of an instance, in arrays that belong to the caller.

    Attributes:
        actions: the action sets, (T, n, d); (n, d) if the set is the same in all rounds.
        means: expected reward of each action, (T, n); (n,) if the set is the same in all rounds.
        rewards: the reward that each action would bring, (T, n). The noise of a round is drawn
            once and shared by its actions.

    Example:
        >>> from unipac.envs import sphere
        >>> actions, means, rewards = sphere(dim=3, n_actions=4).rounds(0, 10, seed=1)
        >>> actions.shape, means.shape, rewards.shape
        ((10, 4, 3), (10, 4), (10, 4))
    """

    actions: FloatArray
    means: FloatArray
    rewards: FloatArray


class BanditInstance(ABC):
    """A stochastic bandit with vector actions that knows its optimum.

    Every action has Euclidean norm at most 1, up to rounding. Round k is a pure function of
    (seed, k), however the rounds are cut into calls: randomness is drawn in blocks of `block`
    rounds, and the generator of a block is derived from the seed and the number of the block.

    A subclass implements `_contexts`, the action sets of one block.

    Attributes:
        name: name of the instance.
        dim: dimension d of the actions.
        n_actions: number n of actions in a round.
        noise: sub-Gaussian scale of the noise; 0 if there is none.
        noise_kind: ``"gaussian"`` (standard deviation `noise`) or ``"rademacher"`` (±`noise`).
        theta: the true parameter, read-only; None where the mean reward is not linear.
        norm: a bound on the norm of theta.
        actions: the action set, (n, d) and read-only, if it never changes; else None.
        block: how many rounds are drawn at once; it depends on n·d only.

    Example:
        >>> from unipac.envs import soare
        >>> instance = soare(dim=3)
        >>> instance
        <soare: 4 actions in dimension 3, gaussian noise 1>
        >>> first, second = instance.rounds(0, 2, seed=7), instance.rounds(1, 1, seed=7)
        >>> bool((first.rewards[1] == second.rewards[0]).all())
        True
    """

    def __init__(
        self,
        name: str,
        dim: int,
        n_actions: int,
        *,
        theta: FloatArray | None = None,
        norm: float | None = None,
        actions: FloatArray | None = None,
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
        entropy, spawn_key = _stream(seed)
        lead = (count,) if self.actions is None else ()
        drawn = Rounds(
            np.empty((*lead, self.n_actions, self.dim)),
            np.empty((*lead, self.n_actions)),
            np.empty((count, self.n_actions)),
        )
        last = max(start, start + count - 1)
        for index in range(start // self.block, last // self.block + 1):
            block = self._block(index, entropy, spawn_key)
            offset = start - index * self.block
            source = slice(max(offset, 0), min(offset + count, self.block))
            target = slice(source.start - offset, source.stop - offset)
            drawn.rewards[target] = block.rewards[source]
            if self.actions is None:
                drawn.actions[target] = block.actions[source]
                drawn.means[target] = block.means[source]
            else:
                drawn.actions[:] = block.actions
                drawn.means[:] = block.means
        return drawn

    def pieces(self, start, count, seed):
        end = start + count
        while start < end:
            stop = min(end, (start // self.block + 1) * self.block)
            yield self.rounds(start, stop - start, seed)
            start = stop

    @abstractmethod
    def _contexts(self, index: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Actions (block, n, d) and means (block, n) of block `index`.

        A subclass whose action set never changes returns arrays (n, d) and (n,).
        """

    def _noise(self, rng: np.random.Generator) -> FloatArray:
        """The noise of one block, (block,)."""
        if self.noise == 0.0:
            return np.zeros(self.block)
        if self.noise_kind == "gaussian":
            return self.noise * rng.standard_normal(self.block)
        return np.where(rng.integers(0, 2, self.block) == 1, self.noise, -self.noise)

    def _block(self, index: int, entropy: tuple[int, ...], spawn_key: tuple[int, ...]) -> Rounds:
        """Block `index` of a stream; the latest one is kept for the next call."""
        key = (index, entropy, spawn_key)
        latest = self._latest
        if latest is not None and latest[0] == key:
            return latest[1]
        sequence = np.random.SeedSequence(entropy, spawn_key=(*spawn_key, index))
        rng = np.random.default_rng(sequence)
        actions, means = self._contexts(index, rng)
        block = Rounds(actions, means, means + self._noise(rng)[:, None])
        self._latest = (key, block)
        return block


def read_only(array: FloatArray) -> FloatArray:
    """A C-contiguous copy of `array` that nobody can write to."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def _stream(seed: int | np.random.SeedSequence) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Entropy and spawn key of a seed, in a form that can be compared."""
    if not isinstance(seed, np.random.SeedSequence):
        return (check.count("seed", seed, least=0),), ()
    entropy = np.asarray(seed.entropy, dtype=np.object_).ravel()
    return tuple(int(word) for word in entropy), seed.spawn_key
