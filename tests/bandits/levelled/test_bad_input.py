"""Malformed calls: a ``ValueError`` that names the argument, and an agent that has not changed."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import unipac
from helpers.levelled import NAMES
from unipac._agents import _learned
from unipac._constants import LARGEST_GROWTH, SMALLEST_RATIO

X = np.array([[0.6, 0.8], [1.0, 0.0], [0.3, -0.2]])
KILLER = unipac.envs.killer(forced=3)


def make(name, **arguments):
    """An agent with some rounds behind it; of the decisions ``made``, 0 is rewarded, 1 forgotten, 2 and 3 wait."""
    agent = unipac.AGENTS[name](2, **arguments)
    agent.made = [agent.choose(actions).id for actions in (X, X, X, X[:1])]
    agent.update(agent.made[0], 0.5)
    agent.forget(agent.made[1])
    agent.play(X, np.full((9, 3), 0.25))
    return agent


def state(agent):
    """All that an agent knows."""
    header, saved = _learned(agent)
    arrays = {**saved, **getattr(agent.state, "levels", agent.state)._asdict()}
    return (
        {name: (array.shape, array.tobytes()) for name, array in arrays.items()},
        None if agent._fixed is None else agent._fixed.tobytes(),
        repr(header),
        (agent.rounds, agent.consistent, dict(agent.pending), agent._ledger.next_id, repr(agent)),
    )


def assert_refused(agent, name, call):
    before = state(agent)
    with pytest.raises(ValueError, match=rf"(?s)\b{name}\b.*\b(must|goes)\b"):
        call(agent)
    assert state(agent) == before


# -- what is malformed, by kind of argument ----------------------------------------------------

NAN, INF = float("nan"), float("inf")

NOT_NUMBERS = {
    "None": None,
    "word": "much",
    "numeric string": "0.5",
    "bytes": b"1",
    "complex": 1j,
    "numpy complex": np.complex128(0.5),
    "list": [0.5],
    "array": np.array([0.5, 0.5]),
    "nan": NAN,
    "inf": -INF,
    "huge integer": 10**400,
    "object": object,
}
NOT_COUNTS = {
    "None": None, "zero": 0, "negative": -3, "float": 2.0, "fraction": 1.5, "string": "2", "bool": True,
    "nan": NAN, "too many": 2**62 + 1, "complex": 2j, "list": [2], "array": np.array([1, 2]),
}  # fmt: skip
NOT_ACTIONS = {
    "None": None,
    "number": 0.5,
    "word": "left",
    "strings": [["0.5", "0.5"]],
    "one vector": X[0],
    "wrong dim": np.zeros((3, 5)),
    "transposed": X.T,
    "four axes": np.zeros((1, 1, 1, 2)),
    "no actions": np.empty((0, 2)),
    "empty": [],
    "ragged": [[0.1, 0.2], [0.3]],
    "complex": X + 0j,
    "objects": X.astype(object) * 1j,
    "dict": {"actions": X},
    "dates": X.astype("datetime64[s]"),
    "nan": X * [1.0, NAN],
    "inf": X + np.array([0.0, INF]),
    "minus inf": X - np.array([INF, 0.0]),
    "too long": X * (1 + 2e-6),
    "far too long": X * 1e200,
    "huge integers": [[10**400, 0]],
}
NOT_REWARDS = {
    "None": None, "number": 0.5, "word": "much", "too few": [0.1], "too many": [0.1] * 9,
    "ragged": [[0.1], [0.1, 0.2]],
    "nan": [0.1, NAN, 0.1], "inf": [0.1, 0.1, INF], "complex": [0.1, 0.1, 1j], "strings": ["0.1"] * 3,
    "nested": [[[0.1] * 3]], "empty": [],
}  # fmt: skip
NOT_DECISIONS = {
    "None": lambda made: None,
    "rewarded": lambda made: made[0],
    "forgotten": lambda made: made[1],
    "still to come": lambda made: made[-1] + 1,
    "earlier": lambda made: made[0] - 1,
    "small": lambda made: 2,
    "negative": lambda made: -1,
    "float": lambda made: float(made[2]),
    "string": lambda made: str(made[2]),
    "bool": lambda made: True,
    "huge": lambda made: 10**30,
    "list": lambda made: [made[2]],
    "array": lambda made: np.array(made),
    "complex": lambda made: complex(made[2]),
    "of another agent": lambda made: unipac.OFUL(2).choose(X),
    "id of another agent": lambda made: unipac.OFUL(2).choose(X).id,
}
"""Functions of the ids that the agent has made."""


# -- one argument at a time --------------------------------------------------------------------

CALLS = {
    "choose actions": (NOT_ACTIONS, "actions", lambda agent, bad: agent.choose(bad)),
    "bounds actions": (NOT_ACTIONS, "actions", lambda agent, bad: agent.bounds(bad)),
    "absorb actions": (NOT_ACTIONS, "actions", lambda agent, bad: agent.absorb(bad, [0.1] * 3)),
    "absorb rewards": (NOT_REWARDS, "rewards", lambda agent, bad: agent.absorb(X, bad)),
    "play actions": (NOT_ACTIONS, "(actions|rewards)", lambda agent, bad: agent.play(bad, [[0.1] * 3])),
    "play rewards": (NOT_REWARDS, "rewards", lambda agent, bad: agent.play(X, bad)),
    "play truth": (
        {key: bad for key, bad in NOT_REWARDS.items() if key != "None"},
        "truth",
        lambda agent, bad: agent.play(X, [[0.1] * 3], truth=bad),
    ),
    "update decision": (NOT_DECISIONS, "decision", lambda agent, bad: agent.update(bad(agent.made), 0.5)),
    "forget decision": (NOT_DECISIONS, "decision", lambda agent, bad: agent.forget(bad(agent.made))),
    "update reward": (NOT_NUMBERS, "reward", lambda agent, bad: agent.update(agent.made[2], bad)),
    "update times": (NOT_COUNTS, "times", lambda agent, bad: agent.update(agent.made[2], 0.5, times=bad)),
    "play rounds": (
        {key: bad for key, bad in NOT_COUNTS.items() if key != "zero"},
        "rounds",
        lambda agent, bad: agent.play(KILLER, rounds=bad),
    ),
    "play seed": (
        {key: NOT_COUNTS[key] for key in ("None", "negative", "float", "string", "list")},
        "seed",
        lambda agent, bad: agent.play(KILLER, rounds=2, seed=bad),
    ),
    "play start": (
        {key: NOT_COUNTS[key] for key in ("negative", "float", "string", "list")},
        "start",
        lambda agent, bad: agent.play(KILLER, rounds=2, start=bad),
    ),
    "stream instance": (
        {"None": None, "word": "killer", "actions": X, "wrong dim": unipac.envs.sphere(dim=3)},
        "instance",
        lambda agent, bad: next(agent.stream(bad, rounds=2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "bad"),
    [
        pytest.param(call, bad, id=f"{call}-{key}")
        for call, (values, _, _) in CALLS.items()
        for key, bad in values.items()
    ],
)
def test_malformed_arguments(call, bad):
    _, argument, function = CALLS[call]
    for name in NAMES:
        assert_refused(make(name), argument, lambda agent: function(agent, bad))


@given(
    name=st.sampled_from(NAMES),
    fixed=st.booleans(),
    calls=st.lists(
        st.sampled_from([*CALLS]).flatmap(
            lambda call: st.tuples(st.just(call), st.sampled_from([*CALLS[call][0]]))
        ),
        min_size=1,
        max_size=6,
    ),
)
@settings(deadline=None, max_examples=60, derandomize=True)
def test_malformed_calls_leave_no_trace(name, fixed, calls):
    """After any malformed calls an agent goes on as its twin which never saw them."""
    agent, twin = (make(name, fixed_actions=X if fixed else None) for _ in range(2))
    for call, key in calls:
        if fixed and key == "None" and call in ("choose actions", "bounds actions"):
            continue
        values, argument, function = CALLS[call]
        assert_refused(agent, argument, lambda agent, f=function, bad=values[key]: f(agent, bad))
    rewards = np.linspace(-0.5, 0.5, 60).reshape(20, 3)
    assert agent.play(X, rewards).index.tolist() == twin.play(X, rewards).index.tolist()
    np.testing.assert_array_equal(agent.bounds(X), twin.bounds(X))


@st.composite
def damaged_actions(draw):
    """A good array with one entry spoilt, or of a wrong shape."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    if len(shape) == 2 and shape[0] > 0 and shape[1] == 2:
        n = shape[0]
        array = np.full((n, 2), 0.5)
        spoil = draw(st.sampled_from([NAN, INF, -INF, 1.0, -1e300, 5.0]))
        array[draw(st.integers(0, n - 1)), draw(st.integers(0, 1))] = spoil
        return array
    return np.full(shape, 0.1)


