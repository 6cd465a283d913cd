"""What the command says of itself: every option with its unit, its default and an example; exit codes; completion."""

import os
import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from unipac import registry, theory
from unipac.cli import completion as completing
from unipac.cli.app import app
from unipac.cli.console import EXIT_CODES

UNITS = r"[Nn]umber|length|probability|units? of|in reward|Folder|folder|One HTML|serial|Exit|size|version|λ"
UNITS += r"|pixels|median|linear or log|figures|by label|words|Name of|File of"
"""What says in which unit an option is: a count, a length, a share, a unit of reward or of features, a word of some."""


def commands(command, path="unipac"):
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from commands(inner, f"{path} {name}")
    else:
        yield path, command


ALL = dict(commands(typer.main.get_command(app)))
OPTIONS = [
    (path, option)
    for path, command in ALL.items()
    for option in command.params
    if option.param_type_name == "option" and option.name != "help"
]


def lacks(option):
    """What the help of an option does not say."""
    text = option.help or ""
    missing = []
    if not re.search(r"Example: \S|Several: ", text):
        missing.append("example")
    if not re.search(UNITS, text):
        missing.append("unit")
    told = option.show_default and option.default is not None
    if not (told or option.is_flag or option.required or re.search("by default|the default|required", text)):
        missing.append("default")
    return missing


@pytest.mark.parametrize(
    ("path", "option"), OPTIONS, ids=[f"{path} --{option.name}" for path, option in OPTIONS]
)
def test_option(path, option):
    assert lacks(option) == []


def test_a_poor_option_is_found():
    (seeds,) = [option for path, option in OPTIONS if path == "unipac run" and option.name == "seeds"]
    text, seeds.help = seeds.help, "How many."
    try:
        assert lacks(seeds) == ["example", "unit", "default"]
    finally:
        seeds.help = text


@pytest.mark.parametrize("path", ALL)
def test_command(path):
    words = path.split()[1:]
    shown = " ".join(CliRunner().invoke(app, [*words, "--help"]).output.split())
    assert re.search(r"Example: |unipac run quickstart", shown), shown
    for code in ("0 all well", "1 some cells failed", "130 interrupted", "143 terminated"):
        assert code in shown or (path == "unipac serve" and "70 after a failed commit" in shown)
    assert "Exit codes" in EXIT_CODES


def test_the_list_is_by_kind():
    text = CliRunner().invoke(app, ["list"]).output
    titles = re.findall(r"^(\S.*), and their guarantee$", text, flags=re.M)
    assert titles == [
        "Agents for bandits",
        "Agents for MDPs: tables",
        "Agents for MDPs: linear features",
        "Agents for MDPs: mixtures",
        "Searches",
    ]
    for name, agent in registry.AGENTS.items():
        assert re.search(rf"^  {name} +{agent.theorem} ", text, flags=re.M), name


def test_the_staircase_adds_up():
    text = CliRunner().invoke(app, ["bound", "--dim", "2", "--eps", "0.5", "--noise", "0.1"]).output
    rows = re.findall(r"│ +(\d+) │ +([\d,]+) │ +([\d.]+) │ +([\d,]+) │", text)
    sizes = [int(size.replace(",", "")) for _, size, _, _ in rows]
    assert sizes == [theory.level_size(2, level) for level in (1, 2, 3)]
    bound = theory.mistake_bound(0.5, 2, 0.05, nested=True, all_data=True, noise=0.1)
    assert sum(sizes) == int(rows[-1][3].replace(",", "")) == bound
    assert f" {bound:,} │" in text.partition("staircase of NestedOFUL")[0]


def test_an_infinite_bound_has_no_staircase():
    text = CliRunner().invoke(app, ["bound", "--dim", "2", "--eps", "1e-13"]).output
    assert "inf" in text
    assert "The staircase of" not in text


# -- completion --------------------------------------------------------------------------------


def completed(*words):
    """What bash would offer for the last word."""
    environment = {
        **os.environ,
        "_UNIPAC_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["unipac", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "unipac"], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_shell_completes():
    assert {"list", "run", "report", "bound", "warm", "data"} <= set(completed(""))
    assert completed("run", "quick") == ["quickstart"]


def test_names_and_files_complete(tmp_path):
    (tmp_path / "mine.toml").touch()
    (tmp_path / "mine.txt").touch()
    (tmp_path / "results").mkdir()
    begin = f"{tmp_path}/"
    assert [name for name, _ in completing.experiments(begin)] == [f"{begin}mine.toml", f"{begin}results/"]
    assert [name for name, _ in completing.folders(begin)] == [f"{begin}results/"]
    assert completing.folders(f"{tmp_path}/none/") == []
    assert [name for name, _ in completing.engines("da")] == ["dask", "dask=tcp://"]
    assert completing.data_sets("a") == ["actg175"]
