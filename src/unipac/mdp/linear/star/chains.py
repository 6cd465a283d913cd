"""Chains of ridge regressions, one per stage, and bounds on the errors of what they estimate.

A chain estimates functions of the form Y_h(s) = g_h(s) + ⟨x, ω_h⟩ + c_h from its last stage backwards: its targets at
stage h are estimates of stage h + 1. With y = Σ⁻¹z and G = Σ_i φ_i φ_π(s'_i)', the error at stage h is

    |⟨z, ω_h − ω̂_h⟩| ≤ radius(z) + slack(z, adv/2) + error_{h+1}(G'y)
    radius(z) = min(ρ/2 √(logdet(Σ/λ) + log_A) ‖z‖_{Σ⁻¹}, √(logdet(I + W/s) + log_B) ‖y‖_{W + sI}) + lean · bias(y)
    bias(y) = λ|y|_1 if coordinates are laws of next states, else λ√d|y|_2
    slack(z, t) = ‖z‖_{Σ⁻¹}|t|_2, or |y|'Σ_i φ_i t_i if that is less and coordinates are laws

for all z at once. The second term of the radius is ``theory.adaptive_radius``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg.dense import cholesky, copy_all, dot, invert
from unipac.theory.adaptive import adaptive_kernel

if TYPE_CHECKING:
    from unipac.mdp.linear.star.memory import Samples

SIGMA, INVERSE, SPREAD, MOVED, PERP = 0, 1, 2, 3, 4
"""Matrices of a stage: Σ, Σ⁻¹, W + sI, G, and the projection onto directions whose rewards are unknown."""

OMEGA, MIDDLE, HALF, ADVANTAGE, MU = 0, 1, 2, 3, 4
"""Vectors of a stage: ω̂, Σφ(mid − c), Σφ·half, Σφ·adv/2, and the weights of the reward."""

LOW, HIGH, LEAN, HOEFFDING, ADAPTIVE, HALF2, ADVANTAGE2, FAR, TINY = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Numbers of a stage: the range of the target; factors of the radius; lengths |half|_2, |adv/2|_2; reward errors."""
BOTTOM, TOP, CAP = 9, 10, 11
"""Further numbers of a stage of a plan: bounds on V*, and on f."""
NUMBERS = 12

CROSSED = 1e-7
"""If a lower bound exceeds an upper one by more, the bounds have crossed, and the assumptions are wrong."""
TOLERANCE = 1e-9
"""Sums of features and rounding may be wrong by this much per stage."""


class Rules(NamedTuple):
    """The constants of an agent, from its parameters."""

    horizon: int
    stages: int
    """How many stages have a regression: H − 1, or H if rewards have noise."""
    dim: int
    n_actions: int
    regularization: float
    mixture: bool
    noisy: bool
    learned: bool
    """Whether rewards are unknown and have no noise, so that they can be learned exactly."""
    terminates: bool
    counted: bool
    """Whether observations are numbers of states, so that equal transitions share a slot."""
    scale: float
    growth: float
    """A new plan is made when some Σ has grown by this factor in some direction."""
    threshold: float
    """A plan whose certificate is at most this share of V* is replaced only by one with a smaller certificate."""
    explore: int
    delta: float
    low: float
    unit: float
    ends: Array
    """(H + 1,): the value of an end before a stage."""
    weights: Array
    """(H, d): the weights of the rewards, where they are known."""
    inflation: float
    """The factor of all radii; bounds are proven only if it is 1."""


class Chains(NamedTuple):
    """C chains for H stages."""

    matrix: Array
    """(C, H, 5, d, d)."""
    vector: Array
    """(C, H, 5, d)."""
    number: Array
    """(C, H + 1, 12)."""
    stages: Integers
    """(C,): stages with a regression."""
    direct: Integers
    """(C,): 1 if intervals of the next values are regressed too."""
    pays: Integers
    """(C,): 1 if Y contains rewards."""


def no_chains(count: int, horizon: int, dim: int) -> Chains:
    """Room for this many chains."""
    return Chains(
        np.zeros((count, horizon, 5, dim, dim)),
        np.zeros((count, horizon, 5, dim)),
        np.zeros((count, horizon + 1, NUMBERS)),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
    )


