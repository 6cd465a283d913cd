"""Streams of bandits: those of `sphere` are NumPy's, pieces are rounds, pulls are sums of rewards."""

import math

import numpy as np
import pytest

from unipac.envs import BANDITS, fixed_arms, killer, soare, sphere
from unipac.envs.bandits.contexts import draw_on_sphere

# --- sphere: a compiled function draws what these lines of NumPy draw


def plain_block(instance, index, seed):
    """Block `index` in plain NumPy: points, lengths and noise of all rounds, one after the other."""
    rng = np.random.default_rng(np.random.SeedSequence((seed,), spawn_key=(index,)))
    actions = rng.standard_normal((instance.block, instance.n_actions, instance.dim))
    actions /= np.sqrt(np.einsum("...d,...d->...", actions, actions))[..., None]
    if instance.shortest < 1.0:
        actions *= (instance.shortest ** rng.random(actions.shape[:2]))[..., None]
    means = actions @ instance.theta
    if instance.noise == 0.0:
        noise = np.zeros(instance.block)
    elif instance.noise_kind == "gaussian":
        noise = instance.noise * rng.standard_normal(instance.block)
    else:
        noise = np.where(rng.integers(0, 2, instance.block) == 1, instance.noise, -instance.noise)
    return actions, means, means + noise[:, None]


def squared_length(row):
    """Entries of even and odd index by themselves, groups of eight from the back: two lanes."""
    lanes = [0.0, 0.0]
    whole = len(row) - len(row) % 8
    order = [k + j for k in range(0, whole, 8) for j in (6, 7, 4, 5, 2, 3, 0, 1)]
    for j in [*order, *range(whole, len(row))]:
        lanes[j % 2] += row[j] * row[j]
    return lanes[0] + lanes[1]


def numpy_sums_in_two_lanes():
    """NumPy's einsum has as many lanes as the vectors of the machine it was compiled for."""
    rows = np.random.default_rng(0).standard_normal((200, 37))
    return np.einsum("rd,rd->r", rows, rows).tolist() == [squared_length(row) for row in rows.tolist()]


SPHERES = {
    f"d={dim}, n={n}, {options}": (dim, n, options)
    for dim, n in [(1, 1), (1, 3), (2, 4), (5, 20), (7, 1), (8, 3), (9, 2), (23, 5), (64, 16)]
    for options in (
        {},
        {"noise": 0.0},
        {"shortest": 0.01},
        {"noise_kind": "rademacher", "noise": 0.3, "shortest": 0.5},
    )
}


@pytest.mark.parametrize("name", SPHERES)
def test_sphere_draws_what_numpy_draws(name):
    dim, n, options = SPHERES[name]
    instance = sphere(dim, n, seed=dim, **options)
    for index in (0, 3):
        drawn = instance.rounds(index * instance.block, instance.block, seed=11)
        expected = plain_block(instance, index, seed=11)
        for one, other in zip(drawn, expected, strict=True):
            if numpy_sums_in_two_lanes():
                np.testing.assert_array_equal(one, other)
            else:
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-15)


@pytest.mark.nojit
@pytest.mark.parametrize("dim", [1, 2, 3, 7, 8, 9, 15, 16, 17, 50])
@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
def test_points_on_the_sphere_to_the_last_bit(dim, rows_at_once):
    points = np.empty(7 * dim)
    draw_on_sphere(np.random.default_rng(dim), points, dim, rows_at_once * dim)
    rows = np.random.default_rng(dim).standard_normal((7, dim)).tolist()
    expected = [entry / math.sqrt(squared_length(row)) for row in rows for entry in row]
    assert points.tolist() == expected


# --- pieces


EVERY_INSTANCE = {name: make() for name, make in BANDITS.items()} | {
    "sphere, short and signs": sphere(3, 4, noise=0.5, noise_kind="rademacher", shortest=0.1),
    "sphere, blocks of one round": sphere(2**9, 2**12),
    "fixed_arms": fixed_arms([[1.0, 0.0], [0.6, 0.8]], [0.3, -0.4]),
}


