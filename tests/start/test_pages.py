"""What the pages show is what happens: every example with a prompt runs, every file that is named exists."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
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


def missing(text):
    """The sources that a page names, as they are seen from the root or from the package, and that are not there."""
    named = set(re.findall(r"`([\w/]+/\w+\.py)`", text))
    return {
        name for name in named if not any((base / name).exists() for base in (ROOT, ROOT / "src" / "unipac"))
    }


NAMING = ["CONTRIBUTING.md", "README.md", *(f"docs/{page.relative_to(DOCS)}" for page in DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", sorted(NAMING))
def test_files_that_a_page_names_exist(page):
    assert missing((ROOT / page).read_text(encoding="utf-8")) == set()


def test_a_file_that_is_not_there_is_missed():
    assert missing("`mdp/flute.py`, `bandits/oful.py`, `tests/start/test_pages.py`") == {"mdp/flute.py"}
