"""Files that are cut, flipped, forged or not there are refused; a save that fails leaves the old file."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import unipac
from helpers.traces import assert_same
from unipac import _storage as storage


@pytest.fixture
def saved(tmp_path):
    agent = unipac.BallOFUL(2, fixed_actions=[[0.6, 0.8], [1.0, 0.0]])
    for _ in range(9):
        agent.update(agent.choose(), 0.5)
    agent.choose()
    agent.save(tmp_path / "agent.npz")
    return tmp_path / "agent.npz"


def refused(path):
    with pytest.raises(ValueError, match="path must name a file") as caught:
        unipac.load(path)
    return str(path) in str(caught.value)


def test_part_of_a_file_is_refused(saved):
    data = saved.read_bytes()
    for length in [*range(64), *range(64, len(data), 53), len(data) - 1]:
        saved.write_bytes(data[:length])
        assert refused(saved)


def test_a_file_with_flipped_bytes_is_refused_or_still_the_same(saved):
    rng = np.random.default_rng(21)
    data = saved.read_bytes()
    agent = unipac.load(saved)
    for _ in range(1500):
        flipped = bytearray(data)
        flipped[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        saved.write_bytes(flipped)
        try:
            loaded = unipac.load(saved)
        except ValueError as error:
            assert "path must name a file" in str(error)  # noqa: PT017
        else:
            assert_same(loaded.bounds(), agent.bounds())


class Bomb:
    """Leaves a mark when unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def write_other(kind, path, mark):
    """A file that is not an agent."""
    if kind == "random":
        path.write_bytes(np.random.default_rng(0).bytes(5000))
    elif kind == "text":
        path.write_text('{"format": "unipac", "version": 1}')
    elif kind == "npz":
        np.savez(path, weights=np.eye(3))
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.eye(3))
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(Bomb(mark)))
    elif kind == "header with an object":
        np.savez(path, header=np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    elif kind == "array with an object":
        with np.load(path) as file:
            arrays = dict(file)
        np.savez(
            path, **arrays | {"state.levels.rows": np.array([Bomb(mark)], dtype=object)}, allow_pickle=True
        )
    elif kind == "deep header":
        np.savez(path, header=np.frombuffer(b"[" * 200_000, dtype=np.uint8))


@pytest.mark.parametrize(
    "kind",
    [
        "random",
        "text",
        "npz",
        "npy",
        "pickle",
        "header with an object",
        "array with an object",
        "deep header",
    ],
)
def test_other_files_are_refused_and_run_nothing(kind, saved):
    mark = saved.parent / "mark"
    write_other(kind, saved, mark)
    assert refused(saved)
    assert not mark.exists()


def test_the_bomb_works(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()


MISSING = "(missing)"


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["agent"], "Mallory"),
        (["agent"], "LinearAgent"),
        (["agent"], "LinUCB"),
        (["agent"], ["BallOFUL"]),
        (["agent"], MISSING),
        (["format"], "other"),
        (["version"], 1),
        (["version"], "2"),
        (["kind"], "mdp"),
        (["kind"], MISSING),
        (["parameters", "dim"], 3),
        (["parameters", "dim"], "2"),
        (["progress"], None),
        (["progress", "rounds"], -1),
        (["progress", "rounds"], 8),
        (["progress", "rounds"], 10**30),
        (["progress", "rounds"], MISSING),
        (["progress", "consistent"], "yes"),
        (["progress", "pending"], []),
        (["progress", "pending"], None),
        (["progress", "pending"], [["a", 0, 1, True]]),
        (["progress", "pending"], [[-1, 0, 1, True]]),
        (["progress", "pending"], [[9, 0, -1, True]]),
        (["progress", "pending"], [[9, -1, 1, True]]),
        (["progress", "pending"], [[9, 0, 1, "yes"]]),
        (["progress", "pending"], [[9, 0]]),
        (["random"], None),
        (["random"], {"state.ties": {}}),
        (["progress", "surplus"], -(10**6)),
        (["progress", "surplus"], 0.5),
        (["random", "state.ties"], {"bit_generator": "MT19937"}),
        (["random", "state.ties"], None),
        (["parameters"], None),
        (["parameters", "delta"], 7),
        (["parameters", "delta"], None),
        (["parameters", "radius"], "constant"),
        (["parameters", "extra"], 1),
        (["parameters", "regularization"], MISSING),
    ],
    ids=str,
)
def test_a_header_that_was_tampered_with_is_refused(keys, value, saved):
    """Also if the digest is made to fit."""
    with np.load(saved) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    assert header.pop("digest") == storage.digest(header, arrays)
    place = header
    for key in keys[:-1]:
        place = place[key]
    if value is MISSING:
        del place[keys[-1]]
    else:
        place[keys[-1]] = value
    header["digest"] = storage.digest(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(saved, **arrays)
    assert refused(saved)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        unipac.load(tmp_path / "agent")


def test_saving_into_no_directory_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="none"):
        unipac.OFUL(2).save(tmp_path / "none" / "agent")
    assert [*tmp_path.iterdir()] == []


def test_saving_over_a_directory_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        unipac.OFUL(2).save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("step", ["numpy.lib.format.write_array", "os.fsync", "os.replace"])
def test_an_interrupted_save_leaves_the_old_file(step, saved, monkeypatch):
    before = saved.read_bytes()

    def interrupt(file, *arguments, **named):
        if hasattr(file, "write"):
            file.write(b"PK half a file")
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        unipac.OFUL(2).save(saved, replace=True)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [*saved.parent.iterdir()] == [saved]


@pytest.mark.parametrize("name", ["a" * 251 + ".npz", "é" * 125 + ".npz", "b" * 150, "b" * 151])
def test_names_as_long_as_the_file_system_takes(name, tmp_path):
    """A file is written under another name at first, which must not be longer than 255 bytes."""
    agent, path = unipac.OFUL(2), tmp_path / name
    agent.save(path)
    agent.update(agent.choose([[1.0, 0.0]]), 0.5)
    agent.save(path)
    assert unipac.load(path).rounds == 1
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["short.npz", "a" * 251 + ".npz"])
def test_leftovers_of_a_process_that_is_gone_are_removed(name, tmp_path, monkeypatch):
    monkeypatch.setattr(
        storage.os, "replace", lambda *_: None
    )  # as if it had been killed before the last step
    monkeypatch.setattr(storage.os, "getpid", lambda: 2**22 + 1)  # no process has this number
    storage.write_atomically(tmp_path / name, b"begun")
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.undo()
    unipac.OFUL(2).save(tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_an_interrupt_stays_one(tmp_path, monkeypatch):
    """An archive that is interrupted in the middle of a member raises that it cannot be closed; not to the user."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("zipfile._ZipWriteFile.write", interrupt)
    monkeypatch.setattr("zipfile._ZipWriteFile.close", interrupt)  # the second in a row
    with pytest.raises(KeyboardInterrupt):
        unipac.OFUL(2).save(tmp_path / "a.npz")
    assert [*tmp_path.iterdir()] == []
