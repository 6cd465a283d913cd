"""Factors of blocks of columns, beside those of all columns."""

import numpy as np
import pytest

from unipac.linalg import blocks, levels as stack, ridge
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.soundness import check_blocks

LAMBDA = 0.7


def drawn(rng, n, m, w):
    """Actions, each with entries in one of m blocks of w columns; the last is zero."""
    X = np.zeros((n, m, w))
    X[np.arange(n - 1), rng.integers(m, size=n - 1)] = rng.standard_normal((n - 1, w))
    return X.reshape(n, m * w)


def learned(levels, X, y, times):
    """One regression of these rounds."""
    below, width2 = np.empty(X.shape[1] + 2), np.empty(1)
    for x, reward in zip(X, y, strict=True):
        stack._learn(levels, 1, x, reward, times, width2, LAMBDA, below)
    return levels


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize(("m", "w"), [(1, 6), (3, 1), (2, 3), (4, 4), (3, 5), (2, 9)])
def test_factors_of_blocks_say_what_those_of_all_columns_say(m, w):
    """Means, widths, log det and distances; across more than one refresh of M, and with equal rounds in one step."""
    rng = np.random.default_rng(10 * m + w)
    for rounds, times in ((12, 1), (7, 1000)):
        X, y = drawn(rng, rounds, m, w), rng.standard_normal(rounds)
        if times == 1:
            X, y = np.tile(X, (25, 1)), np.tile(y, 25)
        whole, parts = (learned(stack.empty(1, m * w, LAMBDA, count), X, y, times) for count in (1, m))
        assert parts.rows.shape == (1, m * w, w + 2)
        assert parts.rotations[0] == whole.rotations[0]
        assert parts.logdet[0] == pytest.approx(whole.logdet[0], rel=1e-12)
        assert parts.logdet[0] == blocks.log_determinant(parts.rows[0], LAMBDA)
        theta = rng.standard_normal(m * w)
        right = ridge.distance(whole.rows[0], theta)
        assert blocks.distance(parts.rows[0], theta) == pytest.approx(right, rel=1e-10)
        Y = drawn(rng, 9, m, w)
        found = np.empty((2, 2, 9))
        for levels, (means, width2) in zip((whole, parts), found, strict=True):
            evaluate_all(levels.rows, 1, 1, Y, 0, 9, means, width2)
        np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-12)
        one = np.empty((2, 1))
        evaluate_all(parts.rows, 1, 1, Y, 4, 5, one[0], one[1])
        assert one[:, 0].tolist() == found[1, :, 4].tolist()  # whichever others are evaluated with it
        check_blocks(parts.rows[0], LAMBDA, float(times * len(y)), np.abs(X).max() * w, 1e9)


def test_levels_are_evaluated_in_their_order():
    rng = np.random.default_rng(0)
    parts, X = stack.empty(3, 6, LAMBDA, 2), drawn(rng, 30, 2, 3)
    for level in range(3):
        blocks.reset(parts.rows[level], LAMBDA)
        one = stack.Levels(*(array[level : level + 1] for array in parts))
        learned(one, X[10 * level : 10 * level + 10], X[10 * level : 10 * level + 10, 0], 1)
    means, width2, alone = np.empty(8), np.empty(8), np.empty((2, 1))
    evaluate_all(parts.rows, 2, 3, X, 4, 8, means, width2)
    for k in range(4, 8):
        for level in (2, 3):
            evaluate_all(parts.rows, level, level, X, k, k + 1, alone[0], alone[1])
            entry = 2 * (k - 4) + level - 2
            assert (means[entry], width2[entry]) == (alone[0, 0], alone[1, 0])


@pytest.mark.boundscheck
@pytest.mark.nojit
def test_the_block_of_an_action():
    X = np.zeros((6, 6))
    X[0, 1], X[1, 4], X[2, 2], X[3, 5], X[4, 0] = 1.0, -1e-300, 5e-324, 1.0, 1.0
    assert [blocks.block_of(X, k, 2) for k in range(6)] == [0, 2, 1, 2, 0, 0]
    assert blocks.first_across(X, 2) == -1
    for k, j in ((3, 0), (1, 0), (1, 3)):
        X[k, j] = 5e-324
        assert blocks.first_across(X, 2) == k


def test_factors_of_other_data_are_refused():
    """The control: one of the blocks is not that of any data."""
    rng = np.random.default_rng(1)
    X = drawn(rng, 20, 2, 3)
    parts = learned(stack.empty(1, 6, LAMBDA, 2), X, X[:, 0], 1)
    parts.rows[0, 4, 2] *= 1.5
    with pytest.raises(ValueError, match="regression"):
        check_blocks(parts.rows[0], LAMBDA, 20.0, 10.0, 1e9)
