"""Instances: purity of the rounds, optima and gaps by hand, noise, bad input."""

import math

import numpy as np
import pytest

import unipac
from unipac.envs import (
    BANDITS,
    appendix_a,
    end_of_optimism,
    fixed_arms,
    killer,
    killer_phases,
    misspecified,
    soare,
    sphere,
)

FAR = 10**18
NAN = float("nan")

EVERY_INSTANCE = {name: make() for name, make in BANDITS.items()} | {
    "sphere, signs": sphere(3, 4, noise=0.5, noise_kind="rademacher"),
    "sphere, blocks of one round": sphere(2**10, 2**11),
    "fixed_arms": fixed_arms([[1.0, 0.0], [0.6, 0.8]], [0.3, -0.4]),
}


@pytest.fixture(params=EVERY_INSTANCE)
def instance(request):
    return EVERY_INSTANCE[request.param]


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def gaps(instance, start, count):
    means = instance.rounds(start, count, seed=0).means
    return means.max(axis=-1, keepdims=True) - means


def test_shapes_and_types_are_as_promised(instance):
    n, d = instance.n_actions, instance.dim
    lead = () if instance.actions is not None else (5,)
    actions, means, rewards = instance.rounds(3, 5, seed=0)
    assert actions.shape == (*lead, n, d)
    assert means.shape == (*lead, n)
    assert rewards.shape == (5, n)
    for array in (actions, means, rewards):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert instance.rounds(3, 0, seed=0).rewards.shape == (0, n)


def test_norms_are_at_most_one(instance):
    count = min(instance.block, 100)
    actions = instance.rounds(0, count, seed=2).actions
    assert np.linalg.norm(actions, axis=-1).max() <= 1 + 1e-12


@pytest.mark.parametrize("name", sorted(EVERY_INSTANCE.keys() - {"misspecified"}))
def test_means_are_linear_in_theta(name):
    instance = EVERY_INSTANCE[name]
    actions, means, _ = instance.rounds(0, 4, seed=2)
    np.testing.assert_allclose(means, actions @ instance.theta, rtol=0, atol=1e-14)
    assert np.linalg.norm(instance.theta) <= instance.norm


def test_rounds_do_not_depend_on_how_they_are_cut(instance):
    block = instance.block
    start, count = block - 1, block + 3
    cuts = [(start, 1), (start + 1, block), (start + block + 1, 2)]
    pieces = [instance.rounds(*cut, seed=7) for cut in cuts]
    whole = instance.rounds(start, count, seed=7)
    np.testing.assert_array_equal(whole.rewards, np.concatenate([piece.rewards for piece in pieces]))
    if instance.actions is None:
        np.testing.assert_array_equal(whole.actions, np.concatenate([piece.actions for piece in pieces]))
        np.testing.assert_array_equal(whole.means, np.concatenate([piece.means for piece in pieces]))
    else:
        np.testing.assert_array_equal(whole.actions, instance.actions)


def test_rounds_do_not_depend_on_earlier_calls(instance):
    first = instance.rounds(5, 3, seed=1)
    instance.rounds(5, 3, seed=2)
    instance.rounds(FAR, 3, seed=1)
    assert_same(first, instance.rounds(5, 3, seed=1))


def test_callers_own_their_arrays(instance):
    before = instance.rounds(0, 2, seed=1)
    for array in instance.rounds(0, 2, seed=1):
        array[:] = NAN
    assert_same(before, instance.rounds(0, 2, seed=1))
    for array in (instance.theta, instance.actions):
        assert array is None or not array.flags.writeable


def test_rounds_are_reachable_at_any_number(instance):
    far = instance.rounds(FAR, 2, seed=1)
    assert np.isfinite(far.rewards).all()
    np.testing.assert_array_equal(far.rewards[1], instance.rounds(FAR + 1, 1, seed=1).rewards[0])


def test_block_depends_on_the_shape_only():
    assert sphere(2, 2).block == 4096  # 2**20 // 4 = 262144, capped
    assert sphere(64, 16).block == 1024  # 2**20 // 1024
    assert sphere(2**10, 2**11).block == 1  # 2**20 // 2**21 = 0, at least one


def test_sphere_follows_the_documented_stream():
    instance = sphere(dim=64, n_actions=32)
    assert instance.block == 512
    rng = np.random.default_rng(np.random.SeedSequence(9, spawn_key=(2,)))
    points = rng.standard_normal((512, 32, 64))
    noise = rng.standard_normal(512)
    actions, means, rewards = instance.rounds(2 * 512, 512, seed=9)
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    np.testing.assert_allclose(actions, points, rtol=1e-12)
    np.testing.assert_allclose(rewards - means, noise[:, None] + np.zeros(32), atol=1e-12)


