"""Rewards that are almost linear."""

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.bandits.contexts import _on_sphere, draw_on_sphere
from unipac.envs.bandits.instance import BanditInstance

_WAVES = 20.0
"""Frequency of the bias along its direction: high, so that the bias hardly moves a linear fit over the sphere."""


class _Misspecified(BanditInstance):
    linear: Array
    along: Array
    zeta: float

    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        if self.actions is None:
            draw_on_sphere(rng, actions.reshape(-1), self.dim, actions.size)
        else:
            actions[:] = self.actions
        means[:] = self._mean(actions)

    def _mean(self, actions: Array) -> Array:
        bias = np.cos(_WAVES * (actions @ self.along))
        return np.asarray(actions @ self.linear + self.zeta * bias)

    def _arm_means(self) -> Array:
        return super()._arm_means() if self.actions is None else self._mean(self.actions)


def misspecified(
    dim: int = 5,
    n_actions: int = 20,
    *,
    zeta: float = 0.1,
    fixed: bool = False,
    noise: float = 1.0,
    seed: int = 0,
) -> BanditInstance:
    """Mean rewards that are linear up to an error of at most ζ: ⟨x, θ⟩ + ζ cos(20 ⟨x, v⟩).

    θ, v and the actions are uniform on the unit sphere; the actions are drawn in every round, or once. If ζ > 0,
    the attribute `theta` is None, since results that assume linear rewards do not apply.

    Args:
        dim: dimension of the actions.
        n_actions: number of actions in a round.
        zeta: ζ ≥ 0, the largest distance between a mean reward and ⟨x, θ⟩.
        fixed: whether the actions are the same in every round.
        noise: standard deviation of the Gaussian noise.
        seed: seed of θ, v and fixed actions; the seed passed to ``rounds`` determines the contexts.

    Example:
        >>> instance = misspecified(dim=3, zeta=0.2, noise=0.0)
        >>> instance.theta is None, misspecified(dim=3, zeta=0.0).theta is None
        (True, False)
        >>> drawn, linear = instance.rounds(0, 50, seed=1), misspecified(dim=3, zeta=0.0).theta
        >>> bool(0.19 < abs(drawn.means - drawn.actions @ linear).max() <= 0.2)
        True
    """
    dim = check.count("dim", dim)
    n_actions = check.count("n_actions", n_actions)
    zeta = check.nonnegative("zeta", zeta)
    rng = np.random.default_rng(check.seed("seed", seed))
    linear, along, arms = (_on_sphere(rng, shape) for shape in ((dim,), (dim,), (n_actions, dim)))
    instance = _Misspecified(
        "misspecified",
        dim,
        n_actions,
        theta=None if zeta > 0 else linear,
        norm=1.0,
        actions=arms if fixed else None,
        noise=noise,
    )
    instance.linear, instance.along, instance.zeta = linear, along, zeta
    return instance
