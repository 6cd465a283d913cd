"""Metrics against values computed by hand and against the definitions, written as loops."""

import math

import numpy as np
import pytest

from unipac.metrics import (
    binomial_upper_tail,
    certificate_violations,
    coverage,
    last_iterate_envelope,
    mistakes,
    regret,
)

NAN = float("nan")


def test_regret_is_the_running_sum_along_rounds():
    gaps = [[1.0, 0.5, 0.25], [0.0, 2.0, 0.0]]
    # row 0: 1, 1 + 0.5, 1.5 + 0.25; row 1: 0, 2, 2
    np.testing.assert_array_equal(regret(gaps), [[1.0, 1.5, 1.75], [0.0, 2.0, 2.0]])
    assert regret([]).shape == (0,)


def test_mistakes_are_strict():
    gaps = [0.5, 0.25, 0.5, 0.0]
    # gaps > 0.5: none; > 0.25: two; > 0: three; > -1: all four
    np.testing.assert_array_equal(mistakes(gaps, [0.5, 0.25, 0.0, -1.0]), [0, 2, 3, 4])
    assert mistakes(gaps, 0.25) == 2
    assert np.ndim(mistakes(gaps, 0.25)) == 0


def test_mistakes_of_many_runs_are_the_double_loop():
    rng = np.random.default_rng(5)
    gaps = rng.integers(0, 8, (3, 50)) / 8
    eps = np.array([0.75, 0.0, 0.3, 0.125])
    expected = [[sum(gap > level for gap in run) for level in eps] for run in gaps]
    np.testing.assert_array_equal(mistakes(gaps, eps), expected)
    np.testing.assert_array_equal(mistakes(gaps, 0.3), np.array(expected)[:, 2])
    assert mistakes(gaps, []).shape == (3, 0)
    assert mistakes(np.empty((0, 5)), eps).shape == (0, 4)


def test_mistakes_leave_their_arguments_alone():
    gaps = np.array([0.5, 0.0, 1.0])
    mistakes(gaps, 0.1)
    np.testing.assert_array_equal(gaps, [0.5, 0.0, 1.0])


def test_envelope_is_the_supremum_of_the_rest():
    gaps = np.random.default_rng(6).random((2, 30))
    expected = [[max(run[t:]) for t in range(30)] for run in gaps]
    envelope = last_iterate_envelope(gaps)
    np.testing.assert_array_equal(envelope, expected)
    assert envelope.flags.c_contiguous


def test_certificates_are_violated_beyond_the_tolerance_only():
    certificates = [0.5, 0.5, 0.5, NAN, math.inf]
    gaps = [0.5, 0.5625, 0.625, 9.0, 9.0]
    # excess: 0, 1/16, 1/8, no claim, no bound
    np.testing.assert_array_equal(
        certificate_violations(certificates, gaps, tolerance=1 / 16),
        [False, False, True, False, False],
    )
    np.testing.assert_array_equal(
        certificate_violations(certificates, gaps), [False, True, True, False, False]
    )


def test_coverage_counts_runs_not_rounds():
    covered = np.ones((4, 10), dtype=bool)
    covered[1, 3] = covered[1, 7] = covered[2, 0] = False
    assert coverage(covered) == 0.5  # runs 1 and 2 of four left the set
    assert coverage(covered[0]) == 1.0
    assert coverage(covered[1]) == 0.0


@pytest.mark.parametrize(("trials", "probability"), [(1, 0.3), (7, 0.05), (40, 0.9)])
def test_binomial_tail_is_the_sum_of_its_terms(trials, probability):
    terms = [
        math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(trials + 1)
    ]
    for failures in range(trials + 1):
        tail = binomial_upper_tail(failures, trials, probability)
        assert tail == pytest.approx(math.fsum(terms[failures:]), rel=1e-11)


def test_binomial_tail_at_the_edges():
    assert binomial_upper_tail(0, 0, 0.5) == 1.0
    assert binomial_upper_tail(0, 10, 0.0) == 1.0
    assert binomial_upper_tail(1, 10, 0.0) == 0.0
    assert binomial_upper_tail(10, 10, 1.0) == 1.0
    assert binomial_upper_tail(100, 100, 0.01) == pytest.approx(1e-200, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: regret([0.0, NAN]), "gaps must not be NaN, got 1 NaN"),
        (lambda: mistakes([NAN, NAN], 0.1), "gaps must not be NaN, got 2 NaN"),
        (lambda: last_iterate_envelope([NAN]), "gaps must not be NaN"),
        (lambda: certificate_violations([1.0], [NAN]), "gaps must not be NaN"),
        (lambda: regret(1.0), "gaps must have an axis of rounds, got the scalar 1.0"),
        (lambda: mistakes(np.zeros((2, 2, 2)), 0.1), r"gaps must have shape .* got \(2, 2, 2\)"),
        (lambda: mistakes([0.0], [[0.1]]), "eps must be a number or a grid"),
        (lambda: mistakes([0.0], NAN), "eps must be a number or a grid"),
        (lambda: certificate_violations([1.0], [1.0, 2.0]), r"shape \(2,\) of gaps, got \(1,\)"),
        (lambda: certificate_violations([1.0], [1.0], -1.0), "tolerance must be >= 0, got -1.0"),
        (lambda: certificate_violations([1.0], [1.0], NAN), "tolerance must be a finite number, got nan"),
        (lambda: coverage([0.5, 1.0]), "covered must be booleans"),
        (lambda: coverage(np.ones((0, 3), dtype=bool)), "covered must be booleans"),
        (lambda: binomial_upper_tail(4, 3, 0.5), "failures must be an integer >= 0 and <= 3, got 4"),
        (lambda: binomial_upper_tail(-1, 3, 0.5), "failures must be an integer >= 0 and <= 3, got -1"),
        (lambda: binomial_upper_tail(1, 3, 1.5), r"probability must be in \[0, 1\], got 1.5"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
