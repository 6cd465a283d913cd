"""Linear MDPs: optima by hand and by brute force, the checks of the assumption, Gymnasium."""

import importlib
import itertools
import math
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from unipac.envs import (
    MDPS,
    LinearMDP,
    deep_sea,
    frozen_lake,
    grid_world,
    hypercube,
    level_policy_value,
    lsvi_killer,
    optimal,
    policy_value,
    random_simplex,
    river_swim,
)
from unipac.envs.gymnasium import IDS
from unipac.envs.gymnasium.env import LinearMDPEnv
from unipac.envs.mdps.linear_mdp import largest_integral
from unipac.envs.mdps.planning import level_values_into

NAN = float("nan")

EVERY_MDP = {name: mdp for name, make in MDPS.items() if isinstance(mdp := make(), LinearMDP)} | {
    "deep_sea, scrambled": deep_sea(5, seed=3),
    "random_simplex, more features than pairs": random_simplex(2, 2, dim=9, horizon=2),
    "hypercube, largest gap": hypercube(dim=2, horizon=2, gap=0.5, seed=1),
    "hypercube, more states than signs are tried for": hypercube(dim=3, horizon=20),
    "one state": random_simplex(1, 1, 1, 1),
}


@pytest.fixture(params=EVERY_MDP)
def mdp(request):
    return EVERY_MDP[request.param]


def backward(mdp):
    """Q* straight from Bellman's equation."""
    value, q = np.zeros(mdp.n_states), []
    for h in reversed(range(mdp.horizon)):
        q.insert(0, mdp.rewards[h] + mdp.transitions[h] @ value)
        value = q[0].max(axis=1)
    return np.array(q)


def rotated(mdp, seed=0):
    """The same MDP in other coordinates, without a hint at its measures."""
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((mdp.dim, mdp.dim)))
    return LinearMDP(mdp.features @ turn, mdp.transitions, mdp.rewards, mdp.initial)


# --- every instance


@pytest.mark.nojit
def test_shapes_types_and_read_only(mdp):
    S, A, H, d = mdp.n_states, mdp.n_actions, mdp.horizon, mdp.dim
    shapes = {
        "features": (S, A, d),
        "transitions": (H, S, A, S),
        "rewards": (H, S, A),
        "initial": (S,),
        "measures": (H, d, S),
        "weights": (H, d),
    }
    for name, shape in shapes.items():
        array = getattr(mdp, name)
        assert array.shape == shape, name
        assert array.dtype == np.float64
        assert not array.flags.writeable
    assert mdp.optimal_value().shape == (S,)
    assert mdp.optimal_values().shape == (H + 1, S)
    assert mdp.optimal_q().shape == (H, S, A)
    assert not mdp.optimal_q().flags.writeable


@pytest.mark.nojit
def test_assumption_holds(mdp):
    np.testing.assert_allclose(mdp.transitions.sum(axis=3), 1.0, atol=1e-9)
    assert mdp.transitions.min() >= 0
    assert np.linalg.norm(mdp.features, axis=2).max() <= 1 + 1e-12
    # |φ| >= 1/√d follows from 1 = <φ, θ(S)> and |θ(S)| <= √d
    assert np.linalg.norm(mdp.features, axis=2).min() >= 1 / math.sqrt(mdp.dim) - 1e-12
    linear = np.einsum("xad,hds->hxas", mdp.features, mdp.measures)
    np.testing.assert_allclose(linear, mdp.transitions, atol=1e-12)
    np.testing.assert_allclose(np.einsum("xad,hd->hxa", mdp.features, mdp.weights), mdp.rewards, atol=1e-12)
    assert np.linalg.norm(mdp.weights, axis=1).max() <= math.sqrt(mdp.dim) + 1e-12
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(mdp.n_states, 50))
    assert np.linalg.norm(mdp.measures @ signs, axis=1).max() <= math.sqrt(mdp.dim) + 1e-9


