"""NestedFLUTE acts, levels and values as the slow transcription in ``helpers.judges.flute``."""

import numpy as np
import pytest

import unipac
from helpers import flute
from unipac.envs import river_swim


@pytest.mark.parametrize("replan", ["always", "lazy"])
@pytest.mark.parametrize("case", range(6))
@pytest.mark.parametrize("episodes", [100, pytest.param(250, marks=pytest.mark.slow)])
def test_acts_as_the_pseudo_code(episodes, replan, case):
    flute.check_acts("NestedFLUTE", replan, case, episodes)


def test_the_judge_can_say_no():
    flute.check_judge_says_no("NestedFLUTE")


def test_the_aggregate_certificate_bounds_the_regret():
    """In 20 certified runs at every n; bounds that are too low by 0.2 do not (negative control)."""
    mdp = river_swim(n_states=3, horizon=3)
    for seed in range(20):
        trace = unipac.NestedFLUTE(mdp.features, horizon=3).play(mdp, episodes=5000, seed=seed)
        regret = unipac.metrics.regret(trace.gap)
        certificate = unipac.metrics.aggregate_certificate(trace.bound, trace.reward, horizon=3)
        assert (regret <= certificate).all()
    settled = unipac.NestedFLUTE(mdp.features, horizon=3, radius="mixture", bonus_scale=0.05)
    settled.play(mdp, episodes=20_000, seed=0)
    trace = settled.play(mdp, episodes=20_000, seed=0)
    too_low = np.full(20_000, mdp.optimal_value()[0] - 0.2)
    wrong = unipac.metrics.aggregate_certificate(too_low, trace.reward, horizon=3)
    assert (unipac.metrics.regret(trace.gap) > wrong).any()
