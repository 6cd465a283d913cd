"""Feature maps: norms, values by hand, the kernel, environments, bad input, saving."""

import itertools
import json
import math
import pickle

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from unipac.features import (
    Aggregation,
    FeatureMap,
    Fourier,
    OneHot,
    RandomFourier,
    SoftAggregation,
    TileCoding,
)
from unipac.features.observations.map import MOST_FEATURES
from unipac.registry import FEATURE_MAPS

NAN, INF = float("nan"), float("inf")
LOW, HIGH = [-1.2, -0.07, 2.0], [0.6, 0.07, 50.0]

BOX_MAPS = {
    "Aggregation": Aggregation(LOW, HIGH, 3, bins=[4, 1, 5]),
    "SoftAggregation": SoftAggregation(LOW, HIGH, 3, centres=[4, 2, 5]),
    "TileCoding": TileCoding(LOW, HIGH, 3, bins=[4, 2, 5], tilings=3),
    "Fourier": Fourier(LOW, HIGH, 3, order=4),
    "Fourier, coupled": Fourier(LOW, HIGH, 2, order=3, coupling=2),
    "RandomFourier": RandomFourier(LOW, HIGH, 2, features=70, bandwidth=0.3, seed=5),
    "RandomFourier, narrow": RandomFourier(LOW, HIGH, 1, bandwidth=1e-6),
}
BOX_CLASSES = [Aggregation, SoftAggregation, TileCoding, Fourier, RandomFourier]
EVERY_MAP = BOX_MAPS | {
    "OneHot": OneHot(7, 3, start=-2),
    "matrices": TileCoding(np.zeros((2, 2)), np.ones((2, 2)), 2, bins=2, tilings=2),
    "a number alone": Fourier(0.0, 2.0, 2),
}


@pytest.fixture(params=EVERY_MAP)
def any_map(request):
    return EVERY_MAP[request.param]


@pytest.fixture(params=BOX_MAPS)
def box_map(request):
    return BOX_MAPS[request.param]


def observations(feature_map, m, seed=0):
    """Observations within the bounds and a little outside, and those at the bounds."""
    rng = np.random.default_rng(seed)
    if isinstance(feature_map, OneHot):
        return rng.integers(feature_map.start, feature_map.start + feature_map.n_states, m)
    low, high = feature_map.low, feature_map.high
    inside = low + (high - low) * rng.uniform(-0.1, 1.1, (m, *low.shape))
    return np.concatenate([inside, [low, high]])


# -- what every map promises -------------------------------------------------------------------


def test_features_of_the_state_stand_in_the_block_of_the_action(any_map):
    points = observations(any_map, 20)
    states = any_map.state_features(points)
    n, s = any_map.n_actions, any_map.state_dim
    assert any_map.dim == n * s
    assert states.shape == (len(points), s)
    for point, state in zip(points, states, strict=True):
        features = any_map(point)
        assert features.shape == (n, n * s)
        assert features.dtype == np.float64
        assert features.flags.carray
        for action in range(n):
            np.testing.assert_array_equal(features[action], np.kron(np.eye(n)[action], state))


def test_norms_are_at_most_one(any_map):
    features = any_map.batch(observations(any_map, 500))
    norms = np.linalg.norm(features, axis=2)
    assert norms.max() <= 1 + 1e-12
    if not isinstance(any_map, (Fourier, SoftAggregation)):
        np.testing.assert_allclose(norms, 1.0, rtol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8, 17, 64, 301])
def test_a_batch_is_bit_for_bit_the_single_calls(any_map, m):
    points = observations(any_map, m, seed=m)
    together = any_map.batch(points)
    assert together.shape == (len(points), any_map.n_actions, any_map.dim)
    assert together.tobytes() == np.stack([any_map(point) for point in points]).tobytes()
    backwards = any_map.batch(points[::-1])  # strides do not matter either
    assert backwards[::-1].tobytes() == together.tobytes()
    assert any_map.batch(points[:0]).shape == (0, any_map.n_actions, any_map.dim)


