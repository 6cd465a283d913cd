"""LSVIUCB with radius "monotone" or "vertex" is what its slow judge says."""

import math

import numpy as np
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
"""What LSVIUCB has, too."""


@pytest.mark.parametrize("case", WITHOUT_LEVELS)
@pytest.mark.parametrize("episodes", [200, pytest.param(600, marks=pytest.mark.slow)])
def test_agent_is_what_its_pseudo_code_says(episodes, case):
    values.check_is_its_pseudo_code(unipac.LSVIUCB, case, episodes)


def test_lsvi_ucb_holds_beyond_the_episodes_it_was_told():
    mdp = hypercube(dim=3, horizon=3)
    agent = unipac.LSVIUCB.made_for(mdp, rounds=1, radius="monotone")
    trace = agent.play(mdp, episodes=100, seed=0)
    assert agent.certified
    assert agent.guarantee == "regret"
    assert agent.mistake_bound(0.1) == math.inf
    assert (trace.certificate >= trace.gap).all()
    assert all(level.level == 1 and level.bound == math.inf for level in agent.levels())
    scaled = unipac.LSVIUCB.made_for(mdp, rounds=1, radius="vertex", bonus_scale=0.5)
    assert scaled.certified
    assert scaled.guarantee == "none"
    with pytest.raises(ValueError, match="radius"):
        unipac.LSVIUCB(
            feature_map=lambda s: np.eye(2), n_actions=2, dim=2, horizon=2, episodes=1, radius="vertex"
        )
