"""Linear MDPs with finitely many states, checked against the assumption of the theorems."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac.envs import planning
from unipac.envs.instance import FloatArray, read_only

SUM_TOLERANCE = 1e-9
NORM_TOLERANCE = 1e-6
LINEAR_TOLERANCE = 1e-8
MOST_ENUMERATED = 16

_PLACES = ("stage", "state", "action")


class LinearMDP:
    """An episodic MDP with finitely many states, linear in given features, that knows its optimum.

    Each of the H stages has its own transitions and rewards; stage h is entry h - 1 of the arrays. The
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
        name: name of the instance.
        features: φ, (S, A, d). All arrays are float64 in C order and read-only.
        transitions: P, (H, S, A, S).
        rewards: r, (H, S, A).
        initial: distribution of the first state, (S,).
        measures: θ, (H, d, S).
        weights: μ, (H, d).
        horizon: number H of stages.
        n_states: number S of states.
        n_actions: number A of actions, the same in all states.
        dim: dimension d of the features.

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

    def __init__(
        self,
        features: ArrayLike,
        transitions: ArrayLike,
        rewards: ArrayLike,
        initial: ArrayLike,
        *,
        name: str = "linear-mdp",
        measures: ArrayLike | None = None,
    ) -> None:
        self.name = name
        self.features = _array("features", features, ("S", "A", "d"))
        self.n_states, self.n_actions, self.dim = self.features.shape
        around = (self.n_states, self.n_actions)
        self.transitions = _array("transitions", transitions, ("H", *around, self.n_states))
        self.horizon = len(self.transitions)
        self.rewards = _array("rewards", rewards, (self.horizon, *around))
        self.initial = _array("initial", initial, (self.n_states,))

        _check_distributions("transitions", self.transitions, _PLACES)
        _check_distributions("initial", self.initial, ())
        _refuse("rewards", (self.rewards < 0) | (self.rewards > 1), "in [0, 1]", self.rewards, _PLACES)
        norms = np.linalg.norm(self.features, axis=2)
        _refuse("features", norms > 1 + NORM_TOLERANCE, "of norm at most 1", norms, _PLACES[1:])

        rows = self.features.reshape(-1, self.dim)
        one_hot = len(rows) == self.dim and np.array_equal(rows, np.eye(self.dim))
        found = self._solve(rows, one_hot)
        self.weights = read_only(found[:, :, -1])
        if measures is None:
            self.measures = read_only(found[:, :, :-1])
        else:
            self.measures = _array("measures", measures, (self.horizon, self.dim, self.n_states))
        if not one_hot or measures is not None:
            self._check_linearity(rows, "transitions" if measures is None else "measures")
        _check_bounds(self.measures, self.weights)
        self._optimum: planning.Optimum | None = None

    def __repr__(self) -> str:
        return (
            f"<{self.name}: {self.n_states} states, {self.n_actions} actions, "
            f"horizon {self.horizon}, dimension {self.dim}>"
        )

    def optimal_value(self) -> FloatArray:
        """V*_1, the best expected sum of rewards from each first state, (S,)."""
        first: FloatArray = self.optimal_values()[0]
        return first

    def optimal_values(self) -> FloatArray:
        """V* for all stages, (H + 1, S); the last row is 0."""
        return self._optimal().values

    def optimal_q(self) -> FloatArray:
        """Q*, (H, S, A)."""
        return self._optimal().q

    def _optimal(self) -> planning.Optimum:
        """The optimum, computed once; read-only."""
        if self._optimum is None:
            optimum = planning.optimal(self)
            for array in optimum:
                array.setflags(write=False)
            self._optimum = optimum
        return self._optimum

    def _solve(self, rows: FloatArray, one_hot: bool) -> FloatArray:
        """Measures and weights of smallest norm, (H, d, S + 1), by least squares; ``rows`` are features."""
        both = np.concatenate([self.transitions, self.rewards[..., None]], axis=3)
        target = both.reshape(self.horizon, len(rows), -1)
        if one_hot:
            return target
        flat = target.transpose(1, 0, 2).reshape(len(rows), -1)
        solution = np.linalg.lstsq(rows, flat)[0]
        return np.asarray(solution.reshape(self.dim, self.horizon, -1).transpose(1, 0, 2))

    def _check_linearity(self, rows: FloatArray, name: str) -> None:
        errors = np.abs((rows @ self.measures).reshape(self.transitions.shape) - self.transitions)
        expected = f"linear in the features (error at most {LINEAR_TOLERANCE:g})"
        _refuse(name, errors > LINEAR_TOLERANCE, expected, errors, (*_PLACES, "next state"), "an error of ")
        errors = np.abs((self.weights @ rows.T).reshape(self.rewards.shape) - self.rewards)
        _refuse("rewards", errors > LINEAR_TOLERANCE, expected, errors, _PLACES, "an error of ")


