"""Numbers that come from runs stand in blocks written from what the runs wrote, and pictures show such numbers."""

import importlib
import json
import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(autouse=True)
def _scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    yield
    for name in ("write_numbers", "draw_idea", "idea_runs"):
        sys.modules.pop(name, None)


def test_blocks_are_up_to_date():
    pages = importlib.import_module("write_numbers").pages()
    assert {path.relative_to(ROOT).as_posix() for path in pages} >= {"README.md", "docs/idea.md"}
    differ = [path for path, text in pages.items() if path.read_text(encoding="utf-8") != text]
    assert not differ, "run `make numbers`"


def test_an_altered_block_is_found():
    numbers = importlib.import_module("write_numbers")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (source, block), *_ = numbers.blocks(text)
    altered = text.replace(block, block.replace("NestedOFUL", "NestedOFUL, 1,000 times faster,", 1))
    assert altered != text
    assert numbers.written(altered) == numbers.written(text) == text
    with pytest.raises(LookupError, match="no block is from none"):
        numbers.written(text.replace(source, "none"))


def test_every_block_has_an_end():
    for page in importlib.import_module("write_numbers").pages():
        text = page.read_text(encoding="utf-8")
        assert text.count("<!-- from: ") == text.count("<!-- end -->"), page


def nearly(one, other):
    """Whether two numbers, or lists or tables of them, agree within what four digits can tell."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(nearly(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(nearly, one, other))
    return one == other or (None not in (one, other) and math.isclose(one, other, rel_tol=2e-3, abs_tol=1e-6))


def kept():
    return json.loads((DOCS / "figures" / "idea.json").read_text(encoding="utf-8"))


def test_pictures_are_drawn_from_their_numbers():
    """Without the digits behind which versions of the renderer differ: the words and the number of marks."""
    draw, found = importlib.import_module("draw_idea"), kept()
    assert list(found) == list(draw.DRAWN)
    for name in draw.DRAWN:
        svg = (DOCS / "figures" / f"idea-{name}.svg").read_text(encoding="utf-8")
        assert draw.skeleton(draw.picture(name, found[name])) == draw.skeleton(svg), "run `make pictures`"
    other = {**found["4-radii"], "size": [1, *found["4-radii"]["size"][1:]]}
    assert draw.skeleton(draw.picture("4-radii", other)) != draw.skeleton(
        draw.picture("4-radii", found["4-radii"])
    )


def test_the_quick_run_behind_a_picture_is_repeated():
    """The others are in the next test."""
    again = importlib.import_module("idea_runs").comes_back()
    assert nearly(again, kept()["2-comes-back"])
    again["OFUL"]["taken"][-1] *= 2
    assert not nearly(again, kept()["2-comes-back"])


@pytest.mark.slow
def test_all_runs_behind_the_pictures_are_repeated():
    assert nearly(importlib.import_module("idea_runs").numbers(), kept())
