"""ELEANOR plans as its slow transcription does."""

import numpy as np
import pytest

import unipac
from helpers.judges import linear as judges
from helpers.linear import WORLDS
from unipac.mdp import Episode

pytestmark = pytest.mark.nojit


def taught(kind, horizon, scale, episodes=40):
    """An agent and a judge that saw the same random episodes, some of which end early."""
    features = WORLDS[kind]()[0]
    agent = unipac.ELEANOR(
        features, horizon=horizon, delta=0.1, regularization=0.7, bonus_scale=scale, ascent_steps=60
    )
    judge = judges.EleanorJudge(features, horizon, 0.1, 0.7, scale)
    rng = np.random.default_rng(8)
    for _ in range(episodes):
        steps, s = [], int(rng.integers(judge.S))
        for _ in range(horizon):
            a, following = int(rng.integers(judge.A)), int(rng.integers(judge.S))
            end = bool(rng.random() < 0.1)
            steps.append((s, a, float(rng.random() < 0.3), None if end else following))
            s = following
            if end:
                break
        judge.learn(steps)
        columns = np.array([(*step[:2], -1 if step[3] is None else step[3]) for step in steps])
        rewards = np.array([step[2] for step in steps])
        agent._commit(
            agent._learn(Episode(columns[:, 0], columns[:, 1], 0 * columns[:, 0], rewards, columns[:, 2])), 0
        )
    return agent, judge


@pytest.mark.parametrize("kind", WORLDS)
def test_eleanor_evaluates_as_the_pseudo_code(kind):
    agent, judge = taught(kind, 3, 0.1)
    stages = [agent._stage(h, fits[0]) for h, fits in enumerate(agent._regressions())]
    rng = np.random.default_rng(1)
    u = rng.standard_normal((20, 3, judge.d))
    u /= np.maximum(np.linalg.norm(u, axis=2, keepdims=True), 1.0)
    V, greedy, inside = agent._forward(stages, u)
    np.testing.assert_allclose(V, [judge.value(each) for each in u], atol=1e-9)
    weight = rng.random((20, judge.S))
    gradient = agent._backward(stages, weight, greedy, inside)
    for place in np.ndindex(3, judge.d):  # by differences, where V is smooth
        step = np.zeros((3, judge.d))
        step[place] = 1e-7
        (up, *_), (down, *_) = agent._forward(stages, u + step), agent._forward(stages, u - step)
        slope = (weight * (up - down)).sum(axis=1) / 2e-7
        assert np.median(np.abs(slope - gradient[(slice(None), *place)])) < 1e-5


@pytest.mark.parametrize("kind", WORLDS)
def test_eleanor_with_one_stage_has_the_closed_form(kind):
    agent, judge = taught(kind, 1, 0.1)
    np.testing.assert_allclose(agent._plan().bound, judge.last_step(np.zeros(judge.S)), rtol=1e-6, atol=1e-9)


def test_eleanor_comes_close_to_the_best_of_a_grid():
    """d = 2, H = 2: u_1 in closed form, u_2 on a grid of the disc; and no more than the grid allows."""
    agent, judge = taught("collinear", 2, 0.05)
    best = np.zeros(judge.S)
    for radius in (0.0, 0.3, 0.6, 1.0):
        for angle in np.linspace(0, 2 * np.pi, 180):
            V = judge.step(2, np.zeros(judge.S), radius * np.array([np.cos(angle), np.sin(angle)]))
            best = np.maximum(best, judge.last_step(V))
    found = agent._plan().bound
    assert (found >= 0.98 * best).all()
    assert (found <= 1.002 * best).all()
    estimate = judge.value(np.zeros((2, 2)))
    assert (found > 1.02 * estimate).all()  # the control: the estimate alone would not pass


def test_eleanor_remembers_where_an_episode_began():
    agent, judge = taught("simplex", 2, 0.05)
    plan = agent._plan()
    assert plan.action.shape == (2, judge.S + 1, judge.S)
    assert plan.level[0, -1].tolist() == list(range(judge.S))
    assert (plan.level[1] == np.arange(judge.S + 1)[:, None]).all()
    assert (agent.certified, agent.guarantee) == (False, "none")
