"""Linear MDPs with finitely many states, checked against the assumption of the theorems."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from unipac._arrays import Array
from unipac.envs.arrays import read_only
from unipac.envs.mdps import tables
from unipac.envs.mdps.finite_mdp import PLACES, FiniteMDP

NORM_TOLERANCE = 1e-6
LINEAR_TOLERANCE = 1e-8
MOST_ENUMERATED = 16


class LinearMDP(FiniteMDP):
    """An episodic MDP with finitely many states, linear in given features, that knows its optimum.

    A `FiniteMDP` with features. Transitions are (H, S, A, S), or (S, A, S) with ``horizon`` for all stages
    alike, and rewards (H, S, A) or (S, A); stage h is entry h - 1 of the arrays. The
    reward r_h(s, a) is deterministic. The constructor verifies Assumption 1 of He, Zhou and Gu (2021)
    and says in a ``ValueError`` which part fails, and where:

    - each P_h(. | s, a) and the initial distribution are non-negative and sum to one, up to 1e-9;
    - rewards are in [0, 1];
    - features have norm at most 1, up to 1e-6;
    - linearity: there are measures θ_h and vectors μ_h with P_h(s' | s, a) = <φ(s, a), θ_h(s')> and
      r_h(s, a) = <φ(s, a), μ_h>, with an error of at most 1e-8 in each entry;
    - |μ_h| ≤ √d;
    - |Σ_s' V(s') θ_h(s')| ≤ √d for all V with values in [-1, 1]. (The paper bounds |θ_h(S)| only, the
      case V = 1; its proofs use this form.)

    θ_h and μ_h are the solutions of smallest norm, for which both bounds hold if they hold for any
    solution. The last bound is accepted if Σ_s' |θ_h(s')|, the norm of the vector Σ_s' |θ_h(s')| taken
    componentwise (exact for measures without negative entries) or |θ_h| √S with the spectral norm is at
    most √d. Otherwise the maximum is computed over all signs, if at most 16 states have θ_h(s') ≠ 0. For
    more states the MDP is refused unless ``measures`` is given and meets one of these conditions.

    Attributes:
        features: φ, (S, A, d). All arrays are float64 and read-only.
        measures: θ, (H, d, S).
        weights: μ, (H, d).
        dim: dimension d of the features.

    All attributes of `FiniteMDP` are there, too.

    Example:
        >>> mdp = LinearMDP(
        ...     features=[[[1, 0], [0, 1]]],  # one state, two actions
        ...     transitions=[[[[1], [1]]]],
        ...     rewards=[[[0.25, 0.75]]],
        ...     initial=[1],
        ... )
        >>> mdp
        <linear-mdp: 1 states, 2 actions, horizon 1, dimension 2>
        >>> mdp.optimal_value()
        array([0.75])
    """

    _may_pay_on_arrival = False

    def __init__(
        self,
        features: ArrayLike,
        transitions: ArrayLike,
        rewards: ArrayLike,
        initial: ArrayLike,
        *,
        name: str = "linear-mdp",
        measures: ArrayLike | None = None,
        horizon: int | None = None,
    ) -> None:
        self.features = tables.array("features", features, ("S", "A", "d"))
        n_states, n_actions, self.dim = self.features.shape
        self._pair = (n_states, n_actions)
        super().__init__(transitions, rewards, initial, horizon, name=name)
        paid = self.reward_tables
        tables.refuse("rewards", (paid < 0) | (paid > 1), "in [0, 1]", paid, self._places(paid))
        norms = np.linalg.norm(self.features, axis=2)
        tables.refuse("features", norms > 1 + NORM_TOLERANCE, "of norm at most 1", norms, PLACES[1:])

        rows = self.features.reshape(-1, self.dim)
        one_hot = len(rows) == self.dim and np.array_equal(rows, np.eye(self.dim))
        self._weights = _solved(rows, paid[..., None], one_hot)[:, :, 0]
        if measures is None:
            self._measures = _solved(rows, self.tables, one_hot)
        else:
            shape = (self.horizon, self.dim, self.n_states)
            self._measures = tables.array("measures", measures, shape)
        if not one_hot or measures is not None:
            self._check_linearity(rows, "transitions" if measures is None else "measures")
        self._check_bounds()

    def _size(self) -> str:
        return f"{super()._size()}, dimension {self.dim}"

    @property
    def measures(self) -> Array:
        """θ, (H, d, S)."""
        return self._all_stages(self._measures)

    @property
    def weights(self) -> Array:
        """μ, (H, d)."""
        return self._all_stages(self._weights)

    def _check_linearity(self, rows: Array, name: str) -> None:
        expected = f"linear in the features (error at most {LINEAR_TOLERANCE:g})"
        for h, measure in enumerate(self._measures):
            P = self.tables[min(h, len(self.tables) - 1)]
            errors = np.abs((rows @ measure).reshape(P.shape) - P)
            stage = h if len(self._measures) == self.horizon else None
            self._refuse_errors(name, errors, expected, stage, (*PLACES[1:], "next state"))
        for h, weight in enumerate(self._weights):
            r = self.reward_tables[h]
            errors = np.abs((rows @ weight).reshape(r.shape) - r)
            stage = h if len(self._weights) == self.horizon else None
            self._refuse_errors("rewards", errors, expected, stage, PLACES[1:])

    @staticmethod
    def _refuse_errors(
        name: str, errors: Array, expected: str, stage: int | None, places: tuple[str, ...]
    ) -> None:
        too_large = errors > LINEAR_TOLERANCE
        if stage is None or not too_large.any():
            tables.refuse(name, too_large, expected, errors, places, "an error of ")
            return
        before = np.zeros((stage, *errors.shape))  # so that the place found has the stage in front
        whole = np.concatenate([before, errors[None]])
        tables.refuse(name, whole > LINEAR_TOLERANCE, expected, whole, (PLACES[0], *places), "an error of ")

    def _check_bounds(self) -> None:
        """|μ_h| and the integrals of θ_h against [-1, 1]-valued functions are at most √d."""
        limit = math.sqrt(self.dim)
        slack = limit * (1 + LINEAR_TOLERANCE)
        norms = np.linalg.norm(self._weights, axis=1)
        expected = f"of norm at most √d = {limit:.6g}"
        place = self._places(self._weights)[:1]
        tables.refuse("weights of the rewards", norms > slack, expected, norms, place)
        for h, measure in enumerate(self._measures):
            if h > 0 and np.array_equal(measure, self._measures[h - 1]):
                continue
            lower, upper = largest_integral(measure, slack)
            if upper <= slack:
                continue
            where = f" at stage {h + 1}" if len(self._measures) == self.horizon else ""
            rule = f"|Σ V(s') θ_h(s')| <= √d = {limit:.6g} for all |V| <= 1 (Assumption 1)"
            if lower > slack:
                raise ValueError(f"transitions{where} must satisfy {rule}, got {lower:.6g} for some V")
            raise ValueError(
                f"transitions{where} must satisfy {rule}, which could not be decided: the maximum is "
                f"between {lower:.6g} and {upper:.6g}; give measures= for which a simple bound holds"
            )


def largest_integral(measure: Array, enough: float) -> tuple[float, float]:
    """Bounds on the largest |Σ_s V(s) θ(s)| over all V with values in [-1, 1].

    Args:
        measure: θ, (d, S).
        enough: an upper bound this small is not improved.

    Returns:
        A lower and an upper bound. They are equal, up to rounding, if the upper one exceeds ``enough`` and
        at most 16 columns are not zero.
    """
    lengths = np.linalg.norm(measure, axis=0)
    columns = measure[:, lengths > 0]
    count = columns.shape[1]
    upper = min(float(lengths.sum()), float(np.linalg.norm(np.abs(columns).sum(axis=1))))
    if upper > enough:
        upper = min(upper, float(np.linalg.norm(columns, 2)) * math.sqrt(count))
    if upper > enough and count <= MOST_ENUMERATED:
        codes = np.arange(2 ** (count - 1))[:, None]  # the last sign is +: V and -V give the same norm
        signs = 1.0 - 2.0 * (codes >> np.arange(count) & 1)
        exact = float(np.linalg.norm(signs @ columns.T, axis=1).max())
        return exact, exact
    signs = np.ones(count)
    for _ in range(20):  # each step increases |θV|, a convex function of V
        signs = np.where(columns.T @ (columns @ signs) < 0, -1.0, 1.0)
    lower = max(float(np.linalg.norm(columns.sum(axis=1))), float(np.linalg.norm(columns @ signs)))
    return min(lower, upper), upper


def _solved(rows: Array, target: Array, one_hot: bool) -> Array:
    """What is linear in the features with the smallest norm, (T, d, n), for the targets (T, S, A, n)."""
    flat = target.reshape(len(target), len(rows), -1)
    if one_hot:
        return read_only(flat)
    columns = flat.transpose(1, 0, 2).reshape(len(rows), -1)
    solution = np.linalg.lstsq(rows, columns)[0].reshape(rows.shape[1], len(target), -1)
    return read_only(solution.transpose(1, 0, 2))