def largest_integral(measure: FloatArray, enough: float) -> tuple[float, float]:
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


def _check_bounds(measures: FloatArray, weights: FloatArray) -> None:
    """|μ_h| and the integrals of θ_h against [-1, 1]-valued functions are at most √d."""
    dim = measures.shape[1]
    limit = math.sqrt(dim)
    slack = limit * (1 + LINEAR_TOLERANCE)
    norms = np.linalg.norm(weights, axis=1)
    _refuse("weights of the rewards", norms > slack, f"of norm at most √d = {limit:.6g}", norms, _PLACES[:1])
    for h, measure in enumerate(measures):
        if h > 0 and np.array_equal(measure, measures[h - 1]):
            continue
        lower, upper = largest_integral(measure, slack)
        if upper <= slack:
            continue
        rule = f"|Σ V(s') θ_h(s')| <= √d = {limit:.6g} for all |V| <= 1 (Assumption 1)"
        if lower > slack:
            raise ValueError(f"transitions at stage {h + 1} must satisfy {rule}, got {lower:.6g} for some V")
        raise ValueError(
            f"transitions at stage {h + 1} must satisfy {rule}, which could not be decided: the maximum is "
            f"between {lower:.6g} and {upper:.6g}; give measures= for which a simple bound holds"
        )


def _check_distributions(name: str, array: FloatArray, places: Sequence[str]) -> None:
    _refuse(name, array < 0, "non-negative", array, (*places, "next state" if places else "state"))
    sums = array.sum(axis=-1)
    _refuse(name, np.abs(sums - 1) > SUM_TOLERANCE, "a distribution with sum 1", sums, places, "the sum ")


def _refuse(
    name: str, wrong: ArrayLike, expected: str, values: FloatArray, places: Sequence[str], kind: str = ""
) -> None:
    """Raise if an entry is wrong; say which one. ``places`` names the axes."""
    found = np.argwhere(np.atleast_1d(wrong))
    if len(found) == 0:
        return
    index = [int(number) for number in found[0]]
    value = float(np.atleast_1d(values)[tuple(index)])
    where = ", ".join(
        f"{place} {number + (place == 'stage')}" for place, number in zip(places, index, strict=False)
    )
    where = f" at {where}" if where else ""
    raise ValueError(f"{name}{where} must be {expected}, got {kind}{value:.10g}")


def _array(name: str, value: ArrayLike, shape: Sequence[int | str]) -> FloatArray:
    """A read-only copy of finite numbers; letters in the shape stand for any positive number."""
    expected = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    try:
        raw = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of shape {expected}, got a ragged one") from error
    check.require(raw.dtype.kind in "biuf", name, "an array of real numbers", raw.dtype)
    fits = raw.ndim == len(shape) and all(
        size > 0 if isinstance(wanted, str) else size == wanted
        for size, wanted in zip(raw.shape, shape, strict=False)
    )
    check.require(fits, name, f"of shape {expected}, not empty", raw.shape)
    array = read_only(raw)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        index = tuple(int(number) for number in wrong[0])
        raise ValueError(f"{name} must be finite, got {array[index]} at index {index}")
    return array
