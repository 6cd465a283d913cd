"""The closed forms of ``unipac.theory`` against brute force and against the paper."""

import math
from itertools import pairwise

import numpy as np
import pytest

import unipac
from unipac import theory
from unipac.theory import (
    determinant,
    level_delta,
    level_size,
    mdp_radii,
    mistake_bound,
    mixture,
    regret_bound,
    theorem,
)


@pytest.mark.parametrize("regularization", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("action_norm", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_level_size_is_the_largest_that_fits(d, regularization, action_norm):
    for level in (1, 2, 3):
        step = math.log(1 + 4.0**-level)
        m = 1
        while m * step <= d * math.log(1 + (m + 1) * action_norm**2 / (d * regularization)):
            m += 1
        assert level_size(d, level, regularization, action_norm) == m


def test_level_size_is_sharper_than_the_paper():
    """C1 of the audit: exact values, and at most 3.2 d l 4^l where the paper has 17."""
    assert [level_size(1, level) for level in range(1, 6)] == [12, 71, 385, 1943, 9370]
    assert [level_size(10, level) for level in range(1, 5)] == [113, 705, 3840, 19423]
    for d in (1, 3, 100, 10**5):
        for level in (1, 2, 5, 20, 40):
            assert level_size(d, level) <= 3.2 * d * level * 4**level


def test_theorem_dominates_the_determinant_radius_where_it_is_called_proven():
    """At the level-size bound, plain and cumulative, for levels up to 60; not so for d = 1 and δ near 1."""
    for nested in (False, True):
        for d in (1, 2, 3, 10, 1000):
            for delta in (1e-12, 0.05, 0.3, 0.7, 0.71, 0.72, 0.9, 0.999):
                members = 0
                holds = True
                for level in range(1, 61):
                    size = level_size(d, level)
                    members = members + size if nested else size
                    needed = determinant(d * math.log1p(members / d), level_delta(delta, level))
                    holds &= theorem(d, level, delta) >= needed
                assert holds or not theory.theorem_is_proven(d, delta), (d, delta, nested)
                if d == 1 and delta >= 0.9:
                    assert not holds


def test_the_mixture_radius_is_smaller():
    for logdet in (0.0, 1.0, 50.0):
        for delta in (0.9, 1e-6):
            for noise, norm, lam in ((1, 1, 1), (0.1, 3, 0.1), (2, 0.5, 4)):
                scalars = {"noise": noise, "norm": norm, "regularization": lam}
                a = noise * math.sqrt(logdet + 2 * math.log(1 / delta))
                b = math.sqrt(lam) * norm
                assert determinant(logdet, delta, **scalars) == pytest.approx(a + b)
                assert mixture(logdet, delta, **scalars) == pytest.approx(math.hypot(a, b))


def test_shares_of_delta_add_up():
    assert sum(level_delta(0.2, level) for level in range(1, 10**5)) == pytest.approx(0.2, rel=1e-4)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("radius", ["theorem", "determinant", "mixture"])
def test_mistake_bound_by_hand(radius, nested):
    """C15: the sum of the level sizes up to the last level whose gap 2 β_{l-1} 2^-(l-1) exceeds ε."""
    d, delta = 3, 0.05
    for eps in (1.0, 0.5, 0.1, 0.01):
        total = members = 0
        gap = math.inf
        level = 1
        while gap > eps:
            size = level_size(d, level)
            total += size
            members = members + size if nested else size
            if radius == "theorem":
                beta = theorem(d, level, delta)
            else:
                formula = mixture if radius == "mixture" else determinant
                beta = formula(d * math.log1p(members / d), level_delta(delta, level))
            gap = 2 * beta * 2.0**-level
            level += 1
        assert mistake_bound(eps, d, delta, radius=radius, nested=nested) == total


def test_mistake_bound_of_the_paper_and_ours():
    """C15 of the audit: 3.5e4 and 3.5e6 where the paper's constants give 1.5e8 and 3.0e9."""
    assert mistake_bound(0.5, 3, 0.05) == pytest.approx(3.5e4, rel=0.02)
    assert mistake_bound(0.1, 3, 0.05) == pytest.approx(3.5e6, rel=0.02)


def test_mistake_bound_falls_with_eps_and_knows_its_limits():
    eps = np.geomspace(1e-6, 4, 60)
    for arguments in ({}, {"nested": True, "all_data": True}, {"regularization": 1e4}, {"action_norm": 1e-3}):
        bounds = [mistake_bound(e, 50, 0.05, **arguments) for e in eps]
        assert all(a >= b for a, b in pairwise(bounds))
    assert mistake_bound(1e-13, 3, 0.05) == math.inf
    assert mistake_bound(0.1, 3, 0.05, nested=True, all_data=True) >= mistake_bound(0.1, 3, 0.05, nested=True)


def test_large_regularization_has_late_gaps():
    """With λ ≫ L² the first levels hold one round each, and the radius jumps when they begin to fill."""
    d, lam = 1000, 1e6
    beta = [
        mixture(
            d * math.log1p(level_size(d, level, lam) / (d * lam)),
            level_delta(0.05, level),
            regularization=lam,
            norm=1e-3,
        )
        for level in range(1, 30)
    ]
    gaps = [2e-3] + [min(2e-3, 2 * b * 2.0**-level) for level, b in enumerate(beta, start=1)]
    eps = 1e-5
    expected = sum(
        level_size(d, level, lam) for level, gap in enumerate(gaps[:-1], start=1) if gap > eps or level == 1
    )
    assert mistake_bound(eps, d, 0.05, regularization=lam, norm=1e-3) == expected


def test_regret_bound_is_the_integral_of_the_mistake_bound():
    """Regret(K) ≤ ∫ min(K, N_ε) dε, here by a fine sum over ε."""
    K = 10**5
    eps = np.geomspace(1e-4, 2, 4001)
    counts = np.minimum(K, [mistake_bound(e, 2, 0.05) for e in eps])
    upper = (counts[:-1] * np.diff(eps)).sum() + K * eps[0]
    lower = (counts[1:] * np.diff(eps)).sum()
    assert lower * 0.999 <= regret_bound(K, 2, 0.05) <= upper * 1.001
    assert regret_bound(0, 2, 0.05) == 0


def test_regret_bound_grows_like_the_square_root():
    """Õ(d √K): the exponent between 1e8 and 1e12 is 1/2 up to logarithms."""
    ratio = regret_bound(10**12, 5, 0.05) / regret_bound(10**8, 5, 0.05)
    assert 0.5 <= math.log(ratio, 10**4) <= 0.56


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theorem(0, 1, 0.1), "dim must be an integer >= 1, got 0"),
        (lambda: theorem(2, 1.5, 0.1), "level must be an integer"),
        (lambda: mixture(-1.0, 0.1), "logdet must be >= 0"),
        (lambda: determinant(1.0, 1.0), "delta must be strictly between 0 and 1"),
        (lambda: level_size(2, 1, regularization=0.0), "regularization must be > 0, got 0.0"),
        (lambda: mistake_bound(0.0, 2, 0.1), "eps must be > 0"),
        (lambda: mistake_bound(0.1, 2, 0.1, radius="theory"), "radius must be one of 'theorem'"),
        (lambda: mistake_bound(0.1, 2, 0.1, all_data=True), "all_data must be False without nested"),
        (lambda: mistake_bound(0.1, 2, 0.1, radius="theorem", noise=2.0), "radius must be 'determinant' or"),
        (lambda: regret_bound(-1, 2, 0.1), "rounds must be an integer >= 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_explicit_radii_of_flute():
    """The table of the audit (C9), δ = 0.05, l = 1, 2, 3, 5, 8, 12; its grid over e was coarser."""
    table = {(2, 2): (16, 22, 27, 36, 48, 64), (4, 5): (66, 91, 113, 152, 206, 274)}
    for (d, H), values in table.items():
        levels = (1, 2, 3, 5, 8, 12)
        found = [mdp_radii.uncentred_explicit(d, H, level, 0.05, 1.0, False) for level in levels]
        np.testing.assert_allclose(found, values, rtol=0.03)
        centred = [theory.flute_explicit(d, H, level, 0.05) for level in levels]
        assert (np.array(centred) <= np.array(found) * (H - 1) / H * (1 + 1e-12)).all()  # the bias is halved
        # For H = 1 nothing is unknown but the reward, without noise: √(dλ).
        assert theory.flute_explicit(d, 1, 3, 0.05, regularization=0.25) == pytest.approx(math.sqrt(d / 4))


def test_finite_radius_of_flute():
    """By its formula, for full levels and values up to R = H − h; the best e on a finer grid."""
    for stage in (1, 3, 4):
        for level in (1, 2, 3, 5, 8, 12):
            R, n = 5 - stage, 5 * level_size(10, level)
            logdet = 10 * math.log1p(n / 10)
            e = R * np.geomspace(1e-9, 1, 20_000)
            root = logdet + 2 * 5 * np.log1p(R / (2 * e)) + 2 * math.log(2 * 5 * level * (level + 1) / 0.05)
            right = (R / 2 * np.sqrt(root) + 2 * e * math.sqrt(n)).min() + (1 + R / 2) * math.sqrt(10)
            found = theory.flute_finite(logdet, 10, 5, level, 0.05, n_states=5, stage=stage)
            assert found == pytest.approx(right, rel=1e-3)


def test_flute_mistake_bound_with_one_stage_by_hand():
    """H = 1: nothing random is left, and the bound is the largest m with m ε ≤ the m largest gaps."""
    d, n_states, delta, eps = 1, 2, 0.1, 0.5
    gaps, gap = [], 1.0
    for level in range(1, 9):
        gaps += [gap] * level_size(d, level)
        members = sum(level_size(d, i) for i in range(1, level + 1))
        logdet = d * math.log1p(members / d)
        beta = theory.flute_finite(logdet, d, 1, level, delta, n_states=n_states, nested=True)
        gap = min(1.0, 2 * beta * 2.0**-level)
    sums = np.cumsum(np.sort(gaps)[::-1])
    expected = np.flatnonzero(sums >= eps * np.arange(1, len(sums) + 1))[-1] + 1
    found = theory.flute_mistake_bound(eps, d, 1, delta, n_states=n_states, replan_factor=1.0)
    assert expected < len(sums)
    assert found == pytest.approx(expected, rel=1e-6)


def test_flute_mistake_bound_falls_with_eps():
    bounds = [theory.flute_mistake_bound(eps, 4, 3, 0.05, n_states=2) for eps in (0.05, 0.2, 0.8)]
    assert bounds == sorted(bounds, reverse=True)
    assert theory.flute_mistake_bound(0.2, 4, 3, 0.05, radius="explicit") > bounds[1]
    with pytest.raises(ValueError, match="n_states must be given"):
        theory.flute_mistake_bound(0.2, 4, 3, 0.05)


@pytest.mark.parametrize("radius", ["mixture", "both", "pool"])
@pytest.mark.parametrize("all_data", [False, True])
def test_the_bound_of_anytime_sup_linucb_by_hand(radius, all_data):
    """Level by level, far beyond the last one that matters."""
    d, delta, g, R, S, lam, L, n = 3, 0.1, 7.0, 0.4, 1.3, 2.5, 0.8, 12
    nested = radius == "mixture"
    b, sizes = [], [theory.level_size(d, j, lam, L) for j in range(1, 16)]
    for j, m in enumerate(sizes, start=1):
        part = delta / (2 if all_data else 1) / (j * (j + 1))
        if radius == "pool":
            p = part / (2 * (n * (n - 1) / 2 + n) * (m + 1) * (m + 2))
            b.append(R * np.sqrt(2 * np.log(1 / p)) + np.sqrt(lam) * S)
            continue
        logdet = d * np.log(1 + (sum(sizes[:j]) if nested else m) * L**2 / (d * lam))
        part = part / 2 if radius == "both" else part
        b.append(np.sqrt(R**2 * (logdet + 2 * np.log(1 / part)) + lam * S**2))
    told = {"gate": g, "radius": radius, "nested": nested, "all_data": all_data, "pool": n}
    assumed = {"noise": R, "norm": S, "regularization": lam, "action_norm": L}
    last = 0.0
    for eps in (30.0, 4.0, 1.0, 0.3, 0.1):
        stored = max([1, *(j for j in range(2, 15) if 4 * b[j - 2] * 2.0 ** -(j - 1) > eps)])
        free = max([0, *(j for j in range(1, 15) if 2 * b[j - 1] * 2.0**-j > eps)])
        right = sum(sizes[:stored]) + (g * d * 4.0**free if free else 0)
        assert theory.anytime_mistake_bound(eps, d, delta, **told, **assumed) == right > last
        last = right if eps < 4 else 0.0
    assert theory.anytime_mistake_bound(0.5, 2, 0.05, radius="round") == np.inf


@pytest.mark.parametrize("told", [{}, {"gate": 1.0, "nested": False, "radius": "both"}])
def test_anytime_sup_linucb_stays_below_its_bound(told):
    agent = unipac.AnytimeSupLinUCB(2, noise=0.3, regularization=0.1, **told)
    trace = agent.play(unipac.envs.sphere(2, 5, noise=0.3, seed=1), rounds=3000, seed=1)
    for eps in (0.02, 0.1, 0.5, 1.0):
        assert (trace.gap > eps).sum() <= agent.mistake_bound(eps) < np.inf
    stored = np.bincount(trace.level)[1:]
    assert all(size <= theory.level_size(2, j + 1, 0.1) for j, size in enumerate(stored))
    assert unipac.AnytimeSupLinUCB(2, radius="round", nested=False).guarantee == "regret"