@pytest.mark.parametrize("name", EVERY_INSTANCE)
def test_pieces_are_the_rounds(name):
    instance = EVERY_INSTANCE[name]
    start, count = max(instance.block - 7, 0), min(instance.block, 4000) + 11
    for seed in (3, np.random.SeedSequence(3, spawn_key=(1,))):
        whole = instance.rounds(start, count, seed)
        done = 0
        for piece in instance.pieces(start, count, seed):
            here = slice(done, done + len(piece.rewards))
            assert 0 < len(piece.rewards) <= 256
            np.testing.assert_array_equal(piece.rewards, whole.rewards[here])
            fixed = instance.actions is not None
            np.testing.assert_array_equal(piece.actions, whole.actions if fixed else whole.actions[here])
            np.testing.assert_array_equal(piece.means, whole.means if fixed else whole.means[here])
            for array in piece:
                assert array.flags.carray
            done = here.stop
        assert done == count


def test_pieces_leave_rounds_alone():
    instance = sphere(2, 3)
    expected = instance.rounds(10, 5, seed=1)
    pieces = instance.pieces(0, 3 * instance.block + 5, seed=2)
    next(pieces)
    np.testing.assert_array_equal(instance.rounds(10, 5, seed=1).actions, expected.actions)
    for _ in pieces:
        pass
    np.testing.assert_array_equal(instance.rounds(10, 5, seed=1).rewards, expected.rewards)


def test_two_walks_through_the_pieces_do_not_meet():
    instance = sphere(2, 3)
    count = 2 * instance.block
    alone = [piece.rewards.copy() for piece in instance.pieces(0, count, seed=1)]
    both = zip(instance.pieces(0, count, seed=1), instance.pieces(0, count, seed=2), strict=True)
    together = [piece.rewards.copy() for piece, _ in both]
    np.testing.assert_array_equal(np.concatenate(alone), np.concatenate(together))


def test_a_walk_that_stops_midway_harms_no_other():
    instance = sphere(2, 3)
    expected = [piece.rewards.copy() for piece in instance.pieces(0, instance.block, seed=1)]
    next(instance.pieces(0, 2 * instance.block, seed=2))  # uses what the first one left, and is given up
    one, two = (instance.pieces(0, instance.block, seed=seed) for seed in (1, 3))
    again = [(piece.rewards.copy(), next(two))[0] for piece in one]
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(expected))


def test_no_pieces_and_bad_pieces():
    assert list(sphere().pieces(5, 0, seed=0)) == []
    with pytest.raises(ValueError, match="start must be an integer >= 0, got -1"):
        sphere().pieces(-1, 5, seed=0)
    with pytest.raises(ValueError, match="seed must be an integer >= 0, got 'x'"):
        sphere().pieces(0, 5, seed="x")


# --- pulls


@pytest.mark.parametrize("kind", ["gaussian", "rademacher"])
def test_pulls_are_a_function_of_seed_and_batch(kind):
    arms, counts = np.arange(20) % 6, np.arange(20)
    fresh = [soare(5, noise=0.5) for _ in range(2)]
    for instance in fresh:
        instance.noise_kind = kind
    batches = [0, 1, 1023, 1024, 10**12]
    one = {batch: fresh[0].pulls(arms, counts, batch=batch, seed=3) for batch in batches}
    other = {
        batch: fresh[1].pulls(arms.tolist(), counts.tolist(), batch=batch, seed=3) for batch in batches[::-1]
    }
    for batch in batches:
        np.testing.assert_array_equal(one[batch], other[batch])
        np.testing.assert_array_equal(
            one[batch], fresh[0].pulls(arms, counts, batch=batch, seed=np.random.SeedSequence(3))
        )
    sums = [*one.values(), fresh[0].pulls(arms, counts, batch=0, seed=4)]
    assert len({tuple(array.tolist()) for array in sums}) == len(sums)


def test_the_first_arms_do_not_depend_on_the_later_ones():
    instance = soare(5)
    many = instance.pulls([1, 2, 3] * 5, [7] * 15, batch=4, seed=0)
    for m in range(1, 15):
        np.testing.assert_array_equal(instance.pulls(([1, 2, 3] * 5)[:m], [7] * m, batch=4, seed=0), many[:m])


