"""Data sets inside packages: found, checked, and what is said when they are not there."""

import hashlib
import importlib.metadata
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import unipac
from unipac.data import files, icu_sepsis
from unipac.envs import policy_value

CONTENTS = b"numbers"
FILE = files.PackagedFile(
    "some-package", "1.2", "some_package/data.npz", hashlib.sha256(CONTENTS).hexdigest()
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNIPAC_DATA", str(tmp_path))
    monkeypatch.setitem(files.FILES, "some", FILE)
    return tmp_path


def wheel(folder, contents=CONTENTS, version="1.2"):
    with zipfile.ZipFile(folder / f"some_package-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(FILE.member, contents)


def test_nowhere(folder):
    wheel(folder, version="1.3")  # another version does not count
    with pytest.raises(
        FileNotFoundError, match=r"some must be in the installed package .*unipac data get some"
    ):
        files.content("some")
    with pytest.raises(ValueError, match="name must be one of"):
        files.content("other")


def test_in_a_wheel(folder):
    wheel(folder)
    assert files.content("some") == CONTENTS


def test_further_files_of_a_data_set(folder, monkeypatch):
    more = b"more numbers"
    digest = hashlib.sha256(more).hexdigest()
    monkeypatch.setitem(files.FILES, "some", FILE._replace(further={"some_package/more.csv": digest}))
    wheel(folder)
    with zipfile.ZipFile(folder / "some_package-1.2-py3-none-any.whl", "a") as archive:
        archive.writestr("some_package/more.csv", more)
    assert files.content("some") == CONTENTS
    assert files.content("some", "some_package/more.csv") == more
    with pytest.raises(ValueError, match=r"member must be one of 'some_package/more.csv', got 'other.csv'"):
        files.content("some", "other.csv")


def test_in_a_source_archive(folder):
    with tarfile.open(folder / "some_package-1.2.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo(f"some_package-1.2/src/{FILE.member}")
        entry.size = len(CONTENTS)
        archive.addfile(entry, io.BytesIO(CONTENTS))
    assert files.content("some") == CONTENTS


def test_in_an_installed_package(folder, monkeypatch):
    home = folder / "site"
    (home / "some_package-1.2.dist-info").mkdir(parents=True)
    (home / "some_package-1.2.dist-info" / "METADATA").write_text("Name: some-package\nVersion: 1.2\n")
    (home / "some_package").mkdir()
    (home / FILE.member).write_bytes(CONTENTS)
    monkeypatch.syspath_prepend(home)
    assert importlib.metadata.version("some-package") == "1.2"
    assert files.content("some") == CONTENTS
    assert "some_package" not in sys.modules


def test_another_file_is_refused(folder):
    wheel(folder, b"other numbers")
    with pytest.raises(
        ValueError,
        match=r"data.npz of some-package must be that of version 1.2, with SHA-256 .* unipac data get some",
    ):
        files.content("some")


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("kind", ["wheel", "source"])
def test_a_truncated_archive_says_what_to_do(folder, kind, kept):
    noise = np.random.default_rng(0).bytes(5000)  # does not compress
    if kind == "wheel":
        wheel(folder, noise)
        path = folder / "some_package-1.2-py3-none-any.whl"
    else:
        path = folder / "some_package-1.2.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            entry = tarfile.TarInfo(f"some_package-1.2/{FILE.member}")
            entry.size = len(noise)
            archive.addfile(entry, io.BytesIO(noise))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(
        ValueError, match=r"must be a whole archive, got a damaged one .*: unipac data get some"
    ):
        files.content("some")


def test_get_replaces_what_is_damaged(folder, monkeypatch):
    """The download goes to a place of its own, and takes the place of what was there when it is whole."""
    wheel(folder, b"damaged")

    def download(command, **_):
        wheel(Path(command[command.index("--dest") + 1]))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(files.subprocess, "run", download)
    files.get("some")
    assert files.content("some") == CONTENTS
    assert [path.name for path in folder.iterdir()] == ["some_package-1.2-py3-none-any.whl"]


def test_pip_takes_wheels_alone(folder, monkeypatch):
    """To look at a source archive pip runs its setup.py."""
    commands = []

    def download(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(files.subprocess, "run", download)
    files.get("some")
    (command,) = commands
    assert command[command.index("--only-binary") + 1] == ":all:"
    assert command[-1] == "some-package==1.2"


def test_a_source_archive_is_not_built(folder, tmp_path, monkeypatch):
    """pip finds a source archive of the right version: its code does not run."""
    mark, shop = tmp_path / "ran", tmp_path / "shop"
    shop.mkdir()
    with tarfile.open(shop / "some_package-1.2.tar.gz", "w:gz") as archive:
        for name, text in (
            ("setup.py", f"open({str(mark)!r}, 'w').close()\n"),
            ("PKG-INFO", "Metadata-Version: 1.0\nName: some-package\nVersion: 1.2\n"),
        ):
            entry = tarfile.TarInfo(f"some_package-1.2/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shop))
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    with pytest.raises(OSError, match=r"pip could not get some-package==1.2: "):
        files.get("some")
    assert not mark.exists()


def test_pip_that_fails_says_why(folder, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(OSError, match=r"pip could not get some-package==1.2: "):
        files.get("some")


@pytest.fixture(scope="module")
def icu():
    try:
        return icu_sepsis(horizon=20)
    except FileNotFoundError:
        pass
    try:
        unipac.data.get("icu-sepsis")
    except OSError as error:
        pytest.skip(str(error))
    return icu_sepsis(horizon=20)


def test_icu_sepsis(icu):
    """The values are those of dynamic programming on the package's own tables, with 716 states."""
    mdp, start = icu.mdp, icu.mdp.initial
    assert (mdp.n_states, mdp.n_actions, mdp.horizon, mdp.reward_range) == (715, 25, 20, (0.0, 1.0))
    assert np.flatnonzero(mdp.terminal).tolist() == [713, 714]
    with np.load(io.BytesIO(files.content("icu-sepsis"))) as arrays:
        P, first, expert, paid = (arrays[n] for n in ("tx_mat", "d_0", "expert_policy", "r_mat"))
    r = np.einsum("sat,sat->sa", P, paid)
    r[713:] = 0.0  # over
    best = random = doctors = np.zeros(716)
    for _ in range(20):
        best = (r + P @ best).max(axis=1)
        random = (r + P @ random).mean(axis=1)
        doctors = (expert * (r + P @ doctors)).sum(axis=1)
    assert start @ mdp.optimal_value() == pytest.approx(first @ best, abs=1e-12)
    assert [round(float(first @ v), 3) for v in (best, doctors, random)] == [0.792, 0.692, 0.685]
    np.testing.assert_allclose(icu.expert[:713], expert[:713])
    np.testing.assert_allclose(icu.expert[:713].sum(axis=1), 1.0)
    assert not icu.expert[713:].any()
    greedy = mdp.optimal_q().argmax(axis=2)
    np.testing.assert_allclose(policy_value(mdp, greedy)[0], mdp.optimal_value(), atol=1e-12)


def test_an_agent_plays_icu_sepsis(icu):
    """Rewards are 0 or 1, and every patient comes to an end or to stage 20."""
    agent = unipac.QLearning.made_for(icu.mdp)
    trace = agent.play(icu.mdp, episodes=50, seed=0)
    assert set(trace.reward.tolist()) == {0.0, 1.0}
    early = trace.level[:, -1] == 0
    assert early.any()
    assert (trace.level[:, 0] == 1).all()
    assert (early | (trace.level > 0).all(axis=1)).all()
