"""Optimal designs: how to spread pulls over arms so that some directions become known soon.

A design is a vector of weights λ on the arms. With A(λ) = Σ λ_x xxᵀ and N pulls spread as λ says, the variance
of ⟨θ̂, y⟩ is ‖y‖²_{A(λ)⁻¹}/N. The value of a design is max_{y ∈ Y} ‖y‖²_{A(λ)⁻¹} over the targets Y.

    targets            least value                          solver
    the arms           their rank (Kiefer-Wolfowitz)        Frank-Wolfe with away steps on log det A (Atwood)
    any others         unknown, bounded from below          quasi-Newton steps on a p-norm, p growing

The lower bound needs no optimality: for any q ≥ 0 on Y with Σ q = 1 let f_q = Σ q_y ‖y‖²_{A⁻¹} and
G_x = Σ q_y (xᵀA⁻¹y)². As a function of λ' ≥ 0 the sum is convex and falls as 1/c when λ' is multiplied by c, so
f_q(cλ') ≥ f_q + ⟨∇, cλ' − λ⟩ = 2 f_q − c Σ λ'_x G_x, hence f_q(λ') ≥ c (2 f_q − c max G) for every c; the best is
c = f_q/max G. So no weights have a value below f_q²/max_x G_x. Solvers stop when value ≤ (1 + tolerance) lower.

All of this is invariant under changes of basis. ``Span`` provides the one basis in which everything is
computed: arms that look collinear in theirs are well conditioned in it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import floats
from unipac._jit import jit

RANK = 1e-8
"""Directions in which the arms reach less far than this, relative to the widest, do not belong to their span."""

_POWERS = [8.0 * 4.0**i for i in range(9)]
_OPTIONS = {"maxiter": 300, "ftol": 1e-15, "gtol": 1e-9}
_MOST_STEPS = 200_000
_RENEW_EVERY = 200
"""Steps of Frank-Wolfe until what was updated is computed anew."""


class Design(NamedTuple):
    """Weights on arms, and how good they are."""

    weights: Array
    """(n,): λ, nonnegative, of sum one."""
    value: float
    """max over the targets of ‖y‖²_{A(λ)⁻¹}."""
    lower: float
    """No weights have a value below this."""


class Span(NamedTuple):
    """What the arms can tell: an orthonormal basis of their span, scaled so that uniform weights give I/n.

    >>> span = Span.of(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.5]]))
    >>> span.rank, span.residual(np.array([[1.0, 3.0, 1.0]]))
    (2, array([3.]))
    """

    arms: Array
    """(n, r): the arms in this basis, orthonormal columns."""
    basis: Array
    """(d, r): orthonormal."""
    scale: Array
    """(r,): how far the arms reach along each vector of the basis."""

    @classmethod
    def of(cls, arms: Array) -> Span:
        """The span of the rows; they must be finite."""
        left, scale, right = np.linalg.svd(arms, full_matrices=False)
        rank = int((scale > RANK * scale[0]).sum()) if scale[0] > 0 else 0
        return cls(np.ascontiguousarray(left[:, :rank]), right[:rank].T, scale[:rank])

    @property
    def rank(self) -> int:
        """The dimension r of the span."""
        return len(self.scale)

    def coordinates(self, Y: Array) -> Array:
        """(m, r): the part of each row that lies in the span, in this basis."""
        return np.asarray(Y @ self.basis / self.scale)

    def residual(self, Y: Array) -> Array:
        """(m,): how far each row lies outside the span; no pull tells anything about that part."""
        return np.asarray(np.linalg.norm(Y - Y @ self.basis @ self.basis.T, axis=1))


def design(arms: ArrayLike, targets: ArrayLike | None = None, *, tolerance: float = 0.05) -> Design:
    """Weights on the arms (n, d) whose value is at most 1 + tolerance times the least possible.

    Args:
        arms: (n, d), what can be pulled.
        targets: (m, d), what shall become known: directions within the span of the arms. The arms themselves if
            not given (G-optimal design). For pairs of arms see ``differences``; a direction that matters more is
            given longer.
        tolerance: how far from optimal, relatively.

    >>> design([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]).value      # Kiefer-Wolfowitz: the rank
    2.0
    >>> d = design([[1.0, 0.0], [0.0, 1.0]], [[3.0, 4.0]], tolerance=1e-6)   # λ ∝ |y_i|: value (3 + 4)²
    >>> np.round(d.weights * 7, 2), round(d.value, 3)
    (array([3., 4.]), 49.0)
    """
    X = _rows("arms", arms)
    tolerance = check.positive("tolerance", tolerance)
    span = Span.of(X)
    if targets is None:
        return g_optimal(span.arms, tolerance)
    Y = _rows("targets", targets)
    check.require(Y.shape[1] == X.shape[1], "targets", f"of shape (m, {X.shape[1]}) as the arms", Y.shape)
    outside = span.residual(Y)
    reach = 2.0 * RANK * (np.linalg.norm(Y, axis=1) + (span.scale[0] if span.rank else 0.0))
    inside = bool((outside <= reach).all())
    check.require(inside, "targets", "in the span of the arms", float(outside.max(initial=0.0)))
    return optimal(span.arms, span.coordinates(Y), tolerance)


def differences(Z: Array) -> Array:
    """z_i − z_j for all i < j, (m, d).

    >>> differences(np.array([[3.0], [1.0], [0.0]]))
    array([[2.], [3.], [1.]])
    """
    i, j = np.triu_indices(len(Z), k=1)
    return np.asarray(Z[i] - Z[j])


def allocate(weights: Array, pulls: float) -> NDArray[np.int64]:
    """⌈λ_x N⌉ pulls of each arm, at least one of each in the support: then V ⪰ N A(λ), at ≤ |support| more.

    >>> allocate(np.array([0.5, 0.25, 0.25, 0.0]), 5.0)
    array([3, 2, 2, 0])
    """
    counts = np.ceil(weights * pulls * (1.0 - 1e-15))  # 0.1 · 30 is 3 and a rounding error, not 4
    counts = np.clip(counts, 1.0, float(check.LARGEST_COUNT))  # more cannot be counted
    return np.where(weights > 0, counts, 0.0).astype(np.int64)


def g_optimal(X: Array, tolerance: float) -> Design:
    """The design for the arms themselves, in the coordinates of their ``Span``."""
    n, r = X.shape
    if r == 0:
        return Design(np.eye(1, n)[0], 0.0, 0.0)
    weights = _start(X)
    _climb(X, weights, 0.7 * tolerance)
    return _pruned(X, X, weights, float(r), tolerance)


@jit
def _climb(X: Array, weights: Array, tolerance: float) -> None:
    """Frank-Wolfe with away steps on log det A, until no arm has a value above (1 + tolerance) r."""
    n, r = X.shape
    inverse, g = _renewed(X, weights)
    for step in range(1, _MOST_STEPS):
        k, j, support = int(np.int64(0)), int(np.int64(-1)), 0
        for i in range(n):
            if g[i] > g[k]:
                k = i
            if weights[i] != 0.0:
                support += 1
                if j < 0 or g[i] < g[j]:
                    j = i
        excess, lack = g[k] / r - 1.0, 1.0 - g[j] / r
        if excess <= tolerance:
            break
        if excess < lack and support > r:
            k = j
            largest = -weights[k] / (1.0 - weights[k])
            tau = max((g[k] / r - 1.0) / (g[k] - 1.0), largest) if g[k] > 1.0 else largest
        else:
            tau = (g[k] / r - 1.0) / (g[k] - 1.0)
        # A ← (1 − τ) A + τ xxᵀ: log det grows most at this τ.
        for i in range(n):
            weights[i] *= 1.0 - tau
        weights[k] = max(weights[k] + tau, 0.0)
        if step % _RENEW_EVERY == 0 or tau >= 1.0 - 1e-9 or 1.0 - tau + tau * g[k] < 1e-9:
            inverse, g = _renewed(X, weights)
            continue
        u = inverse @ X[k]
        factor = tau / (1.0 - tau + tau * g[k])
        for i in range(n):
            along = 0.0
            for a in range(r):
                along += X[i, a] * u[a]
            g[i] = (g[i] - factor * along**2) / (1.0 - tau)
        for a in range(r):
            for b in range(r):
                inverse[a, b] = (inverse[a, b] - factor * u[a] * u[b]) / (1.0 - tau)


@jit
def _renewed(X: Array, weights: Array) -> tuple[Array, Array]:
    """A(λ)⁻¹ and ‖x‖²_{A⁻¹} of every arm."""
    n, r = X.shape
    A = np.zeros((r, r))
    for i in range(n):
        if weights[i] != 0.0:
            for a in range(r):
                for b in range(r):
                    A[a, b] += weights[i] * X[i, a] * X[i, b]
    inverse = np.linalg.inv(A)
    inverse = (inverse + inverse.T) / 2.0
    g = np.zeros(n)
    for i in range(n):
        for a in range(r):
            for b in range(r):
                g[i] += X[i, a] * inverse[a, b] * X[i, b]
    return inverse, g


def optimal(X: Array, Y: Array, tolerance: float) -> Design:
    """The design for the targets Y (m, r), in the coordinates of the ``Span`` of the arms X (n, r)."""
    n, r = X.shape
    Y = Y[(Y != 0.0).any(axis=1)]
    if r == 0 or len(Y) == 0:
        return Design(np.eye(1, n)[0], 0.0, 0.0)
    from scipy.optimize import minimize  # here, since it takes a third of the time of `import unipac`

    search = _Smoothed(X, Y, tolerance)
    roots = np.ones(n)
    try:
        for power in _POWERS:
            search.power = power
            roots = minimize(search, roots, jac=True, method="L-BFGS-B", options=_OPTIONS).x
    except StopIteration:
        pass  # certified
    return _pruned(X, Y, search.weights, search.lower, tolerance)


class _Smoothed:
    """log ‖f‖_p of the weights λ = v²/Σv², with its gradient; keeps the best weights and the best lower bound.

    f holds ‖y‖²_{A(λ)⁻¹} of every target. The gradient of log ‖f‖_p in λ_x is −G_x/f_q for q ∝ f^(p−1).
    """

    def __init__(self, X: Array, Y: Array, tolerance: float) -> None:
        self.X, self.Y, self.tolerance = X, Y, tolerance
        self.power = 1.0
        self.weights, self.value, self.lower = np.full(len(X), 1.0 / len(X)), math.inf, 0.0

    def __call__(self, roots: Array) -> tuple[float, Array]:
        total = float(roots @ roots)
        weights = roots**2 / total + 1e-10 / len(roots)  # A stays regular
        weights /= weights.sum()
        inverse = _inverse(self.X, weights)
        f = _squares(self.Y, inverse)
        value = float(f.max())
        relative = f / value
        q = relative ** (self.power - 1.0)
        size = float(q @ relative)  # Σ (f/max f)^p
        q /= q.sum()
        G = _squares(self.X, inverse @ ((self.Y.T * q) @ self.Y) @ inverse)
        mean = float(q @ f)
        if value < self.value:
            self.value, self.weights = value, weights
        self.lower = max(self.lower, mean**2 / float(G.max()))
        if self.value <= (1.0 + 0.5 * self.tolerance) * self.lower:
            raise StopIteration
        return math.log(value) + math.log(size) / self.power, 2.0 * roots / total * (1.0 - G / mean)


def _start(X: Array) -> Array:
    """Weights on at most 2r arms that span everything: extreme arms along ever new directions (Kumar-Yildirim)."""
    n, r = X.shape
    chosen = np.zeros(n)
    rest = X.copy()
    for _ in range(r):
        lengths = (rest * rest).sum(axis=1)
        direction = rest[int(lengths.argmax())]
        along = X @ direction
        chosen[int(np.abs(along).argmax())] = 1.0
        direction = direction / math.sqrt(float(direction @ direction))
        rest = rest - np.outer(rest @ direction, direction)
    support = X[chosen > 0]
    if np.linalg.matrix_rank(support, tol=1e-6 * math.sqrt(r / n)) < r:
        return np.full(n, 1.0 / n)
    return np.asarray(chosen / chosen.sum())


def _pruned(X: Array, Y: Array, weights: Array, lower: float, tolerance: float) -> Design:
    """Without the weights that are not needed, and with the value of what remains.

    What remains need not span all arms, as long as the targets lie in its span.
    """
    best = Design(weights, math.inf, lower)
    for least in (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 0.0):
        kept = np.where(weights > least * weights.max(), weights, 0.0)
        kept /= kept.sum()
        value = _value(X[kept > 0], kept[kept > 0], Y)
        if value < best.value:
            best = Design(kept, value, min(lower, value))
        if value <= (1.0 + tolerance) * lower:
            break
    return best


def _value(X: Array, weights: Array, Y: Array) -> float:
    """The largest ‖y‖²_{A⁺}, infinite if a target lies outside the span of these arms."""
    _, scale, right = np.linalg.svd(np.sqrt(weights)[:, None] * X, full_matrices=False)
    kept = scale > 1e-7 * scale[0]
    axes = right[kept].T
    inside = Y @ axes
    outside = np.abs(Y - inside @ axes.T).max(axis=1)
    if (outside > 1e-12 * np.abs(Y).max(axis=1)).any():
        return math.inf
    return float(((inside / scale[kept]) ** 2).sum(axis=1).max())


def _inverse(X: Array, weights: Array) -> Array:
    A = X.T @ (weights[:, None] * X)
    inverse = np.linalg.inv(A)
    return np.asarray((inverse + inverse.T) / 2.0)


def _squares(Y: Array, M: Array) -> Array:
    """YᵢᵀMYᵢ for each row."""
    return np.asarray(((Y @ M) * Y).sum(axis=1))


def _rows(name: str, values: ArrayLike) -> Array:
    rows = floats(name, values)
    check.require(rows.ndim == 2 and rows.size > 0, name, "of shape (n, d), not empty", rows.shape)
    check.require(bool(np.isfinite(rows).all()), name, "finite", values)
    return rows
