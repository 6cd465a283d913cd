"""Bounds on mistakes if rewards are late: by hand, and the lemma behind them on one level."""

import math

import numpy as np
import pytest

from unipac import theory
from unipac.theory.bounds import LATE, late_level_size


@pytest.mark.parametrize("eps", [2.0, 0.4, 0.05])
def test_the_bound_of_guarded_by_hand(eps):
    d, g, R, S, lam, L, delta = 3, 4.0, 0.3, 0.8, 0.5, 1.0, 0.1
    given = {"gate": g, "noise": R, "norm": S, "regularization": lam, "action_norm": L}
    last, sizes, radius = 1, [], math.inf
    for level in range(1, 30):
        sizes.append(theory.level_size(d, level, lam, L))
        if 4 * radius * 2.0 ** -(level - 1) > eps and level > 1:
            last = level
        growth = (g * d * 4.0**level + sum(sizes)) * L**2 / (d * lam)
        log = d * math.log1p(growth) + 2 * math.log(2 * level * (level + 1) / delta)
        radius = math.sqrt(R**2 * log + lam * S**2)
    for waiting in (0, 1, 7, 1000):
        right = (1 + waiting) * sum(sizes[:last]) + g * d * 4.0**last + waiting
        found = theory.guarded_mistake_bound(eps, d, delta, pending=waiting, **given)
        assert found == pytest.approx(right, rel=1e-5)
        assert found >= right
    assert theory.guarded_mistake_bound(eps, d, delta, **given) == sum(sizes[:last]) + g * d * 4.0**last
    with pytest.raises(ValueError, match="pending must be an integer >= 0"):
        theory.guarded_mistake_bound(eps, d, delta, pending=-1)


def test_sizes_with_slack():
    for d, lam in ((1, 1.0), (5, 1e-3), (5, 1e4), (100, 1.0)):
        for level in range(1, 16):
            size, late = theory.level_size(d, level, lam), late_level_size(d, level, lam)
            assert size <= late <= size * (1 + 3 * LATE) + 1


def test_nothing_is_proven_of_anytime_sup_linucb():
    assert theory.anytime_mistake_bound(0.5, 3, 0.05) < math.inf
    assert theory.anytime_mistake_bound(0.5, 3, 0.05, pending=1) == math.inf
    with pytest.raises(ValueError, match="pending must be an integer >= 0"):
        theory.anytime_mistake_bound(0.5, 3, 0.05, pending=0.5)


def explored(rng, d, level, waiting, again):
    """Decisions explored at one level, and how many of them it stored; rewards come in random order.

    ``again``: whether a round must still be wide when its reward comes, as theorem and agent have it.
    """
    gram, least, stored, made = np.eye(d), 4.0**-level, 0, 0
    queue, idle = [], 0
    while idle < 300:
        wide = [x for x in unit_vectors(rng, 40, d) if x @ np.linalg.solve(gram, x) > least]
        if wide:
            made, idle = made + 1, 0
            queue.append(wide[0])
        else:
            idle += 1
        while len(queue) > (waiting if wide else 0):
            x = queue.pop(rng.integers(len(queue)))
            if not again or x @ np.linalg.solve(gram, x) >= least * (1 - LATE):
                gram += np.outer(x, x)
                stored += 1
    return made, stored


def unit_vectors(rng, n, d):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("waiting", [0, 1, 10, 100])
@pytest.mark.parametrize(("d", "level"), [(1, 2), (2, 2), (3, 1)])
def test_explored_decisions_of_one_level(d, level, waiting):
    size = theory.level_size(d, level)
    for seed in range(3):
        made, stored = explored(np.random.default_rng(seed), d, level, waiting, again=True)
        assert stored <= size
        assert made <= (1 + waiting) * size


def test_control_levels_that_do_not_look_again_overflow():
    """A level that stores what was wide when it was chosen has more rounds than its size."""
    made, stored = explored(np.random.default_rng(0), 1, 1, 100, again=False)
    assert made == stored > 5 * theory.level_size(1, 1)
