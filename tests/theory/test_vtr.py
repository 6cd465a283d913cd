"""The likelihood threshold against enumeration, and the bound on the mistakes of NestedVTR against its formula."""

import itertools
import math

import numpy as np
import pytest

import unipac
from unipac.mdp.mixture.regression import kernels
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


def pooled(eps, d, H, delta, weights):
    """The bound with one regression for all stages, its levels in lists; stage h weighs ``weights[h]``, in order."""
    sizes = [level_size(d, level) for level in range(1, 41)]
    values, logdets = [1.0], []
    for level in range(1, 41):
        logdets.append(d * math.log(1 + sum(sizes[:level]) / d))
        beta = math.sqrt((logdets[-1] + 2 * math.log(2 * level * (level + 1) / delta)) / 4 + 1)
        values.append(min(1.0, math.sqrt(2) * 2 * beta * math.sqrt(1 + 1e-9) / 2**level))
    i, B = max(1, math.ceil(math.log2(H / eps))), H * (H - 1) / 2

    def right(m, last):
        places = [[max(values[j], values[last]), sizes[j]] for j in range(last)] + [[values[last], math.inf]]
        total = B * math.log(2 * i * (i + 1) / delta) + B * sum(logdets[:last]) / math.log(2)
        for weight in weights:
            left = m
            while left > 0:
                taken = min(left, places[0][1])
                total += weight * places[0][0] * taken
                places[0][1] -= taken
                left -= taken
                if places[0][1] == 0:
                    places.pop(0)
        return math.e / (math.e - 1) * total

    best = math.inf
    for last in range(1, 25):
        low, high = 0, 2**70
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle * eps / 2 <= right(middle, last) else (low, middle)
        best = min(best, low)
    return best


@pytest.mark.parametrize(("eps", "d", "H"), [(1.0, 2, 4), (0.2, 3, 10)])
def test_one_regression_for_all_stages(eps, d, H):
    """Values are divided by their span, at most H − h, or by H at every stage."""
    span = pooled(eps, d, H, 0.05, [H - h for h in range(1, H)])
    horizon = pooled(eps, d, H, 0.05, [H] * (H - 1))
    found = vtr_mistake_bound(eps, d, H, 0.05, homogeneous=True)
    assert found == vtr_mistake_bound(eps, d, H, 0.05, homogeneous=True, scaling="span")
    assert found == pytest.approx(span, rel=1e-9)
    found = vtr_mistake_bound(eps, d, H, 0.05, homogeneous=True, scaling="horizon")
    assert found == pytest.approx(horizon, rel=1e-9)
    assert found > 2 * span
    alone = vtr_mistake_bound(eps, d, H, 0.05, scaling="horizon")
    assert alone == vtr_mistake_bound(eps, d, H, 0.05)  # each stage divides by its own H − h


@pytest.mark.parametrize("agent", [unipac.NestedVTR, unipac.UPACVTR])
def test_agents_that_divide_by_the_horizon(agent):
    """Their bound was that of "span": 2.6 to 2.8 times too small."""
    mdp = unipac.envs.mixture_swim(n_states=4, horizon=8)
    told = {"horizon": 8, "rewards": mdp.rewards}
    for eps in (0.5, 0.1):
        pooled = [
            agent(mdp.features, homogeneous=True, scaling=s, **told).mistake_bound(eps)
            for s in ("span", "horizon")
        ]
        assert pooled[1] > 2 * pooled[0]
        apart = [agent(mdp.features, scaling=s, **told).mistake_bound(eps) for s in ("span", "horizon")]
        assert apart[0] == apart[1]


def test_what_values_are_divided_by():
    """The numbers of the theorem are those of the kernel."""
    mdp = unipac.envs.mixture_swim(n_states=4, horizon=8)
    for alike, right in ((True, [8.0] * 7), (False, [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0])):
        agent = unipac.NestedVTR(
            mdp.features, horizon=8, rewards=mdp.rewards, homogeneous=alike, scaling="horizon"
        )
        unit = agent._rules.unit
        assert [kernels.scaling(agent._rules, h, np.zeros(4))[1] / unit for h in range(7)] == right
