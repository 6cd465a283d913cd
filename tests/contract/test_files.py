"""Files: what is loaded is what was saved, whatever stands in the file; and no file is ever half written."""

import io
import json
import os
import signal
import time
import zipfile

import numpy as np
import pytest

import unipac
from helpers import crafted, registry_cases as cases
from unipac import _agents, _storage
from unipac._storage import VERSION
from unipac.features import OneHot

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.*nothing is certified:RuntimeWarning"),
]

KINDS = ("bandit", "mdp", "search")
FIRST = {kind: cases.MAKERS[kind](unipac.AGENTS[cases.names(kind)[0]])[0] for kind in KINDS}
EACH = {kind: [cases.MAKERS[kind](unipac.AGENTS[name])[0] for name in cases.names(kind)] for kind in KINDS}
ALL = [case for kind in KINDS for case in EACH[kind]]


# -- crafted files -----------------------------------------------------------------------------


def try_many(kind, first, count, folder):
    """So many crafted files; both answers, a refusal and an agent that keeps its promises, must occur."""
    trials = crafted.Trials(kind)
    accepted = sum(trials.trial(k, folder / "agent.npz")[1] for k in range(first, first + count))
    assert 0.05 * count < accepted < 0.5 * count


@pytest.mark.boundscheck
@pytest.mark.parametrize("first", [0, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_altered_files_are_refused_or_sound(kind, first, tmp_path):
    """Parts of 50 files, for each of three kinds."""
    try_many(kind, 100_000 + first, 50, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_altered_files(kind, part, tmp_path):
    try_many(kind, 1_000_000 + 1000 * part, 1000, tmp_path)


@pytest.mark.parametrize("case", [case for kind in KINDS for case in cases.all_cases(kind)], ids=str)
def test_unaltered_files_are_accepted(case, tmp_path):
    """The same writer, nothing altered: the control of the tests above."""
    for how_far in range(5) if case.label == case.cls.__name__ else (1, 4):
        agent = crafted.brought(case, how_far)
        header, arrays = crafted.contents(agent)
        (tmp_path / "a.npz").write_bytes(crafted.written(header, arrays))
        other = crafted.loaded(agent, tmp_path / "a.npz")
        crafted.check_contents(other, arrays)
        assert cases.fingerprint(other) == cases.fingerprint(agent)
        crafted.check_derived(other)


def alter(agent, /, **changes):
    """Contents of a file with some entries, named by their path, replaced."""
    header, arrays = crafted.contents(agent)
    for name, value in changes.items():
        parts = name.split("__")
        inner = header
        for part in parts[:-1]:
            inner = inner[part]
        inner[parts[-1]] = value
    return crafted.written(header, arrays)


def test_sizes_beyond_the_data_are_refused(tmp_path):
    """Once a segmentation fault: a level that is said to be in use where there is none."""
    agent = unipac.NestedOFUL(2)
    agent.play(unipac.envs.sphere(2, 3), rounds=50)
    header, arrays = crafted.contents(agent)
    for size in (10**6, 2**62, -1):
        sizes = "state.levels.size"
        altered = {**arrays, sizes: np.concatenate([arrays[sizes], [size]])}
        (tmp_path / "a.npz").write_bytes(crafted.written(header, altered))
        with pytest.raises(ValueError, match="does not hold an agent"):
            unipac.load(tmp_path / "a.npz")


@pytest.mark.parametrize("level", [0, 1, 10**6])
@pytest.mark.parametrize("case", EACH["bandit"], ids=str)
def test_the_level_of_a_decision_is_no_index_unless_checked(case, level, tmp_path):
    """An agent that is told of a level it never had refuses the file, or does not use it."""
    agent = crafted.brought(case, 3)
    header, arrays = crafted.contents(agent)
    assert header["progress"]["pending"]
    for waiting in header["progress"]["pending"]:
        waiting[2] = level
    (tmp_path / "agent.npz").write_bytes(crafted.written(header, arrays))
    try:
        other = crafted.loaded(agent, tmp_path / "agent.npz")
    except ValueError:
        return
    for decision in other.pending.values():
        other.update(decision, reward=0.25)
    other.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").stat().st_size < 4 * (tmp_path / "agent.npz").stat().st_size + 10**5
    crafted.loaded(other, tmp_path / "again.npz")


def test_a_relabelled_agent_is_not_that_agent(tmp_path):
    """A name of another class of the same kind: refused, or loaded as what it says, with what that proves."""
    for kind in KINDS:
        for case in EACH[kind]:
            agent = crafted.brought(case, 1)
            for name in unipac.AGENTS:
                if name == type(agent).__name__:
                    continue
                (tmp_path / "a.npz").write_bytes(alter(agent, agent=name))
                try:
                    other = unipac.load(tmp_path / "a.npz")
                except ValueError:
                    continue
                assert type(other).__name__ == name
                # What was seen may have refuted it; never is more certified than the parameters say.
                assert other.certified <= type(other)(**other.parameters).certified


@pytest.mark.parametrize("parameter", ["delta", "noise", "norm", "regularization"])
def test_what_is_certified_follows_the_parameters(parameter, tmp_path):
    """An altered parameter gives other radii, or a refusal; never the old radii with a new label."""
    agent = unipac.NestedOFUL(2, noise=0.5)
    agent.play(unipac.envs.sphere(2, 3, noise=0.5), rounds=50)
    (tmp_path / "a.npz").write_bytes(alter(agent, **{f"parameters__{parameter}": 0.011}))
    try:
        other = unipac.load(tmp_path / "a.npz")
    except ValueError:
        assert parameter != "delta"  # the scale of the sets behind certificates follows from the others
        return
    assert [level.radius for level in other.levels()] != [level.radius for level in agent.levels()]


def test_a_file_cannot_ask_for_more_memory_than_it_takes(tmp_path):
    agent = unipac.OFUL(2)
    (tmp_path / "a.npz").write_bytes(alter(agent, parameters__dim=40_000))
    with pytest.raises(ValueError, match="dim must be 2"):
        unipac.load(tmp_path / "a.npz")
    stored = unipac.NestedFLUTE(feature_map=OneHot(n_states=2, n_actions=2), horizon=2)
    large = {"map": "OneHot", "parameters": {"n_states": 20_000, "n_actions": 2, "start": 0}}
    (tmp_path / "a.npz").write_bytes(alter(stored, parameters__feature_map=large))
    with pytest.raises(ValueError, match="horizon and dim"):
        unipac.load(tmp_path / "a.npz")


@pytest.mark.parametrize("depth", [10, 200, 450, 900, 5_000, 100_000])
def test_nested_headers_are_refused(depth, tmp_path):
    """Objects within objects, or agents as parameters of agents, to any depth."""
    for opening, closing in (
        ("[", "]"),
        ('{"agent": "OFUL", "kind": "bandit", "parameters": {"dim": ', "}}"),
    ):
        nested = opening * depth + "1" + closing * depth
        front = '{"agent": "OFUL", "digest": "0", "format": "unipac", "version": 2, "parameters": {"dim": '
        text = front + nested + "}}"
        try:
            header = json.loads(text)
            header.pop("digest")
            text = json.dumps({**header, "digest": _storage.digest(header, {})})
        except RecursionError:
            pass
        stream = io.BytesIO()
        np.savez(stream, header=np.frombuffer(text.encode(), dtype=np.uint8))
        (tmp_path / "a.npz").write_bytes(stream.getvalue())
        with pytest.raises(ValueError, match="written by save"):
            unipac.load(tmp_path / "a.npz")


# -- files that are no files of ours -----------------------------------------------------------


@pytest.mark.parametrize("case", ALL, ids=str)
def test_damaged_files_are_refused(case, tmp_path):
    agent, path = crafted.brought(case, 1), tmp_path / "a.npz"
    agent.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in [0, 1, 10, *rng.integers(11, len(whole) - 1, 10).tolist(), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="truncated or of another kind"):
            unipac.load(path)
    for place in rng.integers(0, len(whole), 30).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            other = unipac.load(path)
        except ValueError:
            continue
        assert cases.fingerprint(other) == cases.fingerprint(agent)  # a bit of the archive that says nothing


@pytest.mark.parametrize("kind", KINDS)
def test_other_versions_digests_and_members_are_refused(kind, tmp_path):
    path = tmp_path / "a.npz"
    header, arrays = crafted.contents(crafted.brought(FIRST[kind], 1))

    def refused(content, words):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            unipac.load(path)

    for version in (1, VERSION + 1, "2", None, 2.5):
        refused(crafted.written({**header, "version": version}, arrays), "version")
    refused(crafted.written({**header, "format": "other"}, arrays), "written by save")
    refused(crafted.written(header, arrays, digest="0" * 64), "altered")
    refused(crafted.written({**header, "agent": "Nobody"}, arrays), "Nobody")
    without = {name: value for name, value in header.items() if name != "agent"}
    refused(crafted.written(without, arrays), "written by save")
    refused(b"not an archive", "truncated or of another kind")
    foreign = io.BytesIO()
    np.savez(foreign, x=np.ones(3))
    refused(foreign.getvalue(), "truncated or of another kind")
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(crafted.written(header, arrays))) as plain:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for member in plain.infolist():
                archive.writestr(member.filename, plain.read(member))
        refused(packed.getvalue(), "truncated or of another kind")
        more = io.BytesIO()
        with zipfile.ZipFile(more, "w") as archive:
            for member in plain.infolist():
                archive.writestr(member.filename, plain.read(member))
            archive.writestr("run_me.py", b"print()")
        refused(more.getvalue(), "truncated or of another kind")


def test_pickled_arrays_are_refused(tmp_path):
    header, arrays = crafted.contents(unipac.OFUL(2))
    stream = io.BytesIO(crafted.written(header, arrays))
    with zipfile.ZipFile(stream, "a") as archive:
        content = io.BytesIO()
        np.lib.format.write_array(content, np.array([print], dtype=object), version=(1, 0))
        archive.writestr("pending.more.npy", content.getvalue())
    (tmp_path / "a.npz").write_bytes(stream.getvalue())
    with pytest.raises(ValueError, match="truncated or of another kind"):
        unipac.load(tmp_path / "a.npz")


def test_there_must_be_a_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        unipac.load(tmp_path / "none.npz")
    with pytest.raises(FileNotFoundError, match="existing folder"):
        unipac.OFUL(2).save(tmp_path / "none" / "a.npz")
    for path in (None, 3, b"x"):
        with pytest.raises(ValueError, match="path must be"):
            unipac.load(path)
        with pytest.raises(ValueError, match="path must be"):
            unipac.OFUL(2).save(path)


# -- writing -----------------------------------------------------------------------------------


def test_mode_and_link_of_the_target_are_kept(tmp_path):
    agent, real, link = unipac.OFUL(2), tmp_path / "real.npz", tmp_path / "link.npz"
    agent.save(real)
    real.chmod(0o600)
    link.symlink_to(real.name)
    agent.update(agent.choose([[1.0, 0.0]]), 0.5)
    agent.save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o7777 == 0o600
    assert unipac.load(real).rounds == unipac.load(link).rounds == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.npz", "real.npz"]


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    agent, path = unipac.OFUL(2), tmp_path / "a.npz"
    agent.save(path)
    before = path.read_bytes()
    agent.update(agent.choose([[1.0, 0.0]]), 0.5)

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        agent.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]


def kill_during_saves(times, folder):
    """Kill processes that write two agents in turn; the file is always one of them, complete."""
    path = folder / "agent.npz"
    two = [unipac.OFUL(40), unipac.OFUL(40)]
    two[1].play(unipac.envs.sphere(40, 2), rounds=20)
    known = {cases.fingerprint(agent) for agent in two}
    two[0].save(path)
    rng = np.random.default_rng(1)
    left = 0
    for _ in range(times):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    for agent in two:
                        agent.save(path, replace=True)
            finally:
                os._exit(1)
        time.sleep(float(rng.uniform(0.002, 0.02)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert cases.fingerprint(unipac.load(path)) in known
        left += len([*folder.iterdir()]) > 1
    two[1].save(path, replace=True)
    assert [entry.name for entry in folder.iterdir()] == ["agent.npz"]  # what was left is gone
    return left


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_during_save_leaves_a_whole_file(tmp_path):
    kill_during_saves(20, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_five_hundred_kills(tmp_path):
    assert kill_during_saves(500, tmp_path) > 20  # so often at least it was in the middle of writing


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "a.npz"
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)  # a process that is gone
    gone = tmp_path / f".a.npz.{child}.123{_storage.UNFINISHED}"
    kept = [
        tmp_path / f".a.npz.{os.getpid()}.123{_storage.UNFINISHED}",  # of one that runs
        tmp_path / f".b.npz.{child}.123{_storage.UNFINISHED}",  # of another file
        tmp_path / f".a.npz.x.123{_storage.UNFINISHED}",
        tmp_path / "notes.unfinished",
    ]
    for file in (gone, *kept):
        file.write_text("x")
    unipac.OFUL(2).save(path)
    assert not gone.exists()
    assert all(file.exists() for file in kept)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_file_holds_no_more_than_it_says(case, tmp_path):
    """Nothing that can be derived: no radius, log-determinant or plan is written."""
    header, arrays = _agents.described(crafted.brought(case, 1))
    names = {name.rpartition(".")[2] for name, array in arrays.items() if array.size > 0}
    derived = {
        "beta",
        "logdet",
        "plan",
        "proof",
        "action",
        "certified",
        "bound",
        "lower",
        "above",
        "below",
        "w",
    }
    assert not names & derived
    assert set(header) == {"agent", "kind", "parameters", "progress", "random"}
