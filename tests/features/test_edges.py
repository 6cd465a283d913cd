"""What features are given at the edges: lists of ids, rows of mixed types, odd tables, crafted descriptions."""

import json
import tracemalloc

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from unipac import features
from unipac.features import Blocks, Columns, Constant, Interactions, Joined, Numbers, Sum

IDS = ["a", "b", "ab", 1]

# -- exclude -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "exclude",
    [["a", 1], ("a", 1), {"a", 1}, iter(["a", 1]), (x for x in ("a", 1)), np.array(["a", 1], dtype=object)],
)
def test_every_list_of_ids_leaves_out_the_same(exclude):
    assert Blocks(IDS)(None, IDS, exclude).labels == ("b", "ab")


def test_numbers_of_numpy_are_ids():
    assert Blocks(3)(None, [0, 1, 2], np.array([0, 2])).labels == (1,)
    assert Blocks(3)(None, [0, 1, 2], iter(())).labels == (0, 1, 2)
    assert Blocks(3)(None, [0, 1, 2], None).labels == (0, 1, 2)


@pytest.mark.parametrize(
    ("exclude", "message"),
    [
        ("ab", "exclude must be a list of ids, got 'ab'"),
        (b"ab", "exclude must be a list of ids, got b'ab'"),
        (1, "exclude must be a list of ids, got 1"),
        ({"a": 1}, "exclude must be a list of ids, got {'a': 1}"),
        (["c"], r"exclude must be ids among \['a', 'b', 'ab', 1\], got 'c'"),
        (["1"], "exclude must be ids among .* got '1'"),
        ([True], "exclude must be text or an integer, got True"),
        ([1.0], "exclude must be text or an integer, got 1.0"),
        ([["a"]], r"exclude must be text or an integer, got \['a'\]"),
        (IDS, "exclude must be such that an action is left"),
    ],
)
def test_what_is_no_list_of_offered_ids_is_refused(exclude, message):
    with pytest.raises(ValueError, match=message):
        Blocks(IDS)(None, IDS, exclude)


# -- the order of a set --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: Blocks(["a", "b"])(None, {"a", "b"}),
        lambda: Blocks(["a", "b"]).many([{}], frozenset({"a", "b"})),
        lambda: Blocks({"a", "b"}),
        lambda: Columns({"a", "b"}),
        lambda: Columns(categories={"a", "b"}),
        lambda: Columns(booleans=frozenset({"a", "b"})),
    ],
)
def test_a_set_is_refused_where_order_counts(call):
    with pytest.raises(
        ValueError, match="must be a list, since a set has another order in every process, got"
    ):
        call()


def test_what_has_an_order_is_taken():
    offered = {"b": {}, "a": {}}
    assert Blocks(["a", "b"])(None, offered.keys()).labels == ("b", "a")
    assert Blocks(["a", "b"])(None, (x for x in "ba")).labels == ("b", "a")


# -- rows ----------------------------------------------------------------------------------------------

LARGE = 2**60
ONE_ROW = {"k": [LARGE + 1], "x": [0.5]}


def large():
    return Columns(ranges={"x": (0, 1)}, categories={"k": [LARGE, LARGE + 1]}, missing="error")


@pytest.mark.parametrize(
    "frame", [pandas.DataFrame(ONE_ROW), polars.DataFrame(ONE_ROW), pyarrow.table(ONE_ROW)]
)
def test_every_column_of_a_row_keeps_its_type(frame):
    expected = large().encode({"k": LARGE + 1, "x": 0.5})
    phi = Blocks(["a"], large())
    np.testing.assert_array_equal(phi(frame, ["a"]).vectors[0], expected)
    np.testing.assert_array_equal(phi.many(frame, ["a"])[0].vectors[0], expected)


def test_a_category_that_was_rounded_is_refused():
    """A row of a frame of integers and floats has floats alone: 2^60 + 1 has become 2^60, another category."""
    row = pandas.DataFrame(ONE_ROW).iloc[0]
    assert row.dtype == np.float64
    with pytest.raises(ValueError, match=r"column 'k' must be below 2\^53 if it was a float"):
        large().encode(dict(row))
    with pytest.raises(ValueError, match=r"column 'k' must be below 2\^53 if it was a float"):
        Blocks(["a"], large())(row, ["a"])
    with pytest.raises(ValueError, match=r"column 'k' must be below 2\^53 if it was a float"):
        Columns(categories=["k"]).fit(pandas.DataFrame({"k": [2.0**53, 1.0]}))
    small = Columns(categories={"k": [2**53 - 1]})
    np.testing.assert_array_equal(small.encode({"k": float(2**53 - 1)}), small.encode({"k": 2**53 - 1}))


