"""Vectors of four and parts of arrays: compiled, they do what their Python definitions say."""

import numba
import numpy as np
import pytest

import unipac
from helpers.levelled import levels_of, without_sets
from unipac._jit import jit
from unipac.linalg import levels as stack, ridge
from unipac.linalg.fast import fixed_actions, packing, simd
from unipac.linalg.fast.evaluate import evaluate_all, evaluate_one, evaluate_sparse


@jit
def all_of_lanes(a, out):
    x, y, z = simd.load(a, 0), simd.load(a, 5), simd.gather(a, 1, 3)
    w = simd.zero()
    w += x * y
    w = w + 2.0 * z
    v = simd.sums(x, y, z, w)
    out[0], out[1], out[2] = simd.total(w), simd.total(v), simd.total(v * x)
    out[3] = simd.total(x * 0.5)


@pytest.mark.nojit
def test_lanes_do_what_they_say():
    """Over all axes of an array, in C order; small integers, so that no order of sums matters."""
    a = np.arange(12.0).reshape(3, 4) ** 2
    out = np.empty(4)
    all_of_lanes(a, out)
    flat = a.reshape(-1)
    x, y, z = flat[:4], flat[5:9], flat[1::3][:4]
    w = x * y + 2 * z
    v = np.array([x.sum(), y.sum(), z.sum(), w.sum()])
    np.testing.assert_array_equal(out, [w.sum(), v.sum(), (v * x).sum(), x.sum() / 2])


def test_the_order_of_a_total_is_the_same_compiled_and_not():
    @numba.njit
    def compiled(a):
        return simd.total(simd.load(a, 0)), simd.total(
            simd.sums(simd.load(a, 0), simd.load(a, 4), simd.load(a, 8), simd.load(a, 12))
        )

    rng = np.random.default_rng(0)
    for _ in range(100):
        a = rng.standard_normal(16) * 10.0 ** rng.integers(-8, 8, 16)
        rows = simd.sums(*(simd.load(a, 4 * r) for r in range(4)))
        assert compiled(a) == (simd.total(simd.load(a, 0)), simd.total(rows))


@jit
def all_of_parts(memory):
    doubles = packing.doubles(memory, 1, (2, 3))
    singles = packing.singles(memory, 7, (3,))
    integers = packing.integers(memory, 9, (2,))
    doubles[1, 2] = 7.0
    singles[2] = 2.5
    integers[0] += 1
    return doubles.sum(), singles[0] + singles[1], integers[1]


@pytest.mark.nojit
def test_parts_share_the_memory():
    memory = np.zeros(11)
    memory[1:7] = np.arange(6.0)
    memory[7:9].view(np.float32)[:2] = [0.5, 0.25]
    memory[9:11].view(np.int64)[:] = [41, 2**62]
    assert all_of_parts(memory) == (0 + 1 + 2 + 3 + 4 + 7, 0.75, 2**62)
    assert memory[6] == 7.0
    assert memory[8:9].view(np.float32)[0] == 2.5
    assert memory[9:10].view(np.int64)[0] == 42


def stack_with_data(rng, d, levels=3):
    """Three levels of different data."""
    result = stack.empty(levels, d, 0.3)
    below = np.empty(d + 2)
    for i in range(levels):
        ridge.reset(result.rows[i], 0.3)
        for x in rng.standard_normal((2 * d + i, d)) / np.sqrt(d):
            ridge.add(result.rows[i], x, float(rng.standard_normal()), 1.0, below)
    return result


@pytest.mark.nojit
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 11, 20])
def test_all_actions_and_levels_at_once(d):
    """As ``ridge.evaluate``, and the same to the last bit whichever part of them was asked for."""
    rng = np.random.default_rng(d)
    levels = stack_with_data(rng, d)
    X = rng.standard_normal((5, d))
    means, width2 = np.empty(15), np.empty(15)
    evaluate_all(levels.rows, 1, 3, X, 0, 5, means, width2)
    for k in range(5):
        for i in range(3):
            mean, square = ridge.evaluate(levels.rows[i], X[k])
            assert means[3 * k + i] == pytest.approx(mean, rel=1e-12, abs=1e-13)
            assert width2[3 * k + i] == pytest.approx(square, rel=1e-13)
    one_mean, one_width2 = np.empty(1), np.empty(1)
    evaluate_all(levels.rows, 2, 2, X, 4, 5, one_mean, one_width2)
    assert (one_mean[0], one_width2[0]) == (means[13], width2[13])
    evaluate_one(levels, 3, X[1].copy(), one_row := np.empty(3), squares := np.empty(3))
    np.testing.assert_array_equal([one_row, squares], [means[3:6], width2[3:6]])