@jit
def copy_chain(chains: Chains, source: int, target: int) -> None:
    """Write one chain over another."""
    copy_all(chains.matrix[source].reshape(-1), chains.matrix[target].reshape(-1))
    copy_all(chains.vector[source].reshape(-1), chains.vector[target].reshape(-1))
    copy_all(chains.number[source].reshape(-1), chains.number[target].reshape(-1))
    chains.stages[target] = chains.stages[source]
    chains.direct[target] = chains.direct[source]
    chains.pays[target] = chains.pays[source]


# -- errors ----------------------------------------------------------------------------------------


@jit
def solve(chains: Chains, c: int, h: int, z: Array, y: Array) -> float:
    """Write y = Σ⁻¹z; returns ‖z‖_{Σ⁻¹}."""
    A = chains.matrix[c, h, INVERSE]
    total = 0.0
    for i in range(z.size):
        y[i] = 0.0
        for j in range(z.size):
            y[i] += A[i, j] * z[j]
        total += y[i] * z[i]
    return math.sqrt(max(total, 0.0))


@jit
def bias(rules: Rules, y: Array) -> float:
    """How far λ can shift the estimate, per unit of the largest coefficient."""
    total = 0.0
    if rules.mixture:
        for j in range(y.size):
            total += abs(y[j])
        return rules.regularization * total
    return rules.regularization * math.sqrt(y.size * dot(y, y))


@jit
def slack(rules: Rules, norm: float, y: Array, length: float, sums: Array) -> float:
    """How far unknown terms at the samples, each at most t_i, can shift an estimate."""
    value = norm * length
    if rules.mixture:
        total = 0.0
        for j in range(y.size):
            total += abs(y[j]) * sums[j]
        value = min(value, total)
    return value


@jit
def radius(chains: Chains, rules: Rules, c: int, h: int, y: Array, norm: float) -> float:
    """The bound on noise and bias."""
    number = chains.number[c, h]
    value = float(number[HOEFFDING]) * norm
    if number[ADAPTIVE] < math.inf:
        A = chains.matrix[c, h, SPREAD]
        total = 0.0
        for i in range(y.size):
            total += y[i] * dot(A[i], y)
        value = min(value, float(number[ADAPTIVE]) * math.sqrt(max(total, 0.0)))
    return value + float(number[LEAN]) * bias(rules, y)


@jit
def reward_error(chains: Chains, c: int, h: int, z: Array) -> float:
    """The bound on the error of the reward's estimate ⟨z, μ̂⟩."""
    number = chains.number[c, h]
    if number[FAR] == 0.0 and number[TINY] == 0.0:
        return 0.0
    value = float(number[TINY]) * math.sqrt(dot(z, z))
    if number[FAR] > 0.0:
        total = 0.0
        for i in range(z.size):
            total += dot(chains.matrix[c, h, PERP, i], z) ** 2
        value += float(number[FAR]) * math.sqrt(total)
    return value


@jit
def error(chains: Chains, rules: Rules, c: int, h: int, z: Array, y: Array) -> float:
    """The bound on the error of ⟨z, estimate⟩ at stage h, rewards included; z and y are overwritten."""
    total = 0.0
    for t in range(h, rules.horizon):
        if chains.pays[c] == 1:
            total += reward_error(chains, c, t, z)
        if t >= chains.stages[c]:
            break
        norm = solve(chains, c, t, z, y)
        own = slack(rules, norm, y, chains.number[c, t, ADVANTAGE2], chains.vector[c, t, ADVANTAGE])
        total += own + radius(chains, rules, c, t, y, norm)
        move(chains, c, t, y, z)
    return total


@jit
def move(chains: Chains, c: int, h: int, y: Array, z: Array) -> None:
    """Write z = G'y."""
    G = chains.matrix[c, h, MOVED]
    for j in range(y.size):
        z[j] = 0.0
    for i in range(y.size):
        for j in range(y.size):
            z[j] += y[i] * G[i, j]


