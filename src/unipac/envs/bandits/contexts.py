"""Instances whose action sets change from round to round."""

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import floats
from unipac._jit import jit
from unipac.envs.bandits.instance import BanditInstance, NoiseKind

_PIECE = 64  # rounds drawn at a time: few enough to stay in the cache


class _Sphere(BanditInstance):
    theta: Array
    shortest: float

    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        draw_on_sphere(rng, actions.reshape(-1), self.dim, _PIECE * self.n_actions * self.dim)
        for first in range(0, self.block, _PIECE):
            piece = actions[first : first + _PIECE]
            if self.shortest < 1.0:
                lengths = self.shortest ** rng.random(piece.shape[:2])
                piece *= lengths[..., None]
            np.matmul(piece, self.theta, out=means[first : first + _PIECE])


def sphere(
    dim: int = 5,
    n_actions: int = 20,
    *,
    noise: float = 1.0,
    noise_kind: NoiseKind = "gaussian",
    shortest: float = 1.0,
    seed: int = 0,
) -> BanditInstance:
    """I.i.d. action sets: every action and theta are uniform on the unit sphere.

    Args:
        dim: dimension of the actions.
        n_actions: number of actions in a round.
        noise: scale of the noise.
        noise_kind: ``"gaussian"`` or ``"rademacher"``.
        shortest: if below 1, the lengths of the actions are log-uniform from this to 1.
        seed: seed of theta; the seed passed to ``rounds`` determines the contexts.

    Example:
        >>> instance = sphere(dim=2, n_actions=3, noise=0.0)
        >>> actions, means, rewards = instance.rounds(0, 4, seed=1)
        >>> bool(np.allclose(actions @ instance.theta, rewards))
        True
    """
    dim = check.count("dim", dim)
    n_actions = check.count("n_actions", n_actions)
    theta = _on_sphere(np.random.default_rng(check.seed("seed", seed)), (dim,))
    check.require(0 < shortest <= 1, "shortest", "in (0, 1]", shortest)
    instance = _Sphere("sphere", dim, n_actions, theta=theta, noise=noise, noise_kind=noise_kind)
    instance.shortest = float(shortest)
    return instance


class _UnevenSphere(_Sphere):
    uneven = True
    scales: Array
    shares: Array

    def _scales(self, rng: np.random.Generator) -> Array:
        rank = np.searchsorted(np.cumsum(self.shares[:-1]), rng.random(self.block), side="right")
        return np.asarray(self.scales[rank])


def uneven_noise(
    dim: int = 5,
    n_actions: int = 10,
    *,
    scales: ArrayLike = (0.05, 1.0),
    shares: ArrayLike = (0.9, 0.1),
    noise_kind: NoiseKind = "rademacher",
    seed: int = 0,
) -> BanditInstance:
    """The contexts of `sphere` with rounds that differ in their noise; ``Rounds.noise`` has the scales.

    The scale of each round's noise is drawn independently of the contexts. Agents that weight rounds use it
    (``WeightedOFUL``); other agents assume the largest of the scales.

    Args:
        dim: dimension of the actions.
        n_actions: number of actions in a round.
        scales: the scales that a round's noise may have, (m,), positive.
        shares: probability of each scale, (m,), nonnegative with sum 1.
        noise_kind: ``"gaussian"``, or ``"rademacher"``: ± the scale.
        seed: seed of theta; the seed passed to ``rounds`` determines the contexts.

    Example:
        >>> instance = uneven_noise(dim=2, n_actions=3)
        >>> drawn = instance.rounds(0, 2000, seed=1)
        >>> bool(np.allclose(abs(drawn.rewards - drawn.means), drawn.noise[:, None])), instance.noise
        (True, 1.0)
    """
    dim = check.count("dim", dim)
    n_actions = check.count("n_actions", n_actions)
    levels, parts = floats("scales", scales), floats("shares", shares)
    sound = levels.ndim == 1 and levels.size > 0 and bool(((levels > 0) & (levels <= check.LARGEST)).all())
    check.require(sound, "scales", "of shape (m,), positive and finite", scales)
    sound = parts.shape == levels.shape and bool((parts >= 0).all()) and abs(float(parts.sum()) - 1) <= 1e-9
    check.require(sound, "shares", f"of shape {levels.shape}, nonnegative with sum 1", shares)
    theta = _on_sphere(np.random.default_rng(check.seed("seed", seed)), (dim,))
    noise = float(levels.max())
    made = _UnevenSphere("uneven_noise", dim, n_actions, theta=theta, noise=noise, noise_kind=noise_kind)
    made.shortest, made.scales, made.shares = 1.0, levels.copy(), parts.copy()
    return made


