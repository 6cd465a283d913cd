"""Verdicts: right with probability 1 − δ however often one looks, and never changed."""

import numpy as np
import pytest

import unipac
from helpers.any_checks import few_enough
from unipac.deployment import Conflict, Full, Unknown, effects

DELTA, EPS, NOISE, ROUNDS = 0.1, 0.2, 0.25, 500


class Narrow(unipac.NestedOFUL):
    """The control: bounds a tenth as wide as they must be."""

    def _bounds(self, X):
        mean, width, ucb, lcb = super()._bounds(X)
        return mean, width, mean + 0.1 * (ucb - mean), mean - 0.1 * (mean - lcb)


def verdict_of(seed, cls=unipac.NestedOFUL):
    """(whether there was a verdict, whether it was wrong, how often it changed)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    angle = rng.uniform(0, 2 * np.pi)
    means = X @ [np.cos(angle), np.sin(angle)]
    noise = NOISE * rng.standard_normal(ROUNDS)
    deployment = unipac.Deployment(cls(2, delta=DELTA, noise=NOISE), drift=0.0)
    deployment.watch("set", X, EPS)
    verdict, flips = None, 0
    for k in range(ROUNDS):
        decision = deployment.decide(None, X, id=k)
        deployment.reward(k, means[decision.index] + noise[k])
        if k % 5 == 0:
            found = deployment.settled("set")
            flips += verdict is not None and found != verdict
            if found is not None and verdict is None:
                verdict = found
                assert found.certificate <= EPS
            elif verdict is not None and k % 100 == 0:
                break
    wrong = verdict is not None and means.max() - means[verdict.index] > EPS
    return verdict is not None, wrong, flips


@pytest.mark.parametrize("seeds", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_verdicts(seeds):
    """Null: a wrong verdict in at most δ of the runs."""
    found, wrong, flips = np.sum([verdict_of(seed) for seed in range(seeds)], axis=0)
    print(f"verdicts {found} of {seeds}, wrong {wrong}, flips {flips}")
    assert flips == 0
    assert found >= 0.8 * seeds
    assert wrong <= DELTA * seeds
    few_enough(int(wrong), seeds, DELTA, "verdicts")


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_narrow_bounds_give_wrong_verdicts():
    """Negative control: with a tenth of the radius more than δ of the verdicts are wrong."""
    found, wrong, _ = np.sum([verdict_of(seed, Narrow) for seed in range(100)], axis=0)
    print(f"narrow: verdicts {found}, wrong {wrong} of 100")
    assert wrong > DELTA * 100


def learned(deployment, X, means, rounds, first=0):
    for k in range(first, first + rounds):
        decision = deployment.decide(None, X, id=k)
        deployment.reward(k, means[decision.index])


def test_verdicts_are_kept_and_dropped(tmp_path):
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    deployment = unipac.Deployment(unipac.NestedOFUL(2, noise=0.1, tight=False))
    deployment.watch("fine", X, 0.2)
    assert deployment.settled("fine") is None
    learned(deployment, X, [0.9, 0.1], 300)
    verdict = deployment.settled("fine")
    assert verdict.index == 0
    assert verdict.label is None
    assert verdict.certificate <= 0.2
    assert deployment.events()[verdict.seq]["kind"] == "ask"
    learned(deployment, X, [0.0, 0.1], 20, first=300)
    assert deployment.settled("fine") is verdict
    deployment.watch("coarse", X, 1.0)  # a verdict at once, from the bounds of now
    assert deployment.settled("coarse").index == 0
    count = len(deployment.events())
    deployment.watch("coarse", X, 1.0)  # the same again
    assert deployment.settled("coarse").seq == count - 1 == len(deployment.events()) - 1
    deployment.save(tmp_path / "d.npz")
    assert unipac.Deployment.load(tmp_path / "d.npz").settled("fine") == verdict
    actions = unipac.features.Actions(X[::-1].copy(), ["b", "a"])
    deployment.watch("named", actions, 0.9)
    assert deployment.settled("named").label == "a"
    assert unipac.Deployment.replay(deployment.events()).digest() == deployment.digest()
    deployment.unwatch("named")
    with pytest.raises(Unknown, match="watched"):
        deployment.settled("named")
    deployment.restart()
    assert deployment.settled("fine") is None
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="eps"):
            deployment.watch("new", X, bad)
    with pytest.raises(ValueError, match="name must be text"):
        deployment.watch(3, X, 0.2)
    with pytest.raises(Conflict, match="fine"):
        deployment.watch("fine", X, 0.3)
    with pytest.raises(ValueError, match="certified"):
        unipac.Deployment(unipac.LinUCB(2)).watch("new", X, 0.2)


def test_reading_changes_nothing():
    """Verdicts come after every 25 learned rounds, asked or not."""
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    read, unread = (unipac.Deployment(unipac.NestedOFUL(2, noise=0.1), clock=lambda: 0.0) for _ in range(2))
    for deployment in (read, unread):
        deployment.watch("set", X, 0.2)
    for k in range(200):
        for deployment in (read, unread):
            learned(deployment, X, [0.9, 0.1], 1, first=k)
        read.settled("set")
    assert read.digest() == unread.digest()
    asks = [event["seq"] for event in read.events() if event["kind"] == "ask"]
    assert asks
    assert read.settled("set").seq == asks[-1]  # with a verdict there is nothing left to ask


def test_at_most_a_thousand_sets(monkeypatch):
    monkeypatch.setattr(effects, "MOST", 20)
    deployment = unipac.Deployment(unipac.NestedOFUL(1))
    for k in range(20):
        deployment.watch(f"set {k}", [[k / 1000]], 1e-3)
    with pytest.raises(Full):
        deployment.watch("one more", [[1.0]], 1e-3)
    deployment.watch("set 3", [[0.003]], 1e-3)  # a known one still goes
    deployment.unwatch("set 3")
    deployment.watch("one more", [[1.0]], 1e-3)


def test_bounds_of_a_refuted_misspecification_are_dropped():
    """A ramp: (0, .4) moves on to .4; then verdicts and bounds under 0 count no more, and decisions say so."""
    rng = np.random.default_rng(0)
    agent = unipac.Guarded(
        unipac.LinUCB(2), noise=0.5, norm=1.5, reward_range=(0.0, 1.0), misspecification=(0.0, 0.4)
    )
    d = unipac.Deployment(agent, linearity=0.0, clock=lambda: 0.0)
    ends = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    d.watch("ends", ends, eps=0.6)
    settled = []
    for k in range(4000):
        z = rng.uniform(-1.0, 1.0, 4)
        decision = d.decide(None, np.column_stack([np.ones(4), z]) / np.sqrt(2.0), id=k)
        if decision.misspecification:
            break
        mean = np.clip(0.5 + 3.0 * decision.action[1] * np.sqrt(2.0), 0.02, 0.98)
        d.reward(k, float(rng.random() < mean))
        settled.append(d.settled("ends") is not None)
    assert decision.misspecification == 0.4
    assert "misspecification=0.4" in repr(decision)
    assert any(settled)  # control: there was a verdict under 0
    d.reward(k, 1.0)
    assert d._agent.misspecification == 0.4
    assert d.settled("ends") is None
    event = next(event for event in reversed(d.events()) if event["kind"] == "decide")
    assert event["misspecification"] == 0.4
    again = unipac.Deployment.replay(d.events())
    assert again.digest() == d.digest()
