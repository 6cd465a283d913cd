"""Rewards that are linear within one of several ζ: which one is in force, and what holds under it."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import unipac
from helpers.judges import bandits as judges
from unipac import theory

ZETAS = (0.0, 0.02, 0.4)
MADE = {
    "Guarded": lambda **more: unipac.Guarded(unipac.LinUCB(2), **more),
    "NestedOFUL": lambda **more: unipac.NestedOFUL(2, **more),
    "OFUL": lambda **more: unipac.OFUL(2, **more),
    "OFUL mixture": lambda **more: unipac.OFUL(2, radius="mixture", **more),
}


def ramp(seed, rounds, slope=3.0):
    """Four actions (1, z)/√2, z uniform in [−1, 1]; rewards 0 or 1 of mean 0.5 + 3z, cut to [0.02, 0.98]."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (rounds, 4))
    X = np.stack([np.ones_like(z), z], axis=2) / math.sqrt(2)
    return X, (rng.random((rounds, 4)) < np.clip(0.5 + slope * z, 0.02, 0.98)).astype(float)


def made(name, zetas=ZETAS, **more):
    return MADE[name](
        **{"noise": 0.5, "norm": 1.5, "reward_range": (0.0, 1.0), "misspecification": zetas, **more}
    )


@pytest.mark.parametrize("name", MADE)
def test_a_ramp_refutes_all_but_the_last(name):
    """Of 12 seeds all end at ζ = 0.4 within 4,000 rounds; the control, a line of the same range, ends at 0."""
    for seed in range(12):
        agent = made(name)
        trace = agent.play(*ramp(seed, 4000))
        assert agent.misspecification == trace.misspecification[-1] == 0.4
        assert agent.consistent
        assert np.isfinite(trace.certificate).all()
        assert (np.diff(trace.misspecification) >= 0).all()
        assert set(trace.misspecification) == set(ZETAS)
    line = made(name)
    line.play(*ramp(0, 4000, slope=0.45))
    assert line.misspecification == 0.0


@pytest.mark.parametrize("name", MADE)
def test_playing_is_a_loop_also_where_data_refute(name, tmp_path):
    X, y = ramp(1, 2500)
    played = made(name)
    trace = played.play(X, y)
    looped, levels, taken = made(name), [], []
    for t in range(len(y)):
        if t == 1200:
            looped.save(tmp_path / "agent.npz")
            looped = unipac.load(tmp_path / "agent.npz")
            assert looped.misspecification == trace.misspecification[t]
        decision = looped.choose(X[t])
        assert (decision.index, decision.misspecification) == (trace.index[t], trace.misspecification[t])
        assert decision.certificate == trace.certificate[t]
        levels.append(decision.level)
        taken.append(decision.index)
        looped.update(decision, y[t, decision.index])
    assert looped.digest() == played.digest()
    absorbed = made(name)
    rows = np.arange(len(y))
    absorbed.absorb(X[rows, taken], y[rows, taken], levels=levels)
    assert absorbed.digest() == played.digest()
    assert absorbed.misspecification == 0.4


def steps(seed, rounds):
    """Rewards 0 or 1 by the sign of z, without noise: far from linear, and found out soon."""
    X, _ = ramp(seed, rounds)
    return X, (X[:, :, 1] > 0).astype(float)


def test_moves_as_in_the_pseudo_code():
    """Row, level, certificate to 1e-8, and ζ of every decision, as a judge with all data has them."""
    told = {"noise": 0.1, "norm": 1.5, "reward_range": (0.0, 1.0), "gate": 2.0, "regularization": 1.0}
    told["misspecification"] = (0.0, 0.02, 0.6)
    agent = unipac.Guarded(unipac.LinUCB(2), **told)
    judge = judges.Guarded(2, judges.Index(2, radius="constant", alpha=1.0), **told)
    X, y = steps(0, 220)
    seen = set()
    for t in range(len(y)):
        decision = agent.choose(X[t])
        k, level, certificate = judge.choose(X[t])
        assert (decision.index, decision.level) == (k, level)
        assert decision.certificate == pytest.approx(certificate, abs=1e-8)
        assert decision.misspecification == judge.under
        seen.add(decision.misspecification)
        agent.update(decision, y[t, k])
        judge.learn(X[t, k], y[t, k], level)
        assert agent.misspecification == judge.zeta
    assert seen == {0.0, 0.02, 0.6}
    assert agent.levels()[0].radius == pytest.approx(judge.radius(1), rel=1e-9)


@pytest.mark.parametrize("name", MADE)
def test_asking_changes_nothing(name):
    """An agent whose next choice is refuted under the ζ in force answers under the next, and has learned nothing.

    Three levels of contradiction: bounds of one direction beyond what the norm allows, by more and more.
    """
    x = np.array([[1.0, 0.0]])
    agent = made(name, (0.0, 0.5, 3.0), reward_range=None, noise=0.1, norm=0.5)
    agent.absorb(np.repeat(x, 60, axis=0), np.full(60, 0.9))
    agent.absorb(x, [0.9])
    before = agent.digest()
    assert agent.misspecification in (0.0, 0.5)
    bounds = agent.bounds(x)
    decision = agent.choose(x)
    assert decision.misspecification == 0.5
    assert bounds.ucb[0] == pytest.approx(decision.ucb)
    agent.forget(decision)
    assert agent.digest() == before
    assert agent.consistent
    agent.update(agent.choose(x), 0.9)
    assert agent.misspecification == 0.5