@jit
def near(chains: Chains, rules: Rules, c: int, h: int, y: Array, norm: float) -> tuple[float, float, float]:
    """The radius at y = Σ⁻¹x, and bounds on the expected target that do not need the next stages."""
    number, vector = chains.number[c, h], chains.vector[c, h]
    own = radius(chains, rules, c, h, y, norm)
    up, low = float(number[HIGH]), float(number[LOW])
    if chains.direct[c] == 1:
        first = 0.5 * (number[LOW] + number[HIGH]) + dot(y, vector[MIDDLE])
        width = own + slack(rules, norm, y, number[HALF2], vector[HALF])
        up, low = min(up, first + width), max(low, first - width)
    return own, up, low


@jit
def later(
    chains: Chains, rules: Rules, c: int, h: int, norm: float, y: Array, z: Array, w: Array
) -> tuple[float, float]:
    """The errors at y = Σ⁻¹x that come from other actions and from the next stages; z and w are overwritten."""
    number, vector = chains.number[c, h], chains.vector[c, h]
    others = slack(rules, norm, y, number[ADVANTAGE2], vector[ADVANTAGE])
    if h + 1 >= rules.horizon:
        return others, 0.0
    move(chains, c, h, y, z)
    return others, error(chains, rules, c, h + 1, z, w)


@jit
def following(
    chains: Chains, rules: Rules, c: int, h: int, x: Array, z: Array, y: Array
) -> tuple[float, float, float]:
    """Estimate, upper and lower bound of the expected target at a feature x; z and y are overwritten."""
    norm = solve(chains, c, h, x, y)
    own, up, low = near(chains, rules, c, h, y, norm)
    others, carried = later(chains, rules, c, h, norm, y, z, y)
    hat = estimate(chains, c, h, x)
    own = own + others + carried
    return hat, min(up, hat + own), max(low, hat - own)


@jit
def estimate(chains: Chains, c: int, h: int, x: Array) -> float:
    """The middle of the range plus ⟨x, ω̂⟩."""
    number = chains.number[c, h]
    return float(0.5 * (number[LOW] + number[HIGH])) + dot(x, chains.vector[c, h, OMEGA])


# -- one regression --------------------------------------------------------------------------------


@jit
def gather(chains: Chains, rules: Rules, c: int, h: int, samples: Samples, n: int) -> None:
    """Σ and Σ⁻¹ of a stage; log det(Σ/λ) is kept in the place of the radius."""
    d = rules.dim
    S = chains.matrix[c, h, SIGMA]
    for i in range(d):
        for j in range(d):
            S[i, j] = rules.regularization if i == j else 0.0
    for k in range(n):
        w = samples.weight[k]
        if w > 0.0:
            x = samples.taken[k]
            for i in range(d):
                for j in range(d):
                    S[i, j] += w * x[i] * x[j]
    logdet = invert(S, chains.matrix[c, h, INVERSE], np.empty((d, d)))
    chains.number[c, h, HOEFFDING] = max(logdet - d * math.log(rules.regularization), 0.0)


