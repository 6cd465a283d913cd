"""CERTIFICATE: what the policy of a plan can lose, from the transitions that came after the plan.

Given the plan, its policy π, f, U_1 and all ranges are fixed, and later transitions are fresh. So regressions of fixed
targets give two bounds on the gap: they bound Σ f along π ("gain"), and the value of π, which U_1 exceeds by at least
the gap ("value").
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg.dense import dot
from unipac.mdp.linear.star.chains import (
    CAP,
    FAR,
    HIGH,
    LOW,
    MOVED,
    MU,
    NUMBERS,
    OMEGA,
    PERP,
    TINY,
    TOP,
    Chains,
    Rules,
    error,
    fit,
    following,
    gather,
)
from unipac.mdp.linear.star.memory import END, Slots, samples_of
from unipac.mdp.linear.star.planning.plan import (
    OF_PLANS,
    PRIOR,
    SHARE_A,
    SHARE_B,
    SHARE_C,
    decide,
    reward_bounds,
)

CURRENT, WAITING, NEWEST = (cast(int, np.int64(k)) for k in range(3))
"""The plans, and their chains. As plain Python integers, each would compile kernels of its own."""
JUDGEMENTS, TENTATIVE = cast(int, np.int64(3)), cast(int, np.int64(7))
"""Chains: the evaluations "gain" and "value" of plan 0, those of plan 1, and two that are not accepted yet."""
CHAINS = 9
LEAST, MOST = 9, 10
"""Numbers of a stage of an evaluation: the range of the value."""


@jit
def fill_choices(chains: Chains, slots: Slots, rules: Rules, live: int) -> None:
    """Write the action of a plan, and its f, at the next states of all slots that do not have them yet."""
    for h in range(min(rules.stages, rules.horizon - 1)):
        for k in range(slots.decided[live, h], slots.used[h]):
            first = slots.same_target[h, k]
            if first == k and slots.target[h, k] != END:
                p, f, _ = decide(chains, rules, live, h + 1, slots.following[h, k], rules.scale)
                slots.choice[live, h, k], slots.gain[live, h, k] = p, f
            slots.choice[live, h, k] = slots.choice[live, h, first]
            slots.gain[live, h, k] = slots.gain[live, h, first]
        slots.decided[live, h] = slots.used[h]


@jit
def evaluate(
    chains: Chains, slots: Slots, rules: Rules, live: int, column: int, number: int, what: int, c: int
) -> bool:
    """Write the evaluation of plan ``live``, the ``number``-th that was made, into chain c; False if bounds crossed.

    It evaluates the sum of f (``what`` = 0) or the value of the policy (1), from the transitions that a column of
    ``slots.times`` counts.
    """
    value = what == 1
    H, d = rules.horizon, rules.dim
    failure = (1.0 - OF_PLANS) * rules.delta / (2.0 * number * (number + 1.0))
    stages = float(max(rules.stages, 1))
    chains.direct[c], chains.pays[c] = 0, 1 if value else 0
    chains.stages[c] = rules.stages if value else H - 1
    for k in range(NUMBERS):
        chains.number[c, H, k] = 0.0
    _write_ranges(chains, rules, live, value, c)
    sound = True
    z, y = np.empty(d), np.empty(d)
    for h in range(chains.stages[c] - 1, -1, -1):
        n = slots.used[h]
        samples = samples_of(slots, h)
        end = rules.ends[h + 1] if value else 0.0
        least, most = chains.number[c, h + 1, LEAST], chains.number[c, h + 1, MOST]
        if rules.terminates:
            least, most = min(least, end), max(most, end)
        moved = chains.matrix[c, h, MOVED]
        for i in range(d):
            for j in range(d):
                moved[i, j] = 0.0
        for k in range(n):
            samples.weight[k] = float(slots.times[column, h, k])
            if slots.times[column, h, k] <= 0:
                continue
            samples.paid[k] = slots.paid[h, k] if value else 0.0
            if slots.target[h, k] == END:
                samples.low[k], samples.up[k] = end, end
                samples.target[k] = samples.paid[k] + end
                continue
            x = slots.following[h, k, slots.choice[live, h, k]]
            first = slots.same_target[h, k]
            if samples.action[first] == 0:
                samples.action[first] = 1
                estimate = dot(x, chains.vector[c, h + 1, MU]) if value else slots.gain[live, h, k]
                if h + 1 < chains.stages[c]:
                    centre = 0.5 * (chains.number[c, h + 1, LOW] + chains.number[c, h + 1, HIGH])
                    estimate += centre + dot(x, chains.vector[c, h + 1, OMEGA])
                for j in range(d):
                    z[j] = x[j]
                wrong = error(chains, rules, c, h + 1, z, y)
                samples.low[first] = min(max(estimate - wrong, least), most)
                samples.up[first] = min(max(estimate + wrong, least), most)
                samples.estimate[first] = estimate
            samples.low[k], samples.up[k] = samples.low[first], samples.up[first]
            samples.target[k] = samples.paid[k] + samples.estimate[first]
            for i in range(d):
                wx = samples.weight[k] * slots.taken[h, k, i]
                for j in range(d):
                    moved[i, j] += wx * x[j]
        rho = most - least + (1.0 if value and rules.noisy else 0.0)
        gather(chains, rules, c, h, samples, n)
        fitted = fit(
            chains,
            rules,
            c,
            h,
            samples,
            n,
            least,
            most,
            PRIOR * rho * rho + 1e-12,
            0.5 * (least + most),
            2.0 * math.log(stages / (SHARE_A * failure)),
            2.0 * math.log(stages / (SHARE_B * failure)),
            2.0 * math.log(stages / (SHARE_C * failure)),
        )
        sound = sound and fitted
    return sound


@jit
def _write_ranges(chains: Chains, rules: Rules, live: int, value: bool, c: int) -> None:
    """Ranges of the value at every stage, and the rewards of the plan."""
    H, d = rules.horizon, rules.dim
    corner = np.empty(d)
    for h in range(H - 1, -1, -1):
        number, after = chains.number[c, h], chains.number[c, h + 1]
        number[FAR], number[TINY] = 0.0, 0.0
        if not value:
            number[LEAST], number[MOST] = 0.0, chains.number[live, h, CAP] + after[MOST]
            continue
        number[FAR], number[TINY] = chains.number[live, h, FAR], chains.number[live, h, TINY]
        for j in range(d):
            chains.vector[c, h, MU, j] = chains.vector[live, h, MU, j]
            for i in range(d):
                chains.matrix[c, h, PERP, i, j] = chains.matrix[live, h, PERP, i, j]
        least = 0.0
        if rules.mixture and not rules.noisy:
            least = math.inf
            for j in range(d):
                for i in range(d):
                    corner[i] = 1.0 if i == j else 0.0
                least = min(least, reward_bounds(chains, rules, live, h, corner)[2])
        number[LEAST], number[MOST] = least + after[LEAST], chains.number[live, h, TOP]


class Told(NamedTuple):
    """The bounds on a plan from a first state."""

    certificate: float
    """The most that its policy can lose."""
    top: float
    """An upper bound on V*."""
    low: float
    """A lower bound on the value of its policy."""
    trivial: float
    """The most that any policy can lose."""


@jit
def certificate(chains: Chains, rules: Rules, live: int, gain: int, value: int, phi: Array) -> Told:
    """The bounds on plan ``live`` from a first state with features ``phi``, by its two evaluations."""
    z, y, h = np.empty(rules.dim), np.empty(rules.dim), int(np.int64(0))
    p, f, top = decide(chains, rules, live, h, phi, rules.scale)
    most, floor = chains.number[gain, 0, MOST], chains.number[value, 0, LEAST]
    lost, low = f, reward_bounds(chains, rules, live, h, phi[p])[2]
    if chains.stages[gain] > 0:
        lost += following(chains, rules, gain, h, phi[p], z, y)[1]
    if chains.stages[value] > 0:
        low += following(chains, rules, value, h, phi[p], z, y)[2]
    top = min(top, chains.number[live, 0, TOP])
    low = max(low, floor)
    return Told(max(0.0, min(lost, most, top - low)), top, low, max(top - floor, 0.0))


@jit
def mean_top(chains: Chains, rules: Rules, plan: int, starts: Array) -> float:
    """The mean upper bound on V* over first states with features (n, A, d), by a plan."""
    total, h = 0.0, int(np.int64(0))
    for k in range(starts.shape[0]):
        total += float(decide(chains, rules, plan, h, starts[k], rules.scale)[2])
    return total / float(starts.shape[0])


@jit
def fill_planned(
    chains: Chains, rules: Rules, plan: int, scale: float, h: int, phi: Array, action: Integers, gain: Array
) -> None:
    """Write the actions of a plan at states with features (n, A, d), and bounds on what they lose."""
    for k in range(action.size):
        action[k], gain[k], _ = decide(chains, rules, plan, h, phi[k], scale)