def test_parameters_go_through_json(any_map):
    name = type(any_map).__name__
    assert FEATURE_MAPS[name] is type(any_map)
    text = json.dumps(any_map.parameters, allow_nan=False)
    again = FEATURE_MAPS[name](**json.loads(text))
    points = observations(any_map, 50)
    assert again.batch(points).tobytes() == any_map.batch(points).tobytes()
    assert again.parameters == any_map.parameters
    assert repr(again) == repr(any_map)


def test_parameters_given_as_numpy_types_go_through_json():
    bounds = np.float32([0, 0]), np.float32([1, 0.1])
    feature_map = TileCoding(*bounds, np.int64(2), bins=np.array([2, 3]), tilings=np.int8(2))
    again = TileCoding(**json.loads(json.dumps(feature_map.parameters)))
    np.testing.assert_array_equal(again.high, np.float32([1, 0.1]))
    assert again.parameters == feature_map.parameters
    assert again.bins == (2, 3)


def test_maps_survive_pickle(any_map):
    points = observations(any_map, 10)
    again = pickle.loads(pickle.dumps(any_map))
    assert again.batch(points).tobytes() == any_map.batch(points).tobytes()


def test_maps_keep_their_own_bounds_and_leave_observations_alone():
    low, high = np.zeros(2), np.ones(2)
    feature_map = Aggregation(low, high, 1, bins=2)
    low[:] = 0.9
    assert feature_map([0.1, 0.1])[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        feature_map.low[0] = 0.5
    outside = np.array([7.0, -7.0])
    feature_map(outside)
    np.testing.assert_array_equal(outside, [7.0, -7.0])


def test_names_of_the_maps():
    assert {name: each.__name__ for name, each in FEATURE_MAPS.items()} == {n: n for n in FEATURE_MAPS}
    assert all(issubclass(each, FeatureMap) for each in FEATURE_MAPS.values())


def test_repr_is_readable():
    assert repr(TileCoding([0, 0], [1, 1], 3)) == (
        "<TileCoding: observations (2,), 3 actions, dimension 921, bins=8, tilings=4>"
    )  # 3 (8² + 3 · 9²)
    assert "bins=[2, 3]" in repr(Aggregation([0, 0], [1, 1], 3, bins=[2, 3]))
    assert repr(OneHot(4, 2, start=1)) == "<OneHot: 4 states, 2 actions, dimension 8, start=1>"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    st.sampled_from(sorted(BOX_MAPS)),
)
def test_observations_outside_are_clipped(point, name):
    feature_map = BOX_MAPS[name]
    clipped = np.clip(point, LOW, HIGH)
    assert feature_map(point).tobytes() == feature_map(clipped).tobytes()


def test_observations_may_be_of_other_types(box_map):
    exact = np.array([-0.5, 0.0, 16.0])
    expected = box_map(exact)
    for same in (exact.astype(np.float32), exact.tolist(), tuple(exact), exact[::-1].copy()[::-1]):
        np.testing.assert_array_equal(box_map(same), expected)
    whole = np.array([0, 0, 16])
    np.testing.assert_array_equal(box_map(whole.astype(np.uint8)), box_map(whole.astype(float)))


# -- grids -------------------------------------------------------------------------------------


def test_cells_of_a_grid_by_hand():
    feature_map = Aggregation([0, 0], [1, 3], 1, bins=[2, 3])
    cells = {
        (0.0, 0.0): 0,
        (0.49, 0.99): 0,
        (0.0, 1.0): 1,  # lower ends belong to the cell
        (0.2, 2.5): 2,
        (0.5, 0.0): 3,
        (0.9, 1.5): 4,
        (1.0, 3.0): 5,  # upper ends of the box to the last cell
        (-5.0, 99.0): 2,  # clipped to (0, 3)
    }
    states = feature_map.state_features(np.array(list(cells)))
    np.testing.assert_array_equal(states, np.eye(6)[list(cells.values())])


