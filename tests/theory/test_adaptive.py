"""The self-normalised bound for martingales of unknown variance."""

import math

import numpy as np
import pytest

from unipac.theory import adaptive_radius

NOISES = {
    "coins": lambda rng, n: (rng.random(n) < 0.5) - 0.5,
    "rare": lambda rng, n: (rng.random(n) < 0.02) - 0.02,
    "heavy": lambda rng, n: rng.standard_t(3, n),
}
VARIANCES = {"coins": 0.25, "rare": 0.02 * 0.98, "heavy": 3.0}


def test_it_is_its_formula():
    W = np.array([[2.0, 0.5], [0.5, 1.0]])
    expected = math.sqrt(math.log(np.linalg.det(np.eye(2) + W / 0.3)) + 2 * math.log(1 / 0.1))
    assert adaptive_radius(W, 0.1, prior=0.3) == pytest.approx(expected, rel=1e-12)
    assert adaptive_radius(np.zeros((1, 1)), 0.1) == pytest.approx(math.sqrt(2 * math.log(10)))


def failures(kind, runs, share=1.0, n=400, delta=0.5, s=0.5):
    """Runs in which the bound fails at some time, with W times ``share``; features chase the sum, predictably."""
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        noise = NOISES[kind](rng, n)
        S, W, failed = np.zeros(2), np.zeros((2, 2)), False
        for e in noise:
            x = rng.standard_normal(2) + (S / (1 + np.linalg.norm(S)))
            x /= np.linalg.norm(x)
            S, W = S + x * e, W + np.outer(x, x) * (e * e + 2 * VARIANCES[kind]) / 3 * share
            size = math.sqrt(S @ np.linalg.solve(W + s * share * np.eye(2), S))
            failed |= size > adaptive_radius(W, delta, prior=s * share)
        wrong += failed
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOISES)
def test_it_holds_at_all_times_and_not_with_a_quarter_of_the_spread(kind):
    """Null: a run fails with probability at most δ = .5. 60 runs, at most 41 may: false alarm 1e-3 (binomial tail).

    The control, W/4, must fail in more than half of the runs.
    """
    assert failures(kind, 60) <= 41
    assert failures(kind, 20, share=0.25) > 10


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([[1.0, 2.0]], 0.1), "spread must be a symmetric matrix"),
        (([[1.0, 2.0], [0.0, 1.0]], 0.1), "spread must be a symmetric matrix"),
        (([[-1.0]], 0.1), "spread must be non-negative, got -1"),
        (([[1.0]], 0.0), "failure must be"),
        (([[math.nan]], 0.1), "spread must be"),
    ],
)
def test_bad_input_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        adaptive_radius(*given)
