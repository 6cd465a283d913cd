"""Bounds on ⟨x, θ⟩ over the ellipsoid of all data cut with the ball ‖θ‖ ≤ S (Flynn et al. 2023).

    ucb(x) = max{⟨x, θ⟩: ‖θ − w‖_Σ ≤ β, ‖θ‖ ≤ S},  lcb(x) the minimum

μ* is in both, so it is in their intersection: certificates stay true and become smaller. It costs d³ and a bisection
for each action.

Every mixture (1 − t)(‖θ − w‖²_Σ − β²) + t (‖θ‖² − S²) ≤ 0 of their inequalities is an ellipsoid that holds both, with
a closed-form maximum; the least of these over t is the answer (strong duality). At that t its maximiser lies on both
boundaries, so t is found by bisection on ‖θ‖ − S.
"""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import jit
from unipac.linalg import ridge

Bounds = tuple[Array, Array, Array, Array]
"""Mean, width, ucb and lcb of every action."""

BISECTIONS = 90
"""Enough to halve the range of log(t/(1 − t)), about 100 wide, down to rounding."""


def bounds(rows: Array, radius: float, norm: float, X: Array) -> tuple[Bounds, bool]:
    """The bounds of every row of X, and whether ellipsoid and ball meet; if not, no parameter is left."""
    out = np.empty((4, len(X)))
    meets = bound_all(rows, radius, norm, X, out)
    return (out[0], out[1], out[2], out[3]), meets


def covers(rows: Array, radius: float, norm: float, truth: Array) -> bool:
    """Whether the truth is in ellipsoid and ball."""
    inside = ridge.distance(rows, truth) <= radius
    return bool(inside and np.linalg.norm(truth) <= norm * (1.0 + 1e-9))


@jit
def axes(rows: Array) -> tuple[Array, Array, Array]:
    """Σ = V diag(λ_i) Vᵀ from the singular values of R: the λ_i, Vᵀ, and the estimate Vᵀw."""
    d = rows.shape[0]
    R = np.zeros((d, d))
    for i in range(d):
        for j in range(i, d):
            R[i, j] = rows[i, j + 1]
    Q, s, Vt = np.linalg.svd(R)
    return s * s, Vt, np.dot(Q.T, np.ascontiguousarray(rows[:, d + 1])) / s


@jit
def support(eigenvalues: Array, centre: Array, beta: float, norm: float, x: Array) -> tuple[float, bool]:
    """Max ⟨x, θ⟩ over θ in ellipsoid and ball, in the axes of the ellipsoid; whether they intersect."""
    length2 = np.dot(x, x)
    if length2 == 0.0:
        return 0.0, True
    value, size2, _ = _mixed(eigenvalues, centre, beta, norm, x, 1.0, 0.0)
    if size2 <= norm * norm:
        return value, True
    tip = x * (norm / math.sqrt(length2))
    if np.sum(eigenvalues * (tip - centre) ** 2) <= beta * beta:
        return norm * math.sqrt(length2), True
    low = math.log(eigenvalues.min()) - 46.0
    high = math.log(eigenvalues.max()) + 46.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        ratio = math.exp(middle)
        value, size2, meets = _mixed(
            eigenvalues, centre, beta, norm, x, 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
        )
        if not meets:
            return value, False
        if size2 > norm * norm:
            low = middle
        else:
            high = middle
    return value, True


@jit
def _mixed(
    eigenvalues: Array,
    centre: Array,
    beta: float,
    norm: float,
    x: Array,
    a: float,
    b: float,
) -> tuple[float, float, bool]:
    """Over a (‖θ − w‖²_Σ − β²) + b (‖θ‖² − S²) ≤ 0: max ⟨x, θ⟩, ‖θ‖² at the maximum, whether there are such θ."""
    slack = a * beta * beta + b * norm * norm
    mean = 0.0
    width2 = 0.0
    for i in range(x.size):
        weight = a * eigenvalues[i] + b
        c_i = a * eigenvalues[i] * centre[i] / weight
        slack -= b * c_i * centre[i]
        mean += x[i] * c_i
        width2 += x[i] * x[i] / weight
    if slack < 0.0:
        return mean, 0.0, False
    size2 = 0.0
    for i in range(x.size):
        weight = a * eigenvalues[i] + b
        c_i = a * eigenvalues[i] * centre[i] / weight
        size2 += (c_i + math.sqrt(slack / width2) * x[i] / weight) ** 2
    return mean + math.sqrt(slack * width2), size2, True


@jit
def bound_all(rows: Array, beta: float, norm: float, X: Array, out: Array) -> bool:
    """Mean, width, ucb and lcb of every row of X, as rows of ``out``; whether ellipsoid and ball intersect.

    If they do not, the bounds are those of the ellipsoid alone.
    """
    eigenvalues, Vt, centre = axes(rows)
    consistent = True
    for k in range(X.shape[0]):
        mean, width2 = ridge.evaluate(rows, X[k])
        width = math.sqrt(width2)
        x = np.dot(Vt, X[k])
        upper, meets = support(eigenvalues, centre, beta, norm, x)
        lower, meets_too = support(eigenvalues, centre, beta, norm, -x)
        out[0, k], out[1, k], out[2, k], out[3, k] = mean, width, upper, -lower
        if not (meets and meets_too):
            out[2, k], out[3, k] = mean + beta * width, mean - beta * width
            consistent = False
    return consistent
