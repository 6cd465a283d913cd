"""The algebra of one ridge regression, of the race for the best action, and of fixed actions."""

import ast
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest

import unipac
from helpers.exact import GRID, after_equal_rounds, mean_and_width, on_grid, regression
from helpers.judges.levelled import level_counts
from helpers.levelled import levels_of, without_sets
from unipac import _jit
from unipac._constants import LARGEST_GROWTH, SMALLEST_RATIO
from unipac._jit import jit
from unipac.linalg import levels as stack, ridge
from unipac.linalg.fast import argmax, fixed_actions
from unipac.linalg.fast.evaluate import evaluate_one


def random_actions(rng, n, d):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(0.1, 1, (n, 1))


def regression_of(X, y, regularization):
    """The factors after adding the rounds one by one, M refreshed as the levels do."""
    levels = stack.empty(1, X.shape[1], regularization)
    below, width2 = np.empty(X.shape[1] + 2), np.empty(1)
    for x, reward in zip(X, y, strict=True):
        _, width2[0] = ridge.evaluate(levels.rows[0], x)
        stack.add(levels, 1, stack.SINGLE, x, reward, 1, width2, regularization, below)
    return levels


def unpack(rows):
    """M, R and z as matrices."""
    d = len(rows)
    M, R = np.zeros((d, d)), np.zeros((d, d))
    for i in range(d):
        M[i, : i + 1] = rows[i, : i + 1]
        R[i, i:] = rows[i, i + 1 : d + 1]
    return M, R, rows[:, d + 1]