@pytest.mark.nojit
@pytest.mark.parametrize("times", [1.0, 3.0, 1e6])
@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_what_a_rotation_leaves_tells_what_was_learned(d, times):
    """Width² of any v falls by ⟨m, v⟩², its mean by ⟨m, v⟩ρ; for large rotations and small ones."""
    rng = np.random.default_rng(d)
    for length in (1e-3, 1.0, 1e3):
        rows = stack_with_data(rng, d, 1).rows[0]
        probes = rng.standard_normal((4, d))
        before = [ridge.evaluate(rows, v) for v in probes]
        below = np.empty(d + 2)
        ridge.add(rows, length * rng.standard_normal(d), 0.7, times, below)
        assert below[d] == 0.0
        for v, (mean, width2) in zip(probes, before, strict=True):
            g = below[:d] @ v
            after_mean, after_width2 = ridge.evaluate(rows, v)
            assert after_width2 == pytest.approx(width2 - g * g, abs=1e-12 * width2)
            assert after_mean == pytest.approx(
                mean - g * below[d + 1], abs=1e-11 * (1 + abs(g * below[d + 1]))
            )


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("norm", [1e-6, 1.0, 90.0])
@pytest.mark.parametrize("regularization", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.UPACOFUL, unipac.OFUL])
def test_bounds_of_the_table_are_never_too_small(agent, regularization, norm):
    """Ill-conditioned data, outliers, M derived anew: all bounds of known levels, every few rounds."""
    rng = np.random.default_rng(5)
    for d, n in ((1, 3), (3, 12), (10, 30)):
        X = rng.standard_normal((n, d)) * 10.0 ** -rng.integers(0, 7, (n, 1))
        X[n // 2 :] = X[: n - n // 2] * (1 + 1e-9 * rng.standard_normal((n - n // 2, 1)))
        X[-1] = 0.0
        X *= norm / np.linalg.norm(X, axis=1).max()
        given = {"noise": 0.3, "regularization": regularization, "action_norm": norm, **without_sets(agent)}
        learner = agent(d, **given, fixed_actions=X)
        for block in range(24):
            rewards = X @ rng.standard_normal(d) / norm + rng.standard_normal((30, 1)) * 10.0 ** (block % 4)
            learner.play(X, rewards)
            levels, table = levels_of(learner), fixed_actions.unpacked(learner._fixed)
            S = stack.top(levels)
            means, width2 = np.empty(S), np.empty(S)
            for k, x in enumerate(X):
                evaluate_one(levels, S, x, means, width2)
                for i in range(S):
                    if table.level[i, 1] >= 0.0:
                        assert table.bound[i, k] >= means[i] + levels.beta[i] * np.sqrt(width2[i])


def test_other_listeners_hear_of_every_compilation():
    """Ours neither stumbles over functions without a module nor takes others off the list."""
    heard = []

    class Listener(numba.core.event.Listener):
        def on_start(self, event):
            heard.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event):
            pass

    space = {}
    exec("def made_by_exec(x): return x + 1", {"__builtins__": {}}, space)
    listener = Listener()
    numba.core.event.register("numba:compile", listener)
    try:
        assert numba.njit(space["made_by_exec"])(1) == 2
    finally:
        numba.core.event.unregister("numba:compile", listener)
    assert heard == ["made_by_exec"]


@jit
def stored_products(a, out):
    simd.store(out, 1, simd.add_product(simd.load(a, 0), 3.0, simd.load(a, 4)))


@pytest.mark.nojit
def test_products_are_added_and_stored():
    """Small integers: rounding once or twice is the same."""
    a, out = np.arange(8.0), np.zeros((2, 3))
    stored_products(a, out)
    np.testing.assert_array_equal(out.reshape(-1), [0, 12, 16, 20, 24, 0])


@pytest.mark.parametrize("dim", [1, 3, 8, 13, 20])
def test_zeros_at_the_ends_of_an_action_change_nothing(dim):
    """Means and squared widths of actions with zeros around, bit for bit those of all of the row."""
    rng = np.random.default_rng(dim)
    rows = np.zeros((2, dim, dim + 2))
    for level in rows:
        ridge.reset(level, 1.0)
        for _ in range(3 * dim):
            ridge.add(level, rng.standard_normal(dim), rng.standard_normal(), 1.0, np.empty(dim + 2))
    for begin in range(dim):
        for end in range(begin, dim + 1):
            x = np.zeros((2, dim))
            x[:, begin:end] = rng.standard_normal(end - begin)
            x[1, [0, -1]] = np.where(x[1, [0, -1]] == 0, 1e-300, x[1, [0, -1]])
            means, width2 = np.empty(4), np.empty(4)
            evaluate_sparse(rows, 1, 2, x, 0, 2, means, width2)
            all_means, all_width2 = np.empty(4), np.empty(4)
            evaluate_all(rows, 1, 2, x, 0, 2, all_means, all_width2)
            np.testing.assert_array_equal(means, all_means)
            np.testing.assert_array_equal(width2, all_width2)
            for level in range(2):
                right = ridge.evaluate(rows[level], x[0])
                assert (means[level], width2[level]) == pytest.approx(right, rel=1e-10, abs=1e-13)
