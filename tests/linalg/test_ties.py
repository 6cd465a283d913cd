"""The race for the best action where many tie: the first maximiser, after work that is linear in their number."""

import numpy as np
import pytest

from unipac import OFUL, NestedOFUL
from unipac.linalg import levels as stack, ridge
from unipac.linalg.fast import argmax
from unipac.linalg.fast.evaluate import evaluate_one


def unit_vectors(rng, n, d):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def learned(rng, d, S):
    """S levels with some data; the outermost, which is looked at first, says nothing."""
    levels = stack.empty(S, d, 1.0)
    for level in range(S):
        for x in unit_vectors(rng, 5 * level, d):
            ridge.add(levels.rows[level], x, float(x[0]), 1.0, np.empty(d + 2))
        levels.beta[level] = 50.0 if level + 1 == S else 1.0 + 0.01 * level
    return levels


def by_force(levels, S, X):
    means, width2 = np.empty((len(X), S)), np.empty((len(X), S))
    for k, x in enumerate(X):
        evaluate_one(levels, S, x, means[k], width2[k])
    k = (means + levels.beta[:S] * np.sqrt(width2)).min(axis=1).argmax()
    return k, means[k], width2[k]


@pytest.mark.parametrize(("n", "d"), [(1500, 2), (9000, 2), (30_000, 2), (3000, 6), (1200, 12)])
@pytest.mark.parametrize("S", [1, 3])
@pytest.mark.parametrize("kind", ["equal", "unit", "few", "all zero"])
def test_the_winner_is_the_first_maximiser(n, d, S, kind):
    """Small problems and large ones (n d² ≥ 1e5), without data (all unit vectors tie up to rounding) and with."""
    rng = np.random.default_rng(n + S)
    X = unit_vectors(rng, n, d)
    if kind == "equal":
        X[:] = X[0]
    elif kind == "few":
        X = np.ascontiguousarray(X[rng.integers(0, 5, n)])
    elif kind == "all zero":
        X[:] = 0.0
    empty = stack.empty(S, d, 1.0)
    empty.beta[:] = 1.0
    for levels in (empty, learned(rng, d, S)):
        means, width2 = np.empty(S), np.empty(S)
        k = argmax.select(levels, S, X, argmax.workspace(n, d, S), means, width2)
        best, best_means, best_width2 = by_force(levels, S, X)
        assert k == best
        np.testing.assert_array_equal(means, best_means)
        np.testing.assert_array_equal(width2, best_width2)


@pytest.mark.parametrize("S", [1, 2])
def test_scans_do_not_grow_with_the_ties(S, monkeypatch):
    """Each scan looks at all bounds, so their number must not depend on n: it was n, for n equal actions."""
    scans = 0
    scan = argmax.first_largest

    def counted(values):
        nonlocal scans
        scans += 1
        return scan(values)

    monkeypatch.setattr(argmax, "first_largest", counted)
    race = getattr(argmax.race, "py_func", argmax.race)  # not compiled, so that it can be watched
    seen = []
    for n in (500, 2000):
        levels = learned(np.random.default_rng(0), 2, S)
        X = np.tile([[0.6, 0.8]], (n, 1))
        work = argmax.workspace(n, 2, S)
        work.bound[:] = 100.0
        argmax.reopen(work)
        scans = 0
        assert race(levels, S, X, work, n, np.empty(S), np.empty(S)) == 0
        assert work.exact.sum() == n  # no bound is below the winner's value: each is evaluated once
        seen.append(scans)
    assert seen[0] == seen[1] <= 2 * argmax.TRIALS


@pytest.mark.parametrize("agent", [OFUL, NestedOFUL])
def test_many_equal_rows(agent):
    """Took 6 s for 128,000 rows, and a minute for every multiple of that by three."""
    one = agent(2)
    assert one.choose(np.tile([[0.6, 0.8]], (1_000_000, 1))).index == 0
    X = np.tile([[0.6, 0.8], [0.8, 0.6]], (64_000, 1))
    one.update(one.choose(X[1:]), 1.0)
    assert one.choose(X).index == 0
