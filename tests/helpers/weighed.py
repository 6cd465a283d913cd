"""Worlds for bounds by weights, many runs at once, and whether a bound ever failed, looked at after every round.

A world gives arrays (runs, T): the weight of the policy, the reward, the weight of another policy (or None), the guess
and what the policies expect of it (or None), and the true expected value of the target in each round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from unipac.weights import RunningMean, kernels

N = 5


class World(NamedTuple):
    weight: np.ndarray
    reward: np.ndarray
    truth: np.ndarray
    largest: float | np.ndarray | None = None
    other: np.ndarray | None = None
    guess: np.ndarray | None = None
    expected: np.ndarray | None = None
    other_expected: np.ndarray | None = None


def failing_runs(world: World, alpha: float) -> int:
    """In how many runs the truth was ever outside of the interval of level α."""
    mean = RunningMean(reward_range=(0.0, 1.0), difference=world.other is not None)
    none = np.empty((len(world.weight), 0))
    columns = [world.weight, world.reward, world.other, world.guess, world.expected, world.other_expected]
    columns = [none if one is None else np.ascontiguousarray(one, dtype=np.float64) for one in columns]
    parts = (mean._bets, mean._rooms, mean._log_priors)
    truth = world.truth + (world.other is not None)
    largest = np.full(truth.shape, np.inf) if world.largest is None else world.largest + np.zeros(truth.shape)
    return _failing(*columns, truth, largest, *parts, mean._most, math.log(2.0 / alpha))


@numba.njit
def _failing(W, R, V, F, M, N, truth, largest, bets, rooms, priors, most, limit):
    failed = 0
    two, guided = V.size > 0, F.size > 0
    for run in range(len(W)):
        totals = np.zeros(kernels.TOTALS)
        totals[kernels.GROWN] = totals[kernels.SHRUNK] = 1.0
        products, logs = np.ones((2, bets.size)), np.zeros((2, bets.size))
        total = 0.0
        for s in range(W.shape[1]):
            v = V[run, s] if two else 0.0
            f = F[run, s] if guided else 0.0
            m = M[run, s] if guided else 0.0
            n = N[run, s] if N.size > 0 else np.nan
            kernels.add_one(
                W[run, s], R[run, s], v, f, m, n, two, guided,
                largest[run, s], bets, rooms, totals, products, logs,
            )  # fmt: skip
            total += truth[run, s]
            low = totals[kernels.LOWER_CENTRES] - total
            up = totals[kernels.UPPER_CENTRES] - (most * (s + 1) - total)
            if (
                kernels._log_mixture(bets, priors, products[0], logs[0], low) >= limit
                or kernels._log_mixture(bets, priors, products[1], logs[1], up) >= limit
            ):
                failed += 1
                break
    return failed


# -- worlds ------------------------------------------------------------------------------------------------------


def drawn(rng, means):
    """Rewards 0 or 1 with these means."""
    return (rng.random(means.shape) < means).astype(np.float64)


def uniform(runs, rounds, seed, *, level=(0.2, 0.7), drift=0.0, told=1.0):
    """Uniform logging; the policy is action 0. Propensities are told ``told`` times as large as they are.

    Where they are not right, no largest weight is announced: a guess takes most of a constant error away.
    """
    rng = np.random.default_rng((1, seed))
    means = rng.uniform(*level, size=(runs, 1)) + drift * np.sin(np.arange(rounds) / 60.0)
    taken = rng.integers(N, size=(runs, rounds))
    others = rng.uniform(*level, size=(runs, 1))
    reward = drawn(rng, np.where(taken == 0, means, others))
    truth = np.broadcast_to(means, reward.shape)
    return World((taken == 0) * (N / told), reward, truth, float(N) if told == 1.0 else None)


def rare(runs, rounds, seed):
    """Clicks of probability .005, among 34 actions."""
    rng = np.random.default_rng((2, seed))
    means = np.full((runs, rounds), 0.005)
    return World((rng.integers(34, size=means.shape) == 0) * 34.0, drawn(rng, means), means, 34.0)


def small_propensities(runs, rounds, seed, *, largest=1000.0):
    """Propensities from 1e-3 to 1 that change with the rounds; the policy is one action."""
    rng = np.random.default_rng((3, seed))
    p = 10.0 ** rng.uniform(-3.0, 0.0, size=(runs, rounds))
    means = rng.uniform(0.1, 0.9, size=(runs, 1)) * np.ones((runs, rounds))
    return World((rng.random(p.shape) < p) / p, drawn(rng, means), means, largest)


def holdout(runs, rounds, seed, *, share=0.05, delay=0, guided=False):
    """An agent that takes the action with the best mean so far, with a holdout; the advantage of action 0 over it.

    Rewards are known to the agent after a delay, and drift. A guess, if there is one, is .9 for action 0 and .1 for
    the others: it tells which action was drawn.
    """
    rng = np.random.default_rng((4, seed))
    base = rng.uniform(0.2, 0.8, size=(runs, N))
    counts, sums = np.ones((runs, N)), np.full((runs, N), 0.5)
    weight, reward, truth = (np.empty((runs, rounds)) for _ in range(3))
    every, waiting = np.arange(runs), []
    for s in range(rounds):
        means = np.clip(base + 0.2 * np.sin(s / 80.0 + np.arange(N)), 0.0, 1.0)
        choice = (sums / counts).argmax(axis=1)
        taken = np.where(rng.random(runs) < share, rng.integers(N, size=runs), choice)
        p = np.full((runs, N), share / N)
        p[every, choice] += 1.0 - share
        weight[:, s] = (taken == 0) / p[:, 0]
        reward[:, s] = drawn(rng, means[every, taken])
        truth[:, s] = means[:, 0] - (p * means).sum(axis=1)
        waiting.append((taken, reward[:, s]))
        if len(waiting) > delay:
            known, came = waiting.pop(0)
            counts[every, known] += 1.0
            sums[every, known] += came
    ones = np.ones((runs, rounds))
    if not guided:
        return World(weight, reward, truth, N / share, other=ones)
    return World(
        weight,
        reward,
        truth,
        N / share,
        other=ones,
        guess=np.where(weight > 0.0, 0.9, 0.1),
        expected=0.9 * ones,
    )


def adversarial(runs, rounds, seed):
    """Potential rewards are chosen after the estimate is seen: it is driven away from the truth, as far as may be."""
    rng = np.random.default_rng((5, seed))
    weight, reward, truth = (np.empty((runs, rounds)) for _ in range(3))
    gap = np.zeros(runs)
    for s in range(rounds):
        noisy = np.where(
            gap > 0.0, 0.9, 0.1
        )  # the noise of w r is large where rewards are, w (1 − r) elsewhere
        first = np.where(np.abs(gap) < 5.0, 0.5, noisy)
        taken = rng.random(runs) < 0.2
        weight[:, s] = taken * 5.0
        reward[:, s] = np.where(taken, first, 1.0 - first)
        truth[:, s] = first
        gap += weight[:, s] * reward[:, s] - first
    return World(weight, reward, truth, 5.0)


def guided(runs, rounds, seed, *, error=0.0, told=1.0):
    """Uniform logging of two contexts; the guess is the truth, or wrong by ``error``; the policy knows the context."""
    rng = np.random.default_rng((6, seed))
    context = rng.integers(2, size=(runs, rounds))
    taken = rng.integers(N, size=(runs, rounds))
    table = np.array([[0.1, 0.9, 0.5, 0.3, 0.7], [0.8, 0.2, 0.4, 0.6, 0.5]])
    best = np.array([1, 0])[context]
    means, truth = table[context, taken], table[context, best]
    guess, expected = np.clip(means + error, 0.0, 1.0), np.clip(truth + error, 0.0, 1.0)
    weight = (taken == best) * (N / told)
    return World(weight, drawn(rng, means), truth, float(N), guess=guess, expected=expected)


def two_policies(runs, rounds, seed):
    """Uniform logging; two policies that agree in two rounds of three."""
    rng = np.random.default_rng((7, seed))
    taken = rng.integers(N, size=(runs, rounds))
    agree = rng.random((runs, rounds)) < 2 / 3
    means = rng.uniform(size=(runs, 1, N))
    means = np.broadcast_to(means, (runs, rounds, N))
    reward = drawn(rng, np.take_along_axis(means, taken[..., None], axis=2)[..., 0])
    second = np.where(agree, 0, 1)
    truth = means[..., 0] - np.where(agree, means[..., 0], means[..., 1])
    return World((taken == 0) * float(N), reward, truth, float(N), other=(taken == second) * float(N))


def changing_weights(runs, rounds, seed):
    """Uniform logging of 2 to 40 actions, by rounds; the largest possible weight of each round is known before it."""
    rng = np.random.default_rng((8, seed))
    n = rng.choice([2, 5, 40], size=(runs, rounds))
    chance = np.where(rng.random(n.shape) < 0.5, 1.0, 0.6)  # the policy takes action 0 with this probability
    first = rng.uniform(0.1, 0.9, size=(runs, 1)) * np.ones(n.shape)
    taken = (rng.random(n.shape) * n).astype(int)
    pi = np.where(taken == 0, chance, (1.0 - chance) / (n - 1))
    reward = drawn(rng, np.where(taken == 0, first, 0.3))
    truth = chance * first + (1.0 - chance) * 0.3
    return World(pi * n, reward, truth, np.maximum(chance, (1.0 - chance) / (n - 1)) * n)


WORLDS = {
    "uniform": uniform,
    "drift": lambda runs, rounds, seed: uniform(runs, rounds, seed, drift=0.2),
    "rare": rare,
    "propensities from 1e-3": small_propensities,
    "propensities from 1e-3, nothing announced": lambda runs, rounds, seed: small_propensities(
        runs, rounds, seed, largest=None
    ),
    "largest weights that change": changing_weights,
    "holdout": holdout,
    "late rewards": lambda runs, rounds, seed: holdout(runs, rounds, seed, delay=50),
    "holdout and a guess": lambda runs, rounds, seed: holdout(runs, rounds, seed, share=0.3, guided=True),
    "adversary": adversarial,
    "good guess": guided,
    "bad guess": lambda runs, rounds, seed: guided(runs, rounds, seed, error=0.5),
    "two policies": two_policies,
}
CONTROLS = {
    "propensities told 20 percent too small": lambda runs, rounds, seed: uniform(
        runs, rounds, seed, level=(0.6, 0.9), told=0.8
    ),
    "propensities told 20 percent too large, with a guess": lambda runs, rounds, seed: guided(
        runs, rounds, seed, error=0.8, told=1.2
    ),
}
