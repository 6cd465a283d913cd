"""The likelihood threshold against enumeration, and the bound on the mistakes of NestedVTR against its formula."""

import itertools
import math

import pytest

from unipac.theory import level_size, likelihood_threshold, vtr_mistake_bound


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_no_sequence_of_letters_loses_more(dim):
    """Log of (largest likelihood / Dirichlet(1/2) mixture) for letters, the worst case of mixtures."""
    for t in (1, 2, 5, 9):
        lost = []
        for counts in itertools.product(range(t + 1), repeat=dim):
            if sum(counts) == t:
                best = sum(n * math.log(n / t) for n in counts if n)
                mixture = math.lgamma(dim / 2) - math.lgamma(t + dim / 2)
                mixture += sum(math.lgamma(n + 0.5) - math.lgamma(0.5) for n in counts)
                lost.append(best - mixture)
        assert likelihood_threshold(t, dim, 0.5) - math.log(2) == pytest.approx(max(lost), abs=1e-12)


def test_the_threshold_is_never_below_its_formula_for_many_rounds():
    for dim in (1, 2, 5):
        for t in (10001, 10**6):
            exact = math.lgamma(t + dim / 2) - math.lgamma(t + 0.5) + math.lgamma(0.5) - math.lgamma(dim / 2)
            found = likelihood_threshold(t, dim, 0.5) - math.log(2)
            assert exact - 1e-8 <= found <= exact + 1e-2


def brute(eps, d, H, delta, *, norm=1.0, lam=1.0, X=1.0):
    """Theorem N per stage, with its levels in lists; m is found by going down from a power of two."""
    sizes = [level_size(d, level, lam, X) for level in range(1, 41)]
    values = [1.0]
    for level in range(1, 41):
        logdet = d * math.log(1 + sum(sizes[:level]) * X**2 / (d * lam))
        share = delta / (H - 1) / 2 / (level * (level + 1))
        beta = math.sqrt((logdet + 2 * math.log(1 / share)) / 4 + lam * norm**2)
        values.append(min(1.0, 2 * beta * math.sqrt(1 + 1e-9) / 2**level))

    def right(m):
        total, left = 0.0, m
        for value, size in zip(values, sizes, strict=False):
            total += value * min(left, size)
            left -= min(left, size)
        total += left * values[39]
        i = max(1, math.ceil(math.log2(H / eps)))
        ranges = H * (H - 1) / 2
        return math.e / (math.e - 1) * (ranges * total + ranges * math.log(2 * i * (i + 1) / delta))

    low, high = 0, 2**80
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * eps / 2 <= right(middle) else (low, middle)
    return low


@pytest.mark.parametrize(
    ("eps", "d", "H"), [(2.5, 4, 5), (0.5, 4, 5), (0.1, 2, 2), (4.0, 4, 8), (0.01, 1, 3)]
)
def test_the_bound_is_its_formula(eps, d, H):
    assert vtr_mistake_bound(eps, d, H, 0.05) == pytest.approx(brute(eps, d, H, 0.05), rel=1e-9)
    given = {"norm": 0.5, "lam": 0.2, "X": 2.0}
    found = vtr_mistake_bound(eps, d, H, 0.05, norm=0.5, regularization=0.2, value_norm=2.0)
    assert found == pytest.approx(brute(eps, d, H, 0.05, **given), rel=1e-9)


def test_how_the_bound_depends():
    bound = vtr_mistake_bound(0.5, 4, 8, 0.05)
    assert bound < vtr_mistake_bound(0.25, 4, 8, 0.05)
    assert bound < vtr_mistake_bound(0.5, 4, 8, 0.01)
    assert bound < vtr_mistake_bound(0.5, 4, 8, 0.05, likelihood=True)
    assert bound < vtr_mistake_bound(0.5, 4, 8, 0.05, certificates=True)
    together = vtr_mistake_bound(0.05, 4, 20, 0.05, homogeneous=True)
    assert together < vtr_mistake_bound(0.05, 4, 20, 0.05)  # one regression learns from all stages
    assert vtr_mistake_bound(1e-14, 4, 8, 0.05) == math.inf
    assert math.isfinite(vtr_mistake_bound(1e-6, 4, 8, 0.05))