def filling_steps(level: int) -> int:
    """How many actions `filling` offers in each direction for a level, before their length would exceed 1.

    Example:
        >>> filling_steps(1)                 # 0.2525 · 1.2525^6 = 0.975, and once more would exceed 1
        7
    """
    q = _filling_width2(level)
    return 1 + int(np.log(1 / q) / np.log1p(q))


def _filling_width2(level: int) -> float:
    """The squared width of the actions for this level, a little above the level's threshold."""
    return 1.01 * 4.0**-level


class _Filling(BanditInstance):
    theta: Array
    lengths: Array

    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        number = index * self.block + np.arange(self.block)
        length = self.lengths[np.minimum(number // self.dim, len(self.lengths) - 1)]
        actions[:] = (length[:, None] * np.eye(self.dim)[number % self.dim])[:, None]
        np.matmul(actions, self.theta, out=means)


def filling(dim: int = 2, levels: int = 5, *, noise: float = 1.0) -> BanditInstance:
    """One action a round, just long enough to be stored, so that the levels fill one after the other.

    Let s be the sum of the squared lengths of the data so far in the direction of an action, and λ = 1. Then an
    action of squared length q(1 + s) has the squared width q. At level l, q is a little above 4^-l. The
    directions e_1, ..., e_d take turns until the length would exceed 1; then comes the next level. After the
    last level all actions are unit vectors. There is nothing to choose: the gap is 0. theta = (1, ..., 1)/√d.

    Args:
        dim: dimension d.
        levels: number of levels to fill, at most 9.
        noise: standard deviation of the Gaussian noise.

    Example:
        >>> actions = filling(dim=1, levels=1).rounds(0, 7, seed=0).actions
        >>> actions.ravel().round(3)                         # √0.2525, then always times √1.2525
        array([0.502, 0.562, 0.629, 0.704, 0.788, 0.882, 0.987])
    """
    dim = check.count("dim", dim)
    lengths = []
    for level in range(1, check.count("levels", levels, most=9) + 1):
        q = _filling_width2(level)
        lengths.append(np.sqrt(q * (1 + q) ** np.arange(filling_steps(level))))
    instance = _Filling("filling", dim, 1, theta=np.full(dim, dim**-0.5), noise=noise)
    instance.lengths = np.concatenate([*lengths, np.ones(1)])
    return instance


def _on_sphere(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    points = rng.standard_normal(shape)
    points /= np.sqrt(np.einsum("...d,...d->...", points, points))[..., None]
    return points


@jit
def draw_on_sphere(rng: np.random.Generator, points: Array, dim: int, piece: int) -> None:
    """Fill the flat array ``points`` with uniform points on the unit sphere, ``piece`` entries at a time.

    The results equal those of ``_on_sphere`` bit for bit. The generator is called in the same order, and squared
    lengths are summed as NumPy does with two lanes: even and odd indices separately, in groups of eight from
    the back. One loop divides all entries of a piece, since division takes most of the time.
    """
    lengths = np.empty(min(piece, points.size))
    for begin in range(0, points.size, piece):
        part = points[begin : min(begin + piece, points.size)]
        for k in range(part.size):
            part[k] = rng.standard_normal()
        for first in range(0, part.size, dim):
            end = first + dim
            even, odd = 0.0, 0.0
            k = first
            while k + 8 <= end:
                for j in range(k + 6, k - 1, -2):
                    even += part[j] * part[j]
                    odd += part[j + 1] * part[j + 1]
                k += 8
            while k + 2 <= end:
                even += part[k] * part[k]
                odd += part[k + 1] * part[k + 1]
                k += 2
            if k < end:
                even += part[k] * part[k]
            length = np.sqrt(even + odd)
            k = first
            while k + 4 <= end:  # a plain loop would be vectorised, which is slower for so few entries
                lengths[k] = lengths[k + 1] = lengths[k + 2] = lengths[k + 3] = length
                k += 4
            while k < end:
                lengths[k] = length
                k += 1
        for k in range(part.size):
            part[k] /= lengths[k]
