"""FLUTE acts, levels and values as the slow transcription in ``helpers.judges.flute``."""

import numpy as np
import pytest

import unipac
from helpers import flute


@pytest.mark.parametrize("replan", ["always", "lazy"])
@pytest.mark.parametrize("case", range(6))
@pytest.mark.parametrize("episodes", [100, pytest.param(250, marks=pytest.mark.slow)])
def test_acts_as_the_pseudo_code(episodes, replan, case):
    flute.check_acts("FLUTE", replan, case, episodes)


def test_the_judge_can_say_no():
    flute.check_judge_says_no("FLUTE")


def test_flute_with_one_stage_is_upac_oful():
    """H = 1, the same β, no Q at 0 or 1: FLUTE on contexts as states decides as UPACOFUL.

    Both radii are "mixture" at R = S = 1; rewards are ⟨φ, μ⟩ without noise, small enough for no clip.
    """
    rng = np.random.default_rng(0)
    scale, d, contexts = 0.02, 3, 40
    features = rng.uniform(0.2, 0.55, (contexts, 4, d))
    theta = np.array([0.5, 0.3, 0.4])
    flute = unipac.FLUTE(features, horizon=1, radius="mixture", bonus_scale=scale, regularization=4.0)
    bandit = unipac.UPACOFUL(d, radius="mixture", bonus_scale=scale, regularization=4.0)
    for _ in range(1500):
        s = int(rng.integers(contexts))
        decision = bandit.choose(features[s])
        a = flute.act(s)
        least = flute.state.plan.Q[0, : len(bandit.levels()), s].min(axis=0)
        assert least.min() > 0.0
        assert least.max() < 1.0
        assert a == decision.index
        assert flute._ledger.waiting.level + 1 == decision.level
        flute.observe(features[s, a] @ theta, 0)
        bandit.update(decision, features[s, a] @ theta)
    assert [level.size for level in bandit.levels()] == [level.size for level in flute.levels()]
    assert len(bandit.levels()) >= 5
