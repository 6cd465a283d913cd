"""What the pages show is what happens: examples run, commands as well, and every file that is named exists."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from unipac import experiments

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = [
    page.relative_to(DOCS).as_posix()
    for page in sorted(DOCS.rglob("*.md"))
    if page.parent.name != "reference"  # from docstrings, which run where they stand
    and page.name != "serve.md"  # runs beside a service: tests/serve/test_guide.py
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


# -- Python is written as doctests alone ---------------------------------------------------------


def blocks(text, *languages):
    """The contents of all blocks of a page in one of these languages; "" for those that do not say."""
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text, flags=re.M | re.S)
    return [block for language, block in found if language in languages]


def without_a_prompt(text):
    """Blocks of Python that no doctest would run, also those that do not say what they are."""
    python = [block for block in blocks(text, "python", "py", "pycon") if not block.startswith(">>> ")]
    code = r"^(import |from \w+ import |\w+ = \w+[.(]|def |class )"
    return python + [block for block in blocks(text, "") if re.search(code, block, flags=re.M)]


def test_python_is_written_in_no_other_way():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    assert {
        page.name: plain for page in pages if (plain := without_a_prompt(page.read_text(encoding="utf-8")))
    } == {}


def test_other_ways_are_found():
    text = "```python\n>>> 1\n1\n\n```\n\n```python\nx = 1\n```\n\n```\nagent = f(2)\n```\n\n```text\nx = f(1)\n```\n"
    assert without_a_prompt(text) == ["x = 1\n", "agent = f(2)\n"]


# -- TOML ------------------------------------------------------------------------------------------


def files():
    """The TOML blocks of all pages, but that of the service."""
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    found = [block for page in pages for block in blocks(page.read_text(encoding="utf-8"), "toml")]
    return [block for block in found if "[deployments." not in block]


def test_files_are_read(tmp_path):
    assert len(files()) >= 2
    for i, block in enumerate(files()):
        path = tmp_path / f"{i}.toml"
        path.write_text(block, encoding="utf-8")
        assert list(experiments.read(path).cells())
    path.write_text(block.replace("sphere", "spheer"), encoding="utf-8")
    with pytest.raises(experiments.SpecError, match="spheer"):
        experiments.read(path)


# -- commands --------------------------------------------------------------------------------------

LONG = ("warm NestedOFUL Guarded", "demo", "run quickstart", "report results/quickstart")
"""Commands that take a minute or more; the slow test runs them as well."""


def commands():
    """The commands of README and Start, in their order, as lists of words."""
    text = "".join((ROOT / "README.md", DOCS / "start.md")[i].read_text(encoding="utf-8") for i in (0, 1))
    lines = re.findall(r"^\$ (.*)$", "\n".join(blocks(text, "console")), flags=re.M)
    return [shlex.split(line, comments=True) for line in dict.fromkeys(lines)]


def run(words, folder):
    """Run one command in a folder; returns what it prints."""
    if words[0] == "make":  # they would make an environment of their own: is there such a target?
        words = ["make", "--dry-run", "-C", str(ROOT), *words[1:]]
    elif words[0] == "unipac":
        words = [sys.executable, "-m", "unipac", *words[1:]]
    else:
        assert words[:2] == ["pip", "install"], words
        return ""
    environment = {**os.environ, "HOME": str(folder), "SHELL": "/bin/bash"}
    words = [
        "bash",
        "-c",
        f"{shlex.join(words)}\nexit $?",
    ]  # completion is installed for the shell that it comes from
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def prepared(folder):
    """The folder, with the file that Start shows."""
    (folder / "mine.toml").write_text(blocks((DOCS / "start.md").read_text(encoding="utf-8"), "toml")[0])
    return folder


def test_commands_run(tmp_path):
    prepared(tmp_path)
    shown = commands()
    assert len(shown) >= 10
    assert all(["unipac", *words.split()] in shown for words in LONG)
    for words in shown:
        if " ".join(words[1:]) not in LONG:
            run(words, tmp_path)
    assert (tmp_path / "results" / "mine" / "report.html").is_file()


def test_a_wrong_command_is_found(tmp_path):
    with pytest.raises(AssertionError, match="no experiment is called"):
        run(["unipac", "run", "quikstart"], tmp_path)


@pytest.mark.slow
def test_long_commands_run(tmp_path):
    for words in commands():
        if " ".join(words[1:]) in LONG:
            run(words, tmp_path)


# -- the sources -----------------------------------------------------------------------------------


def test_the_ways_of_calls_are_up_to_date():
    command = [sys.executable, str(ROOT / "docs" / "write_traces.py"), "--check"]
    assert subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}).returncode == 0, "make pages"