def test_every_cell_is_reached():
    feature_map = Aggregation(LOW, HIGH, 1, bins=[4, 1, 5])
    middles = itertools.product(*[(np.arange(b) + 0.5) / b for b in (4, 1, 5)])
    points = np.array(LOW) + (np.array(HIGH) - LOW) * np.array(list(middles))
    np.testing.assert_array_equal(feature_map.state_features(points), np.eye(20))


def test_tiles_by_hand_near_points_share_features():
    feature_map = TileCoding([0], [1], 1, bins=2, tilings=2)
    # grid 0 has cells [0, ½), [½, 1]; grid 1, shifted by a quarter: [0, ¼), [¼, ¾), [¾, 1]
    states = feature_map.state_features([[0.1], [0.3], [0.6], [0.8], [1.0]])
    expected = np.array(
        [
            [1, 0, 1, 0, 0],
            [1, 0, 0, 1, 0],
            [0, 1, 0, 1, 0],
            [0, 1, 0, 0, 1],
            [0, 1, 0, 0, 1],
        ]
    )
    np.testing.assert_array_equal(states, expected / math.sqrt(2))
    products = states @ states.T
    np.testing.assert_allclose(products[0], [1, 0.5, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(products[2], [0, 0.5, 1, 0.5, 0.5], atol=1e-15)


def test_tiles_in_two_dimensions_by_hand():
    feature_map = TileCoding([0, 0], [1, 1], 1, bins=[2, 1], tilings=2)
    assert feature_map.state_dim == 2 * 1 + 3 * 2
    # (0.3, 0.7): grid 0 cell (0, 0); grid 1 cell (⌊0.6 + ½⌋, ⌊0.7 + ½⌋) = (1, 1), number 1 · 2 + 1
    (active,) = np.flatnonzero(feature_map.state_features([[0.3, 0.7]])[0, 2:])
    assert active == 3
    assert feature_map.state_features([[0.3, 0.7]])[0, 0] == 1 / math.sqrt(2)


def test_shared_tiles_decrease_with_distance():
    feature_map = TileCoding([0], [1], 1, bins=5, tilings=8)
    x = np.arange(40) / 40 + 1 / 80
    products = feature_map.state_features(x[:, None])
    products = products @ products.T
    steps = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))  # a cell is 8 steps wide
    np.testing.assert_allclose(products, np.maximum(0, 8 - steps) / 8, atol=1e-12)


def test_one_tiling_is_aggregation():
    one, other = TileCoding(LOW, HIGH, 3, bins=[4, 1, 5], tilings=1), BOX_MAPS["Aggregation"]
    points = observations(other, 100)
    assert one.batch(points).tobytes() == other.batch(points).tobytes()


# -- cosines -----------------------------------------------------------------------------------


def test_fourier_by_hand():
    feature_map = Fourier([0, 0], [1, 2], 1, order=2)
    vectors = [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]
    x = np.array([0.3, 0.85])
    expected = [math.cos(math.pi * (a * x[0] + b * x[1])) / 3 for a, b in vectors]
    np.testing.assert_allclose(feature_map([0.3, 1.7])[0], expected, atol=1e-14)


@pytest.mark.parametrize(("coupling", "size"), [(1, 13), (2, 13 + 6 * 9), (4, 256), (9, 256), (None, 256)])
def test_coupling_limits_the_vectors(coupling, size):
    k, order = 4, 3
    feature_map = Fourier([0] * k, [1] * k, 1, order=order, coupling=coupling)
    assert feature_map.state_dim == size
    most = k if coupling is None else coupling
    kept = [c for c in itertools.product(range(order + 1), repeat=k) if np.count_nonzero(c) <= most]
    x = np.array([0.1, 0.77, 0.31, 0.59])
    expected = np.cos(np.pi * np.array(kept) @ x) / math.sqrt(len(kept))
    np.testing.assert_allclose(np.sort(feature_map(x)[0]), np.sort(expected), atol=1e-13)


def test_the_cosines_are_linearly_independent():
    feature_map = Fourier([0, 0], [1, 1], 1, order=3)
    middles = (np.arange(8) + 0.5) / 8
    states = feature_map.state_features(np.array(list(itertools.product(middles, middles))))
    assert np.linalg.matrix_rank(states) == 16


