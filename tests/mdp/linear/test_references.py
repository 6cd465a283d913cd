"""Cert-LSVI-UCB and ELEANOR decide, store and promise as their slow transcriptions do."""

import numpy as np
import pytest

import unipac
from helpers.judges import linear as judges
from unipac import envs
from unipac.mdp import Episode

pytestmark = pytest.mark.nojit


def collinear():
    """Features of d = 2, two of them equal, two collinear; rewards that are linear in them."""
    phi = np.array([[[0.6, 0.4], [0.6, 0.4]], [[0.3, 0.2], [0.1, 0.9]], [[1.0, 0.0], [0.0, 1.0]]])
    return phi, 2


WORLDS = {
    "one-hot": lambda: (envs.river_swim(3, 3).features, 3),
    "simplex": lambda: (envs.random_simplex(4, 3, 3, 2, seed=5).features, 2),
    "collinear": collinear,
    "one of each": lambda: (np.ones((1, 1, 1)), 1),
}


def walk(agent, judge, episodes, seed, ends=True):
    """Random states and rewards, some episodes end early: both must say the same before each."""
    rng = np.random.default_rng(seed)
    stored = set()
    for _ in range(episodes):
        action, store, upper, lower = judge.plan()
        plan = agent._plan()
        assert plan.action[:, 0].tolist() == action.tolist()
        np.testing.assert_allclose(plan.bound, upper, atol=1e-9)
        if agent.certified:
            np.testing.assert_allclose(plan.lower, lower, atol=1e-9)
        assert agent._stored().tolist() == store.tolist()
        steps, s = [], int(rng.integers(judge.S))
        for h in range(judge.H):
            stored.add(int(store[h, s]))
            a = agent.act(s)
            reward, following = float(rng.random() < 0.4), int(rng.integers(judge.S))
            end = ends and rng.random() < 0.1
            agent.observe(reward, following, terminated=end)
            steps.append((s, a, reward, None if end else following))
            if end:
                break
            s = following
        judge.learn(steps, store)
    return stored


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize(
    ("radius", "lam", "scale"),
    [("theorem", 16.0, 1.0), ("theorem", 16.0, 2e-4), ("finite", 1.0, 1.0), ("finite", 0.3, 0.01)],
)
def test_cert_lsvi_ucb_does_as_the_pseudo_code(kind, radius, lam, scale):
    features, horizon = WORLDS[kind]()
    agent = unipac.CertLSVIUCB(
        features, horizon=horizon, delta=0.1, radius=radius, regularization=lam, bonus_scale=scale
    )
    judge = judges.CertJudge(features, horizon, 0.1, lam, radius == "theorem", scale)
    stored = walk(agent, judge, 70, seed=4)
    if scale < 1.0:
        assert max(stored) > 1  # higher levels are met
    for level in agent.levels():
        assert level.size == len(judge.C.get((level.stage, level.level), []))


def test_the_judge_can_say_no():
    features, horizon = WORLDS["simplex"]()
    agent = unipac.CertLSVIUCB(features, horizon=horizon, delta=0.1, regularization=0.3, bonus_scale=0.01)
    with pytest.raises(AssertionError):
        walk(agent, judges.CertJudge(features, horizon, 0.1, 0.31, False, 0.01), 70, seed=4)


def test_scaled_radii_are_found_too_small():
    """Negative control of the bounds: without a radius the better of two actions is never tried, and V̂ too small."""
    mdp = envs.FiniteMDP([[[1], [1]]], [[0.2, 0.9]], horizon=1)
    below = []
    for scale in (1.0, 0.0):
        agent = unipac.CertLSVIUCB.made_for(mdp, regularization=1.0, bonus_scale=scale)
        trace = agent.play(mdp, episodes=300, seed=1)
        below.append(bool((trace.bound < mdp.optimal_value()[0] - 1e-9).any()))
        assert np.isnan(trace.certificate).all() == (scale != 1.0)
    assert below == [False, True]


@pytest.mark.parametrize("change", [{"reward_range": (0, 2)}, {"radius": "mixture"}, {"features": None}])
def test_what_it_cannot_do_is_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        unipac.CertLSVIUCB(**{"features": np.ones((1, 1, 1)), "horizon": 2, **change})


def test_levels_end():
    """One feature, R = 7: with a grid of fixed resolution 2^-l/8 times R the width would stay above 2^-l for ever."""
    from unipac.theory.cert_lsvi import cert_lsvi_finite

    known = {"largest": 7.0, "dim": 1, "n_states": 1, "horizon": 8, "delta": 0.05}
    n = 10**9
    width = cert_lsvi_finite(np.log(1 + n), n, 3, **known) / np.sqrt(1 + n)
    fixed = 2 * 7.0 * 2.0**-3 / 8 * np.sqrt(n) / np.sqrt(1 + n)
    assert width < 2.0**-3 < fixed


# -- ELEANOR -----------------------------------------------------------------------------------


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
        agent._learn(Episode(columns[:, 0], columns[:, 1], 0 * columns[:, 0], rewards, columns[:, 2]))
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
