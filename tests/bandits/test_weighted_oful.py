"""WeightedOFUL: rounds that weigh differently, as in the slow transcription of ``helpers.judges.bandits``."""

import copy
import math

import numpy as np
import pytest

import unipac
from helpers import regressions
from helpers.judges import bandits as judges
from helpers.regressions import KINDS, T, world


def weighted(radius, kind, d=3, lam=0.3, rounds=T):
    told = {"radius": radius, "delta": 0.1, "noise": 1.0, "norm": 1.1, "regularization": lam}
    rng = np.random.default_rng(8)
    X, _ = world(8, d, kind, rounds)
    sigma = np.where(rng.random(rounds) < 0.9, 0.05, 1.0)
    rewards = X @ np.full(d, 0.5) + (sigma * rng.choice([-1.0, 1.0], rounds))[:, None]
    return unipac.WeightedOFUL(d, **told), judges.WeightedOFUL(d, **told), X, rewards, sigma


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", ["mixture", "bernstein"])
def test_weighted_oful(radius, kind):
    agent, judge, X, rewards, sigma = weighted(radius, kind)
    for t in range(T):
        k, _, certificate = judge.choose(X[t])
        decision = agent.choose(X[t])
        j = decision.index
        if j != k:  # a tie
            upper = judge.all.mean(X[t]) + judge.beta() * judge.all.width(X[t])
            assert upper[j] == pytest.approx(upper[k], abs=1e-9)
        elif radius == "mixture":
            assert decision.certificate == pytest.approx(certificate, abs=1e-7)
        agent.update(decision, rewards[t, j], noise=sigma[t])
        judge.learn(X[t, j], rewards[t, j], sigma[t])
    assert agent.certified == (radius == "mixture")


def test_weights_in_all_ways(tmp_path):
    agent, _, X, rewards, sigma = weighted("mixture", "unit")
    loop, half = copy.copy(agent), copy.copy(agent)
    trace = agent.play(X[:200], rewards[:200], noise=sigma[:200])
    taken = X[np.arange(200), trace.index]
    for t in range(200):
        decision = loop.choose(X[t])
        assert (decision.index, decision.certificate) == (trace.index[t], trace.certificate[t])
        loop.update(decision, rewards[t, decision.index], noise=sigma[t])
    half.absorb(taken[:90], trace.reward[:90], noise=sigma[:90])
    half.save(tmp_path / "weights.npz")
    half = unipac.load(tmp_path / "weights.npz")
    half.absorb(taken[90:], trace.reward[90:], noise=sigma[90:200])
    for other in (loop, half):
        assert (agent.state.rows == other.state.rows).all()
    one, many = weighted("mixture", "unit")[0], weighted("mixture", "unit")[0]
    for _ in range(6):
        one.update(one.choose(X[0, :1]), 0.5, noise=0.2)
    many.update(many.choose(X[0, :1]), 0.5, noise=0.2, times=6)
    np.testing.assert_allclose(one.state.rows, many.state.rows, rtol=1e-12, atol=1e-12)


def test_noise_is_checked():
    agent, _, X, rewards, sigma = weighted("mixture", "unit")
    decision = agent.choose(X[0])
    for bad in (0.0, -1.0, math.nan, math.inf, "x", [1.0], 1e-9):
        with pytest.raises(ValueError, match="noise must be"):
            agent.update(decision, 0.5, noise=bad)
    for bad in (sigma[:4], sigma[:5, None], np.zeros(5), "x", 1.0):
        with pytest.raises(ValueError, match="noise must be"):
            agent.play(X[:5], rewards[:5], noise=bad)
        with pytest.raises(ValueError, match="noise must be"):
            agent.absorb(X[0], rewards[0], noise=bad)
    with pytest.raises(ValueError, match="noise must not be given with an instance"):
        agent.play(unipac.envs.sphere(3, 4), rounds=3, noise=sigma[:3])
    assert agent.rounds == 0
    other = unipac.OFUL(3)
    with pytest.raises(ValueError, match="noise must be left out with OFUL"):
        other.update(other.choose(X[0]), 0.5, noise=0.1)


def test_an_instance_hands_the_noise_of_its_rounds_on():
    """play(instance), in parts, as a stream, play(rounds) and play on arrays with noise= are one."""
    instance = unipac.envs.uneven_noise(3, 4, scales=(0.1, 0.7), shares=(0.6, 0.4), seed=2)
    drawn = instance.rounds(0, 600, seed=5)
    agents = [unipac.WeightedOFUL.made_for(instance, regularization=0.3) for _ in range(5)]
    traces = [
        agents[0].play(drawn.actions, drawn.rewards, noise=drawn.noise, truth=instance.theta),
        agents[1].play(drawn, truth=instance.theta),
        agents[2].play(instance, rounds=600, seed=5, truth=instance.theta),
    ]
    agents[3].play(instance, rounds=250, seed=5)
    agents[3].play(instance, rounds=350, seed=5)
    list(agents[4].stream(instance, rounds=600, seed=5))
    for trace in traces[1:]:
        assert (trace.index == traces[0].index).all()
        np.testing.assert_allclose(trace.gap, traces[0].gap, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(trace.certificate, traces[0].certificate)
        assert trace.covered.all()
    for agent in agents[1:]:
        np.testing.assert_array_equal(agent.state.rows, agents[0].state.rows)
    deaf = unipac.WeightedOFUL.made_for(instance, regularization=0.3)  # what it was before: one noise for all
    deaf.play(drawn.actions, drawn.rewards)
    assert not np.allclose(deaf.state.rows, agents[0].state.rows)
    plain, judge = (unipac.OFUL.made_for(instance) for _ in range(2))  # does not weigh: the largest scale
    assert plain.noise == 0.7
    assert (plain.play(drawn).index == judge.play(drawn.actions, drawn.rewards).index).all()
    with pytest.raises(ValueError, match="rewards must not be given with rounds"):
        plain.play(drawn, drawn.rewards)
    quiet = unipac.envs.uneven_noise(3, 4, scales=(1e-9, 0.7), shares=(0.6, 0.4))
    with pytest.raises(ValueError, match="noise of the instance must be finite, and at least"):
        agents[0].play(quiet, rounds=5)


def test_quiet_rounds_count_for_more():
    """σ = .05 in nine of ten rounds, else 1: with one noise for all of them regret is more than twice as large."""
    agent, _, X, rewards, sigma = weighted("mixture", "unit", rounds=2000)
    plain = unipac.OFUL(3, radius="mixture", delta=0.1, noise=1.0, norm=1.1, regularization=0.3)
    truth = np.full(3, 0.5)
    mine = agent.play(X, rewards, noise=sigma, truth=truth)
    assert mine.covered.all()
    assert (mine.certificate >= mine.gap - 1e-9).all()
    assert 2 * mine.gap.sum() < plain.play(X, rewards, truth=truth).gap.sum()


@pytest.mark.parametrize("runs", regressions.RUNS)
def test_certificates_hold(runs):
    regressions.check_certificates(unipac.WeightedOFUL, runs, regularization=0.05)


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("runs", regressions.RUNS)
def test_an_eighth_of_the_noise_does_not_hold(runs):
    regressions.check_too_little_noise(unipac.WeightedOFUL, runs, regularization=0.05)