# Hoeffding: <ψ(x), ψ(y)> is a mean of D independent cosines in [-1, 1], so it misses the kernel by more
# than t at one of P pairs with probability at most 2 P exp(-D t² / 2). 30 points make P = 435; D = 10 000
# and t = 0.065 give 6e-7.
PAIRS, POINTS, ERROR = 10_000, 30, 0.065


@pytest.mark.parametrize("bandwidth", [0.2, 0.6])
def test_random_features_approximate_the_gaussian_kernel(bandwidth):
    assert POINTS * (POINTS - 1) * math.exp(-PAIRS * ERROR**2 / 2) < 1e-6
    low, high = np.array([-1.0, 0.0, 10.0]), np.array([1.0, 0.5, 20.0])
    feature_map = RandomFourier(low, high, 1, features=2 * PAIRS, bandwidth=bandwidth, seed=1)
    x = np.random.default_rng(2).uniform(0, 1, (POINTS, 3))
    states = feature_map.state_features(low + (high - low) * x)
    squares = ((x[:, None] - x) ** 2).sum(axis=2)
    error = states @ states.T - np.exp(-squares / (2 * bandwidth**2))
    assert np.abs(error).max() < ERROR
    # The variance of each cosine is (1 - kernel²)² / 2, so that the root mean square is at most 1 / √(2D).
    assert np.sqrt((error**2).mean()) < 2 / math.sqrt(2 * PAIRS)
    wrong = states @ states.T - np.exp(-squares / bandwidth**2)
    assert np.abs(wrong).max() > ERROR  # the test can tell √2 times the bandwidth


