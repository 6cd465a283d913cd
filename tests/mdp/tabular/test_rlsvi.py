"""RLSVI against its slow judge, and what its noise is for."""

import math

import numpy as np
import pytest

import unipac
from helpers.judges import tabular as judge
from helpers.random_mdps import RandomMDP
from helpers.tabular import agree
from unipac.mdp.protocol.plan import Episode
from unipac.mdp.tabular.rlsvi import RLSVI, variance


def drawn(seed, k, S, A, H):
    """The standard normals of episode k = 1, 2, ..."""
    return np.random.default_rng([seed, k - 1]).standard_normal((H, S, A))


@pytest.mark.nojit
@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-2.0, 1.0), (-3.0, -1.0), (0.5, 4.0)])
@pytest.mark.parametrize("noise_scale", [1.0, 0.01])
def test_rlsvi_is_what_its_pseudo_code_says(noise_scale, reward_range):
    """With the same normals; some episodes end early."""
    S, A, H = 4, 3, 4
    mdp = RandomMDP(S, A, H, seed=3, pooled=False, reward_range=reward_range)
    told = {"noise_scale": noise_scale, "reward_range": reward_range}
    agent, data = RLSVI(S, A, horizon=H, seed=7, **told), judge.Data(False)
    lengths = set()
    for k in range(1, 601):
        plan = agent._plan()
        if k <= 20 or k % 50 == 0:
            Q = judge.rlsvi(data, S, A, H, k, drawn(7, k, S, A, H), **told)
            np.testing.assert_allclose(plan.bound, Q[0].max(axis=1), rtol=1e-9, atol=1e-9)
            assert agree(plan.action[:, 0], Q)
        states, actions, rewards, following = episode = mdp.play(plan.action[:, 0])
        agent._commit(agent._learn(Episode(states, actions, 0 * states, rewards, following)), 1)
        data.add(*episode)
        lengths.add(len(states))
    assert min(lengths) < H in lengths


def test_other_normals_are_noticed():
    """The control of the comparison: the judge with the normals of the next episode, or with another variance."""
    S, A, H = 3, 2, 3
    bound, data = RLSVI(S, A, horizon=H, seed=7)._plan().bound, judge.Data(False)
    right, normals = judge.rlsvi(data, S, A, H, 1, drawn(7, 1, S, A, H)), drawn(7, 2, S, A, H)
    np.testing.assert_allclose(bound, right[0].max(axis=1))
    for k, other in ((1, normals), (2, drawn(7, 1, S, A, H))):
        assert abs(judge.rlsvi(data, S, A, H, k, other)[0].max(axis=1) - bound).min() > 1e-3


def test_least_squares_on_perturbed_data_have_this_law():
    """One normal of variance β/(n + 1) for n + 1 of variance β. Null: both have one law; 5 standard errors, 6e-7.

    The algorithm as printed, of one cell: a normal for the prior, one for each of n rewards, least squares.
    """
    n, draws = 6, 20_000
    beta = variance(1, 1, 1, n + 1)
    assert beta == 0.5 * math.log(2 * (n + 1))
    agent = RLSVI(1, 1, horizon=1)
    for _ in range(n):
        agent.act(0)
        agent.observe(0.75, 0)
    ours = np.empty(draws)
    for seed in range(draws):
        agent.seed = seed
        ours[seed] = agent._plan().bound[0]
    noise = math.sqrt(beta) * np.random.default_rng(1).standard_normal((draws, n + 1))
    printed = (np.r_[0.0, np.full(n, 0.75)] + noise).mean(axis=1)
    error = math.sqrt(2 * beta / (n + 1) / draws)
    assert abs(ours.mean() - printed.mean()) < 5 * error
    assert abs(math.log(ours.var() / printed.var())) < 5 * math.sqrt(4 / draws)
    assert abs(math.log(ours.var() / (printed.var() * (n + 1) / n))) > 5 * math.sqrt(
        4 / draws
    )  # the control: β/n


def test_noise_explores_and_as_printed_drowns_what_it_explores():
    """Regret of 1,200 episodes of RiverSwim 3 x 3, beside UBEV; 8 pairs of runs, all must tell the same.

    Null: RLSVI with a hundredth of the noise has less regret than UBEV in at most half of the pairs, and as printed
    more in at most half: 2^-8 each. The control is no noise: it always swims to the left, from first to last.
    """
    mdp, K = unipac.envs.river_swim(3, 3), 1200

    def regret(name, seed, **told):
        return unipac.AGENTS[name].made_for(mdp, seed=seed, **told).play(mdp, episodes=K, seed=seed).gap.sum()

    left = K * (mdp.optimal_value()[0] - unipac.envs.policy_value(mdp, np.zeros((3, 3), dtype=int))[0, 0])
    for seed in range(20, 28):
        beside = regret("UBEV", seed)
        assert regret("RLSVI", seed, noise_scale=0.01) < beside < regret("RLSVI", seed)
        assert regret("RLSVI", seed, noise_scale=0.0) == pytest.approx(left)


def test_draws_are_those_of_seed_and_episode():
    mdp = unipac.envs.river_swim(3, 3)
    one, other = (RLSVI.made_for(mdp, seed=seed) for seed in (1, 2))
    first = one._plan().bound
    np.testing.assert_array_equal(one._plan().bound, first)
    assert (other._plan().bound != first).all()
    one.play(mdp, episodes=1)
    assert (one._plan().bound != first).all()


def test_what_is_promised():
    agent = RLSVI(3, 2, horizon=3)
    assert (agent.theorem, agent.certified, agent.guarantee) == ("regret", False, "none")
    assert np.isnan(agent.certificate(0))
    assert agent.mistake_bound(0.5) == np.inf


@pytest.mark.parametrize(
    ("told", "argument"),
    [
        ({"noise_scale": -1.0}, "noise_scale"),
        ({"noise_scale": np.nan}, "noise_scale"),
        ({"seed": -1}, "seed"),
        ({"homogeneous": True}, "homogeneous"),
        ({"rewards": np.zeros((3, 2))}, "rewards"),
    ],
)
def test_bad_parameters_are_named(told, argument):
    with pytest.raises(ValueError, match=argument):
        RLSVI(3, 2, horizon=3, **told)
