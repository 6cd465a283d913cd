"""The agents for mixture MDPs against bandits, and what they are told in one step."""

import numpy as np
import pytest

import unipac
from helpers.levelled import without_sets
from helpers.mixtures import small
from unipac.envs import vtr_killer
from unipac.envs.mdps.mixture_mdp import MixtureMDP

BANDITS = [("NestedVTR", "NestedOFUL"), ("UCRLVTR", "OFUL"), ("UPACVTR", "UPACOFUL")]


@pytest.mark.parametrize(("name", "bandit"), BANDITS)
def test_with_two_stages_they_are_bandits(name, bandit):
    """H = 2 and rewards 0, then those of arms: V_2 is known, so a step is a round with noise ½; 2,000 decisions."""
    rng = np.random.default_rng(2)
    S, A, d = 6, 5, 4
    models = rng.dirichlet(np.full(S, 0.3), size=(d, S, A))
    theta = np.array([0.6, 0.3, 0.1, 0.0])
    rewards = np.zeros((2, S, A))
    rewards[1] = np.linspace(0, 1, S)[:, None]
    mdp = MixtureMDP(unipac.envs.model_ensemble(models), theta, rewards, np.full(S, 1 / S), horizon=2)
    agent = unipac.AGENTS[name].made_for(mdp, radius="mixture", regularization=0.3, delta=0.1)
    arms = np.einsum("satd,t->sad", mdp.features, rewards[1, :, 0])
    plain = {"radius": "mixture", "regularization": 0.3, "delta": 0.1, **without_sets(unipac.AGENTS[bandit])}
    other = unipac.AGENTS[bandit](d, noise=0.5, norm=1.0, action_norm=agent._value_norm, **plain)
    for k in range(2000):
        s = k % S
        decision = other.choose(np.ascontiguousarray(arms[s]))
        action = agent.act(s)
        assert action == decision.index
        t = int(rng.choice(S, p=mdp.transitions[0, s, action]))
        other.update(decision, float(rewards[1, t, 0]))
        agent.observe(0.0, t)
        agent.act(t)
        agent.observe(float(rewards[1, t, 0]), 0)
    assert [level.size for level in agent.levels()] == [level.size for level in other.levels()]
    radii = [
        [level.radius for level in one.levels()][:-1] for one in (agent, other)
    ]  # the last is that of all data
    np.testing.assert_allclose(*radii)


@pytest.mark.parametrize("name", [name for name, _ in BANDITS])
@pytest.mark.parametrize("more", [{}, {"homogeneous": True}])
def test_many_forced_episodes_are_single_ones(name, more):
    mdp = vtr_killer()
    one, many = (unipac.AGENTS[name].made_for(mdp, **more) for _ in range(2))
    many.absorb(mdp.forced_episode(), times=700)
    for _ in range(700):
        one.absorb(mdp.forced_episode())
    assert one.episodes == many.episodes == 700
    for first, second in zip(one.levels(), many.levels(), strict=True):
        assert first[:3] == second[:3]
        assert first.radius == pytest.approx(second.radius, rel=1e-12)
    np.testing.assert_allclose(one._plan().bound, many._plan().bound, rtol=1e-9)
    np.testing.assert_allclose(one._plan().lower, many._plan().lower, rtol=1e-9)


@pytest.mark.boundscheck
def test_what_is_not_absorbed():
    mdp = small()
    agent = unipac.NestedVTR.made_for(mdp)
    good = (np.array([0]), np.array([1]), np.array([0]), np.array([0.5]), np.array([2]))
    agent.absorb(good)
    for place, bad, message in (
        (0, np.array([4]), "episode.state must be"),
        (0, np.zeros(4, dtype=int), "episode must be of 1 to 3 stages"),
        (1, np.array([0.0]), "episode.action must be"),
        (3, np.array([2.0]), "episode.reward must be"),
        (4, np.array([-1]), "episode.following must be"),
        (4, np.array([[0.5, 0.4, 0.0, 0.0]]), "episode.following must be"),
    ):
        with pytest.raises(ValueError, match=message):
            agent.absorb((*good[:place], bad, *good[place + 1 :]))
    with pytest.raises(ValueError, match="times must be 1 where values"):
        agent.absorb(good, times=2)
    with pytest.raises(ValueError, match="episode must be an Episode"):
        agent.absorb("no")
    with pytest.raises(ValueError, match="absorb must be asked of an agent that absorbs, got CertVI"):
        unipac.CertVI(2, 2, horizon=2).absorb(good)
    killer = unipac.UCRLVTR.made_for(vtr_killer(), regularization=1e-8)
    with pytest.raises(ValueError, match=r"times must be at most 5e\+12, or widths are lost"):
        killer.absorb(vtr_killer().forced_episode(), times=10**15)
    assert agent.episodes == 1
