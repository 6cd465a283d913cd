"""PLAN and ACT: bounds on Q* from all transitions, backwards over the stages, and the policy that follows."""

from __future__ import annotations

import math

import numpy as np

from unipac._arrays import Array
from unipac._jit import jit
from unipac.linalg.dense import cholesky, dot
from unipac.mdp.linear.star.chains import (
    BOTTOM,
    CAP,
    CROSSED,
    INVERSE,
    MOVED,
    MU,
    NUMBERS,
    SIGMA,
    TINY,
    TOLERANCE,
    TOP,
    Chains,
    Rules,
    error,
    fit,
    following,
    gather,
    reward_error,
)
from unipac.mdp.linear.star.memory import ALL, END, SINCE, Rewards, Samples, Slots, samples_of, write_model
from unipac.mdp.tabular.counting.kl import kl_upper
from unipac.theory.tabular import kt_kernel

GRID = 33
"""The number of points of [0, H − h] among which g of the bound on variances is chosen."""
SHARE_A, SHARE_B, SHARE_C = 0.3, 0.6, 0.1
"""The shares of a failure probability for its events: the range, the adaptive radius, variances."""
OF_PLANS = 0.75
"""The share of δ that is for plans; the rest is for certificates."""
PRIOR = 0.05
ALARM = 0.01
"""``_promise_kept`` calls a kept promise broken with at most this probability."""
AUDITED = 64
"""At most this many features of a stage are compared with each other."""


@jit
def reward_bounds(chains: Chains, rules: Rules, c: int, h: int, x: Array) -> tuple[float, float, float]:
    """Estimate, upper and lower bound of a reward."""
    r = dot(x, chains.vector[c, h, MU])
    if not rules.learned:
        return r, r, r
    e = reward_error(chains, c, h, x)
    return r, min(1.0, r + e), max(0.0, r - e)


@jit
def bounds(
    chains: Chains, rules: Rules, c: int, h: int, x: Array, z: Array, y: Array
) -> tuple[float, float, float]:
    """Q̂, U and L at a feature; z and y are overwritten."""
    r, plus, minus = reward_bounds(chains, rules, c, h, x)
    hat, up, low = 0.0, 0.0, 0.0
    if h < chains.stages[c]:
        hat, up, low = following(chains, rules, c, h, x, z, y)
    rounding = TOLERANCE * (rules.horizon - h)
    return r + hat, plus + up + rounding, minus + low - rounding


@jit
def fill_bounds(
    chains: Chains, rules: Rules, c: int, h: int, phi: Array, hat: Array, up: Array, low: Array
) -> int:
    """Q̂, U and L of all actions; returns the best action by Q̂ clipped to [L, U], the first of equals."""
    z, y = np.empty(rules.dim), np.empty(rules.dim)
    best, highest = 0, -math.inf
    for a in range(phi.shape[0]):
        hat[a], up[a], low[a] = bounds(chains, rules, c, h, phi[a], z, y)
        value = clipped(hat[a], low[a], up[a])
        if value > highest:
            best, highest = a, value
    return best


@jit
def clipped(value: float, low: float, up: float) -> float:
    """Into [low, up]; the upper end if they have crossed."""
    return min(max(value, low), up)


@jit
def difference(
    chains: Chains, rules: Rules, c: int, h: int, x: Array, other: Array, z: Array, y: Array
) -> float:
    """The bound on the error of Q̂(x) − Q̂(other)."""
    for j in range(x.size):
        z[j] = x[j] - other[j]
    return error(chains, rules, c, h, z, y)


@jit
def advantage(
    chains: Chains, rules: Rules, c: int, h: int, phi: Array, p: int, hat: Array, up: Array, low: Array
) -> float:
    """An upper bound on V*(s) − Q*(s, p)."""
    z, y = np.empty(rules.dim), np.empty(rules.dim)
    most = 0.0
    for a in range(phi.shape[0]):
        gain = up[a] - low[p]
        if a != p and gain > most:
            gain = min(gain, hat[a] - hat[p] + difference(chains, rules, c, h, phi[a], phi[p], z, y))
            most = max(most, gain)
    return most


