"""Offers that depend on rewards not yet learned: a window keeps the bounds valid, learning on arrival does not.

One action, rewards ±1 with mean 0. Decisions are made until the last ``HEADS`` rewards, not learned by the agent yet,
were all 1. That they arrive in a fixed order, the last one first, does not help: what is learned first was chosen.
"""

import numpy as np
import pytest

from helpers.any_checks import few_enough
from unipac import OFUL, Deployment, Guarded, LinUCB, NestedOFUL

pytestmark = pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")

HEADS, DELTA, WINDOW = 11, 0.05, 1e6
ASSUMED = {"delta": DELTA, "noise": 1.0, "norm": 0.1}
PLAIN = {**ASSUMED, "tight": False}  # with the sets too many heads are needed for a quick test
AGENTS = {
    "OFUL": lambda: OFUL(1, **PLAIN),
    "NestedOFUL": lambda: NestedOFUL(1, **PLAIN),
    "Guarded": lambda: Guarded(LinUCB(1), **PLAIN),
}
SLOW = [
    "OFUL",
    pytest.param("NestedOFUL", marks=pytest.mark.slow),
    pytest.param("Guarded", marks=pytest.mark.slow),
]


def leaves(make, window, seed, reverse):
    """Whether the bounds ever exclude the truth, 0."""
    rng, x, seconds, rewards = np.random.default_rng(seed), [[1.0]], [0.0], []
    deployment = Deployment(make(), window=window, drift=0.0, clock=lambda: seconds[0])

    def excluded():
        bounds = deployment._agent.bounds(
            x
        )  # not of a copy, which takes as long as there are decisions that wait
        return bool(bounds.lcb[0] > 0 or bounds.ucb[0] < 0)

    while rewards[-HEADS:] != [1.0] * HEADS:
        deployment.decide(None, x, id=len(rewards))
        rewards.append(float(rng.choice([-1.0, 1.0])))
        seconds[0] += 1.0
    n, left = len(rewards), False
    for k in reversed(range(n)) if reverse else range(n):
        deployment.reward(k, rewards[k])
        left |= window is None and excluded()
    for k in range(n if window else 0):
        seconds[0] = k + WINDOW
        deployment.close()
        left |= excluded()
    assert deployment.agent.rounds == n
    return left


@pytest.mark.parametrize("way", ["window", "in order"])
@pytest.mark.parametrize("name", SLOW)
def test_in_the_order_of_decisions_bounds_hold(name, way):
    """Null: the truth leaves in at most a share δ of all runs; 10 runs, false alarms 1e-6."""
    window, reverse = (WINDOW, True) if way == "window" else (None, False)
    failures = sum(leaves(AGENTS[name], window, seed, reverse) for seed in range(10))
    few_enough(failures, 10, DELTA, f"{name}, {way}")


@pytest.mark.parametrize("name", AGENTS)
def test_on_arrival_bounds_fail(name):
    """The control: the same rewards, learned when they are told; 3 of 3 runs fail."""
    assert [leaves(AGENTS[name], None, seed, reverse=True) for seed in range(3)] == [True] * 3
