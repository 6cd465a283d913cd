"""Instances with one fixed set of arms."""

import math

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.bandits.instance import BanditInstance, NoiseKind

_NORM_TOLERANCE = 1e-12


class _FixedArms(BanditInstance):
    actions: Array
    theta: Array

    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        actions[:] = self.actions
        means[:] = self._arm_means()


def fixed_arms(
    arms: ArrayLike,
    theta: ArrayLike,
    *,
    noise: float = 1.0,
    noise_kind: NoiseKind = "gaussian",
) -> BanditInstance:
    """The same arms in every round.

    Args:
        arms: the arms, (n, d), each of norm at most 1.
        theta: the true parameter, (d,).
        noise: scale of the noise.
        noise_kind: ``"gaussian"`` or ``"rademacher"``.

    Example:
        >>> instance = fixed_arms([[1, 0], [0, 1], [0.6, 0.8]], theta=[0.5, 0.5])
        >>> instance.rounds(0, 2, seed=1).means
        array([0.5, 0.5, 0.7])
    """
    return _fixed_arms("fixed_arms", arms, theta, noise, noise_kind)


def soare(dim: int = 5, angle: float = 0.1, *, noise: float = 1.0) -> BanditInstance:
    """The best-arm instance of Soare, Lazaric and Munos (2014), scaled to a unit parameter.

    The arms are e_1, ..., e_d and cos(angle) e_1 + sin(angle) e_2. The paper takes theta = 2 e_1;
    here theta = e_1, so that its norm is 1. The first arm is the best and the last one has the gap
    1 - cos(angle); pulling e_2, far from the best, is the fastest way to tell the two apart.

    Args:
        dim: dimension d, at least 2.
        angle: angle between the two best arms, in (0, π/2).
        noise: standard deviation of the Gaussian noise.

    Example:
        >>> instance = soare(dim=2, angle=0.1)
        >>> instance.rounds(0, 1, seed=0).means
        array([1.   , 0.   , 0.995])
    """
    dim = check.count("dim", dim, least=2)
    check.require(0 < angle < math.pi / 2, "angle", "in (0, pi/2)", angle)
    arms = np.eye(dim + 1, dim)
    arms[dim, :2] = math.cos(angle), math.sin(angle)
    return _fixed_arms("soare", arms, np.eye(dim)[0], noise)


def end_of_optimism(epsilon: float = 0.01, *, alpha: float = 1.0, noise: float = 1.0) -> BanditInstance:
    """The instance of "The End of Optimism?" by Lattimore and Szepesvári (2017).

    The arms are e_1, e_2 and (1 - epsilon, 8 alpha epsilon), with theta = e_1, so the gaps are
    0, 1 and epsilon. A few pulls of e_2 would tell the first arm from the third one, but an
    optimistic algorithm soon stops pulling it, and pays with many pulls of the third.

    Args:
        epsilon: gap of the third arm, in (0, 2 / (1 + 64 alpha²)]: its norm is then at most 1.
        alpha: at least 1; the larger it is, the worse optimism does.
        noise: standard deviation of the Gaussian noise.

    Example:
        >>> end_of_optimism(epsilon=0.01).actions
        array([[1.  , 0.  ],
               [0.  , 1.  ],
               [0.99, 0.08]])
    """
    check.require(1 <= alpha < math.inf, "alpha", "a finite number >= 1", alpha)
    largest = 2 / (1 + 64 * alpha**2)
    expected = f"in (0, {largest:.6g}] for alpha = {alpha:g}"
    check.require(0 < epsilon <= largest, "epsilon", expected, epsilon)
    arms = [[1.0, 0.0], [0.0, 1.0], [1 - epsilon, 8 * alpha * epsilon]]
    return _fixed_arms("end_of_optimism", arms, [1.0, 0.0], noise)


def _fixed_arms(
    name: str,
    arms: ArrayLike,
    theta: ArrayLike,
    noise: float,
    noise_kind: NoiseKind = "gaussian",
) -> BanditInstance:
    arms = np.asarray(arms, dtype=np.float64)
    theta = np.asarray(theta, dtype=np.float64)
    check.require(arms.ndim == 2 and arms.size > 0, "arms", "of shape (n, d), not empty", arms.shape)
    n_actions, dim = arms.shape
    check.require(theta.shape == (dim,), "theta", f"of shape ({dim},) as the arms", theta.shape)
    check.require(bool(np.isfinite(theta).all()), "theta", "finite", theta)
    longest = float(np.linalg.norm(arms, axis=1).max())
    check.require(longest <= 1 + _NORM_TOLERANCE, "arms", "of norm at most 1", longest)
    return _FixedArms(name, dim, n_actions, theta=theta, actions=arms, noise=noise, noise_kind=noise_kind)