@pytest.mark.parametrize("name", MADE)
def test_after_the_last_nothing_is_certified(name):
    agent = made(name, (0.0, 0.01))
    X, y = steps(0, 1500)
    with pytest.warns(RuntimeWarning, match="an assumption does not hold") as told:
        trace = agent.play(X, y)
    for words in (
        "misspecification=0.01",
        "noise=0.5",
        "norm=1.5",
        "reward_range=(0, 1)",
        "order",
        "State a larger",
    ):
        assert words in str(told[0].message)
    assert np.isnan(trace.certificate[-1])
    assert not agent.consistent
    assert np.isnan(agent.choose(X[0]).certificate)


def test_what_is_told():
    for wrong in (
        (),
        (0.1, 0.1),
        (0.2, 0.1),
        (-0.1, 0.1),
        (0.0, math.inf),
        tuple(range(65)),
        "0.1",
        (0.0, "a"),
    ):
        with pytest.raises(ValueError, match="misspecification must be"):
            unipac.NestedOFUL(2, misspecification=wrong)
    with pytest.raises(ValueError, match="be 0 without"):
        unipac.NestedOFUL(2, misspecification=(0.0, 0.1), tight=False)
    assert unipac.NestedOFUL(2, misspecification=[0.1]).misspecification == 0.1
    agent = unipac.Guarded(unipac.LinUCB(2), misspecification=np.array([0.0, 0.1]))
    assert agent.misspecification == 0.0
    assert agent.parameters["misspecification"] == (0.0, 0.1)
    assert "misspecification=(0.0, 0.1)" in repr(agent)
    assert agent.guarantee == "uniform-PAC"


def test_a_decision_says_under_which_zeta():
    agent = unipac.NestedOFUL(2, misspecification=(0.05, 0.1), noise=0.1)
    decision = agent.choose([[1.0, 0.0]])
    assert decision.misspecification == 0.05
    for same in (
        copy.copy(decision),
        pickle.loads(pickle.dumps(decision)),
        copy.copy(agent).pending[decision.id],
    ):
        assert same.misspecification == 0.05
    with pytest.raises(AttributeError, match="can't set"):
        decision.misspecification = 0.0
    assert "misspecification=0.05" in repr(decision)
    assert unipac.NestedOFUL(2).choose([[1.0, 0.0]]).misspecification == 0.0
    assert unipac.LinUCB(2).choose([[1.0, 0.0]]).misspecification is None
    assert agent.play([[1.0, 0.0]], [[0.5]]).misspecification.tolist() == [0.05]
    assert unipac.NestedOFUL(2).play([[1.0, 0.0]], [[0.5]]).misspecification is None


def test_mistakes_above_a_floor_are_bounded():
    """4 (b_l + ζ√n_l) 2^-l + 4ζ falls, then rises: finite at 1.3, infinite at 1.1; of ζ = 0 the limit."""
    told = {"noise": 0.5, "gate": 16.0}
    assert theory.guarded_mistake_bound(1.3, 20, 0.05, misspecification=0.01, **told) == 44_050_415
    assert theory.guarded_mistake_bound(1.1, 20, 0.05, misspecification=0.01, **told) == math.inf
    right = theory.guarded_mistake_bound(0.3, 5, 0.05, **told)
    assert theory.guarded_mistake_bound(0.3, 5, 0.05, misspecification=1e-12, **told) == right
    agent = unipac.Guarded(unipac.LinUCB(20), noise=0.5, misspecification=(0.01, 0.1))
    assert agent.mistake_bound(1.3) == 44_050_415
    assert agent.mistake_bound(1.1) == math.inf
    assert agent.guarantee == "none"
    for eps, finite in ((0.5, True), (0.4, False)):
        bound = theory.mistake_bound(
            eps, 20, 0.05, noise=0.5, nested=True, all_data=True, misspecification=0.01
        )
        assert (bound < math.inf) == finite
        assert unipac.NestedOFUL(20, noise=0.5, misspecification=0.01).mistake_bound(eps) == bound


@pytest.mark.parametrize("name", ["Guarded", "NestedOFUL"])
def test_certificates_hold_under_the_zeta_of_the_ramp(name):
    """The misfit of the ramp is at most 0.4 from the line 0.5 + 0.9z, of norm 1.46: no certificate is below a gap.

    Null: with probability 1 − δ = 0.95 none is, in one run; 8 runs, rejected if more than 5 fail (2e-6).
    """
    failures = 0
    for seed in range(8):
        X, y = ramp(seed, 3000)
        z = X[:, :, 1] * math.sqrt(2)
        means = np.clip(0.5 + 3 * z, 0.02, 0.98)
        assert np.abs(means - (0.5 + 0.9 * z)).max() <= 0.4 + 0.02
        agent = made(name, 0.42)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            trace = agent.play(X, y)
        gaps = means.max(axis=1) - means[np.arange(3000), trace.index]
        failures += bool((trace.certificate < gaps - 1e-9).any())
    assert failures <= 5
