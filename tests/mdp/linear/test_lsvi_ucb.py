"""LSVIUCB acts, levels and values as the slow transcription in ``helpers.judges.flute``."""

import numpy as np
import pytest

import unipac
from helpers import flute
from unipac.envs import random_simplex, river_swim


@pytest.mark.parametrize("replan", ["always", "lazy"])
@pytest.mark.parametrize("case", range(6))
@pytest.mark.parametrize("episodes", [100, pytest.param(250, marks=pytest.mark.slow)])
def test_acts_as_the_pseudo_code(episodes, replan, case):
    flute.check_acts("LSVIUCB", replan, case, episodes)


def test_the_judge_can_say_no():
    flute.check_judge_says_no("LSVIUCB")


def test_one_hot_widths_are_counts():
    mdp = river_swim(n_states=3, horizon=2)
    agent = unipac.LSVIUCB(mdp.features, horizon=2, total_episodes=300, regularization=4.0)
    agent.play(mdp, episodes=300, seed=0)
    visits = 1 / agent.state.data.width2[:, 0] - 4.0
    np.testing.assert_allclose(visits, np.rint(visits), atol=1e-9)
    assert visits[0].sum() == pytest.approx(300)


def test_without_bonus_the_plan_is_value_iteration_on_the_ridge_model():
    mdp = random_simplex(n_states=4, n_actions=2, dim=3, horizon=3, seed=2)
    agent = unipac.LSVIUCB(
        mdp.features, horizon=3, total_episodes=500, radius="mixture", bonus_scale=0.0, regularization=0.1
    )
    agent.play(mdp, episodes=500, seed=1)
    data = agent.state.data
    V = np.zeros(4)
    for h in (2, 1, 0):
        M_R = data.rows[h, 0]
        R = np.array([[M_R[i, j + 1] if j >= i else 0.0 for j in range(3)] for i in range(3)])
        w = np.linalg.solve(R.T @ R, data.rewards[h, 0] + V @ data.arrivals[h, 0])
        V = np.clip(mdp.features @ w, 0, 3).max(axis=1)
    assert np.asarray(agent.policy()).shape == (3, 4)
    agent.play(mdp, episodes=1, seed=1)  # plans with the data so far
    np.testing.assert_allclose(agent.state.plan.V[0, 0], V, atol=1e-8)