@given(
    name=st.sampled_from(NAMES), bad=damaged_actions(), method=st.sampled_from(["choose", "bounds", "absorb"])
)
@settings(deadline=None, max_examples=150, derandomize=True)
def test_damaged_arrays(name, bad, method):
    rewards = [np.zeros(len(bad) if bad.ndim else 1)] if method == "absorb" else []
    assert_refused(make(name), "actions", lambda agent: getattr(agent, method)(bad, *rewards))


# -- decisions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_reward_comes_once(name):
    agent = make(name)
    waiting = agent.pending[agent.made[2]]
    agent.update(waiting, 0.5)
    for again in (waiting, waiting.id):
        assert_refused(agent, "decision", lambda agent, again=again: agent.update(again, 0.5))
        assert_refused(agent, "decision", lambda agent, again=again: agent.forget(again))
    agent.forget(agent.made[3])
    assert_refused(agent, "decision", lambda agent: agent.update(agent.made[3], 0.5))
    assert not agent.pending


@pytest.mark.parametrize("method", ["update", "forget"])
@pytest.mark.parametrize("offered", [X[1:], X[:1]], ids=["other action", "same action"])
@pytest.mark.parametrize("name", NAMES)
def test_a_decision_of_another_agent(name, offered, method):
    """Even if it has the action of one of this agent's decisions."""
    agent, other = unipac.AGENTS[name](2), unipac.AGENTS[name](2)
    agent.choose(X[:1])
    foreign = other.choose(offered)
    reward = [0.5] if method == "update" else []
    assert_refused(agent, "decision", lambda agent: getattr(agent, method)(foreign, *reward))


