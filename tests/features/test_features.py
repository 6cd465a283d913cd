"""Feature maps: norms at most 1 for every schema and row, malformed rows refused by name, JSON, frames."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import unipac
from unipac import features
from unipac.features import Blocks, Columns, Constant, Interactions, Numbers

NAMES = ("age", "country", "vip", "price")
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table.from_pydict}


@st.composite
def schemas(draw):
    """A schema, and rows that it takes: in and out of the ranges, missing, unknown."""
    missing, unknown = draw(st.sampled_from(["column", "error"])), draw(st.sampled_from(["column", "error"]))
    kinds = {f"c{k}": draw(st.sampled_from("nbc")) for k in range(draw(st.integers(1, 5)))}
    ranges, categories, values = {}, {}, {}
    absent = [None, math.nan] if missing == "column" else []
    for name, kind in kinds.items():
        if kind == "n":
            low = draw(st.floats(-1e6, 1e6))
            ranges[name] = (low, low + draw(st.floats(1e-3, 1e6)))
            values[name] = st.one_of(st.floats(-1e300, 1e300), st.integers(-5, 5), *map(st.just, absent))
        elif kind == "b":
            values[name] = st.sampled_from([True, False, 0, 1, np.bool_(True), *absent])
        else:
            categories[name] = draw(st.lists(st.sampled_from(["x", "y", "z", 1, 2]), min_size=1, unique=True))
            others = ["w", 7] if unknown == "column" else []
            values[name] = st.sampled_from([*categories[name], *others, *absent])
    columns = Columns(
        categories=categories, booleans=[name for name in kinds if kinds[name] == "b"], ranges=ranges,
        missing=missing, unknown=unknown, scale=draw(st.sampled_from(["bound", "row"])),
        constant=draw(st.booleans()),
    )  # fmt: skip
    return columns, draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=4))


def longest(actions):
    return np.linalg.norm(actions.vectors, axis=1).max()


@settings(max_examples=150, deadline=None)
@given(schemas(), schemas())
def test_norms_are_at_most_one(one, other):
    columns, rows = one
    action_columns, action_rows = other
    maps = [
        Blocks(["a", "b"], columns),
        Interactions(columns, action_columns),
        Blocks(["a", "b"], columns + Constant()),
        Blocks(["a", "b"], columns) + Interactions(columns, action_columns) + Blocks(["a", "b"]),
    ]
    offered = dict(zip("ab", [action_rows[0], action_rows[-1]], strict=True))
    for row in rows:
        for phi in maps:
            made = phi(row, offered)
            assert made.vectors.shape == (2, phi.dim) == (2, len(phi.names))
            assert longest(made) <= 1 + 1e-12
            again = features.from_json(phi.to_json())(row, offered)
            np.testing.assert_array_equal(again.vectors, made.vectors, strict=True)
            assert again.labels == made.labels == ("a", "b")


def test_the_bound_is_attained():
    """Negative control of the norms: dividing by any less would exceed 1."""
    columns = Columns(ranges={"a": (0, 1), "b": (0, 1)}, categories={"c": ["x"]}, booleans=["d"])
    row = {"a": 1.0, "b": 0.0, "c": "x", "d": True}
    assert np.linalg.norm(columns.encode(row)) == pytest.approx(1.0, abs=1e-15)
    rows = Columns(ranges={"a": (0, 1)}, scale="row")
    assert np.linalg.norm(rows.encode({"a": 1.0})) == pytest.approx(1.0)
    np.testing.assert_allclose(rows.encode({"a": 0.5}), [0.0, 0.0, 1.0])  # not longer than 1: left as it is


BAD = {
    "age": [math.inf, -math.inf, "old", "", b"3", 1j, [], {}, True, object(), np.array([1.0, 2.0]), 10**400],
    "country": [1.5, [], {}, object(), math.inf, b"de", ("de",), "atlantis"],
    "vip": ["yes", 2, -1, 0.5, [], math.inf, object()],
}


def sound_row(rng):
    return {"age": float(rng.uniform(0, 100)), "country": "de", "vip": bool(rng.integers(2))}


def malformed(rng):
    """A row with one fault, and the name of the column."""
    row = sound_row(rng)
    name = str(rng.choice(list(BAD)))
    kind = rng.integers(5)
    if kind == 0:
        del row[name]
    elif kind == 1:
        name = f"extra{rng.integers(100)}"
        row[name] = rng.normal()
    elif kind == 2:
        row[name] = [None, math.nan, pd.NA, pd.NaT, np.float32("nan")][rng.integers(5)]
    else:
        row[name] = BAD[name][rng.integers(len(BAD[name]))]
    return row, name


def test_malformed_rows_are_refused_by_name():
    """10^5 rows: nothing but a ValueError that names the column; and the value, if there is one."""
    columns = Columns(
        ranges={"age": (18, 90)}, categories={"country": ["de", "fr"]}, booleans=["vip"], missing="error",
        unknown="error",
    )  # fmt: skip
    phi = Blocks(["a", "b"], columns)
    rng = np.random.default_rng(0)
    for _ in range(100_000):
        row, name = malformed(rng)
        with pytest.raises(ValueError, match="column") as caught:
            phi(row, ["a", "b"])
        message = str(caught.value)
        assert repr(name) in message, message
        if name in row:
            assert repr(row[name])[:50] in message, message
    for _ in range(100):  # and a sound row is not
        phi(sound_row(rng), ["a", "b"])


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([], "at least one"), (["a", "a"], "'a' twice"), (["c"], "'c'"), ("a", "'a'"), (None, "None"),
        ([1.5], "1.5"), ([True], "True"), (np.eye(2), r"\(2, 2\)"), ({}, "at least one"),
        (pd.DataFrame({"name": ["a"]}), "'id'"), ([None], "None"),
    ],
)  # fmt: skip
def test_malformed_actions(actions, words):
    with pytest.raises(ValueError, match=words):
        Blocks(["a", "b"], Columns(ranges={"age": (0, 1)}))({"age": 0.5}, actions)


def test_malformed_schemas():
    for make in (
        lambda: Columns("age"),
        lambda: Columns(["age"], ["age"]),
        lambda: Columns(ranges={"age": (1, 1)}),
        lambda: Columns(ranges={"age": (0, math.inf)}),
        lambda: Columns(categories={"c": []}),
        lambda: Columns(categories={"c": ["x", "x"]}),
        lambda: Columns(missing="ignore"),
        lambda: Columns(["age"]).encode({"age": 1.0}),
        lambda: Columns(constant=False).encode({}),
        lambda: Columns().fit({"age": 1.0}),
        lambda: Columns(["age"]).fit(pd.DataFrame({"other": [1.0]})),
        lambda: Columns(["age"]).fit(pd.DataFrame({"age": [None]})),
        lambda: features.Actions(np.eye(2), ["a"]),
        lambda: features.Actions(np.eye(2), ["a", "a"]),
        lambda: features.Actions(np.eye(2), ["a", None]),
        lambda: features.Actions([[math.nan, "x"]], ["a"]),
        lambda: Blocks([]),
        lambda: Blocks(0),
        lambda: Blocks("abc"),
        lambda: Blocks(["a"], "age"),
        lambda: Interactions(Constant(), Numbers(2)),
        lambda: Interactions(Constant(), Constant())(None, ["a"]),
        lambda: Numbers(2).encode([1.0, math.nan]),
        lambda: Numbers(2).encode([1.0]),
        lambda: Blocks(2, Numbers(2)) + Blocks(2, Columns(ranges={"a": (0, 1)})),
        lambda: features.from_json("{}"),
        lambda: features.from_json("nonsense"),
        lambda: features.from_json('{"kind": "Blocks", "ids": [1], "of": {"kind": "os.system"}}'),
    ):
        with pytest.raises(ValueError, match=" got "):
            make()


@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind):
    """The same from pandas, polars and arrow: a missing string is NaN in one and None in the others."""
    frame = FRAMES[kind](
        {"age": [20.0, None, 60.0], "plan": ["free", "paid", None], "vip": [True, False, True]}
    )
    columns = Columns().fit(frame)
    assert columns.names == (
        "age", "age missing", "vip", "vip missing", "plan=free", "plan=paid", "plan missing", "plan unknown",
        "constant",
    )  # fmt: skip
    table = pd.DataFrame({"id": ["x", "y"], "price": [1.0, 3.0]})
    phi = Interactions(columns, Columns(ranges={"price": (1, 3)}, constant=False, missing="error"))
    raw = [[-1, 0, 1, 0, 1, 0, 0, 0, 1], [0, 1, -1, 0, 0, 1, 0, 0, 1], [1, 0, 1, 0, 0, 0, 1, 0, 1]]
    for row, made in zip(raw, phi.many(frame, table), strict=True):
        assert made.labels == ("x", "y")
        np.testing.assert_allclose(made.vectors[1], np.array(row) / 2.0, atol=1e-15)  # price 3 is 1
        np.testing.assert_allclose(made.vectors[0], -made.vectors[1], atol=1e-15)
    with pytest.raises(ValueError, match="before the first row"):
        columns.fit(frame)


def test_one_row_of_a_frame():
    phi = Blocks(2, Columns(ranges={"age": (0, 10)}))
    frame = pd.DataFrame({"age": [2.5, 5.0]})
    expected = phi({"age": 2.5}, [0, 1]).vectors
    for row in (frame.iloc[0], frame.iloc[:1], pl.from_pandas(frame)[:1]):
        np.testing.assert_array_equal(phi(row, [0, 1]).vectors, expected)
    with pytest.raises(ValueError, match="one row"):
        phi(frame, [0, 1])


def test_a_constant_column_is_zero():
    columns = Columns(["age"], missing="error").fit(pd.DataFrame({"age": [3.0, 3.0]}))
    for made in (columns, features.from_json(Blocks(1, columns).to_json()).of):
        np.testing.assert_allclose(made.encode({"age": 5.0}), [0.0, 1 / math.sqrt(2)])


def test_transformed():
    frame = pd.DataFrame({"age": [20.0, 40.0, 60.0], "plan": ["a", "b", "a"]})
    transformer = ColumnTransformer([("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["plan"])])
    columns = features.Transformed.of(transformer, frame, bound=2.0)
    phi = Blocks(2, columns)
    made = phi({"age": 40.0, "plan": "b"}, [0, 1])
    np.testing.assert_allclose(made.vectors[0], [0.0, 0.0, 0.5, 0.0, 0.0, 0.0])
    with pytest.raises(TypeError, match="no JSON"):
        phi.to_json()
    with pytest.raises(ValueError, match="bound"):
        phi({"age": 400.0, "plan": "b"}, [0, 1])


def test_agents_take_actions_and_tell_labels():
    phi = Blocks(["a", "b"], Columns(ranges={"age": (0, 10)}))
    agent = unipac.NestedOFUL(phi.dim)
    actions = phi({"age": 3.0}, ["b", "a"])
    decision = agent.choose(actions)
    assert decision.label == actions.labels[decision.index] == "b"
    assert agent.choose(actions.vectors).label is None
    assert agent.bounds(actions).ucb.shape == (2,)
    assert json.loads(json.dumps(decision.to_dict()))["label"] == "b"


def test_suggested_norm_covers_a_linear_truth():
    rng = np.random.default_rng(1)
    theta = np.array([0.5, -1.0, 2.0])
    X = rng.uniform(-0.5, 0.5, (500, 3))
    found = features.suggested_norm(X, X @ theta + 0.1 * rng.standard_normal(500))
    assert np.linalg.norm(theta) < found < 1.6 * np.linalg.norm(theta)
    for bad in (([[1.0]], [1.0, 2.0]), ([], []), ([[math.nan]], [1.0])):
        with pytest.raises(ValueError, match=" got "):
            features.suggested_norm(*bad)