@pytest.mark.parametrize("kind", ["gaussian", "rademacher"])
@pytest.mark.parametrize("count", [1, 5, 10**6])
def test_sums_have_mean_and_variance_of_sums(kind, count):
    noise, mean, n = 0.5, 0.3, 4000
    instance = fixed_arms([[1.0, 0.0], [0.6, 0.8]], [mean, 0.0], noise=noise, noise_kind=kind)
    # 10 arms a batch: eight from the block and two of its own
    sums = np.array([instance.pulls([0] * 10, [count] * 10, batch=b, seed=5) for b in range(n // 10)])
    scaled = (sums.ravel() - count * mean) / (noise * math.sqrt(count))
    # Null: mean 0, variance 1 and fourth moment at most 3. Each mean is off by more than 5 of its deviations
    # with probability about 6e-7; two of them, and the control, in six cases.
    assert abs(scaled.mean()) < 5 / math.sqrt(n)
    assert abs((scaled**2).mean() - 1) < 5 * math.sqrt(2 / n)
    wrong = scaled * 1.2  # noise too large by a fifth: 0.44 = 20 deviations
    assert abs((wrong**2).mean() - 1) > 5 * math.sqrt(2 / n)
    # of one batch and of neighbouring ones: null correlation 0 with deviation 1/√n
    early, later = sums[:, 0] - sums.mean(), sums[:, 9] - sums.mean()
    assert abs(np.corrcoef(early, later)[0, 1]) < 5 / math.sqrt(n // 10)
    assert abs(np.corrcoef(early[1:], early[:-1])[0, 1]) < 5 / math.sqrt(n // 10)


def test_single_signs_and_no_pulls():
    instance = fixed_arms([[0.0]], [1.0], noise=0.25, noise_kind="rademacher")
    drawn = {float(instance.pulls([0], [1], batch=b, seed=0)[0]) for b in range(40)}
    assert drawn == {-0.25, 0.25}
    np.testing.assert_array_equal(instance.pulls([0], [0], batch=0, seed=0), [0.0])
    np.testing.assert_array_equal(soare(3).pulls([2], [0], batch=0, seed=0), [0.0])
    np.testing.assert_array_equal(soare(2, noise=0.0).pulls([0, 1], [3, 4], batch=0, seed=0), [3.0, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sphere().pulls([0], [1], batch=0, seed=0), "fixed arms, got changing actions: <sphere"),
        (lambda: killer().pulls([0], [1], batch=0, seed=0), "fixed arms, got changing actions"),
        (lambda: sphere(3, 4).pulls([0], [1], batch=0, seed=0), "fixed arms, got changing actions"),
        (
            lambda: soare(2).pulls([3], [1], batch=0, seed=0),
            r"arms\[0\] must be an integer >= 0 and <= 2, got 3",
        ),
        (lambda: soare(2).pulls([0, -1], [1, 1], batch=0, seed=0), r"arms\[1\] must be .* got -1"),
        (
            lambda: soare(2).pulls([0], [-1], batch=0, seed=0),
            r"counts\[0\] must be an integer >= 0.* got -1",
        ),
        (
            lambda: soare(2).pulls([0], [1, 2], batch=0, seed=0),
            r"two arrays of shape \(m,\), got \(\(1,\), \(2,\)\)",
        ),
        (
            lambda: soare(2).pulls([0.5], [1], batch=0, seed=0),
            "arms must be an array of integers, got .*float64",
        ),
        (
            lambda: soare(2).pulls([0], [True], batch=0, seed=0),
            "counts must be an array of integers, got .*bool",
        ),
        (lambda: soare(2).pulls([0], [1], batch=-1, seed=0), "batch must be an integer >= 0, got -1"),
        (lambda: soare(2).pulls([0], [1], batch=0, seed=-1), "seed must be an integer >= 0, got -1"),
    ],
)
def test_bad_pulls_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
