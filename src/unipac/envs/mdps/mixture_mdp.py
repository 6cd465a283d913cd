"""Linear mixture MDPs with finitely many states: the law of the next state is a mixture of given features."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.arrays import read_only
from unipac.envs.mdps import tables
from unipac.envs.mdps.finite_mdp import FiniteMDP

ROUNDING = 1e-9
"""Probabilities may be below 0, and sums off 1, by so much: they are computed from features and weights."""


class MixtureMDP(FiniteMDP):
    """An episodic MDP with P_h(s' | s, a) = <φ(s, a, s'), θ_h>, that knows its optimum.

    A `FiniteMDP` whose transitions are linear in features of triples (s, a, s'). If φ(s, a, s') lists what d
    kernels say, P_1(s' | s, a) to P_d(s' | s, a), then θ_h are the weights of the mixture. The constructor
    verifies that features and weights make distributions, up to 1e-9, and says in a ``ValueError`` where
    they do not. What is below 0 or off 1 by rounding is set right.

    Args:
        features: φ, (S, A, S, d).
        weights: θ, (H, d), or (d,) with ``horizon`` for all stages alike.
        rewards: r, (H, S, A) or (S, A), in [0, 1].
        initial: distribution of the first state, (S,); by default all episodes start in state 0.
        horizon: number H of stages; needed with weights (d,).
        name: name of the instance.

    Attributes:
        features: φ, (S, A, S, d). All arrays are float64 and read-only.
        weights: θ, (H, d).
        dim: dimension d of the features.
        norm: the largest |θ_h|.

    All attributes of `FiniteMDP` are there, too.

    Example:
        >>> stay, go = np.eye(2), 1 - np.eye(2)  # two kernels, the same for both actions
        >>> features = np.stack([[stay, go], [go, stay]], axis=-1).transpose(1, 0, 2, 3)
        >>> mdp = MixtureMDP(features, [0.75, 0.25], rewards=[[0, 0], [1, 1]], horizon=2)
        >>> mdp
        <mixture-mdp: 2 states, 2 actions, horizon 2, dimension 2>
        >>> mdp.optimal_value()
        array([0.75, 1.75])
    """

    _may_pay_on_arrival = False

    def __init__(
        self,
        features: ArrayLike,
        weights: ArrayLike,
        rewards: ArrayLike,
        initial: ArrayLike | None = None,
        horizon: int | None = None,
        *,
        name: str = "mixture-mdp",
    ) -> None:
        self.features = tables.array("features", features, ("S", "A", "S", "d"))
        n_states, n_actions, _, self.dim = self.features.shape
        self._weights, H = _read_weights(weights, self.dim, horizon)
        tables.check_size(
            len(self._weights) * n_states**2 * n_actions, f"horizon = {H} and {n_states} states"
        )
        mixed = np.einsum("satd,hd->hsat", self.features, self._weights)
        places = ("stage" if len(mixed) == H else None, "state", "action")
        wrong = mixed < -ROUNDING
        tables.refuse("features and weights", wrong, "of mixtures >= 0", mixed, (*places, "next state"))
        sums = mixed.sum(axis=-1)
        off = np.abs(sums - 1.0) > ROUNDING
        tables.refuse("features and weights", off, "of mixtures with sum 1", sums, places, "the sum ")
        mixed = np.maximum(mixed, 0.0)
        mixed /= mixed.sum(axis=-1, keepdims=True)
        self._pair = (n_states, n_actions)
        super().__init__(mixed if len(mixed) > 1 else mixed[0], rewards, initial, H, name=name)
        paid = self.reward_tables
        tables.refuse("rewards", (paid < 0) | (paid > 1), "in [0, 1]", paid, self._places(paid))
        self.norm = float(np.linalg.norm(self._weights, axis=1).max())

    def _size(self) -> str:
        return f"{super()._size()}, dimension {self.dim}"

    @property
    def weights(self) -> Array:
        """θ, (H, d)."""
        return self._all_stages(self._weights)


def _read_weights(weights: ArrayLike, dim: int, horizon: int | None) -> tuple[Array, int]:
    """(H, d), or (1, d) where all stages have the same; and the horizon."""
    expected = f"(H, {dim}), or ({dim},) with horizon="
    raw = tables.numbers("weights", weights, expected)
    if raw.shape == (dim,) and horizon is not None:
        return tables.finite("weights", raw[None]), check.count("horizon", horizon)
    fits = raw.ndim == 2 and raw.shape[1] == dim and len(raw) > 0
    check.require(fits, "weights", f"of shape {expected}", raw.shape)
    check.require(horizon in (None, len(raw)), "horizon", f"{len(raw)} as that of the weights", horizon)
    return tables.finite("weights", raw), len(raw)


def model_ensemble(models: ArrayLike, f: ArrayLike | None = None) -> Array:
    """Features of MDPs that are mixtures of given models, with weights linear in f(s, a) (after Modi et al., 2020).

    P(s' | s, a) = Σ_k <w_k, f(s, a)> P_k(s' | s, a) is linear in φ(s, a, s') = vec(P_k(s' | s, a) f(s, a)^T).

    Args:
        models: P_k, distributions over s', (k, S, A, S).
        f: (S, A, m); by default the constant 1, m = 1, so that the weights are the same everywhere.

    Returns:
        φ, (S, A, S, k m), read-only; the entry of model i and of f's entry j is i m + j.

    Example:
        >>> left, right = [[[1, 0]], [[1, 0]]], [[[0, 1]], [[0, 1]]]   # two states, one action
        >>> model_ensemble([left, right])[0, 0]
        array([[1., 0.],
               [0., 1.]])
    """
    P = tables.array("models", models, ("k", "S", "A", "S"))
    tables.check_distributions("models", P, ("model", "state", "action"))
    pairs = P.shape[1:3]
    weights = np.ones((*pairs, 1)) if f is None else tables.array("f", f, (*pairs, "m"))
    product = np.einsum("ksat,sam->satkm", P, weights)
    return read_only(product.reshape(*product.shape[:3], -1))
