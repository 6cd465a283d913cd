"""Why a click must wait: bounds hold with windows, and fail if clicks are learned before zeros."""

import numpy as np
import pytest

import unipac
from helpers import deployment_machine as machine
from helpers.any_checks import few_enough

DELTA = 0.05
WINDOW = 200
CLICKS = 0.1
ACTIONS = np.eye(2)


def loses_coverage(seed, window, rounds=400):
    """Whether the truth ever leaves the bounds; clicks come at once, zeros after 200 decisions."""
    rng = np.random.default_rng(seed)
    clock = machine.Clock()
    agent = unipac.NestedOFUL(2, delta=DELTA, noise=0.5, norm=CLICKS * 2**0.5)
    deployment = unipac.Deployment(agent, window=window, clock=clock, drift=0.0)
    silent = {}
    for k in range(rounds):
        clock.now = float(k)
        if window is None and k - WINDOW in silent:
            deployment.reward(k - WINDOW, 0.0)
        deployment.decide(None, ACTIONS, id=k)
        if rng.random() < CLICKS:
            deployment.reward(k, 1.0)
        else:
            silent[k] = True
        if k % 10 == 0:
            bounds = deployment.agent.bounds(ACTIONS)
            if (bounds.lcb > CLICKS).any() or (bounds.ucb < CLICKS).any():
                return True
    if window is not None:
        assert deployment.agent.rounds == rounds - WINDOW
    return False


def lost(seeds, window):
    return sum(loses_coverage(seed, window) for seed in range(seeds))


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("seeds", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_coverage_with_windows_and_without(seeds):
    """Null: with windows coverage is lost in at most δ of the runs. Control: on arrival, in at least half of them."""
    with_window, on_arrival = lost(seeds, float(WINDOW)), lost(min(seeds, 200), None)
    print(
        f"lost coverage: {with_window} of {seeds} with windows, {on_arrival} of {min(seeds, 200)} on arrival"
    )
    few_enough(with_window, seeds, DELTA, "coverage with windows")
    assert with_window <= DELTA * seeds
    assert on_arrival >= min(seeds, 200) / 2
