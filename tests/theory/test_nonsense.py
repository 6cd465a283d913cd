"""Every public function of ``theory`` and ``metrics``, given nonsense: a ValueError or a number."""

import inspect
import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from unipac import _checks as check, metrics, theory
from unipac.theory.upac_lsvi import Sizes

SENSIBLE = {
    "logdet": 1.0,
    "spread": [[3.0, 0.0], [0.0, 1.0]],
    "prior": 1.0,
    "dim": 2,
    "horizon": 2,
    "level": 1,
    "delta": 0.1,
    "eps": 0.5,
    "rounds": 10,
    "episodes": 3,
    "n_states": 2,
    "noise": 1.0,
    "norm": 1.0,
    "regularization": 1.0,
    "action_norm": 1.0,
    "constant": 1.0,
    "radius": "determinant",
    "nested": True,
    "all_data": False,
    "replan_factor": 1.25,
    "replan_every": 10,
    "failures": 1,
    "trials": 3,
    "probability": 0.5,
    "gaps": [0.5, 0.0],
    "certificates": [1.0, 1.0],
    "bounds": [1.0, 1.0],
    "rewards": [0.5, 0.5],
    "covered": [True, True],
    "tolerance": 1e-12,
    "n_actions": 2,
    "counts": [3, 1],
    "failure": 0.1,
    "outcomes": 3,
    "p": 0.1,
    "gate": 16.0,
    "arms": 3,
    "theta": [1.0, 0.0],
    "n": 5.0,
    "rank": 2,
    "largest_gap": 2.0,
    "support": 3,
    "span": 1.0,
    "variance": 0.1,
    "discount": 0.5,
    "anchors": 3,
    "mass": 1.0,
    "pool": 3,
    "pending": 0,
    "misspecification": 0.0,
    "scaling": "span",
    "stage": 1,
    "t": 3.0,
    "value_norm": 1.0,
    "homogeneous": True,
    "likelihood": False,
    "low": 0.0,
    "high": 1.0,
    "most": 0.1,
}

OTHERWISE = {
    "hoeffding": {"n": 5},
    "empirical_bernstein": {"n": 5},
    "flute_mistake_bound": {"radius": "finite"},
    "certvi_mistake_bound": {"rewards": "few"},
    "upac_lsvi_mistake_bound": {"sizes": Sizes(3, 6, 3, [], 6, 6, 6), "radius": "monotone"},
    "identification_time": {"arms": [[1.0, 0.0], [0.0, 1.0]], "targets": [[1.0, 0.5], [0.0, 1.0]]},
    "anytime_mistake_bound": {"radius": "both", "nested": False},
    "vtr_mistake_bound": {"certificates": False},
}
"""Arguments that mean something else in these functions."""

FUNCTIONS = [
    getattr(module, name)
    for module in (theory, metrics)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
]

NONSENSE = [
    None,
    "text",
    "1",
    b"1",
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    -(10**400),
    10**5000,
    2**63,
    -3,
    0,
    -1.0,
    5.0,
    1.5,
    1e300,
    5e-324,
    1j,
    True,
    [],
    [1.0],
    [[1.0], [2.0, 3.0]],
    [10**400],
    [None],
    {},
    object(),
    np.zeros((2, 2, 2)),
    np.array("x"),
    np.array([1.0, math.nan]),
    np.ma.masked,
]


def arguments_of(function):
    """One sensible value for each argument."""
    sensible = SENSIBLE | OTHERWISE.get(function.__name__, {})
    return {name: sensible[name] for name in inspect.signature(function).parameters}


def outcome(function, arguments):
    """ "error", or "value"; anything but a ValueError and a number or an array is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            value = function(**arguments)
        except ValueError:
            return "error"
    for part in value if isinstance(value, tuple) else (value,):
        assert not np.isnan(np.asarray(part, dtype=float)).any(), value
    return "value"


def test_all_functions_are_covered():
    assert len(FUNCTIONS) == len(theory.__all__) + len(metrics.__all__) >= 20
    for function in FUNCTIONS:
        assert outcome(function, arguments_of(function)) == "value"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_one_argument_of_nonsense(function):
    for name in arguments_of(function):
        refused = 0
        for value in NONSENSE:
            refused += outcome(function, arguments_of(function) | {name: value}) == "error"
        assert refused >= len(NONSENSE) // 2, name


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_arguments_at_once(data):
    function = data.draw(st.sampled_from(FUNCTIONS))
    values = st.one_of(
        st.sampled_from(range(len(NONSENSE))).map(NONSENSE.__getitem__),
        st.floats(),
        st.integers(),
        st.booleans(),
        st.lists(st.floats(), max_size=4),
    )
    arguments = {
        name: data.draw(st.one_of(st.just(sensible), values))
        for name, sensible in arguments_of(function).items()
    }
    outcome(function, arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.theorem_is_proven(3, 5.0), "delta must be strictly between 0 and 1, got 5.0"),
        (lambda: theory.theorem_is_proven(-3, 0.1), "dim must be an integer >= 1, got -3"),
        (lambda: theory.theorem_is_proven(3, 0.1, noise=-1), "noise must be >= 0, got -1"),
        (lambda: theory.flute_explicit(2, 2, 0, 0.1), "level must be an integer >= 1 and <= 400, got 0"),
        (lambda: theory.flute_explicit([2], 2, 1, 0.1), r"dim must be an integer .*, got \[2\]"),
        (
            lambda: theory.flute_mistake_bound(0.1, 2, 2, 0.1, radius="none", n_states=2),
            "radius must be one of",
        ),
        (
            lambda: theory.flute_mistake_bound(0.5, 2, 10**4, 0.1, n_states=2),
            "eps must be larger for horizon = 10000, got 0.5",
        ),
        (lambda: metrics.aggregate_slack([1], horizon=2, delta=0), "delta must be strictly between 0 and 1"),
        (lambda: metrics.aggregate_slack([1], horizon=-3), "horizon must be an integer >= 1"),
        (lambda: metrics.aggregate_slack([0], horizon=3), "episodes must be from 1 to"),
        (lambda: metrics.regret(None), "gaps must be an array of real numbers, got None"),
        (lambda: metrics.regret([10**400]), "gaps must be an array of real numbers, got .1000"),
        (lambda: metrics.regret([1j]), r"gaps must be an array of real numbers, got \[1j\]"),
        (lambda: metrics.coverage([[True], [True, False]]), "covered must be booleans"),
    ],
)
def test_what_was_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**5000], ids=["large", "small", "long"])
@pytest.mark.parametrize("reader", [check.real, check.positive, check.nonnegative, check.probability])
def test_huge_integers_are_no_numbers(reader, huge):
    with pytest.raises(ValueError, match="eps must be a finite number, got") as caught:
        reader("eps", huge)
    assert len(str(caught.value)) < 300


def test_huge_counts_are_named():
    assert check.count("rounds", 2**62) == 2**62
    assert check.seed("seed", 2**128 - 1) == 2**128 - 1
    with pytest.raises(ValueError, match=f"rounds must be an integer >= 1 and <= {2**62}, got {2**62 + 1}"):
        check.count("rounds", 2**62 + 1)
    for huge in (10**400, 10**5000):
        with pytest.raises(ValueError, match="rounds must be an integer >= 1 and <= 5, got") as caught:
            check.count("rounds", huge, most=5)
        assert len(str(caught.value)) < 300
