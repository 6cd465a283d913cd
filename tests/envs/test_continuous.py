"""MDPs with states in the unit cube: laws, values by quadrature, environments."""

import gymnasium
import numpy as np
import pytest

from unipac import envs
from unipac.envs import ContinuousMDP, continuous_swim, random_continuous

MDPS = {
    "swim": lambda: continuous_swim(),
    "random": lambda: random_continuous(seed=3),
    "plane": lambda: random_continuous(4, 3, 3, seed=1, n_coordinates=2),
}


def always(action):
    return lambda observation, stage: action


@pytest.mark.parametrize("name", MDPS)
def test_values_are_the_means_of_returns(name):
    """Null: the mean of 1,500 returns of a fixed policy is its value; 4 standard errors, false alarm 6e-5 each.

    The control: the value of another action is not that mean.
    """
    mdp = MDPS[name]()
    env = envs.ContinuousMDPEnv(mdp)
    env.reset(seed=5)
    returns = np.zeros(1500)
    for k in range(len(returns)):
        env.reset()
        for _ in range(mdp.horizon):
            returns[k] += env.step(1)[1]
    error = returns.std() / len(returns) ** 0.5
    assert abs(returns.mean() - mdp.policy_value(always(1))) <= 4 * error + mdp.error()
    assert abs(returns.mean() - mdp.policy_value(always(0))) > 4 * error


@pytest.mark.parametrize("name", MDPS)
def test_the_optimum_is_that_of_a_fine_table_and_the_error_is_stated(name):
    """The finite MDP on the cells of another grid has the same optimum, up to the stated error."""
    mdp = MDPS[name]()
    cells = {1: 501, 2: 61}[mdp.n_coordinates]
    _, mass, phi = mdp._quadrature(cells)
    V = np.zeros(mass.shape[1])
    for h in range(mdp.horizon - 1, 0, -1):
        V = (phi @ (mdp.weights[h] + mass @ V)).max(axis=1)
    best = (mdp.features_of(mdp.initial[None])[0] @ (mdp.weights[0] + mass @ V)).max()
    assert abs(best - mdp.optimal_value()) <= 30 * mdp.error() + 1e-9
    assert mdp.error() < 1e-4
    greedy = [mdp.weights[h] for h in range(mdp.horizon)]
    value = mdp.policy_value(
        lambda s, stage: int((mdp.feature_map(s) @ greedy[stage - 1]).argmax()), cells=40
    )
    assert value <= mdp.optimal_value() + 30 * mdp.error() + 1e-9


def test_a_policy_that_answers_for_many_states_has_the_same_value():
    mdp = continuous_swim(3, 3)

    class Many:
        def __call__(self, observation, stage):
            return int((mdp.feature_map(observation) @ mdp.weights[0]).argmax())

        def many(self, features, stage):
            return (features @ mdp.weights[0]).argmax(axis=1)

    assert mdp.policy_value(Many(), cells=50) == mdp.policy_value(lambda s, h: Many()(s, h), cells=50)


def test_transitions_are_mixtures_of_the_laws():
    """Null: next states have the mean Σ φ_j a_j/(a_j + b_j); 5 standard errors of 4,000 draws, false alarm 6e-7."""
    mdp, rng = continuous_swim(), np.random.default_rng(0)
    draws = np.array([mdp.sample(1, [0.3], 2, rng)[1][0] for _ in range(4000)])
    means = mdp.components[:, 0, 0] / mdp.components[:, 0].sum(axis=1)
    error = draws.std() / 4000**0.5
    assert abs(draws.mean() - mdp.feature_map([0.3])[2] @ means) <= 5 * error
    assert abs(draws.mean() - mdp.feature_map([0.3])[0] @ means) > 5 * error  # the control


def test_environments_are_registered():
    for name in ("ContinuousSwim", "RandomContinuous"):
        env = gymnasium.make(f"unipac/{name}-v0")
        observation, info = env.reset(seed=1)
        assert env.observation_space.contains(observation)
        assert info == {"stage": 1}
        for _ in range(4):
            observation, reward, terminated, truncated, _ = env.step(0)
            assert env.observation_space.contains(observation)
            assert 0 <= reward <= 1
        assert (terminated, truncated) == (True, False)
    started, _ = env.reset(options={"state": [0.25]})
    assert started.tolist() == [0.25]


GOOD = {"components": [[[1.0, 1.0]]], "weights": [[0.5]], "initial": [0.5]}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"components": [[1.0, 1.0]]}, r"components must be of shape \(d, k, 2\)"),
        ({"components": [[[0.0, 1.0]]]}, "components must be positive"),
        ({"components": [[[1.0, 1.0]] * 4]}, "components must be of at most 3 coordinates, got 4"),
        ({"weights": [[0.5, 0.5]]}, r"weights must be of shape \(H, 1\)"),
        ({"weights": [[1.5]]}, r"weights must be in \[0, 1\]"),
        ({"initial": [1.5]}, r"initial must be 1 numbers in \[0, 1\], got \[1.5\]"),
        (
            {"features": lambda s: np.full((len(s), 1, 1), 0.5)},
            "features must be non-negative with sums of 1",
        ),
        ({"features": lambda s: np.ones((len(s), 1))}, r"features must be of shape \(n, A, 1\)"),
    ],
)
def test_bad_input_is_refused(wrong, words):
    given = {"features": lambda s: np.ones((len(s), 2, 1)), **GOOD, **wrong}
    with pytest.raises(ValueError, match=words):
        ContinuousMDP(given.pop("features"), **given)