@pytest.mark.nojit
def test_optimum_solves_bellmans_equation(mdp):
    q = backward(mdp)
    np.testing.assert_allclose(mdp.optimal_q(), q, atol=1e-12)
    np.testing.assert_allclose(mdp.optimal_values()[:-1], q.max(axis=2), atol=1e-12)
    np.testing.assert_array_equal(mdp.optimal_values()[-1], 0)
    policy = optimal(mdp).policy
    np.testing.assert_allclose(policy_value(mdp, policy), mdp.optimal_values(), atol=1e-12)


def test_registry_names_its_mdps():
    for name, make in MDPS.items():
        assert make().name == name
    assert set(IDS.values()) == set(MDPS)
    assert repr(river_swim()) == "<river_swim: 6 states, 2 actions, horizon 20, dimension 12>"


# --- instances by hand


@pytest.mark.nojit
def test_river_swim_by_hand():
    mdp = river_swim(n_states=3, horizon=3)
    np.testing.assert_array_equal(mdp.transitions[1, :, 0], [[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    right = [[0.4, 0.6, 0], [0.05, 0.6, 0.35], [0, 0.4, 0.6]]
    np.testing.assert_array_equal(mdp.transitions[1, :, 1], right)
    np.testing.assert_array_equal(mdp.rewards[2], [[0.05, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(mdp.initial, [1, 0, 0])
    # V_3 = .05, 0, 1
    # V_2(0) = .05 + .05 = .1 (left; right: .4*.05), V_2(1) = .05*.05 + .35 = .3525, V_2(2) = 1 + .6 = 1.6
    # V_1(0) = .4*.1 + .6*.3525 = .2515 (left: .15), V_1(1) = .05*.1 + .6*.3525 + .35*1.6 = .7765,
    # V_1(2) = 1 + .4*.3525 + .6*1.6 = 2.101
    expected = [[0.2515, 0.7765, 2.101], [0.1, 0.3525, 1.6], [0.05, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(mdp.optimal_values(), expected, atol=1e-15)
    np.testing.assert_array_equal(optimal(mdp).policy, [[1, 1, 1], [0, 1, 1], [0, 0, 1]])


def test_river_swim_with_two_states():
    mdp = river_swim(n_states=2, horizon=1)
    np.testing.assert_array_equal(mdp.transitions[0], [[[1, 0], [0.4, 0.6]], [[1, 0], [0.4, 0.6]]])


@pytest.mark.parametrize("seed", [None, 4])
def test_deep_sea_by_hand(seed):
    mdp = deep_sea(size=3, seed=seed)
    q = mdp.optimal_q()
    # Right three times pays 0 + 0 + 1. Left first, then the best without treasure: 0.01 in all.
    assert mdp.optimal_value()[0] == pytest.approx(1.0, abs=1e-15)
    assert q[0, 0].min() == pytest.approx(0.01, abs=1e-15)
    # Uniform play finds the treasure once in 8 and goes left half of the time: 1/8 + 0.005
    value = np.zeros(3)
    for h in (2, 1, 0):
        value = (mdp.rewards[h] + mdp.transitions[h] @ value).mean(axis=1)
    assert value[0] == pytest.approx(1 / 8 + 0.005, abs=1e-15)


def test_deep_sea_scrambled_hides_the_way():
    policies = [optimal(deep_sea(8, seed=seed)).policy.diagonal() for seed in range(4)]
    assert len({tuple(policy) for policy in policies}) == 4
    np.testing.assert_array_equal(optimal(deep_sea(8)).policy.diagonal(), 1)


def test_grid_world_by_hand():
    assert grid_world(slip=0).optimal_value()[0] == 12 - 3 - 3
    mdp = grid_world(rows=2, columns=2, slip=0.2, horizon=3)
    # state 0, right: 1 with .8, up (stays) with .1, down to 2 with .1
    np.testing.assert_allclose(mdp.transitions[0, 0, 1], [0.1, 0.8, 0.1, 0], atol=1e-15)
    # state 1, down: the goal with .8, right (stays) .1, left .1
    np.testing.assert_allclose(mdp.transitions[0, 1, 2], [0.1, 0.1, 0, 0.8], atol=1e-15)
    # V_3 = 1 in the goal. V_2 = .8 next to it, 0 in the corner, 2 in the goal. V_1(0) = (.8 + .1) * .8
    assert mdp.optimal_value()[0] == pytest.approx(0.72, abs=1e-15)
    # V_1(1) = .8*2 + .1*V_2(1) + .1*V_2(0)
    assert mdp.optimal_value()[1] == pytest.approx(1.68, abs=1e-15)


def test_frozen_lake_by_hand():
    assert frozen_lake(is_slippery=False, horizon=6).optimal_value()[0] == 1
    assert frozen_lake(is_slippery=False, horizon=5).optimal_value()[0] == 0
    # Without a time limit the goal of the slippery 4x4 map is reached with probability 14/17.
    assert frozen_lake(horizon=2000).optimal_value()[0] == pytest.approx(14 / 17, abs=1e-9)
    mdp = frozen_lake()
    # next to the goal (14), right: the goal, up (10) and the wall below (14) with 1/3 each
    np.testing.assert_allclose(mdp.transitions[0, 14, 2, [15, 10, 14]], 1 / 3, atol=1e-15)
    assert mdp.rewards[0, 14, 2] == pytest.approx(1 / 3)
    for ended in (5, 7, 11, 12, 15):
        np.testing.assert_array_equal(mdp.transitions[:, ended, :, ended], 1)
        np.testing.assert_array_equal(mdp.rewards[:, ended], 0)


def test_hypercube_by_hand():
    mdp = hypercube(dim=4, horizon=4, gap=0.125, seed=5)
    assert (mdp.n_states, mdp.n_actions, mdp.dim) == (6, 8, 5)
    # p = 1/4 + 1/8 = 3/8: 3 * 3/8 + 2 * 3/8 * 5/8 + 1 * 3/8 * 25/64 = 1.740234375
    assert mdp.optimal_value()[0] == pytest.approx(1.740234375, abs=1e-14)
    chance = mdp.transitions[1, 1, :, 5]
    # The agreement of two sign vectors is binomial: 1/4 + {-3, -1, 1, 3}/3 * 1/8
    expected = [0.125, *[0.25 - 0.125 / 3] * 3, *[0.25 + 0.125 / 3] * 3, 0.375]
    np.testing.assert_allclose(np.sort(chance), expected, atol=1e-15)
    np.testing.assert_allclose(mdp.transitions[1, 1, :, 2], 1 - chance, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(mdp.features, axis=2), 1, atol=1e-15)


@pytest.mark.parametrize(("dim", "horizon"), [(2, 2), (2, 5), (3, 2), (6, 3)])
def test_hypercube_scaling_as_documented(dim, horizon):
    gap = 1 / horizon
    mdp = hypercube(dim, horizon, gap)
    # V(x_{h+1}) = ±1, V(x_{H+2}) = 1: 1 + (1 + 2g) and 1 + (1 + 2g)((1 - 2/H)² + 2g) = 1 + 1 + 8g³
    lower, upper = largest_integral(mdp.measures[0], 0.0)
    assert lower == upper == pytest.approx(math.sqrt(1 + max(1 + 2 * gap, 1 + 8 * gap**3)), rel=1e-12)


def test_random_simplex_depends_on_its_seed_only():
    one, same, other = random_simplex(seed=1), random_simplex(seed=1), random_simplex(seed=2)
    np.testing.assert_array_equal(one.transitions, same.transitions)
    assert (one.features != other.features).all()
    np.testing.assert_allclose(one.features.sum(axis=2), 1, atol=1e-12)
    assert (one.transitions[0] != one.transitions[1]).all()


def test_lsvi_killer_by_hand():
    mdp = lsvi_killer(forced=4)
    np.testing.assert_array_equal(mdp.features[mdp.forced_state], [[1, 0], [1, 0]])
    np.testing.assert_array_equal(mdp.features[mdp.choice_state], [[1, 0], [0, 1]])
    np.testing.assert_array_equal(mdp.optimal_q()[0], [[0.5, 0.5], [0.5, 0.0]])
    np.testing.assert_array_equal(mdp.initial_states(6), [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(mdp.initial_states(3, start=3), [0, 1, 1])
    np.testing.assert_array_equal(mdp.initial_states(2, start=10**18), [1, 1])
    assert mdp.forced == 4


# --- values of policies


def random_level_policy(rng, horizon, n_states, n_actions, n_levels):
    shape = (horizon, n_states, n_levels)
    return rng.integers(0, n_actions, shape), rng.integers(0, n_levels, shape)


def value_of_trajectories(mdp, actions, next_level, state, level):
    """Sum over all trajectories of probability times sum of rewards."""
    total = 0.0
    for path in itertools.product(range(mdp.n_states), repeat=mdp.horizon):
        probability, reward, s, p = 1.0, 0.0, state, level
        for h, following in enumerate(path):
            a = actions[h, s, p]
            reward += mdp.rewards[h, s, a]
            probability *= mdp.transitions[h, s, a, following]
            s, p = following, next_level[h, s, p]
        total += probability * reward
    return total


@pytest.mark.nojit
def test_level_policy_value_is_the_sum_over_trajectories():
    rng = np.random.default_rng(3)
    mdp = random_simplex(n_states=3, n_actions=3, dim=4, horizon=4, seed=3)
    actions, next_level = random_level_policy(rng, 4, 3, 3, 2)
    values = level_policy_value(mdp.transitions, mdp.rewards, actions, next_level)
    assert values.shape == (5, 3, 2)
    for state, level in itertools.product(range(3), range(2)):
        expected = value_of_trajectories(mdp, actions, next_level, state, level)
        assert values[0, state, level] == pytest.approx(expected, abs=1e-12)
    assert np.ptp(values[0], axis=1).max() > 0.1  # the level matters


@pytest.mark.nojit
def test_optimum_is_the_best_of_all_policies():
    mdp = random_simplex(n_states=2, n_actions=2, dim=3, horizon=3, seed=8)
    policies = [np.reshape(bits, (3, 2)) for bits in itertools.product(range(2), repeat=6)]
    values = np.array([policy_value(mdp, policy)[0] for policy in policies])
    np.testing.assert_allclose(values.max(axis=0), mdp.optimal_value(), atol=1e-12)


def test_level_policy_value_agrees_with_simulation():
    rng = np.random.default_rng(4)
    mdp = random_simplex(n_states=6, n_actions=3, dim=4, horizon=8, seed=4)
    actions, next_level = random_level_policy(rng, 8, 6, 3, 4)
    value = level_policy_value(mdp.transitions, mdp.rewards, actions, next_level)[0, 2, 1]
    count = 40000
    s, p, total = np.full(count, 2), np.full(count, 1), np.zeros(count)
    for h in range(8):
        a = actions[h, s, p]
        total += mdp.rewards[h, s, a]
        p = next_level[h, s, p]
        draws = rng.random(count)[:, None]
        s = np.minimum((mdp.transitions[h, s, a].cumsum(axis=1) <= draws).sum(axis=1), 5)
    # The mean of `count` independent sums is off by 5 of its deviations with probability 6e-7.
    assert abs(total.mean() - value) < 5 * total.std() / math.sqrt(count)


@pytest.mark.nojit
def test_kernel_computes_the_first_stages_only():
    rng = np.random.default_rng(5)
    mdp = random_simplex(seed=5)
    actions, next_level = random_level_policy(rng, 4, 10, 4, 3)
    expected = level_policy_value(mdp.transitions, mdp.rewards, actions, next_level).transpose(0, 2, 1)
    action, level = (array.transpose(0, 2, 1).copy() for array in (actions, next_level))
    for last in range(5):
        values = expected.copy()
        values[:last] = NAN
        action[last:], level[last:] = 99, 99  # not looked at
        level_values_into(mdp.tables.copy(), mdp.reward_tables.copy(), action, level, last, values)
        np.testing.assert_array_equal(values, expected)
        action, level = (array.transpose(0, 2, 1).copy() for array in (actions, next_level))


def test_a_policy_without_memory_is_worth_the_same_at_all_levels():
    mdp = random_simplex(seed=6)
    rng = np.random.default_rng(6)
    policy = rng.integers(0, 4, (4, 10))
    actions = np.repeat(policy[:, :, None], 5, axis=2)
    values = level_policy_value(mdp.transitions, mdp.rewards, actions, rng.integers(0, 5, actions.shape))
    np.testing.assert_array_equal(values, np.repeat(policy_value(mdp, policy)[:, :, None], 5, axis=2))


# --- the checks of the constructor


def parts(**changes):
    """Two states, two actions, two stages, one-hot; valid unless changed."""
    transitions = np.full((2, 2, 2, 2), 0.5)
    arguments = {
        "features": np.eye(4).reshape(2, 2, 4),
        "transitions": transitions,
        "rewards": np.full((2, 2, 2), 0.5),
        "initial": [0.5, 0.5],
    }
    return arguments | changes


def with_entry(name, index, value):
    array = np.array(parts()[name], dtype=np.float64)
    array[index] = value
    return parts(**{name: array})


def two_directions(eta):
    """Features (√(1-η²), ±η): action 0 goes to state 0, action 1 to state 1."""
    feature = [[math.sqrt(1 - eta**2), eta], [math.sqrt(1 - eta**2), -eta]]
    return {
        "features": [feature, feature],
        "transitions": [[np.eye(2), np.eye(2)]],
        "rewards": np.zeros((1, 2, 2)),
        "initial": [1, 0],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (parts(features=np.eye(4)), r"features must be of shape \(S, A, d\), not empty, got \(4, 4\)"),
        (parts(features=np.empty((0, 2, 4))), r"features must be .* got \(0, 2, 4\)"),
        (parts(features=[[[1, 0], [1]]]), "features must be an array of shape .* ragged"),
        (parts(features="x"), "features must be an array of real numbers"),
        (parts(transitions=np.ones((2, 2, 2))), r"transitions must be of shape \(H, 2, 2, 2\)"),
        (parts(rewards=np.ones((1, 2, 2))), r"rewards must be of shape \(2, 2, 2\).* got \(1, 2, 2\)"),
        (parts(initial=[1.0]), r"initial must be of shape \(2,\).* got \(1,\)"),
        (parts(initial=[1.0, 1j]), "initial must be an array of real numbers"),
        (parts(measures=np.ones((2, 4, 3))), r"measures must be of shape \(2, 4, 2\)"),
        (parts(initial=[0.5, 0.4]), "^initial must be a distribution with sum 1, got the sum 0.9$"),
        (parts(initial=[1.5, -0.5]), "initial at state 1 must be non-negative, got -0.5"),
        (
            with_entry("transitions", (1, 0, 1), [0.5, 0.4]),
            "transitions at stage 2, state 0, action 1 must be a distribution with sum 1, got the sum 0.9",
        ),
        (with_entry("transitions", (0, 1, 0), [0.5, 0.5 + 1e-8]), "stage 1, state 1, action 0 .* sum 1"),
        (
            with_entry("transitions", (1, 1, 0), [1.1, -0.1]),
            "transitions at stage 2, state 1, action 0, next state 1 must be non-negative, got -0.1",
        ),
        (
            with_entry("transitions", (0, 0, 1, 1), NAN),
            r"transitions must be finite, got nan at index \(0, 0",
        ),
        (
            with_entry("rewards", (1, 0, 1), 1.5),
            r"rewards at stage 2, state 0, action 1 .* \[0, 1\], got 1.5",
        ),
        (with_entry("rewards", (0, 1, 1), -0.1), "rewards at stage 1, state 1, action 1 .* got -0.1"),
        (
            with_entry("features", (1, 0), [1, 1, 0, 0]),
            "features at state 1, action 0 .* norm at most 1, got 1.41",
        ),
        (
            # One feature for two pairs with different next states: both are missed by 1/2 when fitted.
            with_entry("transitions", (1, 0), np.eye(2)) | {"features": np.ones((2, 2, 1))},
            "transitions at stage 2, state 0, action 0, next state 0 must be linear .* an error of",
        ),
        (
            parts(features=np.ones((2, 2, 1)), rewards=[[[0.5, 0.5]] * 2, [[0.5, 0.5], [0.5, 0.9]]]),
            "rewards at stage 2, state 0, action 0 must be linear .* got an error of 0.1",
        ),
        (parts(measures=np.full((2, 4, 2), 0.4)), "measures at stage 1, state 0, .* linear .* error of 0.1"),
        # μ = 0.5/0.4 = 1.25 > 1 = √d
        (
            parts(features=np.full((2, 2, 1), 0.4)),
            "weights of the rewards at stage 1 must be of norm at most √d = 1, got 1.25",
        ),
        # |θ(S)| = 1/0.5
        (
            parts(features=np.full((2, 2, 1), 0.5), rewards=np.zeros((2, 2, 2))),
            r"transitions at stage 1 must satisfy .* √d = 1 .* got 2 for some V",
        ),
        # |θ(S)| = 1/√(1-η²) is small, but V = (1, -1) gives 1/η
        (two_directions(0.1), r"stage 1 must satisfy .* √d = 1.41421 .* got 10 for some V"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearMDP(**arguments)


def test_valid_parts_are_accepted():
    assert LinearMDP(**parts()).dim == 4
    assert LinearMDP(**parts(transitions=parts()["transitions"].tolist())).horizon == 2


def test_two_directions_at_the_limit():
    # The two vertices give 1/η and 1/√(1-η²); both are at most √2 only for η = 1/√2.
    assert LinearMDP(**two_directions(math.sqrt(0.5))).dim == 2
    with pytest.raises(ValueError, match="for some V"):
        LinearMDP(**two_directions(0.69))


def test_arguments_are_copied():
    arguments = parts()
    mdp = LinearMDP(**arguments)
    arguments["transitions"][:] = 0.0
    np.testing.assert_array_equal(mdp.transitions, 0.5)


def test_signed_measures_are_decided_exactly_for_few_states():
    plain = random_simplex(n_states=10, dim=5, seed=2)
    mdp = rotated(plain)
    assert mdp.measures.min() < -0.1
    np.testing.assert_allclose(mdp.optimal_value(), plain.optimal_value(), atol=1e-12)
    lower, upper = largest_integral(mdp.measures[0], 0.0)
    assert lower == upper == pytest.approx(math.sqrt(5), rel=1e-12)  # V = 1: all d distributions sum to one


def test_signed_measures_of_many_states_are_refused_unless_simple():
    plain = random_simplex(n_states=40, dim=5, seed=2)
    with pytest.raises(
        ValueError, match=r"could not be decided: the maximum is between 2.23607 and .* measures="
    ):
        rotated(plain)
    bare = LinearMDP(plain.features, plain.transitions, plain.rewards, plain.initial)
    np.testing.assert_allclose(bare.measures, plain.measures, atol=1e-10)  # full rank: they are unique


def test_measures_given_serve_where_features_lack_rank():
    # 20 pairs in dimension 30: the smallest measures have both signs, those of the factory have not.
    plain = random_simplex(n_states=20, n_actions=1, dim=30, horizon=1, seed=0)
    assert plain.measures.min() >= 0
    rows = plain.features.reshape(-1, 30)
    smallest = np.linalg.pinv(rows) @ plain.transitions[0, :, 0]
    assert smallest.min() < 0
    for signs in np.random.default_rng(0).choice([-1.0, 1.0], size=(50, 20)):
        assert np.linalg.norm(smallest @ signs) <= np.linalg.norm(plain.measures[0] @ signs) + 1e-9


@pytest.mark.parametrize("n_states", [1, 5, 9])
def test_largest_integral_against_brute_force(n_states):
    measure = np.random.default_rng(n_states).standard_normal((3, n_states))
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n_states)))
    best = np.linalg.norm(signs @ measure.T, axis=1).max()
    lower, upper = largest_integral(measure, 0.0)
    assert lower == upper == pytest.approx(best, rel=1e-12)
    low, high = largest_integral(measure, math.inf)
    assert low <= best * (1 + 1e-12)
    assert high >= best * (1 - 1e-12)


# --- arguments of the factories and of planning

TABLE = river_swim(3, 2)
ACTIONS = np.zeros((2, 3, 2), dtype=np.int64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: river_swim(1), "n_states must be an integer >= 2, got 1"),
        (lambda: river_swim(horizon=0), "horizon must be an integer >= 1, got 0"),
        (lambda: river_swim(10**6), "must need at most 33554432 table entries"),
        (lambda: random_simplex(n_states=0), "n_states must be an integer >= 1, got 0"),
        (lambda: random_simplex(n_actions=1.5), "n_actions must be an integer >= 1, got 1.5"),
        (lambda: random_simplex(dim=0), "dim must be an integer >= 1, got 0"),
        (lambda: random_simplex(seed=-1), "seed must be an integer >= 0, got -1"),
        (lambda: deep_sea(0), "size must be an integer >= 1, got 0"),
        (lambda: deep_sea(seed="a"), "seed must be an integer >= 0, got 'a'"),
        (lambda: deep_sea(10**4), "must need at most .* table entries"),
        (lambda: grid_world(rows=0), "rows must be an integer >= 1, got 0"),
        (lambda: grid_world(1, 1), "rows must be at least 2 with one column, got 1"),
        (lambda: grid_world(slip=1.1), r"slip must be in \[0, 1\], got 1.1"),
        (lambda: grid_world(slip=NAN), "slip must be a finite number, got nan"),
        (lambda: frozen_lake("5x5"), "map_name must be one of '4x4', '8x8', got '5x5'"),
        (lambda: frozen_lake(is_slippery=1), "is_slippery must be True or False, got 1"),
        (lambda: hypercube(dim=1), "dim must be an integer >= 2 and <= 16, got 1"),
        (lambda: hypercube(horizon=1), "horizon must be an integer >= 2, got 1"),
        (lambda: hypercube(gap=0.3), "gap must be at most 1/H = 0.25, got 0.3"),
        (lambda: hypercube(gap=0), "gap must be > 0, got 0"),
        (lambda: lsvi_killer(-1), "forced must be an integer >= 0, got -1"),
        (lambda: lsvi_killer().initial_states(-1), "episodes must be an integer >= 0, got -1"),
        (lambda: policy_value(TABLE, [[0, 0, 2]] * 2), r"policy must be integers from 0 to 1, got \[2\]"),
        (lambda: policy_value(TABLE, [[0, 0, -1]] * 2), r"policy must be integers from 0 to 1, got \[-1\]"),
        (lambda: policy_value(TABLE, [[0.0] * 3] * 2), "policy must be an array of integers, got .*float64"),
        (lambda: policy_value(TABLE, [[0, 0, 0]]), r"policy must be of shape \(2, 3\), got \(1, 3\)"),
        (
            lambda: level_policy_value(TABLE.transitions[0], TABLE.rewards, ACTIONS, ACTIONS),
            r"transitions must be of shape \(H, S, A, S\)",
        ),
        (
            lambda: level_policy_value(TABLE.transitions, TABLE.rewards[:1], ACTIONS, ACTIONS),
            r"rewards must be of shape \(2, 3, 2\), got \(1, 3, 2\)",
        ),
        (
            lambda: level_policy_value(TABLE.transitions, TABLE.rewards, ACTIONS[:1], ACTIONS),
            r"actions must be of shape \(2, 3, P\) with P >= 1, got \(1, 3, 2\)",
        ),
        (
            lambda: level_policy_value(TABLE.transitions, TABLE.rewards, ACTIONS, ACTIONS + 2),
            r"next_level must be integers from 0 to 1, got \[2\]",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- Gymnasium


@pytest.mark.parametrize("name", IDS)
def test_environments_pass_the_checker(name):
    env = gymnasium.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    assert env.observation_space == gymnasium.spaces.Discrete(env.unwrapped.mdp.n_states)
    assert env.unwrapped.mdp.name == IDS[name]
    env.close()


def test_arguments_go_to_the_factory():
    mdp = gymnasium.make("unipac/RiverSwim-v0", n_states=4, horizon=7).unwrapped.mdp
    assert (mdp.n_states, mdp.horizon) == (4, 7)
    with pytest.raises(ValueError, match="n_states must be an integer >= 2, got 0"):
        gymnasium.make("unipac/RiverSwim-v0", n_states=0)


@pytest.mark.parametrize(
    "program",
    [
        "import gymnasium, unipac",
        "import gymnasium; gymnasium.make('unipac:unipac/RiverSwim-v0')",
        "import unipac, gymnasium; gymnasium.make('unipac.envs.gymnasium:unipac/RiverSwim-v0')",
        "import unipac, gymnasium, unipac.envs.gymnasium; gymnasium.register_envs(unipac.envs.gymnasium)",
        "import unipac, gymnasium; unipac.envs.LinearMDPEnv",
    ],
)
def test_a_fresh_process_finds_the_environments(program):
    check = "env = gymnasium.make('unipac/RiverSwim-v0', n_states=6, horizon=20); print(env.reset(seed=0))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{program}; {check}"], capture_output=True, text=True
    )
    assert done.stdout == "(np.int64(0), {'stage': 1})\n", done.stderr


def test_registering_again_leaves_what_is_there():
    before = {name: gymnasium.registry[name] for name in IDS}
    importlib.reload(sys.modules["unipac.envs.gymnasium"])
    assert all(gymnasium.registry[name] is spec for name, spec in before.items())


def test_an_episode_ends_after_the_horizon():
    env = LinearMDPEnv(river_swim(3, 3))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    assert env.reset(seed=1, options={"state": 2}) == (2, {"stage": 1})
    assert env.step(0) == (1, 0.0, False, False, {"stage": 2})
    assert env.step(0) == (0, 0.0, False, False, {"stage": 3})
    assert env.step(np.int64(0)) == (0, 0.05, True, False, {"stage": 4})
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_environment_draws_from_the_tables():
    env = LinearMDPEnv(random_simplex(n_states=4, n_actions=2, dim=3, horizon=2, seed=1))
    env.reset(seed=2)
    count = 4000
    firsts, seconds = np.zeros(4), np.zeros(4)
    for _ in range(count):
        firsts[env.reset()[0]] += 1
        env.reset(options={"state": 3})
        seconds[env.step(1)[0]] += 1
    # Each frequency is off by 5 deviations of at most √(1/4/T) with probability below 6e-7, 8 in all.
    margin = 5 * math.sqrt(1 / 4 / count)
    assert np.abs(firsts / count - env.mdp.initial).max() < margin
    assert np.abs(seconds / count - env.mdp.transitions[0, 3, 1]).max() < margin


def test_seeds_repeat_episodes():
    def episode(seed):
        env = LinearMDPEnv("random_simplex", horizon=30)
        state, _ = env.reset(seed=seed)
        return [state, *(env.step(0)[0] for _ in range(30))]

    assert episode(1) == episode(1) != episode(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda env: env.reset(options={"state": 3}), "state must be an integer >= 0 and <= 2, got 3"),
        (lambda env: env.reset(options={"status": 1}), "options must be a dict with at most the key 'state'"),
        (lambda env: env.step(2), "action must be an integer >= 0 and <= 1, got 2"),
        (lambda env: env.step(0.5), "action must be an integer"),
        (lambda env: LinearMDPEnv("swim"), "mdp must be one of 'river_swim'"),
        (lambda env: LinearMDPEnv(3), "mdp must be a FiniteMDP or the name of one, got 3"),
        (lambda env: LinearMDPEnv(env.mdp, horizon=3), "arguments must be given with a name only"),
        (
            lambda env: LinearMDPEnv("river_swim", render_mode="human"),
            "render_mode must be None, got 'human'",
        ),
    ],
)
def test_bad_calls_change_nothing(call, message):
    env = LinearMDPEnv(river_swim(3, 3))
    env.reset(seed=0, options={"state": 2})
    before = env.np_random.bit_generator.state
    with pytest.raises(ValueError, match=message):
        call(env)
    assert env.np_random.bit_generator.state == before
    assert env.step(0) == (1, 0.0, False, False, {"stage": 2})


def test_river_swim_with_10_stages_hardly_rewards_learning():
    """The numbers of docs/guide/instances.md: always left pays 0.05 a stage."""
    for horizon, best, left in ((10, 0.50347, 0.5), (20, 3.409, 1.0)):
        mdp = river_swim(n_states=6, horizon=horizon)
        assert mdp.optimal_value()[0] == pytest.approx(best, abs=5e-4 if horizon == 20 else 5e-6)
        assert policy_value(mdp, np.zeros((horizon, 6), dtype=np.int64))[0, 0] == pytest.approx(left)
