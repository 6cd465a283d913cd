"""The bound on the mistakes of UPACLSVI at its limits."""

import math

import pytest

import unipac
from unipac.theory.upac_lsvi import Sizes, upac_lsvi_mistake_bound

SIZES = {
    "counted": Sizes(3, 6, 3, [], 6, 6, 6),
    "blocks": Sizes(3, 4, 3, [4], 0, 0, 9),
    "both": Sizes(5, 6, 4, [3], 3, 3, 12),
    "one stage": Sizes(1, 6, 3, [], 6, 6, 6),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("radius", ["monotone", "vertex", "auto"])
def test_infinite_for_tiny_eps(name, radius):
    """It grows as ε falls, and ends at infinity, where it raised."""
    bounds = [upac_lsvi_mistake_bound(10.0**-k, SIZES[name], 0.05, radius=radius) for k in range(51)]
    assert bounds == sorted(bounds)
    assert math.isfinite(bounds[6])
    assert math.isinf(bounds[50]) == (name != "one stage")


def test_an_agent_says_infinity():
    mdp = unipac.envs.river_swim(n_states=3, horizon=3)
    agent = unipac.UPACLSVI(mdp.features, horizon=3)
    assert agent.mistake_bound(1e-40) == math.inf
    assert agent.mistake_bound(0.1) < math.inf
