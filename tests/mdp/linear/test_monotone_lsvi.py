"""MonotoneLSVI is what its slow judge says."""

import math

import pytest

import unipac
from helpers import values
from helpers.values import CASES
from unipac.envs import hypercube

WITHOUT_LEVELS = {
    name: CASES[name]
    for name in (
        "one block",
        "one block, vertex",
        "other regularization",
        "always",
        "scaled",
        "collinear",
        "alone, vertex",
        "mixed",
        "mixed, vertex",
        "without end",
        "one of each",
        "one state",
        "one stage",
    )
}
"""What MonotoneLSVI has, too."""


@pytest.mark.parametrize("case", WITHOUT_LEVELS)
@pytest.mark.parametrize("episodes", [120, pytest.param(600, marks=pytest.mark.slow)])
def test_agent_is_what_its_pseudo_code_says(episodes, case):
    values.check_is_its_pseudo_code(unipac.MonotoneLSVI, case, episodes)


def test_bounds_hold_for_all_episodes():
    mdp = hypercube(dim=3, horizon=3)
    agent = unipac.MonotoneLSVI.made_for(mdp, rounds=1)
    trace = agent.play(mdp, episodes=100, seed=0)
    assert agent.certified
    assert agent.guarantee == "regret"
    assert agent.mistake_bound(0.1) == math.inf
    assert (trace.certificate >= trace.gap).all()
    assert all(level.level == 1 and level.bound == math.inf for level in agent.levels())
    scaled = unipac.MonotoneLSVI.made_for(mdp, radius="vertex", bonus_scale=0.5)
    assert scaled.certified
    assert scaled.guarantee == "none"
    for moved in ({"radius": "monotone"}, {"radius": "vertex"}, {"terminates": False}):
        with pytest.raises(ValueError, match="MonotoneLSVI"):
            unipac.LSVIUCB.made_for(mdp, rounds=1, **moved)
    with pytest.raises(ValueError, match="radius must be one of"):
        unipac.LSVIUCB.made_for(mdp, rounds=1, radius="auto")
