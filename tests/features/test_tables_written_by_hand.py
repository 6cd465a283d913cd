"""Feature maps from tables that leave out what has its default."""

from __future__ import annotations

import json

import pytest

from unipac import features
from unipac.features.reading import from_table

COLUMNS = features.Columns(ranges={"age": (18, 90)}, categories={"kind": ["a", "b"]}, booleans=["of"])
MAPS = [
    features.Blocks(["x", "y"], COLUMNS),
    features.Blocks(3),
    features.Interactions(features.Numbers(2), COLUMNS),
    features.Blocks(["x"], features.Joined(COLUMNS, features.Constant())),
    features.Blocks(["x", "y"], COLUMNS) + features.Blocks(["x", "y"]),
]


@pytest.mark.parametrize("phi", MAPS, ids=repr)
def test_what_to_json_writes_is_a_table(phi):
    assert from_table(json.loads(phi.to_json())).to_json() == phi.to_json()


def test_defaults_are_those_of_the_constructors():
    short = {
        "kind": "Blocks", "ids": ["x", "y"],
        "of": {
            "kind": "Columns", "ranges": {"age": [18, 90]}, "categories": {"kind": ["a", "b"]}, "booleans": ["of"]
        },
    }  # fmt: skip
    assert from_table(short).to_json() == MAPS[0].to_json()
    assert (
        from_table(
            {"kind": "Interactions", "context": {"kind": "Numbers", "length": 2}, "action": short["of"]}
        ).to_json()
        == MAPS[2].to_json()
    )
    assert from_table({"kind": "Blocks", "ids": ["x"]}).to_json() == features.Blocks(["x"]).to_json()


@pytest.mark.parametrize(
    "table",
    [
        None, [], "Blocks", {}, {"kind": "Bocks"}, {"kind": ["Blocks"]}, {"kind": "Blocks"},
        {"kind": "Blocks", "ids": "xy"},
        {"kind": "Blocks", "ids": ["x"], "colour": 1}, {"kind": "Blocks", "ids": ["x"], "of": 3},
        {"kind": "Blocks", "ids": ["x"], "of": {"kind": "Columns", "range": {}}},
        {"kind": "Blocks", "ids": ["x"], "of": {"kind": "Columns", "ranges": [1]}}, {"kind": "Sum", "parts": 3},
        {"kind": "Interactions", "context": {"kind": "Constant"}},
    ],
)  # fmt: skip
def test_what_is_no_map_is_refused(table):
    with pytest.raises(ValueError, match="must"):
        from_table(table)
