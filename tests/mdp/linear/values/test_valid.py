"""The theorems of UPACLSVI and of MonotoneLSVI: the test of ``validity``."""

import numpy as np
import pytest

import unipac
from helpers.validity import failing_runs, is_rejected
from unipac.mdp.linear.values import plan as lsvi


def bounds(factor):
    """Of an agent, with radii so many times as large."""

    def found(agent):
        state, rules, H, S = agent.state, agent._rules, agent.horizon, agent.n_states
        Q, above, below = np.empty((H, len(rules.layout.block))), *np.empty((2, H + 1, rules.outcomes))
        lsvi.choose(state.data, state.rewards, rules, factor, np.empty_like(state.action), Q, above)
        lsvi.certify(state.data, state.rewards, rules, factor, state.action, below)
        return Q[:, rules.layout.number], below[:, :S], state.action

    return found


def failures(cls, name, runs, delta, *, episodes=300, factor=1.0, **parameters):
    def make(mdp):
        return cls.made_for(mdp, rounds=1, delta=delta, **{"radius": "monotone", **parameters})

    return failing_runs(name, runs, make, bounds(factor), episodes=episodes)


UPAC, LSVI = unipac.UPACLSVI, unipac.MonotoneLSVI
CASES = [
    (UPAC, "river swim", {}),
    (UPAC, "river swim", {"radius": "vertex"}),
    (UPAC, "random simplex", {}),
    (UPAC, "random simplex", {"radius": "vertex", "terminates": False}),
    (UPAC, "nearly sure", {"radius": "auto", "terminates": False}),
    (UPAC, "nearly sure", {"terminates": False, "regularization": 0.3}),
    (UPAC, "ring", {}),
    (LSVI, "river swim", {}),
    (LSVI, "river swim", {"radius": "vertex"}),
    (LSVI, "random simplex", {"terminates": False}),
    (LSVI, "random simplex", {"radius": "vertex", "terminates": False}),
    (LSVI, "even", {"terminates": False}),
]


@pytest.mark.parametrize(("cls", "name", "parameters"), CASES)
def test_bounds_and_certificates_hold(cls, name, parameters):
    assert not is_rejected(failures(cls, name, 25, 0.1, **parameters).max(), 25, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize(("cls", "name", "parameters"), CASES)
def test_bounds_and_certificates_hold_in_many_runs(cls, name, parameters, delta):
    failed = failures(cls, name, 300, delta, episodes=2000, **parameters)
    print(f"{cls.__name__} {name} {parameters} delta {delta}: {failed} of 300")
    assert not is_rejected(failed.max(), 300, delta)


@pytest.mark.parametrize(
    ("cls", "name", "parameters"),
    [
        (UPAC, "river swim", {}),
        (UPAC, "even", {"terminates": False}),
        (UPAC, "even", {"terminates": False, "radius": "vertex"}),
        (LSVI, "river swim", {}),
        (LSVI, "even", {"terminates": False}),
        (LSVI, "even", {"terminates": False, "radius": "vertex"}),
    ],
)
def test_a_quarter_of_the_radius_does_not_hold(cls, name, parameters):
    """Negative control: with a quarter of the radii the same test rejects, upwards and downwards."""
    upper, lower, _ = failures(cls, name, 40, 0.1, factor=0.25, **parameters)
    assert is_rejected(upper, 40, 0.1)
    assert is_rejected(lower, 40, 0.1)
