"""What the how-to pages show is what happens."""

import doctest
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize("name", ["features.md", "late_rewards.md"])
def test_page(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(PAGES / name), module_relative=False, optionflags=flags)
    assert tried >= 8
    assert failed == 0