def test_a_column_that_comes_twice_is_refused():
    phi = Blocks(["a"], Columns(ranges={"x": (0, 1)}))
    row = pandas.Series([0.0, 1.0], index=["x", "x"])
    with pytest.raises(ValueError, match="context must have every column once, got 'x' twice"):
        phi(row, ["a"])
    frame = pandas.DataFrame([[0.0, 1.0]], columns=["x", "x"])
    for call in (lambda: phi(frame, ["a"]), lambda: phi.many(frame, ["a"]), lambda: Columns().fit(frame)):
        with pytest.raises(ValueError, match="must have every column once, got 'x' twice"):
            call()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pandas.DataFrame({0: [1.0]}), "frame must be a frame whose columns have text as names, got 0"),
        (pandas.DataFrame({("a", "b"): [1.0]}), r"frame must be .* text as names, got \('a', 'b'\)"),
        (pandas.DataFrame({None: [1.0]}), "text as names, got"),
        (pandas.DataFrame({"a": [[1]]}), "column 'a' must hold numbers, text or booleans"),
        (pandas.DataFrame({"a": [10**400]}), "column 'a' must hold numbers, text or booleans"),
        (polars.DataFrame({"a": [{"b": 1}]}), "column 'a' must hold numbers, text or booleans"),
        (5, "frame must be a frame of pandas, polars or arrow, got int"),
        ({"a": 5}, r"frame\['a'\] must be a list or an array of values, got 5"),
        ({"a": "text"}, r"frame\['a'\] must be a list or an array of values, got 'text'"),
        ({5: [1.0]}, "frame must be a dict whose keys are names of columns, got 5"),
        ({"a": [1], "b": [1, 2]}, r"frame must be columns of the same length, got {'a': 1, 'b': 2}"),
        ({"a": [None, None]}, "column 'a' must hold numbers, text or booleans, got type list"),
        ({"a": [1, "x"]}, "column 'a' must hold numbers, text or booleans, got type list"),
        ({"a": [1, True]}, "column 'a' must be a finite number, got True"),
    ],
)
def test_tables_that_cannot_be_fitted(frame, message):
    with pytest.raises(ValueError, match=message):
        Columns().fit(frame)


def test_a_dict_of_columns_is_a_table():
    columns = {
        "tokens": [120, None, 900],
        "price": np.array([0.5, 0.1, 0.2]),
        "kind": ("chat", None, "code"),
        "urgent": [True, False, None],
    }
    fitted = Columns().fit(columns)
    frame = polars.DataFrame({**columns, "kind": list(columns["kind"])})
    assert fitted.described() == Columns().fit(frame).described()
    assert fitted.described()["ranges"] == {"tokens": [120.0, 900.0], "price": [0.1, 0.5]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ranges": 5}, "ranges must be a mapping, got 5"),
        ({"ranges": "ab"}, "ranges must be a mapping, got 'ab'"),
        ({"numbers": 5}, "numbers must be a list of names, got 5"),
        ({"categories": 5}, "categories must be a list of names, got 5"),
        ({"booleans": [5]}, "booleans must be names of columns, got 5"),
        ({"numbers": ["x"], "booleans": ["x"]}, "columns must be of one kind each, got 'x'"),
    ],
)
def test_names_that_are_none(arguments, message):
    with pytest.raises(ValueError, match=message):
        Columns(**arguments)


# -- crafted descriptions ------------------------------------------------------------------------------

WIDE = {"kind": "Numbers", "length": 2**16, "low": 0.0, "high": 1.0, "constant": True}
NARROW = {"kind": "Columns", "ranges": {"x": [0, 1]}, "booleans": [], "categories": {}, "missing": "error"}
NARROW |= {"unknown": "error", "scale": "bound", "constant": True}


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"kind": "Blocks", "ids": 400_000_000, "of": {"kind": "Constant"}}, "ids must be a list"),
        ({"kind": "Blocks", "ids": list(range(200)), "of": WIDE}, "at most 131,072, got 13107400"),
        (
            {"kind": "Sum", "parts": [{"kind": "Blocks", "ids": [1], "of": WIDE}] * 50},
            "at most 131,072, got 3276850",
        ),
        (
            {"kind": "Interactions", "context": WIDE, "action": NARROW | {"constant": True}},
            "131,072, got 131074",
        ),
        (
            {"kind": "Blocks", "ids": list(range(700)), "of": {"kind": "Joined", "parts": [NARROW] * 100}},
            "at most 131,072, got 140000",
        ),
    ],
)
def test_a_description_takes_no_more_memory_than_its_text(described, message):
    text = json.dumps(described)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            features.from_json(text)
        assert tracemalloc.get_traced_memory()[1] < 10**6 + 100 * len(text)
    finally:
        tracemalloc.stop()


def test_the_limit_holds_for_maps_made_by_hand():
    with pytest.raises(ValueError, match="ids must be an integer >= 1 and <= 131072, got 400000000"):
        Blocks(400_000_000)
    assert Blocks(2**17).dim == 2**17
    with pytest.raises(ValueError, match="features must be at most 131,072, got 131073"):
        Sum(Blocks(2**17), Blocks(1))
    with pytest.raises(ValueError, match="features must be at most 131,072"):
        Blocks(["a", "b"], Numbers(2**16))


def test_the_number_of_features_is_that_of_their_names():
    """``dim`` is computed without them."""
    one, two = Columns(ranges={"x": (0, 1)}), Columns(categories={"k": ["a", "b"]}, constant=False)
    encoders = [one, two, Constant(), Numbers(3), Numbers(3, constant=False), Joined(one, two)]
    maps = [Blocks(["a", "b", "c"], encoder) for encoder in encoders]
    maps += [
        Interactions(one, two),
        Interactions(Numbers(3), Joined(one, two)),
        Sum(Blocks(2, one), Blocks(3, two)),
    ]
    for made in (*encoders, *maps):
        assert made.dim == len(made.names)
