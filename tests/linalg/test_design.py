"""Designs: against a general solver, against closed forms, and what they promise."""

import numpy as np
import pytest
from scipy.optimize import minimize

from unipac.linalg.design import Span, allocate, design, differences
from unipac.theory.identification import identification_time


def value_of(weights, X, Y):
    A = X.T @ (weights[:, None] * X)
    return ((Y @ np.linalg.pinv(A)) * Y).sum(axis=1).max()


def general_solver(X, Y):
    """min t such that ‖y‖² ≤ t for all targets, over the simplex, by SLSQP in (weights, t) from several starts."""
    n = len(X)
    best = np.inf
    rng = np.random.default_rng(0)
    for _ in range(4):
        start = rng.dirichlet(np.full(n, 5.0))

        def f(v):
            A = X.T @ (v[:n, None] * X) + 1e-12 * np.eye(X.shape[1])
            return ((Y @ np.linalg.inv(A)) * Y).sum(axis=1)

        def slope(v):
            A = X.T @ (v[:n, None] * X) + 1e-12 * np.eye(X.shape[1])
            return np.column_stack([((Y @ np.linalg.inv(A)) @ X.T) ** 2, np.ones(len(Y))])

        found = minimize(
            lambda v: v[n], np.append(start, f(start).max()), jac=lambda v: np.eye(n + 1)[n], method="SLSQP",
            bounds=[(1e-9, 1)] * n + [(0, None)], options={"maxiter": 500, "ftol": 1e-12},
            constraints=[
                {"type": "ineq", "fun": lambda v: v[n] - f(v), "jac": slope},
                {"type": "eq", "fun": lambda v: v[:n].sum() - 1, "jac": lambda v: np.append(np.ones(n), 0)},
            ],
        )  # fmt: skip
        w = np.maximum(found.x[:n], 0)
        best = min(best, value_of(w / w.sum(), X, Y))
    return best


def arms_on_sphere(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("tolerance", [0.05, 0.005])
@pytest.mark.parametrize(("n", "d"), [(4, 2), (8, 3), (12, 4), (7, 5)])
def test_designs_agree_with_a_general_solver(n, d, tolerance):
    X = arms_on_sphere(n, d, seed=n)
    for targets in (None, differences(X), (X[0] - X[1:]) * np.arange(1, n)[:, None]):
        found = design(X, targets, tolerance=tolerance)
        Y = X if targets is None else targets
        least = general_solver(X, Y)
        assert found.weights.sum() == pytest.approx(1)
        assert (found.weights >= 0).all()
        assert found.value == pytest.approx(value_of(found.weights, X, Y), rel=1e-9)
        assert found.value <= (1 + tolerance) * found.lower
        assert found.lower <= least * (1 + 1e-6)  # the certified bound is one
        assert found.value <= (1 + tolerance) * least * (1 + 1e-6)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 1), (3, 3), (40, 6), (300, 20)])
def test_g_optimal_designs_reach_the_rank(n, d):
    found = design(arms_on_sphere(n, d, seed=3) * np.linspace(0.2, 1, n)[:, None])
    assert found.lower == min(n, d)
    assert found.lower * (1 - 1e-9) <= found.value <= 1.05 * found.lower


def test_closed_forms():
    # Two orthogonal arms of lengths 1 and 2, target (1, 1): 1/λ1 + 1/(4 λ2) is least at λ ∝ (1, 1/2): (3/2)².
    found = design([[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0]], tolerance=1e-6)
    assert found.weights == pytest.approx([2 / 3, 1 / 3], abs=1e-3)
    assert found.value == pytest.approx(2.25, rel=1e-5)
    # One direction seen by two arms: all weight on the longer one.
    assert design([[1.0], [-3.0]]).weights.tolist() == [0, 1]


@pytest.mark.parametrize("targets", [None, "pairs"])
def test_rank_deficient_duplicates_and_zero(targets):
    X = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 1.0, 0], [0, 0, 0], [0.5, 0.5, 0]])
    found = design(X, None if targets is None else differences(X))
    assert found.value <= 1.05 * found.lower
    nothing = design(np.zeros((3, 2)), None if targets is None else differences(np.zeros((3, 2))))
    assert nothing.value == nothing.lower == 0
    assert nothing.weights.tolist() == [1, 0, 0]


def test_nearly_collinear_arms_are_no_harder():
    """Value and weights do not depend on the basis: (1, 0) and (1, η) are as good as (1, 0) and (0, 1)."""
    for eta in (1e-3, 1e-6):
        X = np.array([[1.0, 0.0], [1.0, eta]])
        found = design(X, differences(X), tolerance=1e-3)
        assert found.weights == pytest.approx([0.5, 0.5], abs=0.02)
        assert found.value == pytest.approx(4, rel=1e-3)  # 1/λ1 + 1/λ2
    span = Span.of(np.array([[1.0, 0.0], [1.0, 3e-9]]))
    assert span.rank == 1  # the difference lies outside, by its length: it becomes a bias, not a width
    assert span.residual(np.array([[0.0, 3e-9]]))[0] == pytest.approx(3e-9, rel=1e-6)


def test_rounding_up_is_never_worse():
    X = arms_on_sphere(30, 4, seed=1)
    found = design(X, differences(X))
    for pulls in (0.0, 1.0, 17.3, 1e4):
        counts = allocate(found.weights, pulls)
        assert ((counts > 0) == (found.weights > 0)).all()
        assert counts.sum() <= pulls + (found.weights > 0).sum()
        V = X.T @ (counts[:, None] * X)
        least = np.linalg.eigvalsh(V - pulls * X.T @ (found.weights[:, None] * X)).min()
        assert least >= -1e-9 * max(pulls, 1)


def test_bad_input():
    with pytest.raises(ValueError, match="targets must be in the span"):
        design([[1.0, 0.0]], [[0.0, 1.0]])
    with pytest.raises(ValueError, match="arms must be finite"):
        design([[np.nan]])
    with pytest.raises(ValueError, match="arms must be of shape"):
        design([1.0])


def soare(angle):
    X = np.eye(6, 5)
    X[5, :2] = np.cos(angle), np.sin(angle)
    return X


@pytest.mark.parametrize("angle", [0.3, 0.1, 0.5])
def test_identification_time_of_the_instance_of_soare(angle):
    X = soare(angle)
    found = identification_time(X, np.eye(5)[0], 0.05)
    gaps = 1 - X[1:, 0]
    general = 2 * general_solver(X, (X[0] - X[1:]) / gaps[:, None])
    assert found.time == pytest.approx(general, rel=2e-3)
    assert found.pulls <= found.time * np.log(1 / 0.12)
    assert found.pulls == pytest.approx(found.time * np.log(1 / 0.12), rel=2e-3)


def test_identification_time_scales_and_refuses_ties():
    X, theta = soare(0.3), np.eye(5)[0]
    one, half = identification_time(X, theta, 0.05), identification_time(X, theta, 0.05, noise=0.5)
    assert half.pulls == pytest.approx(one.pulls / 4, rel=1e-9)
    assert identification_time([[1.0, 2.0]], [1.0, 0.0], 0.1).pulls == 0
    with pytest.raises(ValueError, match="one is better than all others"):
        identification_time([[1.0], [1.0]], [1.0], 0.05)
