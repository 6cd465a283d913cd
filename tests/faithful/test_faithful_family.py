"""The stages, the balls and Thompson sampling decide as the slow transcriptions in ``judge_bandits``."""

import copy
import itertools
import math

import judge_bandits as judges
import numpy as np
import pytest
from test_faithful_bandits import action_sets

import unipac

T, N = 2000, 5
COMMON = {"noise": 0.2, "norm": 1.1}
KINDS = ["norms", "collinear", "unit", "arms", "repeats"]


def draws(seed):
    """The draws of LinTS, for the judge: those of decision k come from (seed, k)."""
    numbers = itertools.count()
    return lambda dim: (np.random.default_rng((seed, next(numbers))).standard_normal(dim),)


def nothing(dim):
    return ()


MAKE = {
    "SupLinUCB": lambda d, lam: (
        unipac.SupLinUCB(d, total_rounds=T, delta=0.1, regularization=lam, **COMMON),
        judges.SupLinUCB(d, T, N, delta=0.1, regularization=lam, **COMMON), nothing),
    "SupLinRel": lambda d, lam: (
        unipac.SupLinRel(d, total_rounds=T, delta=0.1, **COMMON),
        judges.SupLinRel(d, T, N, delta=0.1, **COMMON), nothing),
    "VCLSupLinUCB": lambda d, lam: (
        unipac.VCLSupLinUCB(d, total_rounds=T, regularization=lam, **COMMON),
        judges.VCLSupLinUCB(d, T, N, regularization=lam, **COMMON), nothing),
    "ConfidenceBall 2 mixture": lambda d, lam: balls(d, lam, 2, "mixture"),
    "ConfidenceBall 1 mixture": lambda d, lam: balls(d, lam, 1, "mixture"),
    "ConfidenceBall 2 paper": lambda d, lam: balls(d, lam, 2, "paper"),
    "ConfidenceBall 1 paper": lambda d, lam: balls(d, lam, 1, "paper"),
    "LinTS posterior": lambda d, lam: samplers(d, lam, "posterior"),
    "LinTS frequentist": lambda d, lam: samplers(d, lam, "frequentist"),
}  # fmt: skip


def balls(d, lam, norm_kind, radius):
    told = {"norm_kind": norm_kind, "radius": radius, "delta": 0.1, "regularization": lam, **COMMON}
    return unipac.ConfidenceBall(d, **told), judges.ConfidenceBall(d, **told), nothing


def samplers(d, lam, scale):
    told = {"scale": scale, "delta": 0.1, "regularization": lam, **COMMON}
    return unipac.LinTS(d, seed=7, **told), judges.LinTS(d, **told), draws(7)


def compared(agent, judge, extra, X, rewards):
    """How often choices differ by more than a tie, or certificates by 1e-7; and the levels. The judge follows."""
    differ, levels = 0, set()
    for offered, reward in zip(X, rewards, strict=True):
        k, level, certificate = judge.choose(offered, *extra(agent.dim))
        decision = agent.choose(offered)
        j = decision.index
        rows, score = judge.score
        scores = dict(zip(rows.tolist(), score.tolist(), strict=True))
        tied = j in scores and abs(scores[j] - scores[k]) <= 1e-9 * max(1.0, abs(scores[k]))
        differ += not (tied and decision.level == level)
        if j == k and decision.certified:
            differ += not abs(decision.certificate - certificate) <= 1e-7
        assert decision.certified or math.isnan(decision.certificate)
        agent.update(decision, reward[j])
        judge.learn(offered[j], reward[j], decision.level)
        levels.add(level)
    return differ, levels