@jit
def fit(
    chains: Chains,
    rules: Rules,
    c: int,
    h: int,
    samples: Samples,
    n: int,
    low: float,
    high: float,
    prior: float,
    grid: float,
    log_a: float,
    log_b: float,
    log_c: float,
) -> bool:
    """Regress the targets of stage h, after ``gather``; G is there already. False if bounds have crossed.

    The next value is in [low, high], without the reward. ``prior`` is s of the adaptive radius, ``grid`` is g of the
    bound on variances.
    """
    d, noisy = rules.dim, rules.noisy and chains.pays[c] == 1
    number, vector = chains.number[c, h], chains.vector[c, h]
    logdet = number[HOEFFDING]
    number[LOW], number[HIGH] = low, high + (1.0 if noisy else 0.0)
    centre, rho = 0.5 * (number[LOW] + number[HIGH]), number[HIGH] - number[LOW]
    number[LEAN] = 0.5 * rho + (1.0 if noisy and not rules.mixture else 0.0)
    number[HOEFFDING], number[ADAPTIVE] = rules.inflation * 0.5 * rho * math.sqrt(logdet + log_a), math.inf
    largest = max((high - grid) ** 2, (grid - low) ** 2)
    sums, halves, halves2 = np.zeros(d), np.zeros(d), 0.0
    squares, half_squares, half_squares2 = np.zeros(d), np.zeros(d), 0.0
    advantages2 = 0.0
    for j in range(d):
        vector[MIDDLE, j], vector[ADVANTAGE, j] = 0.0, 0.0
    count = 0
    for k in range(n):
        w = samples.weight[k]
        if w > 0.0:
            count += 1
            U, L, a = samples.up[k], samples.low[k], samples.half[k]
            half = 0.5 * (U - L)
            above, below = max((U - grid) ** 2, (L - grid) ** 2), min((U - grid) ** 2, (L - grid) ** 2)
            if L <= grid <= U:
                below = 0.0
            advantages2 += w * a * a
            halves2 += w * half * half
            half_squares2 += w * (0.5 * (above - below)) ** 2
            for j in range(d):
                wx = w * samples.taken[k, j]
                sums[j] += wx * (samples.target[k] - centre)
                vector[MIDDLE, j] += wx * (samples.paid[k] + 0.5 * (U + L) - centre)
                halves[j] += wx * half
                vector[ADVANTAGE, j] += wx * a
                squares[j] += wx * (0.5 * (above + below) - 0.5 * largest)
                half_squares[j] += wx * 0.5 * (above - below)
    number[HALF2], number[ADVANTAGE2] = math.sqrt(halves2), math.sqrt(advantages2)
    for j in range(d):
        vector[HALF, j] = halves[j]
        vector[OMEGA, j] = dot(chains.matrix[c, h, INVERSE, j], sums)
    if count == 0:
        return True
    sound = True
    w_, z = np.empty(d), np.empty(d)
    solved, norms, fixed = np.empty((n, d)), np.empty(n), np.empty((n, 2))  # what does not depend on W
    for k in range(n):
        i = samples.same[k]
        if samples.weight[k] > 0.0 and samples.renewed[i] != 2:
            samples.renewed[i] = 2
            y = solved[i]
            norm = solve(chains, c, h, samples.taken[i], y)
            norms[i] = norm
            fixed[i, 0], fixed[i, 1] = later(chains, rules, c, h, norm, y, z, w_)
            bound = (
                0.5 * largest * (1.0 + rules.inflation * math.sqrt(logdet + log_c) * norm + bias(rules, y))
            )
            bound += dot(y, squares) + slack(rules, norm, y, math.sqrt(half_squares2), half_squares)
            samples.square[i] = bound
    W, L_ = np.empty((d, d)), np.empty((d, d))
    for again in range(3, 5):
        for i in range(d):
            for j in range(d):
                W[i, j] = 0.0
        for k in range(n):
            w = samples.weight[k]
            if w > 0.0:
                x, first = samples.taken[k], samples.same[k]
                if samples.renewed[first] != again:
                    samples.renewed[first] = again
                    own, up, least = near(chains, rules, c, h, solved[first], norms[first])
                    hat, own = estimate(chains, c, h, x), own + fixed[first, 0] + fixed[first, 1]
                    pu, pl = min(up, hat + own), max(least, hat - own)
                    samples.most[first], samples.least[first] = pu, pl
                    sound = sound and pl <= pu + CROSSED
                pu, pl = samples.most[first], samples.least[first]
                U, L = samples.paid[k] + samples.up[k], samples.paid[k] + samples.low[k]
                squared = min(rho * rho, max((U - pl) ** 2, (pu - L) ** 2))
                if noisy:  # the reward's own deviation is at most 1/2
                    v = min(max(samples.square[first], 0.0), 0.25 * (high - low) ** 2)
                    v = (math.sqrt(v) + 0.5) ** 2
                else:
                    v = samples.square[first] - max(0.0, pl - grid, grid - pu) ** 2
                mean = min(max(centre, min(pl, pu)), max(pl, pu))
                v = min(v, (number[HIGH] - mean) * (mean - number[LOW]), 0.25 * rho * rho)
                share = w * (squared + 2.0 * max(v, 0.0)) / 3.0
                for i in range(d):
                    for j in range(d):
                        W[i, j] += share * x[i] * x[j]
        spread = chains.matrix[c, h, SPREAD]
        for i in range(d):
            for j in range(d):
                spread[i, j] = W[i, j] + (prior if i == j else 0.0)
        rise = -d * math.log(prior)
        if cholesky(spread, L_):
            for j in range(d):
                rise += 2.0 * math.log(L_[j, j])
            number[ADAPTIVE] = rules.inflation * adaptive_kernel(rise, log_b)
    return sound
