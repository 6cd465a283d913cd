"""The kernels of the tabular agents against general solvers, closed forms and slow judges."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.judges import tabular as judge
from unipac import theory
from unipac.mdp.tabular.counting.counts import END, check_counts, count, no_counts, with_room
from unipac.mdp.tabular.counting.kl import kl_lower, kl_upper

pytestmark = pytest.mark.nojit


def upper(weights, values, top, threshold):
    w, v = np.array(weights, dtype=float), np.array(values, dtype=float)
    return kl_upper(w, v, len(w), w.sum(), top, threshold)


def by_convex_solver(weights, values, top, threshold):
    """max q V over KL(p ‖ q) ≤ c, by SLSQP in the variables q, the last one for the value top; several starts."""
    p = np.append(np.array(weights) / sum(weights), 0.0)
    v, c = np.append(values, top), threshold / sum(weights)
    seen = p > 0

    def slack(q):
        return c - p[seen] @ np.log(p[seen] / np.maximum(q[seen], 1e-300))

    constraints = [{"type": "eq", "fun": lambda q: q.sum() - 1}, {"type": "ineq", "fun": slack}]
    best = -math.inf
    for share in (0.01, 0.3):
        start = (1 - share) * p + share / len(p)
        found = minimize(
            lambda q: -q @ v,
            start,
            jac=lambda q: -v,
            bounds=[(1e-12, 1)] * len(p),
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        if abs(found.x.sum() - 1) < 1e-9 and slack(found.x) > -1e-9:
            best = max(best, -found.fun)
    return best


def test_the_dual_agrees_with_a_general_convex_solver():
    rng = np.random.default_rng(0)
    for _ in range(200):
        k = rng.integers(1, 6)
        weights, values = rng.integers(1, 30, k), rng.random(k)
        top = values.max() + rng.choice([0.0, 0.3])
        threshold = rng.uniform(0.5, 10)
        expected = by_convex_solver(weights, values, top, threshold)
        assert upper(weights, values, top, threshold) == pytest.approx(expected, abs=1e-6)


def test_the_dual_agrees_with_the_primal_of_the_judge_at_all_scales():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        k = rng.integers(1, 7)
        weights = np.ceil(10 ** rng.uniform(0, 7, k))
        values = np.round(rng.random(k), rng.integers(1, 9)) * 10 ** rng.uniform(-3, 3)
        top = values.max() + rng.choice([0.0, 1e-9, 1.0])
        threshold = 10 ** rng.uniform(-2, 3)
        expected = judge.largest_mean(weights, values, top, threshold)
        assert upper(weights, values, top, threshold) == pytest.approx(
            expected, abs=1e-8 * (top - values.min()) + 1e-15 * top
        )


def test_deterministic_outcomes_have_a_closed_form():
    """e^{-c} V + (1 − e^{-c}) top; here c = 2/4."""
    expected = math.exp(-0.5) * 0.25 + (1 - math.exp(-0.5)) * 2.0
    assert upper([4], [0.25], 2.0, 2.0) == pytest.approx(expected, abs=1e-11)
    assert upper([1, 3], [0.25, 0.25], 2.0, 2.0) == pytest.approx(expected, abs=1e-11)


def test_edges_of_the_ball():
    assert upper([3, 1], [0.0, 1.0], 1.0, 0.0) == 0.25  # no radius: the mean
    assert upper([3, 1], [1.0, 1.0], 1.0, 5.0) == 1.0  # nothing to gain
    assert upper([3, 1], [0.0, 1.0], 1.0, 1e6) == pytest.approx(1.0, abs=1e-12)
    assert upper([3, 1], [-1e-300, 0.0], 0.0, 1.0) <= 0.0


def test_the_bound_is_monotone_and_above_the_mean():
    rng = np.random.default_rng(2)
    for _ in range(500):
        weights, values = rng.integers(1, 50, 4), rng.random(4)
        low = upper(weights, values, 1.0, 3.0)
        assert low >= weights @ values / weights.sum()
        assert upper(weights, values + rng.random(4) * (1 - values), 1.0, 3.0) >= low - 1e-9
        assert upper(weights, values, 1.5, 3.0) >= low - 1e-9
        assert upper(weights, values, 1.0, 3.5) >= low - 1e-9


def test_the_lower_bound_mirrors_the_upper_one():
    w, v = np.array([3.0, 2.0]), np.array([0.2, 0.7])
    expected = judge.least_mean(w, v, 0.0, 1.5)
    assert kl_lower(w, -v, 2, 5.0, 0.0, 1.5) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("counts", [[1], [5], [1, 1], [3, 1, 9], [40, 2, 2, 1]])
def test_thresholds_are_those_of_the_judge(counts):
    assert theory.open_threshold(counts, 0.03) == pytest.approx(judge.unknown_outcomes(counts, 0.03))
    assert theory.dirichlet_threshold(counts, 0.03, outcomes=6) == pytest.approx(
        judge.dirichlet(counts, 0.03, 6)
    )
    assert theory.kinf_threshold(sum(counts), 0.03) == pytest.approx(
        math.log(1 / 0.03) + judge.kt(sum(counts))
    )


def test_the_printed_radius_of_ubev_is_larger_than_the_stitched_one():
    """By 1.44 or more wherever it is below 1: so the stitched one may take its place in the proof."""
    for failures in 10.0 ** np.arange(0.1, 9):
        for n in np.unique(np.floor(10.0 ** np.linspace(0, 12, 100))):
            for shares, values in ((7, 1), (9, 2)):
                printed = theory.ubev(n, 1 / (shares * failures))
                if printed < 1:
                    assert printed >= 1.44 * theory.stitched(n, 1 / (values * failures))


def test_kt_is_continuous_where_its_formula_changes():
    assert theory.kt(10001) - theory.kt(10000) == pytest.approx(0.5 * math.log(1.0001), abs=1e-8)
    assert theory.kt(10**15) == pytest.approx(0.5 * math.log(math.pi * 1e15))


def test_counts_are_those_of_a_dictionary():
    rng = np.random.default_rng(3)
    counts, seen = no_counts(6), {}
    for _ in range(500):
        cell, t, r = int(rng.integers(6)), int(rng.integers(END, 4)), float(rng.integers(3))
        counts = with_room(counts, 1)
        count(counts, cell, t, r, r)
        seen[cell, t, r] = seen.get((cell, t, r), 0) + 1
    found = {}
    for cell in range(6):
        e = counts.first[cell]
        while e >= 0:
            found[cell, int(counts.following[e]), float(counts.value[e])] = int(counts.times[e])
            e = counts.other[e]
    assert found == seen
    assert counts.used[0] == len(seen) <= len(counts.times) < 4 * len(seen)
    check_counts(counts, 4)


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("first", 0, 10**9),
        ("first", 0, -2),
        ("other", 0, 5),
        ("following", 1, 4),
        ("following", 1, -2),
        ("times", 0, 0),
        ("times", 0, 2),
        ("visits", 0, 9),
        ("kinds", 0, 0),
        ("used", 0, 10**6),
        ("value", 0, math.nan),
    ],
)
def test_counts_that_contradict_each_other_are_refused(name, index, value):
    counts = with_room(no_counts(2), 3)
    for step in ((0, 1, 0.0), (0, 2, 0.5), (1, END, 1.0)):
        count(counts, *step, step[2])
    check_counts(counts, 4)
    getattr(counts, name)[index] = value
    with pytest.raises(ValueError, match="contradict"):
        check_counts(counts, 4)


def likelihood_of_kinds(sequence):
    """By which ``open_threshold`` predicts a sequence of kinds, numbered in the order of their appearance."""
    counts = np.bincount(sequence)
    fewer, m = counts - 1, len(sequence) - len(counts)
    fit = sum(N * math.log(N / m) for N in fewer if N > 0)
    return math.exp(math.log(2) + fit - theory.open_threshold(counts, 0.5))


def all_sequences(n):
    """Of kinds: each is one of those before, or the next new one."""
    sequences = [[0]]
    for _ in range(n - 1):
        sequences = [[*one, k] for one in sequences for k in range(max(one) + 2)]
    return sequences


@pytest.mark.parametrize("n", range(1, 9))
def test_the_prediction_of_unknown_outcomes_is_at_most_a_probability(n):
    """Summed over all sequences; the largest term of a mixture is less than it, but not by much."""
    total = sum(likelihood_of_kinds(sequence) for sequence in all_sequences(n))
    assert 0.25 < total <= 1 + 1e-12
