"""One model per action: DisjointLinUCB decides as the slow transcription in ``helpers.judges.bandits``."""

import numpy as np
import pytest

import unipac
from helpers.judges import bandits as judges
from helpers.regressions import KINDS, N, T, world


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
            ValueError, match=r"LinUCB takes no .*: DisjointLinUCB has a model for each action"
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