def test_random_features_follow_the_seed():
    first, second, other = (RandomFourier([0], [1], 1, features=6, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first([0.4]), second([0.4]))
    assert np.abs(first([0.4]) - other([0.4])).max() > 0.01


def test_random_frequencies_are_pinned():
    """Agents saved today must find the same features in years."""
    first, second = -1.357853516965, 0.807833083222
    got = RandomFourier([0], [1], 1, features=4, bandwidth=0.5, seed=0)([0.25])  # angles w · 0.25 / 0.5
    angles = np.array([first, second]) / 2
    np.testing.assert_allclose(
        got[0], np.concatenate([np.cos(angles), np.sin(angles)]) / math.sqrt(2), atol=1e-10
    )


def test_soft_aggregation_keeps_the_promise_of_mixtures():
    """Weights of laws everywhere; every unit vector is the feature of a centre and an action."""
    soft = BOX_MAPS["SoftAggregation"]
    phi = soft.batch(observations(soft, 300))
    assert (phi >= 0).all()
    np.testing.assert_allclose(phi.sum(axis=2), 1.0, atol=1e-14)
    along = [np.linspace(a, b, n) for a, b, n in zip(LOW, HIGH, soft.centres, strict=True)]
    corners = soft.batch(list(itertools.product(*along)))
    np.testing.assert_allclose(corners.sum(axis=(0, 1)), 1.0, atol=1e-9)
    np.testing.assert_allclose(corners.max(axis=2), 1.0, atol=1e-9)
    by_hand = SoftAggregation([0, 0], [1, 2], 1, centres=[2, 3])([0.25, 1.5])
    np.testing.assert_allclose(by_hand, [[0, 0.375, 0.375, 0, 0.125, 0.125]])


# -- environments ------------------------------------------------------------------------------


def test_mountain_car_and_acrobot_work():
    for name, size, n_actions in (("MountainCar-v0", 2, 3), ("Acrobot-v1", 6, 3)):
        env = gymnasium.make(name)
        for cls, arguments in (
            (Aggregation, {"bins": 3}),
            (SoftAggregation, {"centres": 3}),
            (TileCoding, {"bins": 2, "tilings": 2}),
            (Fourier, {"order": 2, "coupling": 2}),
            (RandomFourier, {"features": 32, "seed": 1}),
        ):
            feature_map = cls.from_env(env, **arguments)
            assert feature_map.n_actions == n_actions
            assert feature_map.low.shape == (size,)
            observation, _ = env.reset(seed=0)
            for _ in range(5):
                assert np.linalg.norm(feature_map(observation), axis=1).max() <= 1 + 1e-12
                observation, *_ = env.step(1)
            again = cls(**json.loads(json.dumps(feature_map.parameters)))
            np.testing.assert_array_equal(again(observation), feature_map(observation))
        env.close()


class Space:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __repr__(self):
        return f"Space({', '.join(self.__dict__)})"


class Env:
    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space


def box(low, high):
    low, high = np.array(low, dtype=np.float32), np.array(high, dtype=np.float32)
    return Space(low=low, high=high, shape=low.shape)


def discrete(n, start=0):
    return Space(n=np.int64(n), start=np.int64(start))


@pytest.mark.parametrize("infinity", [INF, np.finfo(np.float32).max])
@pytest.mark.parametrize("cls", BOX_CLASSES)
def test_without_bounds_the_error_says_what_to_do(cls, infinity):
    cart_pole = Env(box([-4.8, -infinity, -0.4, -infinity], [4.8, infinity, 0.4, infinity]), discrete(2))
    with pytest.raises(
        ValueError, match=rf"low must be passed, as in {cls.__name__}.from_env\(env, low="
    ) as e:
        cls.from_env(cart_pole)
    assert "low[1] = -" in str(e.value)
    with pytest.raises(ValueError, match=r"high must be passed.*high\[1\] = "):
        cls.from_env(cart_pole, low=[-4.8, -3, -0.4, -3])
    feature_map = cls.from_env(cart_pole, low=[-4.8, -3, -0.4, -3], high=[4.8, 3, 0.4, 3])
    np.testing.assert_array_equal(feature_map.high, [4.8, 3, 0.4, 3])
    assert feature_map([0.0, 99.0, 0.1, -99.0]).shape == (2, feature_map.dim)


def test_cart_pole_itself_asks_for_bounds():
    env = gymnasium.make("CartPole-v1")
    with pytest.raises(ValueError, match="low must be passed"):
        TileCoding.from_env(env)
    feature_map = TileCoding.from_env(env, low=[-2.4, -3, -0.21, -3], high=[2.4, 3, 0.21, 3], bins=3)
    assert feature_map(env.reset(seed=0)[0]).shape == (2, 2 * (3**4 + 3 * 4**4))
    env.close()


def test_discrete_observations():
    env = gymnasium.make("FrozenLake-v1")
    feature_map = OneHot.from_env(env)
    observation, _ = env.reset(seed=0)
    assert feature_map.dim == 16 * 4
    assert feature_map(observation)[2, 16 * 2 + observation] == 1.0
    env.close()
    shifted = OneHot.from_env(Env(gymnasium.spaces.Discrete(3, start=5), discrete(1)))
    np.testing.assert_array_equal(shifted.batch([5, 7])[:, 0], [[1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("cls", "env", "message"),
    [
        (TileCoding, None, "env must have an observation_space and an action_space, got None"),
        (
            TileCoding,
            Env(box([0], [1]), box([0], [1])),
            "env.action_space must be a Discrete space from 0 on",
        ),
        (OneHot, Env(discrete(2), discrete(2, start=1)), "env.action_space must be .* from 0 on"),
        (Fourier, Env(discrete(2), discrete(2)), "env.observation_space must be a Box .OneHot takes"),
        (Fourier, Env(Space(spaces={}), discrete(2)), "must be a Box .*FlattenObservation.*got Space"),
        (
            OneHot,
            Env(box([0], [1]), discrete(2)),
            "env.observation_space must be a Discrete space .*TileCoding",
        ),
    ],
)
def test_other_spaces_are_refused(cls, env, message):
    with pytest.raises(ValueError, match=message):
        cls.from_env(env)


def test_bounds_of_another_shape_than_observations_are_refused():
    with pytest.raises(ValueError, match=r"high must have the shape of observations, \(2,\), got \(3,\)"):
        Fourier.from_env(Env(box([0, 0], [1, INF]), discrete(2)), high=[1, 1, 1])


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ([0.0, 0.0], r"observation must have shape \(3,\), got \(2,\)"),
        ([[0.0, 0.0, 3.0]], r"observation must have shape \(3,\), got \(1, 3\)"),
        (0.0, r"observation must have shape \(3,\), got \(\)"),
        ([0.0, NAN, 3.0], r"observation must be finite, got observation\[1\] = nan"),
        ([0.0, 0.0, -INF], r"observation must be finite, got observation\[2\] = -inf"),
        ("abc", "observation must be an array of real numbers, got str 'abc'"),
        ([0.0, 1j, 0.0], "observation must be an array of real numbers"),
        ([[0.0], [1.0, 2.0]], "observation must be an array of real numbers"),
        (None, "observation must be an array of real numbers"),
        ({"a": 1}, "observation must be an array of real numbers"),
    ],
)
def test_malformed_observations_are_refused(box_map, point, message):
    with pytest.raises(ValueError, match=message):
        box_map(point)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0.0, 0.0, 3.0], r"observations must have shape \(m, 3\), got \(3,\)"),
        (np.zeros((2, 3, 1)), r"observations must have shape \(m, 3\), got \(2, 3, 1\)"),
        (1.0, r"observations must have shape \(m, 3\), got \(\)"),
        ([[0, 0, 0], [0, 0, NAN]], r"observations must be finite, got observations\[1, 2\] = nan"),
    ],
)
def test_malformed_batches_are_refused(box_map, points, message):
    for method in (box_map.batch, box_map.state_features):
        with pytest.raises(ValueError, match=message):
            method(points)