def test_too_many_rounds_in_all():
    agent = make("OFUL")
    agent.update(agent.made[2], 0.5, times=2**62 - 100)
    assert_refused(agent, "times", lambda agent: agent.update(agent.made[3], 0.5, times=200))
    assert_refused(agent, "rounds", lambda agent: agent.play(KILLER, rounds=200))


# -- play --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("rewards", lambda agent: agent.play(KILLER, [[0.1] * 2], rounds=1)),
        ("rounds", lambda agent: agent.play(X, [[0.1] * 3], rounds=1)),
        ("start", lambda agent: agent.play(X, [[0.1] * 3], start=0)),
        ("rewards", lambda agent: agent.play(np.stack([X, X]), [[0.1] * 3])),
        ("rewards", lambda agent: agent.play(np.stack([X, X]), np.full((2, 2), 0.1))),
        ("actions", lambda agent: agent.play(np.stack([X, 2 * X]), np.full((2, 3), 0.1))),
        ("actions", lambda agent: agent.play(np.stack([X, NAN * X]), np.full((2, 3), 0.1))),
        ("rewards", lambda agent: agent.play(np.stack([X, X]), [[0.1] * 3, [0.1, 0.1, NAN]])),
        ("instance", lambda agent: agent.play(unipac.envs.sphere(dim=3), rounds=1)),
        ("truth", lambda agent: agent.play(KILLER, rounds=1, truth=[0.1, 0.2, 0.3])),
    ],
    ids=range(10),
)
@pytest.mark.parametrize("name", NAMES)
def test_play_with_arguments_that_do_not_fit(name, argument, call):
    assert_refused(make(name), argument, call)


@pytest.mark.parametrize("name", NAMES)
def test_an_instance_with_actions_beyond_the_bound(name):
    agent = unipac.AGENTS[name](2, action_norm=0.5)
    assert_refused(agent, "actions", lambda agent: agent.play(KILLER, rounds=5))


@pytest.mark.parametrize("method", ["choose", "bounds", "absorb"])
def test_infinity_is_refused_under_any_bound(method):
    rewards = [[0.5]] if method == "absorb" else []
    for bad in ([[INF, 0.0]], [[1e170, 0.0]]):
        agent = unipac.OFUL(2, action_norm=1e29, regularization=1e50)
        assert_refused(agent, "actions", lambda agent, bad=bad: getattr(agent, method)(bad, *rewards))


# -- constructors ------------------------------------------------------------------------------

