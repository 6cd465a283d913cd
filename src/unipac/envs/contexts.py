"""Instances whose action sets are drawn afresh in every round."""

import numpy as np

from unipac import _checks as check
from unipac.envs.instance import BanditInstance, FloatArray, NoiseKind


class _Sphere(BanditInstance):
    theta: FloatArray

    def _contexts(self, index: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        actions = _on_sphere(rng, (self.block, self.n_actions, self.dim))
        return actions, actions @ self.theta


def sphere(
    dim: int = 5,
    n_actions: int = 20,
    *,
    noise: float = 1.0,
    noise_kind: NoiseKind = "gaussian",
    seed: int = 0,
) -> BanditInstance:
    """I.i.d. action sets: every action and theta are uniform on the unit sphere.

    Args:
        dim: dimension of the actions.
        n_actions: number of actions in a round.
        noise: scale of the noise.
        noise_kind: ``"gaussian"`` or ``"rademacher"``.
        seed: seed of theta; the contexts follow the seed given to ``rounds``.

    Example:
        >>> instance = sphere(dim=2, n_actions=3, noise=0.0)
        >>> actions, means, rewards = instance.rounds(0, 4, seed=1)
        >>> bool(np.allclose(actions @ instance.theta, rewards))
        True
    """
    dim = check.count("dim", dim)
    n_actions = check.count("n_actions", n_actions)
    theta = _on_sphere(np.random.default_rng(check.count("seed", seed, least=0)), (dim,))
    return _Sphere("sphere", dim, n_actions, theta=theta, noise=noise, noise_kind=noise_kind)


def _on_sphere(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    points = rng.standard_normal(shape)
    points /= np.sqrt(np.einsum("...d,...d->...", points, points))[..., None]
    return points
