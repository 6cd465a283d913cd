"""Many seeds: equal to the judge and to ``play`` on the same rounds, whatever the split; validity; refusals."""

import importlib.util

import numpy as np
import pytest

import unipac
from helpers.judges import many as judge
from helpers.judges.levelled import FastNaiveAgent
from unipac import envs, metrics
from unipac.many import DeviceError, run, settings, worlds

EPS = (0.01, 0.1, 0.5)
AGENTS = {
    "NestedOFUL": lambda d: unipac.NestedOFUL(d, noise=0.1, tight=False),
    "NestedOFUL, determinant": lambda d: unipac.NestedOFUL(
        d, noise=0.1, tight=False, radius="determinant", all_data=False, reward_range=(-1, 1)
    ),
    "UPACOFUL": lambda d: unipac.UPACOFUL(d, noise=0.1),
    "UPACOFUL, mixture": lambda d: unipac.UPACOFUL(d, noise=0.1, radius="mixture", regularization=0.5),
    "OFUL": lambda d: unipac.OFUL(d, noise=0.1, tight=False),
    "LinUCB": lambda d: unipac.LinUCB(d, alpha=0.3),
    "Guarded": lambda d: unipac.Guarded(unipac.LinUCB(d), noise=0.1, tight=False),
    "Guarded, early": lambda d: unipac.Guarded(unipac.LinUCB(d, alpha=0.1), noise=0.1, tight=False, gate=0.5),
}
INSTANCES = {
    "sphere": envs.sphere(5, 10, noise=0.1, shortest=0.5),
    "large": envs.sphere(9, 6, noise=0.1, noise_kind="rademacher", shortest=0.7),
    "arms": envs.fixed_arms(np.random.default_rng(3).uniform(-0.5, 0.5, (7, 3)), [0.5, -0.3, 0.2], noise=0.1),
    "killer": envs.killer(200),
}


def rounds_of(instance, seed, rounds):
    """The rounds of a seed, as arrays for ``play``."""
    world = settings.world_of(instance, instance.dim, 1.0)
    X, e = np.empty((rounds, instance.n_actions, instance.dim)), np.empty(rounds)
    worlds.write_rounds(world, seed, 0, X, e)
    means = X @ instance.theta
    return X, means, means + e[:, None]


@pytest.mark.boundscheck
@pytest.mark.parametrize("place", INSTANCES)
@pytest.mark.parametrize("name", AGENTS)
def test_a_seed_is_a_play_of_its_rounds(name, place):
    instance, make, T = INSTANCES[place], AGENTS[name], 600
    runs = unipac.play_many(
        make(instance.dim), instance, rounds=T, seeds=2, eps=EPS, checkpoints=[1, 100, T], first_seed=7
    )
    for i in range(2):
        X, means, rewards = rounds_of(instance, 7 + i, T)
        agent = make(instance.dim)
        trace = agent.play(X, rewards, truth=instance.theta)
        gaps = means.max(axis=1) - means[np.arange(T), trace.index]
        assert np.allclose(runs.regret[i], metrics.regret(gaps)[[0, 99, T - 1]], atol=1e-9)
        assert (runs.mistakes[i] == metrics.mistakes(gaps, EPS)).all()
        assert runs.last_mistake[i] == (np.flatnonzero(gaps > EPS[0])[-1] + 1 if (gaps > EPS[0]).any() else 0)
        assert runs.left[i] == (not trace.covered.all())
        assert runs.undercut[i] == metrics.certificate_violations(trace.certificate, gaps).any()
        if name != "LinUCB":
            assert runs.level[i] == max((level.level for level in agent.levels()), default=0)


@pytest.mark.parametrize(
    ("name", "rule", "radius"), [("NestedOFUL", "nested", "mixture"), ("OFUL", "single", "determinant")]
)
def test_a_seed_is_what_the_judge_plays(name, rule, radius):
    instance = envs.sphere(3, 5, noise=0.1)
    agent = AGENTS[name](3)
    runs = unipac.play_many(agent, instance, rounds=150, seeds=2, checkpoints=[1, 50, 150])
    for seed in range(2):
        slow = FastNaiveAgent(3, rule, radius, noise=0.1, all_data=rule == "nested")
        gaps = judge.gaps(slow, instance.theta, 0.1, seed, 150, 5)
        assert np.allclose(runs.regret[seed], gaps.cumsum()[[0, 49, 149]], atol=1e-5)
    assert np.abs(runs.regret[0] - runs.regret[1]).min() > 1e-3  # the control


def test_the_first_of_equal_actions_is_chosen():
    """In the first round all actions of the sphere tie, up to rounding."""
    instance = envs.sphere(4, 9, noise=0.1)
    for name in ("NestedOFUL", "Guarded"):
        runs = unipac.play_many(AGENTS[name](4), instance, rounds=1, seeds=40)
        means = np.array([rounds_of(instance, seed, 1)[1][0] for seed in range(40)])
        assert np.allclose(runs.regret[:, 0], means.max(axis=1) - means[:, 0])


