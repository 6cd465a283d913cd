"""Mixture MDPs: optima against Bellman's equation, hand calculations, what is refused, Gymnasium."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from unipac.envs import (
    MDPS,
    LinearMDPEnv,
    MixtureMDP,
    hypercube,
    hypercube_mixture,
    mixture_swim,
    model_ensemble,
    policy_value,
    random_mixture,
    river_swim,
    vtr_killer,
)

MIXTURES = ("mixture_swim", "random_mixture", "hypercube_mixture", "vtr_killer")
EVERY = {name: MDPS[name]() for name in MIXTURES} | {
    "homogeneous": random_mixture(3, 2, 2, 4, homogeneous=True),
    "one of each": random_mixture(1, 1, 1, 1),
    "largest gap": hypercube_mixture(2, 2, gap=0.5, seed=3),
}


@pytest.fixture(params=EVERY)
def mdp(request):
    return EVERY[request.param]


def test_transitions_are_mixtures_and_values_solve_bellmans_equation(mdp):
    P = np.einsum("satd,hd->hsat", mdp.features, mdp.weights)
    np.testing.assert_allclose(mdp.transitions, P, atol=1e-12)
    np.testing.assert_allclose(mdp.transitions.sum(axis=3), 1.0, atol=1e-12)
    value = np.zeros(mdp.n_states)
    for h in reversed(range(mdp.horizon)):
        q = mdp.rewards[h] + P[h] @ value
        np.testing.assert_allclose(mdp.optimal_q()[h], q, atol=1e-12)
        value = q.max(axis=1)
    for array in (mdp.features, mdp.weights, mdp.transitions):
        assert not array.flags.writeable
    assert mdp.norm == pytest.approx(np.linalg.norm(mdp.weights, axis=1).max())


def test_swim_is_river_swim_with_confusion():
    mdp, river = mixture_swim(), river_swim(4, 8)
    np.testing.assert_array_equal(mdp.features[..., 0], river.tables[0])
    np.testing.assert_array_equal(mdp.rewards, river.rewards)
    # from state 0, right: .8 (.4, .6) + .1 (1, 0) + .05 (1, 0) + .05 (1, 0)
    np.testing.assert_allclose(mdp.tables[0, 0, 1], [0.52, 0.48, 0, 0])
    assert mdp.optimal_value()[0] == pytest.approx(0.605, abs=5e-4)
    assert len(mdp.tables) == 1


def test_hypercube_mixture_has_the_values_of_the_linear_hypercube():
    for dim, horizon, gap in ((4, 4, None), (3, 5, 0.1)):
        one, other = hypercube_mixture(dim, horizon, gap), hypercube(dim, horizon, gap)
        assert one.optimal_value()[0] == pytest.approx(other.optimal_value()[0], abs=1e-12)
        assert one.norm == pytest.approx(1 + (1 / (2 * horizon) if gap is None else gap))


def test_killer_by_hand():
    mdp = vtr_killer(3)
    np.testing.assert_allclose(mdp.tables[0, 1], [[0, 0, 0.5, 0.5], [0, 0, 0, 1]])
    np.testing.assert_allclose(mdp.optimal_value(), [0.5, 0.5, 0, 0])
    assert policy_value(mdp, np.ones((2, 4), dtype=np.int64))[0].tolist() == [0.5, 0, 0, 0]
    assert mdp.initial_states(3, start=2).tolist() == [0, 1, 1]
    *_, shares = mdp.forced_episode()
    np.testing.assert_allclose(shares, [[0, 0, 0.5, 0.5]])


def test_an_ensemble_of_models():
    rng = np.random.default_rng(0)
    models, f = rng.dirichlet(np.ones(3), size=(2, 3, 2)), rng.random((3, 2, 4))
    phi = model_ensemble(models, f)
    w = rng.random((2, 4))
    direct = np.einsum("km,sam,ksat->sat", w, f, models)
    np.testing.assert_allclose(phi @ w.ravel(), direct, atol=1e-14)
    with pytest.raises(ValueError, match=r"models at model 1, state 0, action 0 must be .*sum 1"):
        model_ensemble([models[0], 0.5 * models[1]])
    with pytest.raises(ValueError, match=r"f must be of shape \(3, 2, m\)"):
        model_ensemble(models, f[0])


GOOD = random_mixture(3, 2, 2, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros((3, 2, 3))}, r"features must be of shape \(S, A, S, d\)"),
        (
            {"features": 2 * GOOD.features},
            r"features and weights at stage 1, state 0, action 0 must .*the sum 2",
        ),
        (
            {"weights": [2.0, -1.0], "horizon": 4},
            r"features and weights at state .* must be of mixtures >= 0",
        ),
        ({"weights": [1.0, 0.0]}, r"weights must be of shape \(H, 2\), or \(2,\) with horizon="),
        ({"horizon": 5}, "horizon must be 4 as that of the weights, got 5"),
        ({"weights": np.full((4, 2), np.nan)}, "weights must be finite"),
        ({"rewards": np.full((3, 2), 1.5)}, r"rewards at state 0, action 0 must be in \[0, 1\], got 1.5"),
        ({"rewards": np.zeros((2, 3))}, "rewards must be of shape"),
        ({"initial": [1.0, 1.0, 0.0]}, "initial must be a distribution"),
    ],
)
def test_what_is_refused(change, message):
    good = {"features": GOOD.features, "weights": GOOD.weights, "rewards": GOOD.rewards[0]}
    MixtureMDP(**good)
    with pytest.raises(ValueError, match=message):
        MixtureMDP(**{**good, **change})


def test_gymnasium():
    env = gymnasium.make("unipac.envs.gymnasium:unipac/MixtureSwim-v0", n_states=3, horizon=2)
    assert env.unwrapped.mdp.n_states == 3
    check_env(LinearMDPEnv("random_mixture"), skip_render_check=True)