@pytest.mark.parametrize("entropy", [4, np.int64(4), [4, 5], np.array([4, 5]), 2**100 + 1, None])
def test_seed_sequences(entropy):
    instance = sphere(2, 3)
    sequence = np.random.SeedSequence(entropy, spawn_key=(8,))
    rng = np.random.default_rng(np.random.SeedSequence(sequence.entropy, spawn_key=(8, 1)))
    rng.standard_normal((4096, 3, 2))
    _, means, rewards = instance.rounds(4096, 1, sequence)
    assert rewards[0, 0] - means[0, 0] == pytest.approx(rng.standard_normal(), abs=1e-12)


def test_seeds_of_one_block_are_told_apart():
    instance = fixed_arms([[0.0]], [1.0])
    seeds = [3, *np.random.SeedSequence(3).spawn(2), np.random.SeedSequence([3, 1])]
    rewards = [instance.rounds(0, 1, seed).rewards[0, 0] for seed in seeds]
    assert len(set(rewards)) == 4


def test_an_integer_seed_is_the_seed_sequence_of_it():
    instance = sphere()
    assert_same(instance.rounds(0, 2, 5), instance.rounds(0, 2, np.random.SeedSequence(5)))
    one, other = instance.rounds(0, 2, 5), instance.rounds(0, 2, 6)
    assert (one.actions != other.actions).all()


def test_sphere_seed_moves_theta_only():
    one, other = sphere(seed=1), sphere(seed=2)
    assert (one.theta != other.theta).all()
    assert np.linalg.norm(one.theta) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(one.rounds(0, 3, 0).actions, other.rounds(0, 3, 0).actions)


def test_sphere_is_isotropic():
    # 81920 uniform points in R^3: a mean coordinate has deviation sqrt(1/3/81920) = 0.0020, and
    # each of the 3 is off by more than 5 deviations with probability 6e-7.
    actions = sphere(3, 20).rounds(0, 4096, seed=3).actions
    assert np.abs(actions.mean(axis=(0, 1))).max() < 5 * math.sqrt(1 / 3 / 81920)


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_gaussian_noise_has_its_moments(noise):
    count = 20000
    _, means, rewards = sphere(2, 3, noise=noise).rounds(0, count, seed=11)
    drawn = rewards - means
    np.testing.assert_allclose(drawn, drawn[:, :1] + np.zeros(3), atol=1e-12)
    # 5 deviations, false alarm 6e-7 each: the mean has noise/sqrt(T), and the mean square of
    # Gaussian noise has noise² sqrt(2/T).
    assert abs(drawn[:, 0].mean()) < 5 * noise / math.sqrt(count)
    assert abs(np.square(drawn[:, 0]).mean() - noise**2) < 5 * noise**2 * math.sqrt(2 / count)


def test_rademacher_noise_has_fair_signs():
    count = 20000
    arms = fixed_arms([[0.0, 0.0]], [1.0, 0.0], noise=0.25, noise_kind="rademacher")
    rewards = arms.rounds(0, count, seed=12).rewards
    assert set(np.unique(rewards)) == {-0.25, 0.25}
    # The sum of T fair signs has deviation sqrt(T); 5 deviations are passed with probability 6e-7.
    assert abs(np.sign(rewards).sum()) < 5 * math.sqrt(count)


def test_fixed_arms_by_hand():
    instance = fixed_arms([[1, 0], [0, 1], [0.6, 0.8]], [3, 4])
    # 3, 4, 0.6*3 + 0.8*4 = 5; |theta| = 5
    np.testing.assert_allclose(instance.rounds(0, 1, 0).means, [3, 4, 5], rtol=1e-15)
    assert instance.norm == 5.0
    assert fixed_arms([[0.5]], [0.5]).norm == 1.0