@jit
def decide(
    chains: Chains, rules: Rules, c: int, h: int, phi: Array, scale: float
) -> tuple[int, float, float]:
    """The action of a plan at a state with features ``phi``, a bound f on what it loses there, and a bound on V*."""
    A = phi.shape[0]
    hat, up, low = np.empty(A), np.empty(A), np.empty(A)
    z, y = np.empty(rules.dim), np.empty(rules.dim)
    best = fill_bounds(chains, rules, c, h, phi, hat, up, low)
    top, floor = up.max(), low.max()
    chosen, highest = best, -math.inf
    for a in range(A):
        centre = clipped(hat[a], low[a], up[a])
        score = centre + scale * (up[a] - centre)
        if score > highest:
            out = a != best and up[a] < floor - 1e-12
            if not out and a != best:
                wrong = difference(chains, rules, c, h, phi[best], phi[a], z, y)
                out = hat[best] - hat[a] > wrong + 1e-12
            if not out:
                chosen, highest = a, score
    lost = advantage(chains, rules, c, h, phi, chosen, hat, up, low)
    return chosen, min(chains.number[c, h, CAP], lost), top


# -- PLAN ------------------------------------------------------------------------------------------


@jit
def make_plan(chains: Chains, slots: Slots, rewards: Rewards, rules: Rules, c: int, plan: int) -> bool:
    """Write the plan of number ``plan`` into chain c, from the data of its time; False if bounds have crossed."""
    H, d = rules.horizon, rules.dim
    failure = OF_PLANS * rules.delta
    chains.stages[c], chains.direct[c], chains.pays[c] = rules.stages, 1, 1
    for k in range(NUMBERS):
        chains.number[c, H, k] = 0.0
    write_model(rewards, chains, rules, c, plan)
    sound = True
    corner, z, y = np.empty(d), np.empty(d), np.empty(d)
    for h in range(H - 1, -1, -1):
        number = chains.number[c, h]
        if h < rules.stages:
            sound = _regress(chains, slots, rules, c, plan, h, failure) and sound
        number[BOTTOM], number[TOP] = 0.0, float(H - h)
        if rules.mixture:
            number[BOTTOM], number[TOP] = math.inf, -math.inf
            for j in range(d):
                for i in range(d):
                    corner[i] = 1.0 if i == j else 0.0
                _, up, low = bounds(chains, rules, c, h, corner, z, y)
                sound = sound and low <= up + CROSSED
                number[BOTTOM], number[TOP] = min(number[BOTTOM], low), max(number[TOP], up)
            sound = sound and number[BOTTOM] <= number[TOP] + CROSSED
        number[CAP] = max(number[TOP] - number[BOTTOM], 0.0) if rules.n_actions > 1 else 0.0
    last = chains.number[c, H - 1]
    if not rules.noisy and (not rules.learned or rewards.known[plan, H - 1] == d):
        # All rewards of the last stage are known.
        last[CAP] = min(last[CAP], (2.0 * rules.scale + 6.0) * last[TINY])
    return sound


@jit
def _regress(chains: Chains, slots: Slots, rules: Rules, c: int, plan: int, h: int, failure: float) -> bool:
    """The regression of a stage of a plan; False if bounds at its next states have crossed."""
    H, d, A, n = rules.horizon, rules.dim, rules.n_actions, slots.used[h]
    samples = samples_of(slots, h)
    hat, up, low = np.empty(A), np.empty(A), np.empty(A)
    end = rules.ends[h + 1]
    moved = chains.matrix[c, h, MOVED]
    for i in range(d):
        for j in range(d):
            moved[i, j] = 0.0
    sound = True
    for k in range(n):
        times = slots.times[ALL, h, k] - slots.times[SINCE + plan, h, k]
        samples.weight[k] = float(times)
        if times <= 0:
            continue
        samples.paid[k] = slots.paid[h, k]
        if slots.target[h, k] == END:
            samples.low[k], samples.up[k], samples.half[k] = end, end, 0.0
            samples.target[k] = slots.paid[h, k] + end
            continue
        first = slots.same_target[h, k]
        if samples.action[first] == 0:  # one more than the action
            phi = slots.following[h, first]
            p = fill_bounds(chains, rules, c, h + 1, phi, hat, up, low)
            for a in range(A):
                sound = sound and low[a] <= up[a] + CROSSED
            half = 0.5 * advantage(chains, rules, c, h + 1, phi, p, hat, up, low)
            samples.low[first], samples.up[first], samples.half[first] = low.max(), up.max(), half
            samples.estimate[first], samples.action[first] = hat[p] + half, p + 1
        samples.low[k], samples.up[k] = samples.low[first], samples.up[first]
        samples.half[k] = samples.half[first]
        samples.target[k] = slots.paid[h, k] + samples.estimate[first]
        x = slots.following[h, first, samples.action[first] - 1]
        for i in range(d):
            wx = samples.weight[k] * slots.taken[h, k, i]
            for j in range(d):
                moved[i, j] += wx * x[j]
    bottom, top = chains.number[c, h + 1, BOTTOM], chains.number[c, h + 1, TOP]
    if rules.terminates:
        bottom, top = min(bottom, end), max(top, end)
    span = float(H - 1 - h)
    grid = 0.0
    if span > 0.0:
        step = span / (GRID - 1)
        grid = step * math.floor(min(max(0.5 * (bottom + top), 0.0), span) / step + 0.5)
    stages = float(max(rules.stages, 1))
    gather(chains, rules, c, h, samples, n)
    fitted = fit(
        chains,
        rules,
        c,
        h,
        samples,
        n,
        bottom,
        top,
        PRIOR * float(rules.stages - h) ** 2,
        grid,
        2.0 * math.log(stages / (SHARE_A * failure)),
        2.0 * math.log(stages / (SHARE_B * failure)),
        2.0 * math.log(stages * GRID / (SHARE_C * failure)),
    )
    if rules.mixture and rules.counted:
        sound = sound and _promise_kept(rules, slots, samples, h, n, bottom, top)
    return sound and fitted


