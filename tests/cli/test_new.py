"""``unipac new``: the folder that it makes runs as it is; what it refuses."""

import os
import subprocess
import sys
import tomllib
from importlib import resources

import pytest

from helpers.commands import command
from unipac.cli import new as making


def inside(folder, *arguments):
    """A process of Python in a folder, where neither the tests nor their settings are."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "200"}
    told = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return told.returncode, told.stdout + told.stderr


def test_the_new_folder_runs(tmp_path):
    """Run, report and test, as the command says; smaller than by default, to save time."""
    code, said = inside(tmp_path, "-m", "unipac", "new", "shop")
    assert code == 0, said
    folder = tmp_path / "shop"
    for line in ("cd shop", "unipac run config.toml", "unipac report results/config", "python -m pytest"):
        assert line in said
    size = ("--rounds", "300", "--seeds", "1", "--engine", "serial")
    code, said = inside(folder, "-m", "unipac", "run", "config.toml", *size)
    assert code == 0, said
    assert "6 of 6 cells finished" in said
    code, said = inside(folder, "-m", "unipac", "report", "results/config", "--strict")
    assert code == 0, said
    assert "0 not seen" in said
    assert "<title>unipac report: shop" in (folder / "results" / "config" / "report.html").read_text()
    code, said = inside(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".")
    assert code == 0, said
    assert "3 passed" in said


def test_its_test_can_fail(tmp_path):
    """The control: an agent that learns nothing does not pass."""
    folder = making.make("shop", tmp_path)
    agent = folder / "my_agent.py"
    agent.write_text(agent.read_text().replace("self.moment += reward * action", "pass"))
    code, said = inside(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".")
    assert code == 1, said
    assert "1 failed, 2 passed" in said


def test_all_templates_are_copied(tmp_path):
    folder = making.make("shop", tmp_path)
    there = {file.name for file in resources.files("unipac.cli").joinpath("template").iterdir()}
    assert there - {"__pycache__"} == set(making.FILES) == {file.name for file in folder.iterdir()}
    assert tomllib.loads((folder / "config.toml").read_text())["title"] == "shop"
    assert not any(making.TITLE in file.read_text() for file in folder.iterdir())
    assert [entry.name for entry in tmp_path.iterdir()] == ["shop"]  # nothing is left beside it


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../a", "1st", "-x", "a b", "ä", "a\n", "a" * 65, "a\x1b[31m"]
)
def test_bad_names(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    told = command("new", "--", name)
    assert told.exit_code == 2
    assert "NAME must be 1 to 64 letters" in told.stderr
    assert "\x1b" not in told.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    for name in ("file", "full", "link"):
        told = command("new", name)
        assert told.exit_code == 2
        assert "NAME must be that of a new" in told.stderr
    assert (tmp_path / "file").read_text() == (tmp_path / "full" / "mine").read_text() == "mine"
    assert command("new", "empty").exit_code == 0
    assert (tmp_path / "empty" / "config.toml").exists()
    assert command("new", "empty").exit_code == 2


def test_all_or_nothing(tmp_path, monkeypatch):
    """Whatever goes wrong while files are written, no half of a folder is left."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "rename", full)
    told = command("new", "shop")
    assert told.exit_code == 2
    assert "No space left" in told.stderr
    assert list(tmp_path.iterdir()) == []
