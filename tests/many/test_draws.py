"""Philox against known answers and integers, normal numbers against libm and their law."""

import numpy as np
import pytest
from scipy import stats

from helpers.judges import many as judge
from unipac import envs
from unipac._jit import jit
from unipac.many import draws, settings, worlds


@jit
def _words(counter, key, out):
    w = draws.philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1])
    out[0], out[1], out[2], out[3] = w


@jit
def _normals(a, b, out):
    for i in range(a.size):
        out[i, 0], out[i, 1] = draws.normals(a[i], b[i])


def philox(counter, key):
    out = np.empty(4, dtype=np.uint32)
    _words(np.array(counter, dtype=np.uint32), np.array(key, dtype=np.uint32), out)
    return tuple(out.tolist())


KNOWN = [  # kat_vectors of Random123 for philox 4x32 10
    ([0] * 4, [0] * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.nojit
@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_philox_gives_the_known_answers(counter, key, answer):
    assert philox(counter, key) == answer == judge.philox(counter, key)
    assert philox(counter, [key[0] ^ 1, key[1]]) != answer  # the control


@pytest.mark.nojit
def test_philox_equals_that_of_integers():
    rng = np.random.default_rng(0)
    for counter, key in zip(rng.integers(0, 2**32, (50, 4)), rng.integers(0, 2**32, (50, 2)), strict=True):
        assert philox(counter, key) == judge.philox(counter.tolist(), key.tolist())


@pytest.mark.nojit
def test_normals_equal_those_of_libm():
    rng = np.random.default_rng(1)
    edges = [0, 1, 2, 2**15, 2**16 - 1, 2**16, 2**30, 2**31 - 1, 2**31, 3 * 2**30, 2**32 - 2, 2**32 - 1]
    words = np.concatenate((rng.integers(0, 2**32, 500), edges))
    a, b = np.meshgrid(words[-40:], words[-40:])
    a, b = a.ravel().astype(np.uint32), b.ravel().astype(np.uint32)
    out = np.empty((a.size, 2))
    _normals(a, b, out)
    expected = np.array([judge.normals(int(x), int(y)) for x, y in zip(a, b, strict=True)])
    assert np.abs(out - expected).max() < 2e-7
    assert np.abs(out[:, ::-1] - expected).max() > 1  # the control


def test_normals_have_their_law():
    """Null: standard normal; 2·10^5 pairs; false alarms of each of six tests at most 10^-6; seed 2."""
    words = np.random.default_rng(2).integers(0, 2**32, (2, 200_000), dtype=np.uint32)
    out = np.empty((words.shape[1], 2))
    _normals(words[0], words[1], out)
    for column in out.T:
        assert stats.kstest(column, "norm").pvalue > 1e-6
        assert stats.kstest(column * 1.04, "norm").pvalue < 1e-6  # the control
    angle = np.arctan2(out[:, 1], out[:, 0]) / (2 * np.pi) + 0.5
    assert stats.kstest(angle, "uniform").pvalue > 1e-6
    assert stats.kstest((out**2).sum(axis=1) / 2, "expon").pvalue > 1e-6
    assert stats.pearsonr(out[:, 0] ** 2, out[:, 1] ** 2).pvalue > 1e-6
    assert stats.pearsonr(out[:, 0], out[:, 1]).pvalue > 1e-6


@pytest.mark.parametrize("shortest", [1.0, 0.3])
@pytest.mark.nojit
def test_rounds_equal_those_of_the_judge(shortest):
    instance = envs.sphere(3, 6, noise=0.5, shortest=shortest)
    world = settings.world_of(instance, 3, 1.0)
    X, e = np.empty((4, 6, 3)), np.empty(4)
    seed, first = 2**40 + 5, 2**33 + 1
    worlds.write_rounds(world, seed, first, X, e)
    for t in range(4):
        actions, noise = judge.sphere_round(seed, first + t, 6, 3, shortest)
        assert np.abs(X[t] - actions).max() < 1e-6
        assert abs(e[t] - 0.5 * noise) < 1e-6
    assert np.abs(X[0] - judge.sphere_round(seed + 1, first, 6, 3, shortest)[0]).max() > 0.1  # the control


@pytest.mark.boundscheck
@pytest.mark.nojit
def test_signs_and_runs():
    arms = np.eye(2)
    world = settings.world_of(envs.fixed_arms(arms, [0.5, 0.1], noise=0.3, noise_kind="rademacher"), 2, 1.0)
    X, e = np.empty((200, 2, 2)), np.empty(200)
    worlds.write_rounds(world, 1, 0, X, e)
    assert set(e.tolist()) == {0.3, -0.3}
    assert 60 < (e > 0).sum() < 140  # a fair coin misses it with probability 10^-8
    assert (arms == X).all()
    instance = envs.killer_phases(forced=(3, 2), choices=2)
    world = settings.world_of(instance, 2, 1.0)
    worlds.write_rounds(world, 1, 0, X[:10], e[:10])
    assert (e[:10] == 0).all()
    assert (X[:10] == instance.rounds(0, 10, seed=0).actions).all()
