"""Copies of bandit agents: each has a memory of its own and goes on as the original would."""

import pickle

import numpy as np
import pytest

import unipac
from helpers.copies import WAYS, assert_same

BANDITS = {
    "NestedOFUL": lambda **more: unipac.NestedOFUL(3, noise=0.3, **more),
    "UPACOFUL": lambda **more: unipac.UPACOFUL(3, noise=0.3, **more),
    "OFUL": lambda **more: unipac.OFUL(3, noise=0.3, **more),
    "LinUCB": lambda **more: unipac.LinUCB(3, alpha=0.5, **more),
    "BallOFUL": lambda **more: unipac.BallOFUL(3, noise=0.3, **more),
}


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BANDITS)
def test_a_copied_bandit_goes_on_alone(name, way, fixed):
    """Small actions open so many levels that the memory grows, in the copy as in the original."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 3)) * [[0.5], [0.1], [1e-2], [1e-3], [1e-5]] / 4
    rewards = X @ [0.5, 0.5, -0.5] + 0.3 * rng.standard_normal((60, 1))
    more = {"fixed_actions": X} if fixed else {}
    agent, judge = BANDITS[name](**more), BANDITS[name](**more)
    for one in (agent, judge):
        one.play(X, rewards[:20])
        one.choose(X)
    other = WAYS[way](agent)
    assert type(other) is type(agent)
    (waiting,) = agent.pending
    assert list(other.pending) == [waiting]
    assert_same(other.play(X, rewards[20:]), judge.play(X, rewards[20:]))
    other.absorb(X, np.ones(5))
    other.forget(waiting)
    judge.absorb(X, np.ones(5))
    assert other.levels() == judge.levels()
    assert agent.rounds == 20  # nothing came from the copy
    assert list(agent.pending) == [waiting]
    twin = BANDITS[name](**more)
    twin.play(X, rewards[:20])
    assert agent.levels() == twin.levels()
    np.testing.assert_array_equal(agent.bounds(X), twin.bounds(X))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BANDITS)
def test_no_copy_takes_the_decisions_of_another(name, way):
    """It knows what was pending when it was made; later decisions are of one agent alone."""
    X = np.eye(3)
    agent = BANDITS[name]()
    before = agent.choose(X)
    copies = [WAYS[way](agent) for _ in range(2)]
    family = [agent, *copies]
    later = [one.choose(X) for one in family]
    assert len({decision.id for decision in [before, *later]}) == 4
    for one, own in zip(family, later, strict=True):
        for foreign in (decision for decision in later if decision is not own):
            for given in (foreign, foreign.id):
                with pytest.raises(ValueError, match="decision must be waiting for a reward"):
                    one.update(given, 1.0)
                with pytest.raises(ValueError, match="decision must be waiting for a reward"):
                    one.forget(given)
        assert one.rounds == 0
        one.update(before, 0.5)
        one.update(own, 0.25)
        assert (one.rounds, len(one.pending)) == (2, 0)


def test_the_text_of_an_agent_says_how_far_it_is():
    agent = unipac.NestedOFUL(3, noise=0.3)
    assert repr(agent) == "<NestedOFUL(3, noise=0.3): 0 rounds>"
    agent.play(np.eye(3), np.zeros((300, 3)))
    agent.choose(np.eye(3))
    assert repr(agent) == "<NestedOFUL(3, noise=0.3): 300 rounds, 1 pending>"
    agent = unipac.LSVIUCB(np.eye(2)[None], horizon=2, total_episodes=10**4)
    assert (
        repr(agent)
        == "<LSVIUCB(<1x2x2 array>, horizon=2, n_actions=2, dim=2, total_episodes=10000): 0 episodes>"
    )
    agent.act(0)
    assert repr(agent).endswith(": 0 episodes, stage 1 of another>")
    agent.observe(0.0, 0)
    assert repr(agent).endswith(": 0 episodes, stage 2 of another>")


@pytest.mark.parametrize("name", ["NestedOFUL", "UPACOFUL", "OFUL", "LinUCB"])
def test_what_happens_between_choice_and_reward(name):
    """An action is not evaluated again for its reward if nothing came in between, and else it is."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6, 3))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    y = rng.standard_normal(40)

    def nothing(agent, t):
        pass

    def another_choice(agent, t):
        agent.forget(agent.choose(X[t - 1]))

    def all_bounds(agent, t):
        agent.bounds(X[t - 1])

    def a_refused_choice(agent, t):
        with pytest.raises(ValueError, match="actions"):
            agent.choose(np.full((2, 3), np.nan))

    def learning(agent, t):
        agent.absorb(X[t, :1], y[t : t + 1])

    def a_run(agent, t):
        agent.play(X[t], y[None, :6])

    def run(between, fresh):
        agent = BANDITS[name]()
        for t in range(40):
            decision = agent.choose(X[t])
            between(agent, t)
            if fresh:
                agent = pickle.loads(pickle.dumps(agent))  # which remembers no values
            agent.update(decision.id, y[t])
        return agent.levels(), agent.bounds(X[0])

    for between in (nothing, another_choice, all_bounds, a_refused_choice, learning, a_run):
        (levels, bounds), (expected, judged) = run(between, False), run(between, True)
        assert levels == expected, between.__name__
        np.testing.assert_array_equal(bounds, judged)