def test_a_number_alone_comes_in_batches_of_one_dimension():
    feature_map = EVERY_MAP["a number alone"]
    assert feature_map.batch([0.5, 1.0]).shape == (2, 2, 8)
    for wrong in (0.5, [[0.5]]):
        with pytest.raises(ValueError, match=r"observations must have shape \(m,\)"):
            feature_map.batch(wrong)


@pytest.mark.parametrize(
    "state", [-3, 5, 0.0, "0", None, True, [0], np.array([0]), NAN, 10**30, [[0], [1, 2]]]
)
def test_malformed_states_are_refused(state):
    with pytest.raises(ValueError, match=r"observation must be (an integer|from -2 to 4), got"):
        EVERY_MAP["OneHot"](state)


def test_malformed_batches_of_states_are_refused():
    feature_map = EVERY_MAP["OneHot"]
    with pytest.raises(ValueError, match=r"observations must be from -2 to 4, got observations\[1\] = 5"):
        feature_map.batch([0, 5])
    for wrong in (0, [0.5], [[0]], [True]):
        with pytest.raises(
            ValueError, match=r"observations must be an array of integers of shape \(m,\), got"
        ):
            feature_map.batch(wrong)
    assert feature_map.batch(np.array([3], dtype=np.uint64))[0, 0, 5] == 1.0