def test_fixed_arms_copy_their_arguments():
    arms, theta = np.eye(2), np.array([1.0, 0.0])
    instance = fixed_arms(arms, theta)
    arms[:], theta[:] = 0.0, 0.0
    np.testing.assert_array_equal(instance.actions, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(instance.rounds(0, 1, 0).means, [1, 0])


def test_appendix_a_by_hand():
    instance = appendix_a(forced=5000)  # the switch lies inside the second block of 4096
    actions, means, rewards = instance.rounds(4999, 2, seed=0)
    np.testing.assert_array_equal(actions[0], [[1, 0], [-1, 0]])
    np.testing.assert_array_equal(actions[1], [[0, 1], [0, -1]])
    np.testing.assert_array_equal(means, [[0, 0], [1, -1]])
    np.testing.assert_array_equal(rewards, means)
    assert instance.noise == 0.0


def test_killer_by_hand():
    instance = killer(forced=FAR)
    actions, means, rewards = instance.rounds(FAR - 1, 2, seed=0)
    np.testing.assert_array_equal(actions, [[[1, 0], [1, 0]], [[1, 0], [0, 1]]])
    np.testing.assert_array_equal(means, [[0.5, 0.5], [0.5, 0.0]])
    np.testing.assert_array_equal(rewards, means)
    np.testing.assert_array_equal(gaps(instance, FAR, 1), [[0.0, 0.5]])
    assert [instance.forced_at(k) for k in (0, 1, FAR - 1, FAR, FAR + 1)] == [FAR, FAR - 1, 1, 0, 0]


def test_killer_phases_by_hand():
    instance = killer_phases(forced=(3, FAR), choices=2)
    # rounds 0-2 forced, 3-4 free, 5 to FAR + 4 forced, free from FAR + 5 on
    np.testing.assert_array_equal(gaps(instance, 0, 7)[:, 1], [0, 0, 0, 0.5, 0.5, 0, 0])
    np.testing.assert_array_equal(gaps(instance, FAR + 3, 5)[:, 1], [0, 0, 0.5, 0.5, 0.5])
    assert [instance.forced_at(k) for k in range(6)] == [3, 2, 1, 0, 0, FAR]
    assert [instance.forced_at(FAR + k) for k in (4, 5, 9)] == [1, 0, 0]


@pytest.mark.parametrize("make", [lambda: killer(7), lambda: killer_phases((2, 0, 5000, 1), 3)])
def test_forced_at_agrees_with_the_rounds(make):
    instance = make()
    free = gaps(instance, 0, 6000)[:, 1] > 0
    next_free = [k + int(np.argmax(free[k:])) for k in range(5900)]
    assert [k + instance.forced_at(k) for k in range(5900)] == next_free


def test_soare_by_hand():
    instance = soare(dim=3, angle=math.pi / 3)
    half, root = 1 / 2, math.sqrt(3) / 2
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [half, root, 0]]
    np.testing.assert_allclose(instance.actions, expected, atol=1e-15)
    np.testing.assert_allclose(gaps(instance, 0, 1), [0, 1, 1, half], atol=1e-15)


def test_end_of_optimism_by_hand():
    instance = end_of_optimism(epsilon=1 / 512, alpha=2)
    # 8 * 2 / 512 = 1/32
    np.testing.assert_array_equal(instance.actions, [[1, 0], [0, 1], [511 / 512, 1 / 32]])
    np.testing.assert_array_equal(gaps(instance, 0, 1), [0, 1, 1 / 512])


def test_end_of_optimism_reaches_the_unit_circle():
    arm = end_of_optimism(epsilon=2 / 65).actions[2]  # (63/65, 16/65): 63² + 16² = 65²
    assert np.linalg.norm(arm) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("fixed", [False, True])
def test_misspecified_means_are_linear_up_to_zeta(fixed):
    linear = misspecified(3, 6, zeta=0.0, fixed=fixed, seed=4)
    crooked = misspecified(3, 6, zeta=0.3, fixed=fixed, seed=4)
    ours, straight = crooked.rounds(0, 200, seed=1), linear.rounds(0, 200, seed=1)
    np.testing.assert_array_equal(ours.actions, straight.actions)
    np.testing.assert_allclose(straight.means, straight.actions @ linear.theta, rtol=0, atol=1e-14)
    error = np.abs(ours.means - straight.means)
    assert 0.15 < error.max() <= 0.3
    assert crooked.theta is None
    assert (crooked.actions is not None) == fixed
    if fixed:
        sums = misspecified(3, 6, zeta=0.3, fixed=True, noise=0.0, seed=4).pulls(
            [0, 5], [10, 1], batch=0, seed=0
        )
        np.testing.assert_allclose(sums, ours.means[[0, 5]] * [10, 1], rtol=1e-12)


def test_repr_says_what_it_is():
    assert repr(killer()) == "<killer: 2 actions in dimension 2, no noise>"
    assert repr(sphere(3, 4, noise=0.5, noise_kind="rademacher")) == (
        "<sphere: 4 actions in dimension 3, rademacher noise 0.5>"
    )