@pytest.mark.boundscheck
def test_how_seeds_are_split_does_not_matter():
    instance = INSTANCES["sphere"]
    agent = AGENTS["NestedOFUL"](5)
    whole = unipac.play_many(agent, instance, rounds=80, seeds=11, workers=1)
    other = unipac.play_many(agent, instance, rounds=80, seeds=6, first_seed=5, workers=3)
    for name in ("regret", "mistakes", "last_mistake", "level", "left", "undercut", "refuted"):
        assert (getattr(whole, name)[5:] == getattr(other, name)).all()
    assert agent.rounds == 0
    assert len(other) == 6


def test_sets_hold_and_too_small_ones_do_not():
    """Null: a run leaves its sets with probability δ = 0.05; 400 seeds; false alarms 10^-6.

    The control is an agent that is told too little noise.
    """
    instance = envs.sphere(3, 5, noise=0.5)
    for make in (
        lambda noise: unipac.NestedOFUL(3, noise=noise, tight=False),
        lambda noise: unipac.Guarded(unipac.LinUCB(3), noise=noise, tight=False, gate=0.5),
    ):
        runs = unipac.play_many(make(0.5), instance, rounds=200, seeds=400)
        assert metrics.binomial_upper_tail(int(runs.left.sum()), 400, 0.05) > 1e-6
        assert metrics.binomial_upper_tail(int(runs.undercut.sum()), 400, 0.05) > 1e-6
        with pytest.warns(UserWarning, match="no certificate is valid"):
            small = unipac.play_many(make(0.05), instance, rounds=200, seeds=400)
        assert small.rate("left").low > 0.5
        assert (small.undercut | small.refuted).mean() > 0.05


def test_means_and_rates():
    runs = unipac.play_many(unipac.LinUCB(2), envs.sphere(2, 3), rounds=20, seeds=50, checkpoints=[5, 20])
    mean = runs.mean("regret")
    assert np.allclose(mean.value, runs.regret.mean(axis=0))
    assert (mean.low < mean.value).all()
    assert (mean.value < mean.high).all()
    assert (runs.mean("mistakes", 0.5).high < runs.mean("mistakes", 0.01).high).any()
    one = unipac.play_many(unipac.LinUCB(2), envs.sphere(2, 3), rounds=20, seeds=1)
    assert one.mean().high[0] == np.inf
    rate = runs.rate("undercut")
    assert (rate.value, rate.low) == (0.0, 0.0)
    assert 0.05 < rate.high < 0.1  # 1 − 0.025^(1/50)
    assert "50 runs of 20 rounds" in repr(runs)
    with pytest.raises(ValueError, match="what must be"):
        runs.rate("regret")


def good(**changes):
    given = {
        "agent": AGENTS["NestedOFUL"](2),
        "instance": envs.sphere(2, 3, noise=0.1),
        "rounds": 5,
        "seeds": 2,
    }
    return {**given, **changes}


def played():
    agent = AGENTS["NestedOFUL"](2)
    agent.update(agent.choose([[1.0, 0.0]]), 0.5)
    return agent


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": unipac.NestedOFUL(2, noise=0.1)}, "agent must be one with tight=False"),
        ({"agent": unipac.NestedOFUL(2, noise=0.1, tight=False, bonus_scale=0.5)}, "bonus_scale=1.0"),
        ({"agent": unipac.LinUCB(2, fixed_actions=np.eye(2))}, "fixed_actions=None"),
        ({"agent": unipac.LinTS(2)}, "agent must be a fresh UPACOFUL"),
        ({"agent": unipac.Guarded(unipac.LinUCB(2))}, "tight=False"),
        ({"agent": unipac.Guarded(unipac.LinUCB(2, regularization=2.0), tight=False)}, "Guarded over LinUCB"),
        ({"agent": unipac.Guarded(unipac.LinTS(2), tight=False)}, "Guarded over LinUCB"),
        ({"agent": played()}, "fresh"),
        ({"agent": "NestedOFUL"}, "agent must be a fresh"),
        ({"instance": envs.sphere(3, 3, noise=0.1)}, "instance must be"),
        ({"instance": envs.misspecified(2, noise=0.1)}, "a sphere, an instance with fixed arms, or a killer"),
        ({"instance": envs.filling(2, noise=0.1)}, "a sphere"),
        ({"instance": None}, "instance must be"),
        ({"rounds": 0}, "rounds must be"),
        ({"seeds": 0}, "seeds must be"),
        ({"first_seed": -1}, "first_seed must be"),
        ({"workers": 0}, "workers must be"),
        ({"device": "tpu"}, "device must be"),
        ({"checkpoints": [3, 3]}, "checkpoints must be"),
        ({"checkpoints": [6]}, "checkpoints must be"),
        ({"checkpoints": []}, "checkpoints must be"),
        ({"eps": [0.1, 0.01]}, "eps must be"),
        ({"eps": [0.0]}, "eps must be"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        unipac.play_many(**good(**changes))


def test_an_action_that_is_too_long_for_the_agent():
    agent = unipac.UPACOFUL(2, noise=0.1, action_norm=0.5)
    with pytest.raises(ValueError, match="actions of norm"):
        unipac.play_many(**good(agent=agent))


def test_without_a_gpu_one_sentence_says_so(monkeypatch):
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DeviceError, match="unipac\\[cuda\\]"):
        unipac.play_many(**good(device="cuda"))
    assert run.missing().startswith('device="cuda" needs')