@pytest.mark.parametrize("cls", BOX_CLASSES)
@pytest.mark.parametrize(
    ("low", "high", "n_actions", "message"),
    [
        ([0, -INF], [1, 1], 2, r"low must be finite .*got low\[1\] = -inf"),
        ([0, 0], [1, NAN], 2, r"high must be finite .*got high\[1\] = nan"),
        ([0, 0], [1, 3.4e38], 2, r"high must be finite and within ±1e\+30"),
        ([0, 1], [1, 1], 2, r"low must be less than high, got low\[1\] = 1.0 and high\[1\] = 1.0"),
        (2.0, 1.0, 2, r"low must be less than high, got low = 2.0 and high = 1.0"),
        ([0], [1, 1], 2, r"high must have the shape of low, \(1,\), got \(2,\)"),
        ([], [], 2, "low must be an array of at least one number"),
        ("a", [1], 2, "low must be an array of real numbers"),
        ([0], None, 2, "high must be an array of real numbers"),
        ([0], [1], 0, "n_actions must be an integer >= 1"),
        ([0], [1], 1.5, "n_actions must be an integer >= 1"),
        ([0], [1], 10**9, "n_actions must be an integer >= 1 and <= 100000"),
    ],
)
def test_malformed_bounds_are_refused(cls, low, high, n_actions, message):
    with pytest.raises(ValueError, match=message):
        cls(low, high, n_actions)


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (Aggregation, {"bins": 0}, "bins must be an integer >= 1"),
        (Aggregation, {"bins": [2, 0]}, r"bins\[1\] must be an integer >= 1"),
        (Aggregation, {"bins": [2]}, "bins must be an integer or a sequence of 2 integers"),
        (Aggregation, {"bins": 2.0}, "bins must be an integer"),
        (Aggregation, {"bins": "22"}, "bins must be an integer"),
        (Aggregation, {"bins": None}, "bins must be an integer"),
        (Aggregation, {"bins": np.array([2.0, 2.0])}, r"bins\[0\] must be an integer"),
        (Aggregation, {"bins": 10**400}, "bins must be an integer"),
        (SoftAggregation, {"centres": 1}, "centres must be at least 2, got 1"),
        (SoftAggregation, {"centres": [2]}, "centres must be an integer or a sequence of 2 integers"),
        (TileCoding, {"bins": True}, "bins must be an integer"),
        (TileCoding, {"tilings": 0}, "tilings must be an integer >= 1"),
        (Fourier, {"order": 0}, "order must be an integer >= 1"),
        (Fourier, {"coupling": 0}, "coupling must be an integer >= 1"),
        (RandomFourier, {"features": 0}, "features must be an integer >= 2"),
        (RandomFourier, {"features": 7}, "features must be even"),
        (RandomFourier, {"bandwidth": 0.0}, "bandwidth must be > 0"),
        (RandomFourier, {"bandwidth": NAN}, "bandwidth must be a finite number"),
        (RandomFourier, {"bandwidth": 1e-7}, "bandwidth must be at least 1e-06"),
        (RandomFourier, {"seed": -1}, "seed must be an integer >= 0"),
    ],
)
def test_malformed_settings_are_refused(cls, arguments, message):
    with pytest.raises(ValueError, match=message):
        cls([0, 0], [1, 1], 2, **arguments)


@pytest.mark.parametrize(
    ("cls", "k", "arguments", "name"),
    [
        (Aggregation, 6, {}, "bins"),
        (Aggregation, 2, {"bins": [1000, 51]}, "bins"),
        (Aggregation, 50_000, {}, "bins"),
        (SoftAggregation, 8, {}, "centres"),
        (TileCoding, 6, {}, "bins"),
        (TileCoding, 2, {"tilings": 700}, "tilings"),
        (TileCoding, 1, {"bins": 1, "tilings": 100_000}, "tilings"),
        (Fourier, 10, {}, "order"),
        (Fourier, 50_000, {}, "order"),
        (Fourier, 50_000, {"coupling": 1}, "order"),
        (Fourier, 50, {"coupling": 3}, "coupling"),
        (RandomFourier, 1, {"features": 50_002}, "features"),
    ],
)
def test_too_many_features_are_refused_at_once(cls, k, arguments, name):
    with pytest.raises(
        ValueError, match=rf"^{name} must be so small that .*100000 features for 2 actions, got"
    ):
        cls(np.zeros(k), np.ones(k), 2, **arguments)


def test_as_many_features_as_allowed():
    assert Aggregation([0, 0], [1, 1], 2, bins=[1000, 50]).dim == MOST_FEATURES
    assert OneHot(50_000, 2).dim == MOST_FEATURES
    with pytest.raises(ValueError, match="n_states must be so small"):
        OneHot(50_001, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2), "n_states must be an integer >= 1"),
        ((2.0, 2), "n_states must be an integer >= 1"),
        ((2, None), "n_actions must be an integer >= 1"),
    ],
)
def test_malformed_one_hots_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        OneHot(*arguments)
    with pytest.raises(ValueError, match="start must be an integer"):
        OneHot(2, 2, start=0.5)