def world(case, d, kind):
    rng = np.random.default_rng(case)
    X = action_sets(rng, d, T, N, kind)
    theta = rng.standard_normal(d)
    return X, X @ (theta / np.linalg.norm(theta)) + 0.2 * rng.standard_normal((T, 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MAKE)
def test_decides_as_the_pseudo_code(name, kind):
    case = [*MAKE].index(name) * len(KINDS) + KINDS.index(kind)
    d = [3, 1, 2, 4][case % 4]
    agent, judge, extra = MAKE[name](d, [0.1, 2.0, 0.04][case % 3])
    differ, levels = compared(agent, judge, extra, *world(case, d, kind))
    assert differ == 0
    assert len(levels) >= (3 if "Sup" in name and kind != "norms" else 1)


@pytest.mark.parametrize("name", MAKE)
def test_the_judge_can_say_no(name):
    _, judge, extra = MAKE[name](3, 0.1)
    other, _, _ = MAKE[name](
        3, 3.0 if "paper" in name or "LinTS" in name else 0.15
    )  # that radius is so large, and draws are of such a direction, that λ hardly matters
    if name == "SupLinRel":  # it has no λ
        other = unipac.SupLinRel(3, total_rounds=T, delta=0.01, **COMMON)
    X, rewards = world(3, 3, "unit")
    assert compared(other, judge, extra, X[:1000], rewards[:1000])[0] > 0


@pytest.mark.parametrize("name", MAKE)
def test_files_and_copies(name, tmp_path):
    agent, _, _ = MAKE[name](3, 0.3)
    X, rewards = world(5, 3, "unit")
    agent.play(X[:150], rewards[:150])
    agent.save(tmp_path / "agent.npz")
    for other in (unipac.load(tmp_path / "agent.npz"), copy.copy(agent)):
        ours, theirs = (
            copy.copy(agent).play(X[150:300], rewards[150:300]),
            other.play(X[150:300], rewards[150:300]),
        )
        np.testing.assert_array_equal(ours.index, theirs.index)
        np.testing.assert_array_equal(ours.certificate, theirs.certificate)


@pytest.mark.parametrize("name", ["SupLinUCB", "SupLinRel"])
def test_the_horizon(name):
    """After T rounds the errors are no longer covered by δ: S ‖y − x‖ is all that is certified."""
    cls = unipac.AGENTS[name]
    agent, X = cls(2, total_rounds=500, noise=0.01, norm=1.0), np.eye(2)
    trace = agent.play(X, np.tile([0.5, 0.0], (600, 1)))
    assert trace.certificate[499] < 0.5 < trace.certificate[500:].min()
    assert (trace.certificate[500:] == math.sqrt(2.0)).all()
    with pytest.raises(TypeError, match="total_rounds"):
        cls(2)
    with pytest.raises(TypeError, match="takes no horizon: T is total_rounds"):
        cls(2, horizon=9)
    with pytest.raises(ValueError, match="absorb"):
        agent.absorb([[1.0, 0.0]], [1.0])
    assert cls.made_for(unipac.envs.sphere(2, 3), rounds=77).total_rounds == 77


def test_capabilities():
    assert unipac.ConfidenceBall(2).certified
    assert unipac.ConfidenceBall(2).guarantee == "regret"
    assert not unipac.ConfidenceBall(2, radius="paper").certified
    assert unipac.ConfidenceBall(2, radius="paper").guarantee == "none"
    assert unipac.LinTS(2).guarantee == "none"
    assert not unipac.LinTS(2).certified
    assert unipac.LinTS(2, scale="frequentist").guarantee == "regret"
    assert unipac.VCLSupLinUCB(2, total_rounds=9).guarantee == "none"
    assert unipac.SupLinUCB(2, total_rounds=9).guarantee == "regret"


def test_guarded_thompson_sampling():
    """A random heuristic under the guard goes on from a file as if nothing had happened."""
    agent = unipac.Guarded(unipac.LinTS(3, noise=0.2, seed=3), noise=0.2, gate=1.0)
    X, rewards = world(6, 3, "unit")
    agent.play(X[:200], rewards[:200])
    twin = copy.copy(agent)
    np.testing.assert_array_equal(
        agent.play(X[200:300], rewards[200:300]).index, twin.play(X[200:300], rewards[200:300]).index
    )
    assert len(agent.levels()) > 1


# -- one model per action ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_one_model_per_action(kind):
    d = 3
    agent = unipac.DisjointLinUCB(d, n_actions=N, alpha=0.7, regularization=0.3)
    judge = judges.DisjointLinUCB(d, N, alpha=0.7, regularization=0.3)
    X, _ = world(9, d, kind)
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((N, d)) / 2
    rewards = (X * truth).sum(axis=2) + 0.2 * rng.standard_normal((T, N))
    for offered, reward in zip(X, rewards, strict=True):
        k, _, _ = judge.choose(offered)
        decision = agent.choose(offered)
        j = decision.index
        if j != k:  # a tie
            p = agent.bounds(offered).ucb
            assert p[j] == pytest.approx(p[k], abs=1e-9)
        own = judge.models[j]
        assert decision.ucb == pytest.approx(
            (own.mean(offered[j : j + 1]) + 0.7 * own.width(offered[j : j + 1]))[0], abs=1e-8
        )
        agent.update(decision, reward[j])
        judge.learn(offered[j], reward[j], j)
    assert agent.state.size.sum() == T
    assert (agent.state.size > 0).all()


def test_one_model_per_action_keeps_its_promises(tmp_path):
    X, rewards = world(4, 3, "unit")
    make = lambda: unipac.DisjointLinUCB(3, n_actions=N)  # noqa: E731
    agent, loop = make(), make()
    trace = agent.play(X[:200], rewards[:200])
    for t in range(200):
        if t == 90:
            loop.save(tmp_path / "models.npz")
            loop = unipac.load(tmp_path / "models.npz")
        decision = loop.choose(X[t])
        assert (decision.index, decision.level) == (trace.index[t], trace.level[t])
        loop.update(decision, rewards[t, decision.index])
    assert (agent.state.rows == loop.state.rows).all()
    with pytest.raises(ValueError, match="actions must be 5 in every round"):
        agent.choose(X[0, :3])
    with pytest.raises(ValueError, match="actions must be 5 in every round"):
        agent.play(X[:10, :3], rewards[:10, :3])
    with pytest.raises(ValueError, match="absorb"):
        agent.absorb(X[0], rewards[0])
    with pytest.raises(TypeError, match="n_actions"):
        unipac.DisjointLinUCB(3)
    for moved in ({"disjoint": True}, {"disjoint": True, "n_actions": 5}, {"n_actions": 5}):
        with pytest.raises(
            TypeError, match=r"LinUCB takes no .*: DisjointLinUCB has a model for each action"
        ):
            unipac.LinUCB(3, **moved)
    with pytest.raises(ValueError, match="heuristic must be"):
        unipac.Guarded(make())
    assert unipac.DisjointLinUCB.made_for(unipac.envs.sphere(2, 7)).n_actions == 7
    one, many = (unipac.DisjointLinUCB(3, n_actions=1) for _ in range(2))
    for _ in range(6):
        one.update(one.choose(X[0, :1]), 0.5)
    many.update(many.choose(X[0, :1]), 0.5, times=6)
    np.testing.assert_allclose(one.state.rows, many.state.rows, atol=1e-12)


# -- rounds that weigh differently -------------------------------------------------------------


def weighted(radius, kind, d=3, lam=0.3):
    told = {"radius": radius, "delta": 0.1, "noise": 1.0, "norm": 1.1, "regularization": lam}
    rng = np.random.default_rng(8)
    X, _ = world(8, d, kind)
    sigma = np.where(rng.random(T) < 0.9, 0.05, 1.0)
    rewards = X @ np.full(d, 0.5) + (sigma * rng.choice([-1.0, 1.0], T))[:, None]
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
    agent, _, X, rewards, sigma = weighted("mixture", "unit")
    plain = unipac.OFUL(3, radius="mixture", delta=0.1, noise=1.0, norm=1.1, regularization=0.3)
    truth = np.full(3, 0.5)
    mine = agent.play(X, rewards, noise=sigma, truth=truth)
    assert mine.covered.all()
    assert (mine.certificate >= mine.gap - 1e-9).all()
    assert 2 * mine.gap.sum() < plain.play(X, rewards, truth=truth).gap.sum()
