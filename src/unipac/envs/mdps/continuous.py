"""Linear MDPs with states in the unit cube: mixtures of known laws, with values by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from scipy.stats import beta

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.arrays import read_only

CELLS = {1: 2000, 2: 120, 3: 30}
"""Cells of the quadrature along each coordinate, by the number of coordinates."""
TOLERANCE = 1e-9

Chooser = Callable[[int, Array], NDArray[np.int64]]
"""A policy: from the stage, from 1, and features (n, A, d) to actions (n,)."""


class ContinuousMDP:
    """An episodic MDP with states in [0, 1]^k whose next states come from a mixture of d known laws.

    The next state has the law Σ_j φ_j(s, a) ν_j, where every ν_j is a product of Beta laws, and the reward is
    ⟨φ(s, a), μ_h⟩, deterministic. So it is linear in φ, and every coordinate of φ is a law of next states: agents may
    be told ``mixture=True``.

    Values are integrals over cells of equal size, each with its exact mass, of the values at their centres. ``error``
    says how much that may be wrong.

    Attributes:
        horizon: H.
        n_actions: A.
        dim: d.
        n_coordinates: k.
        components: (d, k, 2), the parameters of the Beta laws.
        weights: μ, (H, d), in [0, 1].
        initial: (k,), the first state of every episode.
        feature_map: from an observation to φ, (A, d); what agents take.

    Args:
        features: from states (n, k) to φ, (n, A, d), non-negative with sums of 1.
        components: (d, k, 2).
        weights: (H, d).
        initial: (k,).
        name: for messages.

    Example:
        >>> mdp = continuous_swim(dim=3, horizon=3)
        >>> mdp
        <continuous_swim: [0, 1]^1, 3 actions, horizon 3, dimension 3>
        >>> mdp.optimal_value(), mdp.error() < 1e-3
        (0.721, True)
        >>> mdp.feature_map([0.5]).shape
        (3, 3)
    """

    def __init__(
        self,
        features: Callable[[Array], Array],
        components: ArrayLike,
        weights: ArrayLike,
        initial: ArrayLike,
        *,
        name: str = "continuous-mdp",
    ) -> None:
        self.components = read_only(np.array(components, dtype=np.float64))
        sound = self.components.ndim == 3 and self.components.shape[2] == 2 and self.components.size > 0
        check.require(sound, "components", "of shape (d, k, 2)", self.components.shape)
        positive = bool((np.isfinite(self.components) & (self.components > 0.0)).all())
        check.require(positive, "components", "positive and finite", components)
        self.dim, self.n_coordinates = self.components.shape[:2]
        few = f"of at most {max(CELLS)} coordinates"
        check.require(self.n_coordinates in CELLS, "components", few, self.n_coordinates)
        self.weights = read_only(np.array(weights, dtype=np.float64))
        sound = self.weights.ndim == 2 and self.weights.shape[1] == self.dim and len(self.weights) > 0
        check.require(sound, "weights", f"of shape (H, {self.dim})", self.weights.shape)
        within = bool(((self.weights >= 0.0) & (self.weights <= 1.0)).all())
        check.require(within, "weights", "in [0, 1]", weights)
        self.horizon = len(self.weights)
        self.initial = read_only(self._state("initial", initial).copy())
        self._features, self.name = features, name
        first = self.features_of(self.initial[None])
        self.n_actions = first.shape[1]
        self.feature_map = MixtureFeatures(self)
        self._nodes: dict[int, tuple[Array, Array, Array]] = {}

    def __repr__(self) -> str:
        return (
            f"<{self.name}: [0, 1]^{self.n_coordinates}, {self.n_actions} actions, "
            f"horizon {self.horizon}, dimension {self.dim}>"
        )

    def _state(self, name: str, state: ArrayLike) -> Array:
        array = np.atleast_1d(np.asarray(state, dtype=np.float64))
        inside = array.shape == (self.n_coordinates,) and bool(((array >= 0.0) & (array <= 1.0)).all())
        check.require(inside, name, f"{self.n_coordinates} numbers in [0, 1]", state)
        return array

    def features_of(self, states: Array) -> Array:
        """φ of states (n, k), (n, A, d), checked."""
        phi = np.asarray(self._features(states), dtype=np.float64)
        sound = phi.ndim == 3 and phi.shape[::2] == (len(states), self.dim) and phi.shape[1] > 0
        check.require(sound, "features", f"of shape (n, A, {self.dim})", phi.shape)
        laws = bool((phi >= 0.0).all()) and bool((np.abs(phi.sum(axis=2) - 1.0) <= TOLERANCE).all())
        check.require(laws, "features", "non-negative with sums of 1", (phi.min(), phi.sum(axis=2).max()))
        return phi

    def sample(
        self, stage: int, state: ArrayLike, action: int, rng: np.random.Generator
    ) -> tuple[float, Array]:
        """Reward and next state of an action at a stage, from 1."""
        h = check.count("stage", stage, most=self.horizon) - 1
        a = check.count("action", action, least=0, most=self.n_actions - 1)
        phi = self.features_of(self._state("state", state)[None])[0, a]
        j = min(int(np.searchsorted(np.cumsum(phi), rng.random(), side="right")), self.dim - 1)
        following = rng.beta(self.components[j, :, 0], self.components[j, :, 1])
        return float(phi @ self.weights[h]), following

    def episodes(
        self, choose: Chooser, starts: Array, uniforms: Array
    ) -> tuple[Array, NDArray[np.int64], Array]:
        """Many episodes at once, from first states (n, k), with uniform random numbers (n, H (1 + k)).

        Args:
            choose: from the stage, from 1, and features (n, A, d) to actions (n,).
            starts: first states.
            uniforms: of each stage one number for the law of the next state, and k for the state.

        Returns:
            Features (n, H + 1, A, d) of all states, actions and rewards (n, H).

        Example:
            >>> mdp = continuous_swim(dim=3, horizon=2)
            >>> always = lambda stage, features: np.zeros(len(features), dtype=np.int64)
            >>> phi, actions, rewards = mdp.episodes(always, np.array([[0.3]]), np.full((1, 4), 0.5))
            >>> phi.shape, rewards.round(3).tolist()
            ((1, 3, 3, 3), [[0.132, 0.14]])
        """
        n, H, k = len(starts), self.horizon, self.n_coordinates
        drawn = uniforms.reshape(n, H, 1 + k)
        phi = np.empty((n, H + 1, self.n_actions, self.dim))
        actions, rewards = np.empty((n, H), dtype=np.int64), np.empty((n, H))
        rows, states = np.arange(n), starts
        for h in range(H):
            phi[:, h] = self.features_of(states)
            actions[:, h] = choose(h + 1, phi[:, h])
            taken = phi[rows, h, actions[:, h]]
            rewards[:, h] = np.einsum("nd,d->n", taken, self.weights[h])
            law = (np.cumsum(taken, axis=1) <= drawn[:, h, :1]).sum(axis=1)
            law = np.minimum(law, self.dim - 1)
            states = betaincinv(self.components[law, :, 0], self.components[law, :, 1], drawn[:, h, 1:])
        phi[:, H] = self.features_of(states)
        return phi, actions, rewards

    # -- values --------------------------------------------------------------------------------

    def _quadrature(self, cells: int) -> tuple[Array, Array, Array]:
        """Centres of cells (n, k), their masses (d, n), and φ there (n, A, d)."""
        if cells not in self._nodes:
            edges = np.linspace(0.0, 1.0, cells + 1)
            a, b = self.components[:, :, 0, None], self.components[:, :, 1, None]
            along = np.diff(beta.cdf(edges, a, b), axis=2)  # (d, k, cells)
            mass = along[:, 0]
            for i in range(1, self.n_coordinates):
                mass = (mass[:, :, None] * along[:, i, None, :]).reshape(self.dim, -1)
            centre = (edges[1:] + edges[:-1]) / 2
            grid = np.stack(np.meshgrid(*[centre] * self.n_coordinates, indexing="ij"), axis=-1)
            nodes = grid.reshape(-1, self.n_coordinates)
            self._nodes[cells] = nodes, mass, self.features_of(nodes)
        return self._nodes[cells]

    def q_weights(self, choose: Chooser | None = None, *, cells: int | None = None) -> Array:
        """Weights (H, d) of Q_h, of a policy given by stages and features (n, A, d), or of the best one.

        Example:
            >>> mdp = continuous_swim(dim=3, horizon=2)
            >>> float((mdp.feature_map(mdp.initial) @ mdp.q_weights()[0]).max()) == mdp.optimal_value()
            True
        """
        _, mass, phi = self._quadrature(self._cells(cells))
        theta = np.zeros((self.horizon, self.dim))
        following = np.zeros(self.dim)
        for h in range(self.horizon - 1, -1, -1):
            theta[h] = self.weights[h] + following
            Q = phi @ theta[h]
            action = Q.argmax(axis=1) if choose is None else choose(h + 1, phi)
            following = mass @ np.take_along_axis(Q, action[:, None], axis=1)[:, 0]
        return theta

    def optimal_value(self, state: ArrayLike | None = None, *, cells: int | None = None) -> float:
        """V*_1 of a first state, by default of ``initial``."""
        phi = self._first(state)
        return float((phi @ self.q_weights(cells=cells)[0]).max())

    def policy_value(
        self, policy: Callable[[Array, int], int], state: ArrayLike | None = None, *, cells: int | None = None
    ) -> float:
        """The value of a policy, (observation, stage from 1) to action, from a first state."""
        start = self.initial if state is None else self._state("state", state)

        nodes, many = self._quadrature(self._cells(cells))[0], getattr(policy, "many", None)

        def choose(stage: int, phi: Array) -> NDArray[np.int64]:
            if many is not None:
                return np.asarray(many(phi, stage), dtype=np.int64)
            return np.array([policy(node, stage) for node in nodes], dtype=np.int64)

        theta = self.q_weights(choose, cells=cells)
        return float(self._first(state)[policy(start, 1)] @ theta[0])

    def error(self) -> float:
        """How much V* from ``initial`` changes if there are half as many cells along each coordinate."""
        cells = CELLS[self.n_coordinates]
        return abs(self.optimal_value() - self.optimal_value(cells=cells // 2))

    def _cells(self, cells: int | None) -> int:
        return CELLS[self.n_coordinates] if cells is None else check.count("cells", cells)

    def _first(self, state: ArrayLike | None) -> Array:
        start = self.initial if state is None else self._state("state", state)
        return np.asarray(self.features_of(start[None])[0])


class MixtureFeatures:
    """From an observation of a ``ContinuousMDP`` to φ, (A, d)."""

    def __init__(self, mdp: ContinuousMDP) -> None:
        self._mdp = mdp
        self.n_actions, self.dim = mdp.n_actions, mdp.dim

    def __call__(self, observation: Any) -> Array:
        """φ of all actions."""
        mdp = self._mdp
        return np.asarray(mdp.features_of(mdp._state("observation", observation)[None])[0])


def _hats(places: Array, dim: int) -> Array:
    """Weights (..., d) of linear interpolation between d equidistant centres of [0, 1]."""
    scaled = np.clip(places, 0.0, 1.0) * (dim - 1)
    return np.maximum(0.0, 1.0 - np.abs(scaled[..., None] - np.arange(dim)))


def continuous_swim(dim: int = 5, horizon: int = 4) -> ContinuousMDP:
    """A river without states of its own: the swimmer is anywhere in [0, 1].

    - Laws: d Beta laws around equidistant places.
    - Actions: 0 drifts left, 1 stays, 2 swims right, which succeeds with probability .35 and fails with .1; with
      probability .15 any of the laws comes.
    - Rewards: 1 at the right end, .1 at the left one, in proportion to the weights of the outer laws.
    - Every episode starts at .3. For d = 5 and H = 4, V*_1 = .63.

    Args:
        dim: d, at least 2.
        horizon: H.

    Example:
        >>> continuous_swim().optimal_value()
        0.63
    """
    d, H = check.count("dim", dim, least=2), check.count("horizon", horizon)

    def features(states: Array) -> Array:
        s = states[:, 0]
        left, here, right = (_hats(s + move, d) for move in (-0.25, 0.0, 0.25))
        moves = np.stack([left, here, 0.35 * right + 0.55 * here + 0.1 * left], axis=1)
        return np.asarray(0.85 * moves + 0.15 / d)

    centre = np.linspace(0.0, 1.0, d)
    components = np.stack([1.0 + 12.0 * centre, 13.0 - 12.0 * centre], axis=1)[:, None]
    weights = np.zeros((H, d))
    weights[:, -1], weights[:, 0] = 1.0, 0.1
    return ContinuousMDP(features, components, weights, [0.3], name="continuous_swim")


def random_continuous(
    dim: int = 5, n_actions: int = 4, horizon: int = 4, seed: int = 0, n_coordinates: int = 1
) -> ContinuousMDP:
    """Random smooth weights of random Beta laws.

    - Features: a softmax of random waves over [0, 1]^k, for each action.
    - Laws: products of Beta(a, b) with a, b uniform in [1, 9].
    - Rewards: μ_h uniform in [0, 1]^d.
    - Every episode starts at (.5, ..., .5).

    Args:
        dim: d.
        n_actions: A.
        horizon: H.
        seed: seed of the MDP.
        n_coordinates: k, at most 3.

    Example:
        >>> random_continuous(dim=3, n_actions=2, horizon=2, n_coordinates=2)
        <random_continuous: [0, 1]^2, 2 actions, horizon 2, dimension 3>
    """
    d, A, H = check.count("dim", dim), check.count("n_actions", n_actions), check.count("horizon", horizon)
    k = check.count("n_coordinates", n_coordinates, most=max(CELLS))
    rng = np.random.default_rng(check.seed("seed", seed))
    height, phase = 1.2 * rng.standard_normal((A, d, k, 4)), 2.0 * np.pi * rng.random((A, d, k, 4))
    components, weights = 1.0 + 8.0 * rng.random((d, k, 2)), rng.random((H, d))

    def features(states: Array) -> Array:
        waves = np.pi * np.arange(4) * states[:, None, None, :, None] + phase
        scores = (height * np.cos(waves)).sum(axis=(3, 4))
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        return np.asarray(scores / scores.sum(axis=2, keepdims=True))

    return ContinuousMDP(features, components, weights, np.full(k, 0.5), name="random_continuous")
