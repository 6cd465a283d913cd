"""What the pages show is what happens: every example with a prompt runs."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = [
    page.relative_to(DOCS).as_posix()
    for page in sorted(DOCS.rglob("*.md"))
    if page.parent.name != "reference"  # from docstrings, which run where they stand
    and "\n>>> " in page.read_text(encoding="utf-8")
]


def test_pages_are_found():
    assert {"start.md", "guide/features.md", "guide/late_rewards.md", "guide/instances.md"} <= set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_page(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(DOCS / name), module_relative=False, optionflags=flags)
    assert tried >= 3
    assert failed == 0
