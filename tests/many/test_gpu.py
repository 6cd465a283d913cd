"""Every agent of ``simulated`` on a GPU and on the cores; skipped where there is none (`make test-cuda`)."""

import os

import numpy as np
import pytest

import unipac
from many.simulated import CASES
from unipac.many import run

SEEDS = 1000
pytestmark = pytest.mark.skipif(
    bool(run.missing()) or "NUMBA_ENABLE_CUDASIM" in os.environ, reason="there is no GPU"
)


@pytest.mark.parametrize("name", CASES)
def test_a_gpu_plays_as_the_cores_do(name):
    make, instance = CASES[name]
    gpu, cores = (
        unipac.play_many(make(), instance, rounds=500, seeds=SEEDS, device=device, checkpoints=[10, 500])
        for device in ("cuda", "cpu")
    )
    same = (np.abs(gpu.regret - cores.regret) < 1e-6).all(axis=1)
    for what in ("mistakes", "last_mistake", "level", "left", "undercut", "refuted"):
        same &= (getattr(gpu, what) == getattr(cores, what)).reshape(SEEDS, -1).all(axis=1)
    assert same.mean() >= 0.999
    if instance.noise == 0.0:
        return
    other = unipac.play_many(
        make(), instance, rounds=500, seeds=SEEDS, first_seed=SEEDS, checkpoints=[10, 500]
    )
    assert (gpu.regret != other.regret).any()  # the control
