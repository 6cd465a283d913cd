"""The likelihood set for the weights of a mixture of given kernels.

x_i lists the probabilities that d kernels gave to what was seen, p_i = ⟨θ̂, x_i⟩ for weights θ̂ in the simplex, and
g_j = (1/t) Σ x_ij/p_i. For the truth put u_i = ⟨θ*, x_i⟩/p_i − 1. As Σ u_i = t (⟨θ*, g⟩ − 1) is at most the slack
t (max g − 1),

    Σ u_i − log(1 + u_i) ≤ B = threshold + slack                   (theory.likelihood_threshold)

and u − log(1 + u) ≥ u²/(2 (1 + 2u₊/3)), so with G = Σ x_i x_iᵀ/p_i² and U a bound on the u_i

    ‖θ* − θ̂‖²_G = Σ u_i² ≤ ρ² = 2 B (1 + 2U/3),   at first ρ = B + √(2B)

where U = √(ρ² + 2κ) max_i ‖x_i/p_i‖_{(G + κI)⁻¹} may be computed from the ρ before, since ‖θ* − θ̂‖² ≤ 2. Any θ̂ will do;
steps of expectation-maximization, θ̂_j ← θ̂_j g_j, bring the slack down. For a vector v, ⟨θ*, v⟩ lies within
√(ρ² + 2κ) min_c ‖v − c1‖_{(G + κI)⁻¹} of ⟨θ̂, v⟩, as θ* − θ̂ sums to 0, and within [min v, max v].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unipac._arrays import Array
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.theory.vtr import likelihood_kernel

KAPPA = 1.0
MOST_STEPS = 30
"""The most steps of expectation-maximization after an episode; it continues from the last weights."""
SMALL = 0.01
"""A slack so small that it is not worth another step."""
ITERATIONS = 4
"""How often ρ is improved; it falls quickly."""


class Sets(NamedTuple):
    """The ellipsoids of M stacks."""

    rows: Array
    """(M, d, d + 2): factors of G + κI, as in ``linalg.ridge``."""
    ones: Array
    """(M, d): the factor R⁻ᵀ times the vector of ones."""
    radius: Array
    """(M,): √(ρ² + 2κ); infinite if nothing was seen."""


@jit
def gradient(features: Array, counts: Array, theta: Array, g: Array) -> float:
    """Fill g, and return t, the number of observations."""
    S, A, _ = counts.shape
    t = 0.0
    for j in range(g.size):
        g[j] = 0.0
    for s in range(S):
        for a in range(A):
            for following in range(S):
                n = counts[s, a, following]
                if n > 0.0:
                    x = features[s, a, following]
                    p = 0.0
                    for j in range(g.size):
                        p += theta[j] * x[j]
                    for j in range(g.size):
                        g[j] += n * x[j] / p
                    t += n
    for j in range(g.size):
        g[j] /= max(t, 1e-300)
    return t


@jit
def maximize(features: Array, counts: Array, theta: Array) -> None:
    """Improve θ̂ until the slack is small, by ``MOST_STEPS`` at most; it stays inside the simplex."""
    d = theta.size
    g = np.empty(d)
    for _ in range(MOST_STEPS):
        t = gradient(features, counts, theta, g)
        if t == 0.0 or t * (g.max() - 1.0) <= SMALL:
            return
        least = SMALL / (10.0 * d * (t + 10.0))  # costs a slack of a tenth of SMALL at most
        total = 0.0
        for j in range(d):
            theta[j] = max(theta[j] * g[j], least)
            total += theta[j]
        for j in range(d):
            theta[j] /= total


@jit
def likelihood_sets(features: Array, counts: Array, theta: Array, log_failures: float) -> Sets:
    """The ellipsoids around θ̂ (M, d), given counts (M, S, A, S)."""
    M, d = theta.shape
    sets = Sets(np.zeros((M, d, d + 2)), np.zeros((M, d)), np.empty(M))
    for m in range(M):
        sets.radius[m] = _ellipsoid(features, counts[m], theta[m], log_failures, sets.rows[m])
        for i in range(d):
            for j in range(i + 1):
                sets.ones[m, i] += sets.rows[m, i, j]
    return sets


@jit
def _ellipsoid(features: Array, counts: Array, theta: Array, log_failures: float, rows: Array) -> float:
    """Fill the factors, and return the radius."""
    S, A, _ = counts.shape
    d = theta.size
    g, below, v = np.empty(d), np.empty(d + 2), np.empty(d)
    t = gradient(features, counts, theta, g)
    ridge.reset(rows, KAPPA)
    if t == 0.0:
        return math.inf
    for s in range(S):
        for a in range(A):
            for following in range(S):
                if counts[s, a, following] > 0.0:
                    _quotients(features[s, a, following], theta, v)
                    ridge.add(rows, v, 0.0, counts[s, a, following], below)
    ridge.refresh(rows)
    widest = 0.0
    for s in range(S):
        for a in range(A):
            for following in range(S):
                if counts[s, a, following] > 0.0:
                    _quotients(features[s, a, following], theta, v)
                    widest = max(widest, ridge.evaluate(rows, v)[1])
    B = likelihood_kernel(t, d, log_failures) + max(t * (g.max() - 1.0), 0.0)
    rho2 = (B + math.sqrt(2.0 * B)) ** 2
    for _ in range(ITERATIONS):
        U = math.sqrt((rho2 + 2.0 * KAPPA) * widest)
        rho2 = min(rho2, 2.0 * B * (1.0 + 2.0 * U / 3.0))
    return math.sqrt(rho2 + 2.0 * KAPPA)


@jit
def _quotients(x: Array, theta: Array, v: Array) -> None:
    """Fill v = x/⟨θ̂, x⟩."""
    p = 0.0
    for j in range(x.size):
        p += theta[j] * x[j]
    for j in range(x.size):
        v[j] = x[j] / p


@jit
def interval(sets: Sets, m: int, theta: Array, v: Array, scale: float, w: Array) -> tuple[float, float]:
    """Bounds on ⟨θ*, v⟩; ``w``, of size d, is scratch space."""
    d = v.size
    low, high, mean = v[0], v[0], 0.0
    for j in range(d):
        low, high, mean = min(low, v[j]), max(high, v[j]), mean + theta[j] * v[j]
    if math.isinf(sets.radius[m]):
        return low, high
    rows, ones = sets.rows[m], sets.ones[m]
    along, length = 0.0, 0.0
    for i in range(d):
        w[i] = 0.0
        for j in range(i + 1):
            w[i] += rows[i, j] * v[j]
        along += w[i] * ones[i]
        length += ones[i] * ones[i]
    width2 = 0.0
    for i in range(d):
        width2 += (w[i] - along / length * ones[i]) ** 2
    error = scale * sets.radius[m] * math.sqrt(width2)
    return max(low, mean - error), min(high, mean + error)
