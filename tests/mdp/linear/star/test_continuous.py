"""Episodes of continuous MDPs in batches: they are those of the loop, one after the other."""

import numpy as np
import pytest
from scipy.special import betaincinv

from helpers.judges.star import Problem, StarJudge
from unipac import StarLSVI, envs
from unipac.envs.play.simulation import episode_uniforms
from unipac.mdp.linear.star import episodes as kernels


def made(mdp, **told):
    return StarLSVI(feature_map=mdp.feature_map, horizon=mdp.horizon, mixture=True, terminates=False, **told)


def walk(mdp, agent, state, uniforms):
    """One episode by ``act`` and ``observe``, with uniforms (H, 1 + k); returns the sum of its rewards."""
    total = 0.0
    for h in range(mdp.horizon):
        phi = mdp.feature_map(state)[agent.act(state)]
        law = min(int((np.cumsum(phi) <= uniforms[h, 0]).sum()), mdp.dim - 1)
        reward = float(phi @ mdp.weights[h])
        state = betaincinv(mdp.components[law, :, 0], mdp.components[law, :, 1], uniforms[h, 1:])
        agent.observe(reward, state)
        total += reward
    return total


SETTINGS = {
    "known": {"known": True},
    "learned": {},
    "explores": {"explore": 5, "bonus_scale": 0.1},
    "noisy": {"rewards": "noisy"},
}


@pytest.mark.boundscheck
@pytest.mark.parametrize("setting", SETTINGS)
def test_play_is_the_loop(setting):
    told = dict(SETTINGS[setting])
    mdp = envs.random_continuous(3, 2, 3, seed=1, n_coordinates=1 + (setting == "noisy"))
    if told.pop("known", False):
        told["rewards"] = mdp.weights
    played, looped = made(mdp, **told), made(mdp, **told)
    k, H, starts = mdp.n_coordinates, mdp.horizon, np.random.default_rng(0).random((120, mdp.n_coordinates))
    starts[:60] = mdp.initial
    trace = played.play(mdp, episodes=70, seed=4, initial_states=starts[:70])
    rest = played.play(mdp, episodes=50, seed=4, initial_states=starts[70:])
    uniforms = episode_uniforms(4, 0, H * (1 + k))[:120, 1:].reshape(120, H, 1 + k)
    for i in range(120):
        found, j = (trace, i) if i < 70 else (rest, i - 70)
        np.testing.assert_allclose(found.certificate[j], looped.certificate(starts[i]), atol=1e-8)
        assert found.replanned[j] == (looped.state.counters[kernels.FRESH] == 1 and not found.explored[j])
        assert found.explored[j] == ("explore" in told and (i + 1) % 5 == 0)
        if i % 7 == 0 and not found.explored[j]:
            gap = mdp.optimal_value(starts[i]) - mdp.policy_value(looped.policy(), starts[i])
            assert found.gap[j] == pytest.approx(gap, abs=1e-9)
        assert found.reward[j] == pytest.approx(walk(mdp, looped, starts[i], uniforms[i]), abs=1e-12)
    assert played.episodes == looped.episodes == 120
    assert (played.state.counters == looped.state.counters).all()
    assert played.state.counters[kernels.PLANS] > 5
    np.testing.assert_allclose(played.state.lost, looped.state.lost, rtol=1e-7)


def test_episodes_have_the_values_of_their_policy():
    """Null: the mean of 4,000 returns is the value; 4 standard errors, false alarm 6e-5. Control: another action."""
    mdp = envs.random_continuous(4, 3, 3, seed=2, n_coordinates=2)
    uniforms = np.random.default_rng(0).random((4000, mdp.horizon * 3))
    returns = mdp.episodes(
        lambda stage, phi: np.ones(len(phi), dtype=int), np.full((4000, 2), 0.5), uniforms
    )[2].sum(axis=1)
    error = returns.std() / len(returns) ** 0.5
    assert abs(returns.mean() - mdp.policy_value(lambda s, h: 1)) <= 4 * error + mdp.error()
    assert abs(returns.mean() - mdp.policy_value(lambda s, h: 0)) > 4 * error


def test_another_mdp_is_refused_and_nothing_changes():
    mdp = envs.continuous_swim(3, 3)
    agent = made(mdp)
    before = agent.digest()
    for other, words in (
        (envs.continuous_swim(3, 2), "mdp must be of horizon 3"),
        (envs.random_continuous(3, 3, 3), "feature_map must be that of the MDP"),
        (envs.river_swim(3, 3), "feature_map must be absent"),
    ):
        with pytest.raises(ValueError, match=words):
            agent.play(other, episodes=5)
    with pytest.raises(ValueError, match=r"initial_states must be of shape \(2, 1\) in \[0, 1\]"):
        agent.play(mdp, episodes=2, initial_states=[[0.2], [1.2]])
    with pytest.raises(ValueError, match="mdp must be a FiniteMDP with the features"):
        StarLSVI(np.eye(3)[:, None], horizon=3).play(mdp, episodes=1)
    assert agent.digest() == before
    assert len(agent.play(mdp, episodes=0)) == 0


@pytest.mark.parametrize("episodes", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_agent_is_its_judge_on_a_continuous_swim(episodes):
    """Certificates from random observations, plans, and the sum of f; λ ≠ 1; the judge is told what the agent did."""
    mdp, rng = envs.continuous_swim(3, 3), np.random.default_rng(1)
    agent = made(mdp, regularization=0.7)
    judge = StarJudge(Problem(3, 3, 3, lam=0.7, mixture=True, terminates=False))
    for k in range(episodes):
        s, steps = rng.random(1), []
        if k % 3 == 0:
            np.testing.assert_allclose(agent.certificate(s), judge.certificate(mdp.feature_map(s)), atol=1e-6)
        for h in range(3):
            a = agent.act(s)
            reward, following = mdp.sample(h + 1, s, a, rng)
            agent.observe(reward, following)
            steps.append((mdp.feature_map(s), a, reward, mdp.feature_map(following)))
            s = following
        judge.learn(steps)
        assert agent.state.counters[kernels.PLANS] == judge.plans, k
        assert agent.state.counters[kernels.NUMBER] == judge.current["number"], k
        np.testing.assert_allclose(agent.state.told[0], judge.current["told"], atol=1e-6)
        np.testing.assert_allclose(agent.state.lost[0], judge.lost, rtol=1e-6)
    assert judge.plans > 5