def test_registry_names_its_instances():
    for name, make in BANDITS.items():
        assert make().name == name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sphere(dim=0), "dim must be an integer >= 1, got 0"),
        (lambda: sphere(dim=2.0), "dim must be an integer >= 1, got 2.0"),
        (lambda: sphere(n_actions=0), "n_actions must be an integer >= 1, got 0"),
        (lambda: sphere(noise=-1), "noise must be >= 0, got -1"),
        (lambda: sphere(noise=NAN), "noise must be a finite number, got nan"),
        (lambda: sphere(noise_kind="cauchy"), "noise_kind must be one of .* got 'cauchy'"),
        (lambda: sphere(seed=-1), "seed must be an integer >= 0, got -1"),
        (lambda: sphere().rounds(-1, 1, 0), "start must be an integer >= 0, got -1"),
        (lambda: sphere().rounds(0, 1.5, 0), "count must be an integer >= 0, got 1.5"),
        (lambda: sphere().rounds(0, 1, "a"), "seed must be an integer >= 0, got 'a'"),
        (lambda: fixed_arms([1.0], [1.0]), r"arms must be of shape \(n, d\).* got \(1,\)"),
        (lambda: fixed_arms(np.empty((0, 2)), [1, 0]), r"arms must be .* got \(0, 2\)"),
        (lambda: fixed_arms([[1.0, 1.0]], [1, 0]), "arms must be of norm at most 1, got 1.41"),
        (lambda: fixed_arms([[NAN, 1.0]], [1, 0]), "arms must be of norm at most 1, got nan"),
        (lambda: fixed_arms([[1.0, 0.0]], [1.0]), r"theta must be of shape \(2,\).* got \(1,\)"),
        (lambda: fixed_arms([[1.0]], [NAN]), "theta must be finite"),
        (lambda: soare(dim=1), "dim must be an integer >= 2, got 1"),
        (lambda: soare(angle=0.0), r"angle must be in \(0, pi/2\), got 0.0"),
        (lambda: soare(angle=2), r"angle must be in \(0, pi/2\), got 2"),
        (lambda: end_of_optimism(0.0), r"epsilon must be in \(0, 0.0307692\] .* got 0.0"),
        (lambda: end_of_optimism(0.01, alpha=2), "for alpha = 2, got 0.01"),
        (lambda: end_of_optimism(alpha=0.5), "alpha must be a finite number >= 1, got 0.5"),
        (lambda: appendix_a(-1), "forced must be an integer >= 0, got -1"),
        (lambda: killer(1e3), "forced must be an integer >= 0, got 1000.0"),
        (lambda: killer().forced_at(-1), "k must be an integer >= 0, got -1"),
        (lambda: killer_phases(()), r"forced must be .* got \(\)"),
        (lambda: killer_phases(5), "forced must be .* got 5"),
        (lambda: killer_phases((1, -2)), r"forced\[1\] must be an integer >= 0, got -2"),
        (lambda: killer_phases(choices=0), "choices must be an integer >= 1, got 0"),
        (lambda: misspecified(zeta=-1.0), "zeta must be >= 0, got -1.0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rounds_of_uneven_noise_tell_theirs():
    """However they are cut. Six standard errors of the share with 20,000 rounds are 0.017."""
    instance = unipac.envs.uneven_noise(3, 4, scales=(0.1, 0.5, 2.0), shares=(0.2, 0.0, 0.8))
    whole = instance.rounds(4000, 20_000, seed=1)
    assert whole.noise.shape == (20_000,)
    assert set(whole.noise) == {0.1, 2.0}
    assert abs((whole.noise == 0.1).mean() - 0.2) < 0.017
    np.testing.assert_allclose(np.abs(whole.rewards - whole.means).max(axis=1), whole.noise, rtol=1e-12)
    cuts = [instance.rounds(*cut, seed=1) for cut in ((4000, 7), (4007, 19_000), (23_007, 993))]
    np.testing.assert_array_equal(np.concatenate([part.noise for part in cuts]), whole.noise)
    walked = np.concatenate([piece.noise.copy() for piece in instance.pieces(4000, 20_000, seed=1)])
    np.testing.assert_array_equal(walked, whole.noise)
    assert sphere().rounds(0, 2, seed=0).noise is None
    gaussian = unipac.envs.uneven_noise(2, 2, noise_kind="gaussian").rounds(0, 50_000, seed=2)
    quiet = gaussian.noise == 0.05
    drawn = (gaussian.rewards - gaussian.means)[quiet, 0]
    assert drawn.std() == pytest.approx(0.05, rel=0.02)  # six standard errors
    for bad in ({"scales": (0.0, 1.0)}, {"scales": ()}, {"shares": (0.5, 0.6)}, {"shares": (1.0,)}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be of shape"):
            unipac.envs.uneven_noise(**bad)
