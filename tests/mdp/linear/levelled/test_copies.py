"""Copies of FLUTE, NestedFLUTE and LSVIUCB: each has a memory of its own and goes on as the original would."""

import numpy as np
import pytest

import unipac
from helpers.copies import WAYS, assert_same
from unipac.features import TileCoding

EPISODIC = {
    "FLUTE": lambda mdp: unipac.FLUTE(mdp.features, horizon=mdp.horizon),
    "NestedFLUTE": lambda mdp: unipac.NestedFLUTE(mdp.features, horizon=mdp.horizon),
    "LSVIUCB": lambda mdp: unipac.LSVIUCB(mdp.features, horizon=mdp.horizon, total_episodes=100),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EPISODIC)
def test_a_copied_episodic_agent_goes_on_alone(name, way):
    mdp = unipac.envs.river_swim(4, horizon=5)
    agent, judge = EPISODIC[name](mdp), EPISODIC[name](mdp)
    for one in (agent, judge):
        one.play(mdp, episodes=40, seed=1)
    other = WAYS[way](agent)
    before = [array.copy() for array in agent.state.data]
    expected = judge.play(mdp, episodes=40, seed=2)
    assert_same(other.play(mdp, episodes=40, seed=2), expected)
    assert agent.episodes == 40
    for array, same in zip(agent.state.data, before, strict=True):
        np.testing.assert_array_equal(array, same)  # the copy learned alone
    assert_same(agent.play(mdp, episodes=40, seed=2), expected)


@pytest.mark.parametrize("replan", ["always", "lazy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EPISODIC)
def test_a_copied_agent_with_a_feature_map_goes_on_alone(name, way, replan):
    """Copied in the middle of an episode, whose rewards both then see."""
    tiles = TileCoding([0.0], [1.0], 2, bins=3, tilings=2)
    more = {"total_episodes": 300} if name == "LSVIUCB" else {}
    agent = unipac.AGENTS[name](feature_map=tiles, horizon=3, replan=replan, bonus_scale=0.01, **more)

    def play(agent, steps, seed):
        rng = np.random.default_rng(seed)
        actions, x = [], rng.random()
        for _ in range(steps):
            actions.append(agent.act([x]))
            x = rng.random()
            agent.observe(
                float(rng.random() < 0.5 + 0.3 * actions[-1]), [x], terminated=bool(rng.random() < 0.1)
            )
        return actions

    play(agent, 100, seed=0)
    for seed in range(10):
        play(agent, 0 if agent._ledger.steps else 1, seed)
    assert agent._ledger.steps
    other = WAYS[way](agent)
    assert repr(other) == repr(agent)
    assert "stage" in repr(agent)
    expected = play(other, 150, seed=1)
    assert len(set(expected)) == 2
    levels, episodes = other.levels(), other.episodes
    assert agent.episodes < episodes
    assert play(agent, 150, seed=1) == expected
    assert (agent.levels(), agent.episodes) == (levels, episodes)
