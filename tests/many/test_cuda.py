"""The code for GPUs in Numba's simulator, which interprets it: it proves results, not types."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import config

SIMULATED = Path(__file__).parent / "simulated.py"
RETURNING = Path(__file__).parent / "returning.py"
NAMES = "regret", "mistakes", "last_mistake", "level", "left", "undercut", "refuted"


def told(device, **environment):
    """What ``simulated.py`` prints, in a process of its own."""
    path = os.pathsep.join((str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    found = subprocess.run(
        [sys.executable, str(SIMULATED), device], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def on_cores():
    return told("cpu")


@pytest.fixture(scope="module")
def simulated():
    return told("cuda", NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1")


def test_the_simulated_gpu_plays_as_the_cores_do(on_cores, simulated):
    assert len(on_cores) == len(simulated) > 5
    for name, runs in on_cores.items():
        for what in NAMES:
            assert np.allclose(runs[what], simulated[name][what], rtol=0, atol=1e-9), (name, what)
    regrets = [runs["regret"] for runs in on_cores.values()]
    assert not np.allclose(regrets[0], regrets[1])  # the control


def test_the_package_does_not_know_of_cuda():
    program = (
        "import sys, unipac; agent = unipac.LinUCB(2);"
        "unipac.play_many(agent, unipac.envs.sphere(2, 3), rounds=2, seeds=1);"
        "assert not [name for name in sys.modules if 'cuda' in name], sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_no_kernel_for_gpus_returns_an_array():
    found = json.loads(
        subprocess.run([sys.executable, str(RETURNING)], capture_output=True, check=True).stdout
    )
    assert found["compiled"] > 30
    assert found["returning"] == []
    assert found["control"] == ["part_of"]