@jit
def _promise_kept(
    rules: Rules, slots: Slots, samples: Samples, h: int, n: int, bottom: float, top: float
) -> bool:
    """Whether expected values at pairs of features differ as little as those of mixtures of the same laws must.

    If coordinates are laws, |E V*(x) − E V*(x')| ≤ (top − bottom) |x − x'|_1 / 2. Each side is bounded by a KL ball
    around the mean of its own samples, without regressions, which are slow to notice features that are almost alike.
    A kept promise fails this test with probability at most ``ALARM``. That needs no share of δ, since a failed test
    only ends the certificates.
    """
    span = top - bottom
    most = min(n, AUDITED)
    first, count = np.zeros(most, dtype=np.int64), 0
    weight, low, up = np.zeros(n), np.zeros(n), np.zeros(n)
    for k in range(n):
        i, w = samples.same[k], samples.weight[k]
        if w > 0.0:
            weight[i] += w
            low[i] += w * (samples.low[k] - bottom)
            up[i] += w * (samples.up[k] - bottom)
    budget = math.log(2.0 * rules.stages * slots.by_source.shape[1] / ALARM)
    share, ends = np.empty(2), np.array([1.0, 0.0])
    for i in range(n):
        if count == most or span <= CROSSED:
            break
        if weight[i] > 0.0:
            first[count], count = i, count + 1
            room = budget + kt_kernel(weight[i])
            for side in range(2):
                mean = up[i] / span if side == 0 else weight[i] - low[i] / span
                share[0] = min(max(mean, 0.0), weight[i])
                share[1] = weight[i] - share[0]
                bound = span * kl_upper(share, ends, int(np.int64(2)), weight[i], 1.0, room)
                if side == 0:
                    up[i] = bound
                else:
                    low[i] = span - bound
    for i in range(count):
        for j in range(count):
            x, other = samples.taken[first[i]], samples.taken[first[j]]
            apart = 0.0
            for m in range(rules.dim):
                apart += 0.5 * abs(x[m] - other[m])
            if low[first[i]] - up[first[j]] > span * apart + CROSSED:
                return False
    return True


@jit
def has_grown(chains: Chains, rules: Rules, c: int, grown: Array) -> bool:
    """Whether some Σ grew by the factor q in some direction since plan c: then (q − 1)Σ − grown is not definite."""
    d = rules.dim
    A, L = np.empty((d, d)), np.empty((d, d))
    for h in range(rules.stages):
        S, inverse = chains.matrix[c, h, SIGMA], chains.matrix[c, h, INVERSE]
        trace = 0.0  # at least the growth in any direction
        for i in range(d):
            for j in range(d):
                trace += inverse[i, j] * grown[h, i, j]
                A[i, j] = (rules.growth - 1.0) * S[i, j] - grown[h, i, j]
        if trace >= (rules.growth - 1.0) * (1.0 - 1e-9) and not cholesky(A, L):
            return True
    return False
