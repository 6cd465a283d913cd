"""Which bounds refute the assumptions: those that cross or leave ±S L, in ``choose``, ``bounds`` and ``play`` alike."""

import warnings

import numpy as np
import pytest

import unipac
from unipac._agents import _learned, _made

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]
MADE = {
    "OFUL": lambda **kw: unipac.OFUL(2, **kw),
    "NestedOFUL": lambda **kw: unipac.NestedOFUL(2, **kw),
    "UPACOFUL": lambda **kw: unipac.UPACOFUL(2, radius="determinant", **kw),
    "BallOFUL": lambda **kw: unipac.BallOFUL(2, **kw),
    "WeightedOFUL": lambda **kw: unipac.WeightedOFUL(2, **kw),
    "ConfidenceBall": lambda **kw: unipac.ConfidenceBall(2, **kw),
    "AnytimeSupLinUCB": lambda **kw: unipac.AnytimeSupLinUCB(2, **kw),
    "Guarded": lambda **kw: unipac.Guarded(unipac.LinUCB(2), **kw),
}


def taught(name, reward, rounds=400, **parameters):
    """An agent that learned the same reward of the first direction again and again."""
    agent = MADE[name](**{"noise": 0.01, **parameters})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent.absorb([EAST] * rounds, [reward] * rounds)
    return agent


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("reward", [5.0, -5.0])
def test_bounds_beyond_what_the_norms_allow_refute_wherever_they_are_seen(name, reward):
    told, offered = taught(name, reward), [NORTH, EAST]
    assert told.consistent  # nobody has looked
    with pytest.warns(RuntimeWarning, match="an assumption does not hold"):
        told.bounds(offered)
    assert not told.consistent
    assert np.isnan(told.choose(offered).certificate)
    played = taught(name, reward)
    with pytest.warns(RuntimeWarning, match="an assumption does not hold"):
        trace = played.play([EAST], np.full((3, 1), reward))
    assert np.isnan(trace.certificate).all()
    assert not played.consistent


@pytest.mark.parametrize("name", MADE)
def test_bounds_that_the_assumptions_allow_refute_nothing(name):
    agent = taught(name, 0.9, reward_range=(-1.0, 1.0))
    agent.bounds([NORTH, EAST])
    agent.play([NORTH, EAST], np.tile([0.0, 0.9], (5, 1)))
    assert agent.consistent


def test_bounds_outside_of_the_reward_range_refute():
    agent = taught("OFUL", 0.9, reward_range=(-0.5, 0.5))
    with pytest.warns(RuntimeWarning, match="an assumption does not hold"):
        bounds = agent.bounds([NORTH, EAST])
    assert (bounds.lcb[1], bounds.ucb[1]) == (0.5, 0.5)


def test_what_is_not_proven_refutes_nothing():
    agent = unipac.LinUCB(2)
    agent.absorb([EAST] * 100, [50.0] * 100)
    agent.bounds([EAST])
    assert agent.consistent


@pytest.mark.parametrize("name", ["NestedOFUL", "UPACOFUL"])
def test_disjoint_sets_of_two_levels_refute(name):
    """Level 1 says .8, a later one −.8, and both are possible by themselves."""
    levels = []
    for rewards in ([0.8, -0.8], [0.8, 0.8], [-0.8, -0.8]):
        agent = MADE[name](noise=0.001, norm=1.0, regularization=0.01)
        for k in range(3000):
            agent.absorb([EAST], [rewards[len(agent.levels()) > 1 or k > 50]])
        levels.append(agent)
    refuted, *alike = levels
    for agent in alike:
        agent.bounds([EAST, NORTH])
        agent.choose([EAST])
        assert agent.consistent
    for look in (lambda agent: agent.bounds([NORTH, EAST]), lambda agent: agent.choose([EAST])):
        agent = _made(type(refuted), refuted.parameters, *_learned(refuted))
        with pytest.warns(RuntimeWarning, match="an assumption does not hold"):
            look(agent)
        assert not agent.consistent


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "norms", [[1e-162], [1e-300], [0.0], [1e-161, 1e-162, 0.0], [1e-300, 1.0, 1e-162, 0.0]]
)
def test_actions_whose_squares_vanish_refute_nothing(name, norms):
    rng = np.random.default_rng(1)
    agent, theta = MADE[name](noise=1.0), np.array([0.6, 0.8])
    units = rng.standard_normal((1000, 4, 2))
    units /= np.linalg.norm(units, axis=2, keepdims=True)
    rewards = units @ theta + rng.choice([-1.0, 1.0], (1000, 1))
    agent.play(units, rewards)
    for X in units[:60]:
        small = X * np.resize(norms, 4)[:, None]
        bounds = agent.bounds(small)
        assert (bounds.lcb <= small @ theta + 1e-100).all()
        assert (bounds.ucb >= small @ theta - 1e-100).all()
        agent.update(agent.choose(small), 1.0)
    agent.play(units[:60] * np.resize(norms, 4)[:, None], rewards[:60])
    assert agent.consistent


def test_small_actions_can_still_refute():
    """The control: at 1e-80 bounds that cross are seen."""
    agent = taught("OFUL", 0.9)
    agent.bounds([[1e-80, 0.0]])
    assert agent.consistent
    agent = taught("NestedOFUL", 0.8, noise=0.001, regularization=0.01)
    agent.absorb([EAST] * 3000, [-0.8] * 3000)
    with pytest.warns(RuntimeWarning, match="an assumption does not hold"):
        agent.bounds([[1e-80, 0.0]])
