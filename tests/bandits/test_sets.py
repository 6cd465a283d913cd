"""The sets behind certificates, beside a judge that stores all data."""

import math

import numpy as np
import pytest
from judge_sets import Block

from unipac.bandits.sets import kernels, state

NOISE, NORM = 0.5, 1.3


def made(m, d, zetas, reward_range, noise=NOISE, norm=NORM):
    rules = state.make_rules(
        m * d, m, 3 * 0.05 / 16, noise=noise, norm=norm, regularization=0.7, action_norm=1.0,
        reward_range=reward_range, misspecification=zetas,
    )  # fmt: skip
    return rules, state.empty(m * d, m, rules)


def judges(m, d, rules, zetas):
    words = (d, rules.noise, rules.norm, rules.regularization, rules.log_share, rules.low, rules.high)
    return [Block(*words, zetas[0], zetas[-1] > 0) for _ in range(m)]


def action(rng, m, d):
    x = np.zeros(m * d)
    b = int(rng.integers(m))
    x[b * d : (b + 1) * d] = rng.standard_normal(d)
    return b, x / max(np.linalg.norm(x), 1)


@pytest.mark.parametrize(("m", "d"), [(1, 3), (2, 2), (1, 1)])
@pytest.mark.parametrize("reward_range", [None, (0.0, 1.0)])
@pytest.mark.parametrize("zetas", [(0.0,), (0.05,)])
def test_bounds_are_those_of_stored_data(m, d, reward_range, zetas):
    rng = np.random.default_rng(m + d)
    rules, sets = made(m, d, zetas, reward_range)
    work, judge = state.workspace(4, sets), judges(m, d, rules, zetas)
    truth = rng.standard_normal(m * d)
    for t in range(30):
        b, x = action(rng, m, d)
        y = 0.5 + 0.3 * float(truth @ x) / np.linalg.norm(truth) + NOISE * rng.choice([-1, 1]) / 2
        times = int(rng.choice([1, 1, 1, 5]))
        kernels.learn(sets, rules, x, y, times, t, work)
        judge[b].learn(x[b * d : (b + 1) * d], y, times)
        if t in (0, 3, 29):
            X = np.array([action(rng, m, d)[1] for _ in range(4)])
            assert kernels.look(sets, X, work) == -1
            for i, j in np.ndindex(4, 4):
                own = work.block[i]
                v = X[i, own * d : (own + 1) * d]
                for sign in (1.0, -1.0):
                    found = kernels.bound(sets, rules, i, sign, -math.inf, work)
                    assert found == pytest.approx(judge[own].upper(sign * v) + zetas[0], rel=1e-10, abs=1e-12)
                if i != j and work.block[j] == own:
                    u = X[j, own * d : (own + 1) * d]
                    found = kernels.pair(sets, rules, X, j, i, -math.inf, work)
                    assert found == pytest.approx(
                        judge[own].upper(u - v) + 2 * zetas[0], rel=1e-10, abs=1e-12
                    )
    for b in range(m):
        assert sets.counts[b, kernels.STEP] > 0  # the scale has moved
        assert sets.sums[b, kernels.EXCESS] == pytest.approx(judge[b].excess(), rel=1e-10)
        assert sets.sums[b, kernels.RADIUS_B] ** 2 == pytest.approx(judge[b].squared_b(), rel=1e-10)


def test_the_excess_is_what_the_best_parameter_leaves():
    """E = Σ(y − q)² − min_θ [Σ(y − ⟨θ, x⟩)² + λ‖θ‖²], with clipped forecasts; a width of after the round is not it."""
    rng = np.random.default_rng(4)
    rules, sets = made(1, 3, (0.02,), (0.0, 1.0))
    work, (judge,) = state.workspace(1, sets), judges(1, 3, rules, (0.02,))
    clipped, mutant = 0, 0.0
    for t in range(60):
        _, x = action(rng, 1, 3)
        y = float(rng.random() < 0.3)
        theta, gram = judge.ridge(judge.y)
        after = x @ np.linalg.solve(gram + np.outer(x, x), x)
        mean = theta @ x
        q = min(max(mean, 0.0), 1.0)
        clipped += q != mean
        mutant += (y - q) ** 2 - (y - mean) ** 2 / (1 + after)
        kernels.learn(sets, rules, x, y, 1, t, work)
        judge.learn(x, y)
    assert clipped > 5
    assert sets.sums[0, kernels.EXCESS] == pytest.approx(judge.identity(), rel=1e-10)
    assert mutant != pytest.approx(judge.identity(), rel=1e-3)  # the control


def test_a_reward_out_of_order_ends_b_for_its_block_alone():
    rules, sets = made(2, 2, (0.0,), None)
    work = state.workspace(1, sets)
    for number, x in ((0, [1.0, 0, 0, 0]), (2, [0, 1.0, 0, 0]), (3, [0, 0, 1.0, 0]), (1, [0.6, 0.8, 0, 0])):
        kernels.learn(sets, rules, np.array(x), 0.3, 1, number, work)
    assert sets.counts[:, kernels.LATE].tolist() == [1, 0]
    assert sets.sums[0, kernels.RADIUS_B] == math.inf
    assert math.isfinite(sets.sums[1, kernels.RADIUS_B])
    kernels.look(sets, np.array([[1.0, 0, 0, 0]]), work)
    assert math.isfinite(kernels.bound(sets, rules, 0, 1.0, -math.inf, work))  # by A


@pytest.mark.parametrize(("noise", "norm"), [(0.0, 1.0), (0.5, 0.0), (0.0, 0.0), (0.5, 1e6)])
def test_no_noise_no_norm(noise, norm):
    rules, sets = made(1, 2, (0.0,), None, noise, norm)
    work = state.workspace(1, sets)
    for t in range(50):
        kernels.learn(sets, rules, np.array([0.6, 0.8]), 0.0, 1, t, work)
    kernels.look(sets, np.array([[0.6, 0.8]]), work)
    assert kernels.bound(sets, rules, 0, 1.0, -math.inf, work) >= -1e-12
    assert sets.index.tolist() == [0, 0]


def test_data_refute_a_zeta_and_the_next_one_serves():
    """Rewards 0 or 1 by the sign of a feature, a range that shows it: ζ = 0 falls, ζ = 0.6 stands."""
    rng = np.random.default_rng(0)
    rules, sets = made(1, 2, (0.0, 0.6), (0.0, 1.0))
    work = state.workspace(1, sets)
    for t in range(3000):
        z = rng.uniform(-1, 1)
        kernels.learn(sets, rules, np.array([1.0, z]) / math.sqrt(2), float(z > 0), 1, t, work)
    assert sets.index.tolist() == [1, 0]
    alone, one = made(1, 2, (0.0,), (0.0, 1.0))
    for t in range(3000):
        z = rng.uniform(-1, 1)
        kernels.learn(one, alone, np.array([1.0, z]) / math.sqrt(2), float(z > 0), 1, t, work)
    assert one.index.tolist() == [0, 1]