@pytest.mark.nojit
@pytest.mark.parametrize("regularization", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(("d", "rounds"), [(1, 0), (1, 50), (2, 3), (5, 200), (12, 130)])
def test_factors_are_those_of_the_gram_matrix(d, rounds, regularization):
    rng = np.random.default_rng(d + rounds)
    X = random_actions(rng, rounds, d)
    X[rounds // 2 :] = X[: rounds - rounds // 2]  # repeats
    y = rng.standard_normal(rounds)
    levels = regression_of(X, y, regularization)
    Sigma = regularization * np.eye(d) + X.T @ X
    M, R, z = unpack(levels.rows[0])
    np.testing.assert_allclose(R.T @ R, Sigma, rtol=0, atol=1e-12 * (1 + rounds))
    np.testing.assert_allclose(M @ R.T, np.eye(d), rtol=0, atol=1e-12)
    np.testing.assert_allclose(R.T @ z, X.T @ y, rtol=0, atol=1e-12 * (1 + rounds))
    expected = np.linalg.slogdet(Sigma / regularization)[1]
    assert levels.logdet[0] == pytest.approx(expected, abs=1e-11)
    assert levels.logdet[0] == ridge.log_determinant(levels.rows[0], regularization)  # to the last bit
    theta = rng.standard_normal(d)
    w = np.linalg.solve(Sigma, X.T @ y)
    distance = math.sqrt((w - theta) @ Sigma @ (w - theta))
    assert ridge.distance(levels.rows[0], theta) == pytest.approx(distance, rel=1e-10)
    for x in random_actions(rng, 5, d):
        mean, width2 = ridge.evaluate(levels.rows[0], x)
        assert mean == pytest.approx(x @ w, abs=1e-12)
        assert width2 == pytest.approx(x @ np.linalg.solve(Sigma, x), rel=1e-11)


def stack_of(rng, d, S, rule=stack.NESTED, regularization=0.5):
    """A stack of S levels with random data and radii of different size."""
    levels = stack.empty(S + 1, d, regularization)
    below = np.empty(d + 2)
    for level in range(1, S + 1):
        if level > 1:
            levels.rows[level - 1] = levels.rows[level - 2]
        for x in random_actions(rng, 3**level, d):
            ridge.add(levels.rows[level - 1], x, float(x[0] + rng.standard_normal()), 1.0, below)
        ridge.refresh(levels.rows[level - 1])
        levels.size[level - 1] = 3**level
        levels.beta[level - 1] = 1 + level
    return levels


def brute_force(levels, S, X):
    """The first maximiser of min_l ucb_l by ``ridge.evaluate``, and its values by level."""
    means, width2 = np.empty((len(X), S)), np.empty((len(X), S))
    for k, x in enumerate(X):
        evaluate_one(levels, S, x, means[k], width2[k])
    k = (means + levels.beta[:S] * np.sqrt(width2)).min(axis=1).argmax()
    return k, means[k], width2[k]


@pytest.mark.parametrize(
    ("n", "d"),
    [(1, 1), (3, 1), (7, 4), (16, 5), (40, 20), (300, 20), (1000, 64), (4, 200), (9, 131), (1001, 33)],
)
@pytest.mark.parametrize("equal_arms", [False, True])
def test_the_race_finds_the_first_maximiser(n, d, equal_arms):
    """One by one (small) and by products (n d² ≥ 1e5), also if many actions tie up to rounding."""
    rng = np.random.default_rng(n + d)
    levels = stack_of(rng, d, 4)
    for _ in range(3):
        X = random_actions(rng, n, d)
        if equal_arms:
            X = X[rng.integers(0, max(1, n // 4), n)]
        work = argmax.workspace(n, d, 5)
        means, width2 = np.empty(5), np.empty(5)
        k = argmax.select(levels, 4, X, work, means, width2)
        expected, expected_means, expected_width2 = brute_force(levels, 4, X)
        assert k == expected
        np.testing.assert_array_equal(means[:4], expected_means)
        np.testing.assert_array_equal(width2[:4], expected_width2)


def test_many_actions_in_the_race():
    """No level dominates, and all actions stay in the race: products with further levels are used."""
    rng = np.random.default_rng(0)
    d, n = 16, 2000
    levels = stack_of(rng, d, 4)
    levels.beta[:4] = [0.9, 1.1, 2.0, 50.0]  # the outermost level, which is looked at first, says nothing
    X = random_actions(rng, n, d)
    work = argmax.workspace(n, d, 5)
    means, width2 = np.empty(5), np.empty(5)
    assert argmax.select(levels, 4, X, work, means, width2) == brute_force(levels, 4, X)[0]
    assert work.exact.sum() < n / 10


def test_bounds_by_product_are_upper_bounds_in_the_worst_case():
    """Collinear data and tiny regularization: rounding errors are large, the slack is larger."""
    rng = np.random.default_rng(1)
    d, n = 20, 400
    direction = rng.standard_normal(d) / 5
    levels = stack.empty(2, d, 1e-3)
    below, width2 = np.empty(d + 2), np.empty(2)
    for _ in range(2000):
        _, width2[0] = ridge.evaluate(levels.rows[0], direction)
        stack.add(levels, 1, stack.SINGLE, direction, 1.0, 1, width2, 1e-3, below)
    levels.beta[0] = 3.0
    X = direction * rng.uniform(-1, 1, (n, 1))
    work = argmax.workspace(n, d, 2)
    argmax.bound_by_product(levels, 1, X, work)
    for k in range(n):
        mean, q = ridge.evaluate(levels.rows[0], X[k])
        ucb = mean + 3.0 * math.sqrt(q)
        assert ucb <= work.bound[k] <= ucb + 1e-8


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")  # the outlier refutes the noise
@pytest.mark.parametrize(("regularization", "close"), [(1e-3, 1e-2), (1.0, 1e-3)])
@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.UPACOFUL, unipac.OFUL])
def test_the_table_of_fixed_actions_stays_close_and_above(agent, regularization, close):
    """Above to the last digit; close as far as single precision goes."""
    rng = np.random.default_rng(7)
    d = 6
    X = random_actions(rng, 30, d)
    X[20:] = X[:10] * 0.5  # collinear
    given = {"noise": 0.5, "regularization": regularization, **without_sets(agent)}
    player = agent(d, **given, fixed_actions=X)
    theta = X[0] / np.linalg.norm(X[0])
    for begin in range(0, 3000, 100):
        player.play(X, X @ theta + 0.5 * rng.standard_normal((100, 1)))
        if begin == 1000:
            player.update(player.choose(), 0.3, times=10**6)
        if begin == 2000:
            player.update(player.choose(), 1e6)  # an outlier
        levels, fixed = levels_of(player), fixed_actions.unpacked(player._fixed)
        top = stack.top(levels)
        known = [i for i in range(top) if not fixed_actions.is_unknown(fixed, i + 1)]
        assert top - 1 in known
        assert len(known) == top or agent is unipac.NestedOFUL
        for i in known:
            for k, x in enumerate(X):
                mean, width2 = ridge.evaluate(levels.rows[i], x)
                ucb = mean + levels.beta[i] * math.sqrt(width2)
                size = levels.beta[i] + np.linalg.norm(levels.rows[i, :, -1])  # errors are relative to this
                assert width2 <= fixed.width2[i, k] <= width2 * (1 + close)
                assert ucb <= fixed.bound[i, k] <= ucb + close * size


@pytest.mark.parametrize("norm", [1.0, 1e3, 9e4])
def test_fixed_actions_survive_actions_from_elsewhere(norm):
    """Long actions that are not in the table: a step may cost digits, and must not cost the maximum."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 8))
        X = norm * random_actions(rng, 200, d)
        X[100:] = X[:100] * (1 - 1e-12 * rng.integers(0, 5, (100, 1)))  # nearly equal
        free, fixed = (unipac.OFUL(d, action_norm=norm, fixed_actions=arms) for arms in (None, X))
        for _ in range(10):
            outside = norm * random_actions(rng, 1, d)
            for agent in (free, fixed):
                agent.absorb(outside, outside[:, 0] / norm)
            assert fixed.choose().index == free.choose(X).index


@pytest.mark.parametrize("agent", [unipac.OFUL, unipac.NestedOFUL])
def test_a_million_collinear_rounds(agent):
    """Widths to 1e-10 and means to 1e-7 of exact arithmetic, for random and for played actions.

    Features are integers over 2^20, so that the Gram matrix is exact. The error of a mean is relative to
    the largest mean of its kind: single means come arbitrarily close to zero.
    """
    rng = np.random.default_rng(0)
    d, rounds, regularization = 6, 10**6, 1e-3
    directions = rng.standard_normal((2, d))
    directions = np.rint(1000 * directions / np.linalg.norm(directions, axis=1, keepdims=True))
    features = directions.astype(np.int64)[rng.integers(0, 2, rounds)] * rng.integers(1, 1000, (rounds, 1))
    theta = rng.standard_normal(d) / 3
    rewards = on_grid(features / GRID @ theta + rng.standard_normal(rounds))
    learner = agent(d, regularization=regularization)
    learner.absorb(features / GRID, rewards / GRID)
    Sigma, b = regression(features, rewards, regularization)
    levels = levels_of(learner)
    outermost = levels.rows[stack.top(levels) - 1]
    played = [directions[i] * scale / GRID for i in (0, 1) for scale in (1, 500, 999)]
    for kind in (played, list(random_actions(rng, 6, d))):
        exact = np.array([mean_and_width(Sigma, b, x) for x in kind])
        found = np.array([ridge.evaluate(outermost, x) for x in kind])
        np.testing.assert_allclose(np.sqrt(found[:, 1]), exact[:, 1], rtol=1e-10)
        assert np.abs(found[:, 0] - exact[:, 0]).max() <= 1e-7 * np.abs(exact[:, 0]).max()


@pytest.mark.parametrize("times", [10**6, 10**12, 10**18])
@pytest.mark.parametrize("agent", [unipac.OFUL, unipac.NestedOFUL])
def test_many_equal_rounds_agree_with_fractions(agent, times):
    """A slanted vector, on which an explicit inverse loses everything."""
    x = np.array([0.6, 0.64, 0.48]) * 0.9
    learner = agent(3, regularization=4.0)
    learner.update(learner.choose([x]), 0.7, times=times)
    levels = levels_of(learner)
    outermost = levels.rows[stack.top(levels) - 1]
    for probe in (x, np.array([0.6, 0.64, 0.4800001]), np.array([-0.8, 0.6, 0.0]), np.array([0.0, 0.0, 1.0])):
        mean, width2 = ridge.evaluate(outermost, probe)
        exact_mean, exact_width2 = after_equal_rounds(x, 0.7, times, 4.0, probe)
        assert width2 == pytest.approx(exact_width2, rel=1e-9)
        assert mean == pytest.approx(exact_mean, rel=1e-9)


@pytest.mark.nojit
def test_an_entry_that_cancels_exactly_leaves_nothing_behind():
    """Proportional leading entries, ever longer: a large rotation makes the next one zero, up to rounding."""
    rounds = np.array([[6, 6, 0], [150, 150, 9], [900, 900, 6]]) * 10**6
    rows = stack.empty(1, 3, 0.01).rows[0]
    for x in rounds.astype(np.float64):
        ridge.add(rows, x, 0.0, 1.0, np.empty(5))
    Sigma, b = regression(rounds, np.zeros(3, dtype=np.int64), 0.01, grid=1)
    probe = np.array([0.0, 0.0, 1e6])
    _, width = mean_and_width(Sigma, b, probe)
    assert math.sqrt(ridge.evaluate(rows, probe)[1]) == pytest.approx(width, rel=1e-9)


@pytest.mark.parametrize("q", [1.0, 0.25, 0.1, 1 / 3, 1e-4, 10.0])
def test_times_fills_levels_as_single_rounds_do(q):
    """Against counting one by one; ties included: a unit vector meets every threshold exactly."""
    agent = unipac.UPACOFUL(1, regularization=1 / q)
    agent.update(agent.choose([[1.0]]), 0.0, times=20_000)
    sizes = [level.size for level in agent.levels()]
    assert sizes == level_counts(q, 20_000, len(sizes) + 1)[: len(sizes)]


@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.UPACOFUL])
def test_times_equals_single_updates_after_other_data(agent):
    rng = np.random.default_rng(3)
    X = random_actions(rng, 50, 3)
    one, many = (agent(3, regularization=0.1, **without_sets(agent)) for _ in range(2))
    for learner in (one, many):
        learner.absorb(X, X[:, 0])
    x = np.array([0.36, -0.48, 0.8])
    one.absorb(np.repeat([x], 10**5, axis=0), np.full(10**5, 0.4))
    many.update(many.choose([x]), 0.4, times=10**5)
    assert [level.size for level in one.levels()] == [level.size for level in many.levels()]
    for a, b in zip(one.bounds(X), many.bounds(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.nojit
def test_level_rules():
    """|x| = 2^-l passes level l, any more does not; S is the largest index; tiny vectors are not stored."""
    agent = unipac.NestedOFUL(2)
    assert agent.choose([[0.5, 0.0]]).level == 2  # width 1/2 passes level 1
    assert agent.choose([[0.5 + 1e-8, 0.0]]).level == 1
    agent.absorb([[0.5, 0.0]], [0.0])
    assert [level.size for level in agent.levels()] == [0, 1]
    agent.absorb([[0.0, 0.1], [0.0, 1e-13], [0.0, 0.0]], [0.0, 0.0, 0.0])
    assert [level.size for level in agent.levels()] == [0, 1, 1]
    assert agent.rounds == 4


def test_grown_stacks_keep_their_state():
    """Norms down to 1e-9 open thirty levels, one by one."""
    agent = unipac.UPACOFUL(1)
    norms = 2.0 ** -np.arange(1, 31)
    for norm in norms:
        agent.update(agent.choose([[norm]]), norm)
    assert [level.size for level in agent.levels()] == [0] + [1] * 30
    i = 17  # level 18 holds the one action of norm 2^-17
    mean, width2 = ridge.evaluate(agent.state.rows[i], np.array([1.0]))
    assert width2 == pytest.approx(1 / (1 + norms[i - 1] ** 2), rel=1e-15)
    assert mean == pytest.approx(norms[i - 1] ** 2 / (1 + norms[i - 1] ** 2), rel=1e-15)


def test_table_without_actions_is_empty():
    assert fixed_actions.filled(np.empty((0, 3)), stack.empty(4, 3, 1.0)).bound.shape == (4, 0)


@pytest.mark.nojit
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 13])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 17])
def test_products_are_those_of_single_actions(n, d):
    """Whole panels and pieces of them, all numbers of rows that are left; within the slack for rounding."""
    rng = np.random.default_rng(n + 100 * d)
    levels = stack_of(rng, d, 2)
    X = random_actions(rng, n, d)
    panels = np.full((argmax.panels_of(n), d, argmax.PANEL), np.nan)
    argmax.fill_panels(X, panels)
    mean, width2 = np.full(n + 1, 7.0), np.full(n + 1, 7.0)
    argmax.product(levels.rows[1], panels, n, mean, width2)
    assert (mean[n], width2[n]) == (7.0, 7.0)  # nothing beyond the last action is written
    slack = argmax.rounding(d, argmax.squared_factor(levels.rows[1]), 1.0)
    for k, x in enumerate(X):
        exact_mean, exact_width2 = ridge.evaluate(levels.rows[1], x)
        assert abs(math.sqrt(width2[k]) - math.sqrt(exact_width2)) <= slack
        assert abs(mean[k] - exact_mean) <= slack * argmax.outcome_norm(levels.rows[1])


def test_rounds_call_no_blas():
    """Nowhere in the kernels of a round, nor in what they import: threads cost more than a choice takes."""
    package = Path(unipac.__file__).parent
    found, waiting = set(), {package / "bandits" / "levelled" / "kernels.py"}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= _jit._imported(path) - found
    assert package / "linalg" / "fast" / "argmax.py" in found
    assert [call for path in sorted(found) for call in calls_of_blas(path)] == []
    assert calls_of_blas(package / "linalg" / "design.py")  # negative control


def calls_of_blas(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    products = ("dot", "matmul", "svd", "qr", "inv", "solve")
    named = [node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr in products]
    return named + [path.name for node in nodes if isinstance(node, ast.MatMult)]


@pytest.mark.nojit
@pytest.mark.parametrize("d", [1, 2, 3, 20, 1000])
@pytest.mark.parametrize("regularization", [1e-50, 1e-3, 1.0, 2.0, 1e50])
@pytest.mark.parametrize("exponents", [(-60, 60), (59, 60), (-60, -59), (-0.1, 0.1), (0, 0)])
def test_log_determinant_is_exact_to_rounding(d, regularization, exponents):
    """2 Σ log(R_ii/√λ) with 60 digits, or 0, relative to Σ |log(R_ii/√λ)|, for products of all sizes."""
    mpmath.mp.dps = 60
    rng = np.random.default_rng(d)
    diagonal = 10.0 ** rng.uniform(*exponents, d)
    rows = np.full((d, d + 2), np.nan)
    rows[np.arange(d), np.arange(d) + 1] = diagonal
    terms = [
        2 * mpmath.log(mpmath.mpf(r)) - mpmath.log(mpmath.mpf(regularization)) for r in diagonal.tolist()
    ]
    with np.errstate(all="ignore"):  # interpreted, NumPy warns of a product that is then not taken
        found = ridge.log_determinant(rows, regularization)
    size = max(1.0, float(sum(abs(term) for term in terms)))
    assert abs(found - max(0.0, float(sum(terms)))) <= 1.2e-16 * (d + 8) * size


def test_log_determinant_without_data_is_zero():
    """Up to rounding, also where √λ is not exact."""
    for d in (1, 2, 7):
        for regularization in (1e-50, 0.1, 1 / 3, 2.0, 1e50):
            rows = np.empty((d, d + 2))
            ridge.reset(rows, regularization)
            assert 0.0 <= ridge.log_determinant(rows, regularization) <= d * 1e-15


@pytest.mark.parametrize("rule", [stack.SINGLE, stack.DISJOINT, stack.NESTED])
def test_log_determinants_depend_on_the_factors_alone(rule):
    """So that whoever has R can go on bit for bit: after single rounds, many equal ones, and a refresh."""
    rng = np.random.default_rng(5)
    d, regularization = 3, 0.3
    levels = stack.empty(40, d, regularization)
    below, width2 = np.empty(d + 2), np.empty(40)
    S = 1
    for k, x in enumerate(random_actions(rng, 600, d)):
        evaluate_one(levels, S, x, np.empty(40), width2)
        _, S = stack.add(levels, S, rule, x, 0.5, 1 if k % 50 else 1000, width2, regularization, below)
        for i in range(S):
            assert levels.logdet[i] == ridge.log_determinant(levels.rows[i], regularization)


@pytest.mark.parametrize("seed", range(3))
def test_widths_at_the_smallest_regularization(seed):
    """To 1e-6 after a million collinear rounds; negative control: not so at 1e-20."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    direction = rng.standard_normal(d)
    direction = np.rint(1000 * direction / np.linalg.norm(direction)).astype(np.int64)
    features = direction * rng.integers(1, 1000, (10**6, 1))
    probes = [direction / GRID, direction / np.linalg.norm(direction), *random_actions(rng, 4, d), *np.eye(d)]
    for ratio, accurate in ((SMALLEST_RATIO, True), (1e-20, False)):
        levels = stack.empty(1, d, ratio)
        learn_all(levels, features / GRID, ratio, np.empty(1), np.empty(d + 2))
        Sigma, b = regression(features, np.zeros(10**6, dtype=np.int64), ratio)
        errors = [
            abs(math.sqrt(ridge.evaluate(levels.rows[0], x)[1]) / mean_and_width(Sigma, b, x)[1] - 1)
            for x in probes
        ]
        assert (max(errors) <= 1e-6) == accurate


@jit
def learn_all(levels, X, regularization, width2, below):
    S, once = int(np.int64(1)), int(np.int64(1))
    for k in range(X.shape[0]):
        _, width2[0] = ridge.evaluate(levels.rows[0], X[k])
        stack.add(levels, S, stack.SINGLE, X[k], 0.0, once, width2, regularization, below)


@pytest.mark.parametrize("ratio", [1e-3, SMALLEST_RATIO])
def test_widths_after_the_largest_step(ratio):
    """To 1e-6 after as many equal rounds as may come at once; negative control: not after 10^8 times more."""
    x = np.array([0.6, 0.64, 0.48]) * 0.9
    probes = (x, 0.3 * x, np.array([0.6, 0.64, 0.4800001]), np.array([0.0, 0.0, 1.0]))
    for growth, accurate in ((LARGEST_GROWTH, True), (1e8 * LARGEST_GROWTH, False)):
        times = int(growth * ratio)
        levels = stack.empty(1, 3, ratio)
        ridge.add(levels.rows[0], x, 0.0, float(times), np.empty(5))
        ridge.refresh(levels.rows[0])
        errors = []
        for probe in probes:
            _, exact = after_equal_rounds(x, 0.0, times, ratio, probe)
            errors.append(abs(math.sqrt(ridge.evaluate(levels.rows[0], probe)[1] / exact) - 1))
        assert (max(errors) <= 1e-6) == accurate, max(errors)
