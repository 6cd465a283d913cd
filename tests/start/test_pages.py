"""What the how-to pages show is what happens."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["guide/features.md", "guide/late_rewards.md", "start.md"])
def test_page(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(DOCS / name), module_relative=False, optionflags=flags)
    assert tried >= 8
    assert failed == 0