NOT_WORDS = {"None": None, "word": "magic", "number": 1, "list": ["mixture"], "array": np.array(["mixture"])}
NOT_NEGATIVE = {**NOT_NUMBERS, "negative": -0.1}
NOT_POSITIVE = {**NOT_NEGATIVE, "zero": 0.0}
SMALL = {key: bad for key, bad in NOT_COUNTS.items() if key != "too many"}
CONSTRUCTOR = {
    "dim": NOT_COUNTS,
    "reward_range": {
        "number": 1.0,
        "word": "01",
        "one": (0.0,),
        "three": (0.0, 1.0, 2.0),
        "equal": (1.0, 1.0),
        "reversed": (1.0, 0.0),
        "nan": (0.0, NAN),
        "inf": (-INF, INF),
        "strings": ("0", "1"),
        "set": {0.0, 1.0},
    },
    "delta": {**NOT_POSITIVE, "one": 1, "above": 1.5},
    "noise": NOT_NEGATIVE,
    "norm": NOT_NEGATIVE,
    "regularization": NOT_POSITIVE,
    "action_norm": NOT_POSITIVE,
    "bonus_scale": NOT_NEGATIVE,
    "radius": NOT_WORDS,
    "fixed_actions": {key: bad for key, bad in NOT_ACTIONS.items() if key != "None"},
    "alpha": NOT_NEGATIVE,
    "seed": {key: bad for key, bad in SMALL.items() if key != "zero"},
    "all_data": {"word": "no", "array": np.array([1, 2])},
}
OWNERS = {"alpha": ["LinUCB"], "seed": ["BallOFUL"], "all_data": ["NestedOFUL"]}
OF_LINUCB = ("dim", "reward_range", "regularization", "action_norm", "fixed_actions", "alpha")


@pytest.mark.parametrize(
    ("argument", "bad"),
    [
        pytest.param(arg, bad, id=f"{arg}-{key}")
        for arg, values in CONSTRUCTOR.items()
        for key, bad in values.items()
    ],
)
def test_constructors(argument, bad):
    for name in OWNERS.get(argument, NAMES):
        if name != "LinUCB" or argument in OF_LINUCB:
            with pytest.raises(ValueError, match=rf"(?s)\b{argument}\b must .*got"):
                unipac.AGENTS[name](**{"dim": 2, argument: bad})


@pytest.mark.parametrize("name", ["OFUL", "BallOFUL"])
def test_the_radius_of_a_level_needs_levels(name):
    with pytest.raises(ValueError, match=r"radius must be one of .*got 'theorem'"):
        unipac.AGENTS[name](2, radius="theorem")


@pytest.mark.parametrize("name", NAMES)
def test_choose_without_actions_needs_fixed_ones(name):
    for method in ("choose", "bounds"):
        assert_refused(make(name), "actions", lambda agent, method=method: getattr(agent, method)())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("action_norm", [1.0, 30.0])
def test_the_smallest_regularization(name, action_norm):
    """Below it widths would be wrong, and certificates with them."""
    least = SMALLEST_RATIO * action_norm**2
    unipac.AGENTS[name](2, action_norm=action_norm, regularization=least)
    with pytest.raises(ValueError, match=r"regularization must be at least .*got"):
        unipac.AGENTS[name](2, action_norm=action_norm, regularization=0.99 * least)


@pytest.mark.parametrize("name", ["FLUTE", "NestedFLUTE", "LSVIUCB"])
def test_the_smallest_regularization_of_an_agent_for_mdps(name):
    mdp = unipac.envs.river_swim(2, horizon=2)
    unipac.AGENTS[name].made_for(mdp, rounds=9, regularization=SMALLEST_RATIO)
    with pytest.raises(ValueError, match=r"regularization must be at least .*got"):
        unipac.AGENTS[name].made_for(mdp, rounds=9, regularization=0.99 * SMALLEST_RATIO)


@pytest.mark.parametrize("name", NAMES)
def test_more_equal_rounds_than_widths_can_bear(name):
    most = int(LARGEST_GROWTH * SMALLEST_RATIO)
    agent = make(name, regularization=SMALLEST_RATIO)
    assert_refused(agent, "times", lambda agent: agent.update(agent.made[2], 0.5, times=most + 10**6))
    agent.update(agent.made[2], 0.5, times=most)
    assert agent.rounds == 10 + most
