"""Bounds on P V for every feature, from counts and from regressions over nested levels.

A counted feature takes a ball of laws around the frequencies (``tabular.counting.kl``). A feature x of a block with
regressions takes the least upper, or the largest lower, bound of its levels l, of which the last holds all data:

    w = ‖x‖_{Σ⁻¹},   p(s') = ⟨Σ⁻¹x, Σ φ 1{s'}⟩,   base = (1 − Σ p)/2
    rad = scale ½ √(log det(Σ/λ) + 2 log(sets/δ_l)) w + ½ λ √d ‖Σ⁻¹x‖,   δ_l = (1 − α) δ/(l(l+1)), α δ for the last one,
    and δ if there is but one set, of all data

    "monotone"  U = v + Σ_j (V_(j) − V_(j+1)) clip(base + p₊(s_(1)) + ... + p₊(s_(j)) + rad, 0, 1),  v = min V
    "vertex"    U = m + Σ p (V − m) + (max V − min V) rad,  L = m + Σ p (V − m) − (max V − min V) rad,  m the middle

V sorted from above. "vertex" is proven for all V if ``sets`` counts all 2^(S−1) − 1 of them; "monotone" for V ≥ V* if
it counts the S − 1 sets {V* > t}, as U is monotone in V. With scaled radii the bias of low levels, which is not
scaled, would stay for ever; then levels count only if w² ≤ f 4^-l (1 + 1e-6), f being the factor by which a determinant
may have grown since the plan: so every level that x passes while the plan is in use counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.mdp.linear.values.blocks import Layout
from unipac.mdp.tabular.counting.counts import Counts
from unipac.mdp.tabular.counting.kl import kl_lower, kl_upper
from unipac.theory.tabular import dirichlet_kernel, kt_kernel
from unipac.theory.upac_lsvi import ALL_DATA

PASSES = 1.0 + 1e-6


class Rules(NamedTuple):
    """The parameters as numbers for kernels."""

    layout: Layout
    horizon: int
    dim: int
    outcomes: int
    """Next states, and the end of an episode if there may be one: then it is the last outcome."""
    end: Array
    """(H + 1,): the value of the end at each stage."""
    regularization: float
    levelled: bool
    """False for one level of all data, as MonotoneLSVI has it."""
    monotone: bool
    """Whether upper bounds are for V* alone, by regressions and by counts; else they are for all V."""
    scale: float
    """The factor of the radii when choosing."""
    factor: float
    """f; 1 if every episode is planned anew."""
    rise: float
    """By how much a log det may rise before a new plan; negative for a new plan in every episode."""
    log_counted: float
    """log(1/failure) of each ball, for V* as for all V."""
    log_sets: float
    """log(1/failure) of each set of next states in upper bounds, before its level takes a share."""
    log_every: float
    """The same in lower bounds, for all V."""
    low: float
    unit: float
    """Rewards are low + unit times those of the plan."""


class Data(NamedTuple):
    """Transitions of all stages but the last, after which nothing comes, with room for C levels."""

    counts: Counts
    """Cell h · (number of counted features) + its number."""
    rows: Array
    """(H − 1, B, C, D, D + 2): factors of Σ, as in ``linalg.ridge``."""
    arrivals: Array
    """(H − 1, B, C, outcomes, D): Σ φ 1{s'}."""
    logdet: Array
    """(H − 1, B, C): log det(Σ/λ), a function of the factors."""
    size: Integers
    """(H − 1, B, C): members of the level."""
    rotations: Integers
    """(H − 1, B, C): since the inverse factor was derived anew."""
    open: Integers
    """(H − 1, B): L, the number of levels."""


@jit
def share(rules: Rules, level: int, last: bool) -> float:
    """log(δ/δ_l)."""
    if not rules.levelled:
        return 0.0
    if last:
        return -math.log(ALL_DATA)
    return math.log(level * (level + 1.0) / (1.0 - ALL_DATA))


@jit
def _ball(data: Data, rules: Rules, cell: int, V: Array, sign: float) -> tuple[Array, Array, int]:
    """Counts of the outcomes of a cell, sign · V there, and how many outcomes there are."""
    weights, values = np.empty(rules.outcomes), np.empty(rules.outcomes)
    k, e = 0, data.counts.first[cell]
    while e >= 0:
        weights[k] = data.counts.times[e]
        values[k] = sign * V[data.counts.following[e]]
        k, e = k + 1, data.counts.other[e]
    return weights, values, k


@jit
def counted_upper(data: Data, rules: Rules, cell: int, V: Array, top: float, scale: float) -> float:
    """The largest mean of V over the ball of a cell."""
    n = float(data.counts.visits[cell])
    if n == 0.0:
        return top
    weights, values, k = _ball(data, rules, cell, V, 1.0)
    if rules.monotone:
        threshold = rules.log_counted + kt_kernel(n)
    else:
        threshold = dirichlet_kernel(weights[:k], rules.outcomes, rules.log_counted)
    return kl_upper(weights, values, k, n, top, scale * scale * threshold)


@jit
def counted_lower(data: Data, rules: Rules, cell: int, V: Array, bottom: float, scale: float) -> float:
    """The least mean of V over the ball of a cell, for all V."""
    n = float(data.counts.visits[cell])
    if n == 0.0:
        return bottom
    weights, values, k = _ball(data, rules, cell, V, -1.0)
    threshold = dirichlet_kernel(weights[:k], rules.outcomes, rules.log_counted)
    return kl_lower(weights, values, k, n, bottom, scale * scale * threshold)


@jit
def _estimate(
    data: Data, rules: Rules, h: int, i: int, x: int, scale: float, g: Array, p: Array
) -> tuple[float, float]:
    """Fill weights p of the outcomes at level entry i; returns width (< 0 if the level does not count) and bias."""
    b = rules.layout.block[x]
    phi = rules.layout.x[x]
    _, width2 = ridge.evaluate(data.rows[h, b, i], phi)
    if scale != 1.0 and i < data.open[h, b] - 1 and width2 > rules.factor * math.ldexp(PASSES, -2 * (i + 1)):
        return -1.0, 0.0
    ridge.solve(data.rows[h, b, i], phi, g)
    for t in range(rules.outcomes):
        p[t] = 0.0
        for j in range(g.size):
            p[t] += g[j] * data.arrivals[h, b, i, t, j]
    bias = 0.5 * rules.regularization * math.sqrt(rules.dim * ridge.squared_norm(g))
    return math.sqrt(width2), bias


@jit
def _centred(p: Array, V: Array, middle: float) -> float:
    mean = middle
    for t in range(V.size):
        mean += p[t] * (V[t] - middle)
    return mean


@jit
def _layer_cake(p: Array, V: Array, order: Integers, radius: float) -> float:
    """U of "monotone"."""
    total: float = 0.0
    for t in range(V.size):
        total += p[t]
    mass = 0.5 * (1.0 - total) + radius
    U = float(V[order[V.size - 1]])
    for j in range(V.size - 1):
        mass += max(p[order[j]], 0.0)
        U += float((V[order[j]] - V[order[j + 1]]) * min(max(mass, 0.0), 1.0))
    return U


@jit
def upper_bounds(data: Data, rules: Rules, h: int, V: Array, scale: float, U: Array) -> None:
    """Bounds on P V from above for all features, (N,), with radii times ``scale``."""
    v, top = V.min(), V.max()
    for x in range(U.size):
        U[x] = top
    if v == top:
        return
    layout = rules.layout
    order = np.argsort(-V)
    g, p = np.empty(layout.x.shape[1]), np.empty(V.size)
    for x in range(U.size):
        if layout.cell[x] >= 0:
            U[x] = counted_upper(data, rules, h * layout.cells + layout.cell[x], V, top, scale)
        b = layout.block[x]
        if b >= 0:
            for i in range(data.open[h, b]):
                width, bias = _estimate(data, rules, h, i, x, scale, g, p)
                if width >= 0.0:
                    failures = rules.log_sets + share(rules, i + 1, i == data.open[h, b] - 1)
                    root = math.sqrt(data.logdet[h, b, i] + 2.0 * failures)
                    radius = scale * 0.5 * root * width + bias
                    if rules.monotone:
                        bound = _layer_cake(p, V, order, radius)
                    else:
                        bound = _centred(p, V, 0.5 * (v + top)) + (top - v) * radius
                    U[x] = min(U[x], bound)
        U[x] = max(U[x], v)


@jit
def lower_bound(data: Data, rules: Rules, h: int, x: int, V: Array, scale: float) -> float:
    """A bound on P V from below for one feature, with radii times ``scale``; proven for all V with 1."""
    v, top = V.min(), V.max()
    if v == top:
        return float(v)
    layout = rules.layout
    L = float(v)
    if layout.cell[x] >= 0:
        L = counted_lower(data, rules, h * layout.cells + layout.cell[x], V, v, scale)
    b = layout.block[x]
    if b >= 0:
        g, p = np.empty(layout.x.shape[1]), np.empty(V.size)
        for i in range(data.open[h, b]):
            width, bias = _estimate(data, rules, h, i, x, scale, g, p)
            if width >= 0.0:
                failures = rules.log_every + share(rules, i + 1, i == data.open[h, b] - 1)
                radius = scale * 0.5 * math.sqrt(data.logdet[h, b, i] + 2.0 * failures) * width + bias
                L = max(L, _centred(p, V, 0.5 * (v + top)) - (top - v) * radius)
    return float(min(L, top))
