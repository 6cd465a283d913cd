"""The log on disk: what returned is there, whatever fails; what does not fit is refused with its place."""

import contextlib
import copy
import errno
import os
import pickle
import resource
import shutil
import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import unipac
from helpers import deployment_machine as machine, programs, stores
from helpers.interrupts import interrupt, moments
from unipac import _storage
from unipac.deployment import Closed, Conflict, LogClosed, entries, folder, reading
from unipac.deployment.folder import Folder

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])


def deployed(place, clock=None, **more):
    settings = {"window": 4.0, "default": 0.25, "holdout": 0.2, "sync": "never", **more}
    return unipac.Deployment(unipac.OFUL(2, noise=0.5), log=place, clock=clock or machine.Clock(), **settings)


def lived(place, rounds=60, **more):
    """A deployment with everything in its log, and a clock."""
    clock = machine.Clock()
    d = deployed(place, clock, **more)
    d.watch("set", X, 0.5)
    for k in range(rounds):
        clock.now += 0.25
        d.decide({"k": k}, X[: 2 + k % 2], id=f"r{k}")
        if k % 17 == 3:
            d.forget(f"r{k}")
        elif k % 5:
            d.reward(f"r{k}", 0.125 * (k % 3))
    return d, clock


def opened(place, **more):
    return unipac.Deployment.open(place, clock=machine.Clock(), sync="never", **more)


def test_files_conform(tmp_path):
    stores.conforms(lambda: Folder(tmp_path / "log", "never"))


def test_small_segments_conform(tmp_path):
    stores.conforms(lambda: Folder(tmp_path / "log", "never", segment_size=200))


def test_a_log_is_begun_once(tmp_path):
    place = tmp_path / "log"
    d, _ = lived(place, 5)
    with pytest.raises(ValueError, match="nobody else writes"):
        opened(place)
    d.shut()
    with pytest.raises(ValueError, match=r"log must be new, got .* Deployment\.open"):
        deployed(place)
    with pytest.raises(LogClosed, match="was shut"):
        d.decide(None, X, id="late")
    with pytest.raises(FileNotFoundError, match="folder with a log"):
        opened(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="sync must be"):
        deployed(tmp_path / "other", sync="sometimes")
    with pytest.raises(ValueError, match="log must be a folder or a store"):
        deployed(3)
    with pytest.raises(ValueError, match="log must be given"):
        unipac.Deployment(unipac.OFUL(2)).checkpoint()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty one"):
        opened(tmp_path / "empty")
    deployed(tmp_path / "empty").shut()  # where nothing was, one may begin


def test_copies_and_forks(tmp_path):
    d, _ = lived(tmp_path / "log", 5)
    for how in (copy.copy, copy.deepcopy, pickle.dumps, lambda d: d.save(tmp_path / "d.npz")):
        with pytest.raises(ValueError, match="copied as its folder"):
            how(d)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            d.decide(None, X, id="mine")
        except LogClosed as error:
            code = 0 if "fork" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    d.decide(None, X, id="mine")
    d.shut()
    assert opened(tmp_path / "log").digest()


def test_closed_ids_are_found_again(tmp_path, monkeypatch):
    """After many more, and in another process: decisions, rewards, conflicts."""
    monkeypatch.setattr(folder, "INDEXED", 7)
    d, clock = lived(tmp_path / "log")
    d._store.segment_size = 2000
    memory = unipac.Deployment.replay(d.events(), clock=machine.Clock())
    clock.now += 50.0
    for one in (d, memory):
        one._uptime.clock.now += 50.0
        one.close()
    assert len(d._store.closing) < 60
    d.checkpoint()
    d.shut()
    (tmp_path / "log" / "index.sqlite").unlink()
    for again in range(2):  # the index is made anew, then there
        d = opened(tmp_path / "log")
        for k in range(60):
            mine, known = (
                d.decide(None, X[: 2 + k % 2], id=f"r{k}"),
                memory.decide(None, X[: 2 + k % 2], id=f"r{k}"),
            )
            assert mine.to_dict() == known.to_dict()
            with pytest.raises(Conflict):
                d.decide(None, X[:1], id=f"r{k}")
            value = 0.125 * (k % 3) if k % 5 and k % 17 != 3 else None
            if value is None:
                with pytest.raises(Closed):
                    d.reward(f"r{k}", 0.0)
            else:
                assert d.reward(f"r{k}", value) is False
                with pytest.raises(Conflict):
                    d.reward(f"r{k}", 7.0)
        d.shut()
        assert again in (0, 1)


# -- interrupts ------------------------------------------------------------------------------------


CALLS = {
    "decide": (1.0, lambda d: d.decide({"a": [1]}, X, id="new")),
    "windows": (9.0, lambda d: d.decide(None, X, id="new")),
    "again": (9.0, lambda d: d.decide(None, X, id=1)),
    "reward": (1.0, lambda d: d.reward(2, 0.5)),
    "close": (9.0, lambda d: d.close()),
    "restart": (1.0, lambda d: d.restart()),
    "watch": (1.0, lambda d: d.watch("new", X, 1.9)),
    "checkpoint": (1.0, lambda d: d.checkpoint()),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("part", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_every_moment(part, tmp_path):
    """At every moment of a call, or one in ``part``: what memory says then is what ``open`` makes of the log."""
    clock, tried, after_all = machine.Clock(), 0, 0
    made = deployed(tmp_path / "first", clock)
    for k in range(4):
        clock.now = 0.25 * k
        made.decide(None, X, id=k)
    made.shut()

    def begun():
        shutil.rmtree(tmp_path / "log", ignore_errors=True)
        shutil.copytree(tmp_path / "first", tmp_path / "log")
        clock.now = 0.75
        return unipac.Deployment.open(tmp_path / "log", clock=clock, sync="never")

    for name, (at, call) in CALLS.items():
        d = begun()
        before, clock.now = d.digest(), at
        count = moments(partial(call, d))
        d.shut()
        d = begun()
        clock.now = at
        call(d)
        states = [before, d.digest()]
        between = unipac.Deployment.replay(d.events()[:5], clock=machine.Clock())
        for event in d.events(4):
            between.apply(event)
            states.append(between.digest())
        d.shut()
        for moment in range(1 + len(name) % part, count + 1, part):
            d = begun()
            clock.now = at
            if interrupt(partial(call, d), moment) is not None:
                tried += 1
            found = d.digest()
            assert found in states, (name, moment)
            after_all += found == states[1] != before
            d.decide(None, X, id="one more")  # nothing is wedged
            found = d.digest()
            d.shut()
            again = opened(tmp_path / "log")
            assert again.digest() == found, (name, moment)
            again.shut()
    print(f"{tried} interrupts, {after_all} after all")
    assert tried > 400 / part
    assert after_all > 0


# -- what fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["full", "short", "short and stuck"])
def test_a_failed_write_changes_nothing(how, tmp_path, monkeypatch):
    d, clock = lived(tmp_path / "log", 20)
    size = (tmp_path / "log" / "000000000000.log").stat().st_size
    before, pwrite, ftruncate = d.digest(), os.pwrite, os.ftruncate

    def write(file, data, offset):
        if how != "full" and len(data) > 10:
            return pwrite(file, data[: len(data) // 2], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    def stuck(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pwrite", write)
    if how == "short and stuck":
        monkeypatch.setattr(os, "ftruncate", stuck)
    calls = (lambda: d.decide(None, X, id="new"), lambda: d.reward("r15", 0.5), lambda: d.forget("r18"),
             d.restart, lambda: d.watch("new", X, 0.5), lambda: d.absorb(X[:1], [0.5]))  # fmt: skip
    for call in calls:
        with pytest.raises(OSError, match=r"could not be written, and nothing has changed \(No space"):
            call()
        assert snapshot(d) == before
    if how != "short and stuck":
        assert (tmp_path / "log" / "000000000000.log").stat().st_size == size
    monkeypatch.setattr(os, "pwrite", pwrite)
    monkeypatch.setattr(os, "ftruncate", ftruncate)
    d.decide(None, X, id="new")  # there is room again
    d.reward("new", 0.5)
    after = d.digest()
    d.shut()
    d = opened(tmp_path / "log")
    assert d.digest() == after
    assert clock.now == 5.0


@pytest.mark.parametrize("what", ["digest", "checkpoint"])
def test_others_decide_while_a_deployment_is_described(what, tmp_path, monkeypatch):
    """Between two slices of the decisions that wait, another thread decides; what is described is the state before."""
    d, _ = lived(tmp_path / "log", window=None, default=None)
    alone = d.digest()
    decided = []

    def breath(seconds):
        other = threading.Thread(target=d.decide, args=({}, X, f"other {len(decided)}"))
        other.start()
        other.join(20)
        decided.append(not other.is_alive())

    monkeypatch.setattr(entries, "SLICE", 2)
    monkeypatch.setattr(entries.time, "sleep", breath)
    found = getattr(d, what)()
    monkeypatch.undo()
    assert len(decided) > 3
    assert all(decided)
    assert found in (alone, None)
    assert d.digest() != alone
    now = d.digest()
    d.shut()
    assert opened(tmp_path / "log").digest() == now


def snapshot(d):
    """The digest, although nothing can be written."""
    from unipac.deployment import snapshots

    return snapshots.digest(snapshots.Snapshot.of(d))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("what", ["full", "read-only"])
def test_a_full_disk(what, tmp_path):
    """By the limit of the system on the size of files, and by a file that cannot be written, in a child."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            d, _ = lived(tmp_path / "log", 3)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            size = (tmp_path / "log" / "000000000000.log").stat().st_size
            if what == "full":
                resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, resource.RLIM_INFINITY))
            else:
                file = os.open(tmp_path / "log" / "000000000000.log", os.O_RDONLY)
                os.dup2(file, d._store._file)
            done, failed = 0, 0
            for k in range(20):
                before = snapshot(d)
                try:
                    d.decide(None, X, id=f"more {k}")
                    done += 1
                except OSError:
                    failed += snapshot(d) == before
            code = 0 if done + failed == 20 and failed > 10 and (done > 0) == (what == "full") else 2
            if code == 0 and what == "full":
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
                d.decide(None, X, id="room")
                digest = d.digest()
                d.shut()
                code = 0 if opened(tmp_path / "log").digest() == digest else 4
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("sync", ["always", "second"])
def test_a_disk_that_does_not_confirm(sync, tmp_path, monkeypatch):
    d, _ = lived(tmp_path / "log", 20, sync=sync)
    fdatasync = os.fdatasync

    def broken(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", broken)
    if sync == "always":
        with pytest.raises(OSError, match=r"the log is closed, and Deployment\.open reads it"):
            d.decide(None, X, id="new")
    else:
        d.decide(None, X, id="new")
        end = time.monotonic() + 10.0
        while not d._store._why and time.monotonic() < end:
            time.sleep(0.05)
    for call in (lambda: d.decide(None, X, id="newer"), lambda: d.reward("r15", 0.5), d.checkpoint):
        with pytest.raises(LogClosed, match="did not confirm"):
            call()
    monkeypatch.setattr(os, "fdatasync", fdatasync)
    with contextlib.suppress(LogClosed):
        d.shut()
    d._store.shut()
    again = opened(tmp_path / "log")
    assert again.pending > 0
    assert again.decide(None, X, id="new").seq > 0  # it may be there already, which is no harm


# -- damage ------------------------------------------------------------------------------------------


def states_of(events):
    """The digest after each event."""
    d = unipac.Deployment.replay(events[:1])
    found = [d.digest()]
    for event in events[1:]:
        d.apply(event)
        found.append(d.digest())
    return found


@pytest.mark.filterwarnings("ignore:log .* was cut:RuntimeWarning", "ignore:log. the snapshot:RuntimeWarning")
@pytest.mark.parametrize("offsets", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_cut_and_flipped_bytes(offsets, tmp_path):
    """A prefix, or a refusal that names the place; never another state."""
    d, _ = lived(tmp_path / "log", 40)
    d._store.segment_size = 3000
    for k in range(30):
        d.decide({"more": k}, X, id=f"more {k}")
    right, states = d.digest(), states_of(d.events())
    d.shut()
    assert right == states[-1]
    names = sorted(path.name for path in (tmp_path / "log").glob("*.log"))
    assert len(names) > 2
    content = {name: (tmp_path / "log" / name).read_bytes() for name in names}
    sizes = np.array([len(content[name]) for name in names])
    rng, prefixes, refused = np.random.default_rng(2), 0, 0
    for _ in range(offsets):
        at = int(rng.integers(sizes.sum()))
        which = int(np.searchsorted(np.cumsum(sizes), at, side="right"))
        offset = at - int(sizes[:which].sum())
        damaged = bytearray(content[names[which]])
        if rng.random() < 0.5:
            damaged[offset] ^= 1 << int(rng.integers(8))
        else:
            del damaged[offset:]
        path = tmp_path / "log" / names[which]
        path.write_bytes(bytes(damaged))
        words = ""
        try:
            again = opened(tmp_path / "log")
        except ValueError as error:
            words = str(error)
        if words:
            assert names[which][:12] in words or f"{which + 1:012}" in words, words
            refused += 1
        else:
            assert again.digest() in states
            prefixes += 1
            again.shut()
        path.write_bytes(content[names[which]])
    print(f"{prefixes} prefixes, {refused} refused")
    assert refused > offsets / 3
    assert opened(tmp_path / "log").digest() == right


def test_a_damaged_snapshot(tmp_path):
    d, _ = lived(tmp_path / "log", 20)
    d.checkpoint()
    d.decide(None, X, id="more")
    d.checkpoint()
    d.decide(None, X, id="even more")
    right = d.digest()
    d.shut()
    newest, older = sorted((tmp_path / "log").glob("snapshot-*"), reverse=True)
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(bytes(content))
    with pytest.warns(RuntimeWarning, match="snapshot at event .* is left out"):
        d = opened(tmp_path / "log")
    assert d.digest() == right
    d.shut()
    older.unlink()
    newest.unlink()
    assert opened(tmp_path / "log").digest() == right


def test_a_snapshot_of_an_older_version(tmp_path, monkeypatch, recwarn):
    """Version 4 knew no rewards_within: its snapshots are read, as a log that was trimmed has nothing else."""
    d, _ = lived(tmp_path / "log", 20)
    d.checkpoint()
    right = d.digest()
    d.shut()
    (snapshot,) = (tmp_path / "log").glob("snapshot-*")
    header, arrays, _ = _storage.read_all(snapshot)
    assert header["agent"]["parameters"].pop("rewards_within") is None
    header.pop("digest", None)
    monkeypatch.setattr(_storage, "VERSION", 4)
    snapshot.write_bytes(_storage.content({k: v for k, v in header.items() if k != "version"}, arrays))
    monkeypatch.undo()
    assert _storage.read_all(snapshot)[0]["version"] == 4
    assert reading.replayed(tmp_path / "log")[1] == [d._seq]  # the events lead to it
    again = opened(tmp_path / "log")
    assert again.digest() == right
    assert not [one for one in recwarn if "snapshot" in str(one.message)]


# -- personal data -------------------------------------------------------------------------------------


def test_trim(tmp_path):
    clock = machine.Clock()
    d = deployed(tmp_path / "log", clock)
    offers = [X[:2] * (1.0 - k / 1000) for k in range(40)]
    for k, offer in enumerate(offers):
        clock.now += 0.25
        d.decide({"k": k}, offer, id=f"r{k}")
    assert d.trim(time.time() + 1.0) == 40  # contexts
    assert unipac.Deployment.replay(d.events()).digest() == d.digest()
    d.checkpoint()
    assert d.trim(time.time() + 1.0) == 40  # vectors, too
    right, events = d.digest(), d.events()
    assert not any(event["context"] for event in events if event["kind"] == "decide")
    text = b"".join(path.read_bytes() for path in (tmp_path / "log").glob("*.log"))
    assert b'{"k":' not in text
    with pytest.raises(ValueError, match="were blanked"):
        unipac.Deployment.replay(events)
    clock.now += 50.0
    d.close()
    assert np.isnan(d.decide(None, offers[0], id="r0").action).all()
    right = d.digest()
    d.shut()
    d = opened(tmp_path / "log", retention=1e9)
    assert d.digest() == right
    d.checkpoint()
    d.shut()
    for path in (tmp_path / "log").glob("snapshot-*"):
        path.unlink()
    with pytest.raises(ValueError, match="from its last snapshot on"):
        opened(tmp_path / "log")


def test_a_snapshot_whose_log_was_trimmed(tmp_path):
    """Blanking moves records: the snapshot is found again, and what waited at its time as well."""
    clock = machine.Clock()
    d = deployed(tmp_path / "log", clock, window=20.0)
    offers = [X[:2] * (1.0 - k / 1000) for k in range(60)]
    for k, offer in enumerate(offers):
        clock.now += 0.25
        d.decide({"text": "x" * (k % 50)}, offer, id=f"r{k}")
        if k in (20, 40):
            d.checkpoint()
    assert d.trim(time.time() + 1.0) == 60
    right = d.digest()
    d.shut()
    d = opened(tmp_path / "log")
    assert d.digest() == right
    d._uptime.clock.now += 100.0
    d.close()
    for k, offer in enumerate(offers):
        assert d.decide(None, offer, id=f"r{k}").seq == k + 1
    d.checkpoint()
    d.shut()
    assert opened(tmp_path / "log").pending == 0


def test_a_catalogue_is_written_once(tmp_path):
    """34 items in 54 dimensions: at most 1 kB a decision with its reward."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((34, 54))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    offered = unipac.features.Actions(items, [f"item {k}" for k in range(34)])
    place, clock = tmp_path / "log", machine.Clock()
    d = unipac.Deployment(unipac.OFUL(54, noise=0.5), log=place, clock=clock, window=10.0, drift=0.0)
    d._store.segment_size = 150_000
    for k in range(400):
        clock.now += 1.0
        d.decide({"user": k, "hour": k % 24}, offered, id=f"visit {k}")
        d.reward(f"visit {k}", 0.5)
        if k == 50:
            d.checkpoint()
    right, events = d.digest(), d.events()
    d.shut()
    size = sum(path.stat().st_size for path in place.glob("*.log")) / 400
    assert len(list(place.glob("*.log"))) > 1
    print(f"{size:.0f} bytes a decision")
    assert size < 1000
    assert len(events[5]["vectors"]) == 34
    again = opened(place)
    assert again.digest() == right == unipac.Deployment.replay(events).digest()
    assert again.decide(None, offered, id="visit 120").action.shape == (54,)


def test_items_are_written_once(tmp_path):
    """The same with features of 34 items and of a context; the vectors are told by both."""
    from unipac.features import Columns, Interactions

    phi = Interactions(
        Columns(ranges={f"c{k}": (0, 1) for k in range(5)}, missing="error"),
        Columns(ranges={f"i{k}": (0, 1) for k in range(8)}, missing="error"),
    )
    rng = np.random.default_rng(1)
    items = {f"item {k}": {f"i{j}": float(rng.random()) for j in range(8)} for k in range(34)}
    place, contexts = tmp_path / "log", rng.random((300, 5)).round(3)
    d = unipac.Deployment(unipac.OFUL(phi.dim, noise=0.5), phi, log=place, drift=0.0)
    assert phi.dim == 54
    for k, row in enumerate(contexts):
        d.decide({f"c{j}": float(value) for j, value in enumerate(row)}, items, id=k, exclude=["item 3"])
        d.reward(k, 0.5)
    size, events = (place / "000000000000.log").stat().st_size / 300, d.events()
    print(f"{size:.0f} bytes a decision")
    assert events[1]["vectors"] is None
    assert [len(events[1][name]) for name in ("actions", "items")] == [33, 33]
    assert size < 1250
    log = unipac.logs.read(place)
    memory = unipac.Deployment.replay(events)
    assert memory.digest() == d.digest()
    np.testing.assert_array_equal(log.actions[7], events[15]["x"])
    assert (
        d.decide({f"c{j}": float(v) for j, v in enumerate(contexts[9])}, items, id=9, exclude=["item 3"]).id
        == 9
    )


def test_an_agent_that_had_learned(tmp_path):
    start = unipac.OFUL(2, noise=0.5)
    start.absorb(X, [0.5, 0.25, 0.0])
    d = unipac.Deployment(start, log=tmp_path / "log", clock=machine.Clock())
    d.decide(None, X, id=1)
    d.reward(1, 0.5)
    right = d.digest()
    d.shut()
    assert opened(tmp_path / "log").digest() == right


# -- kill -9 -------------------------------------------------------------------------------------------

CHILD = """
import os, sys
sys.path.insert(0, sys.argv[3])
import numpy as np, unipac
from unipac.deployment import logged
X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
place, early = sys.argv[1], sys.argv[2] == "early"
d = unipac.Deployment.open(place, sync="always")
n = int(sys.argv[4])
if early:  # the control: events are written long after the answer
    append, held = d._store.append, []
    def late(records):
        held.extend(records)
        if len(held) > 40:
            append(held[:]), held.clear()
    d._store.append = late
    d._store.ready = lambda: None
for k in range(10**9):
    decision = d.decide({"k": k}, X, id=f"{n}-{k}")
    os.write(1, f"d {n}-{k} {decision.index} {decision.seq}\\n".encode())
    if k % 3:
        try:
            d.reward(f"{n}-{k}", 0.125 * (k % 5))
        except unipac.deployment.Closed:  # its window had ended
            continue
        os.write(1, f"r {n}-{k} {0.125 * (k % 5)}\\n".encode())
    if k % 50 == 49 and not early:
        d.checkpoint()
"""


def killed(times, place, early, seed=0):
    """(acknowledged, lost or changed, doubled) after so many kills at random moments."""
    import subprocess

    rng = np.random.default_rng(seed)
    deployed(place, window=0.2, clock=time.monotonic).shut()
    told, lost, doubled = [], 0, 0
    source = os.path.dirname(os.path.dirname(unipac.__file__))
    for n in range(times):
        command = [sys.executable, "-c", CHILD, str(place), "early" if early else "durable", source, str(n)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            heard = process.stdout.readline()  # it has begun
            time.sleep(float(rng.uniform(0.0, 0.25)))
            process.kill()
            heard += process.stdout.read()
        told += [line.split() for line in heard.decode().splitlines(keepends=True) if line.endswith("\n")]
    d = opened(place)
    events = d.events()
    d.shut()
    decided = {e["id"]: (e["index"], e["seq"]) for e in events if e["kind"] == "decide"}
    rewarded = {e["id"]: e["value"] for e in events if e["kind"] == "reward"}
    doubled = sum(e["kind"] in ("decide", "reward") for e in events) - len(decided) - len(rewarded)
    for line in told:
        if line[0] == "d":
            lost += decided.get(line[1]) != (int(line[2]), int(line[3]))
        else:
            lost += rewarded.get(line[1]) != float(line[2])
    return len(told), lost, doubled


@pytest.mark.filterwarnings("ignore:log .* was cut:RuntimeWarning")
@pytest.mark.parametrize("times", [3, pytest.param(500, marks=pytest.mark.slow)])
def test_kill(times, tmp_path):
    """Nothing that returned is lost, changed or doubled."""
    told, lost, doubled = killed(times, tmp_path / "log", early=False)
    print(f"{times} kills, {told} acknowledged, {lost} lost or changed, {doubled} doubled")
    assert (lost, doubled) == (0, 0)
    assert told > 5 * times


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:log .* was cut:RuntimeWarning")
def test_kill_notices_answers_before_the_write(tmp_path):
    """Negative control."""
    told, lost, _ = killed(5, tmp_path / "log", early=True)
    print(f"control: {told} acknowledged, {lost} lost")
    assert lost > 0


# -- the log alone -------------------------------------------------------------------------------------


def test_the_command(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from unipac.cli.app import app

    monkeypatch.chdir(tmp_path)
    d, clock = lived("router", 30)
    d.checkpoint()
    clock.now += 50.0
    d.close()
    digest = d.digest()

    def said(*words):
        found = CliRunner().invoke(app, ["log", *words])
        return found.exit_code, found.output

    code, text = said("router")  # while it is written
    assert code == 0
    assert "30 decide" in text
    assert "OFUL, window 4.0" in text
    assert "are whole" in said("router", "--verify")[1]
    code, text = said("router", "--replay")
    assert digest in text.replace("\n", "")
    assert "snapshots at" in text
    assert said("router", "--export", "parquet")[0] == 0
    log = unipac.logs.read("router")
    assert len(unipac.logs.read("router.parquet")) == len(log) == sum(k % 17 != 3 for k in range(30))
    d.shut()
    path = tmp_path / "router" / "000000000000.log"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    for words in (("router",), ("router", "--replay"), ("nowhere",)):
        code, text = said(*words)
        assert code == 2
        assert "must be" in text
    with pytest.raises(ValueError, match="byte"):
        unipac.logs.read("router")


BROKEN = """
import os, sys
import numpy as np, unipac
X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
d = unipac.Deployment(unipac.OFUL(2, noise=0.5), log=sys.argv[1], sync="always")
for k in range(100):
    try:
        decision = d.decide(None, X, id=k)
        os.write(1, f"d {k} {decision.index}\\n".encode())
    except unipac.deployment.LogClosed:
        os.write(1, b"refused\\n")
    except OSError as error:
        os.write(1, f"failed {error.errno}\\n".encode())
"""


@pytest.mark.slow
@pytest.mark.parametrize("calls", ["fdatasync", "pwrite64"])
def test_input_output_errors(calls, tmp_path):
    """EIO from the 22nd call on, by strace: what was acknowledged is there, at most one event more."""
    import subprocess

    command = [programs.needed("strace"), "-f", "-o", "/dev/null", "-e", f"trace={calls}",
               "-e", f"inject={calls}:error=EIO:when=22+", sys.executable, "-c", BROKEN]  # fmt: skip
    source = os.path.dirname(os.path.dirname(unipac.__file__))
    told = subprocess.run(
        [*command, str(tmp_path / "log")],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    words = told.stdout.split("\n")[:-1]
    if not words:
        pytest.skip(f"strace may not trace here: {told.stderr[-200:]}")
    known = [line.split()[1:] for line in words if line.startswith("d ")]
    print(f"{len(known)} acknowledged, {words.count('failed 5')} failed, {words.count('refused')} refused")
    assert 0 < len(known) <= 22
    assert words.count("failed 5") == (1 if calls == "fdatasync" else 100 - len(known))
    assert words.count("refused") == (100 - len(known) - 1 if calls == "fdatasync" else 0)
    d = opened(tmp_path / "log")
    decided = [[str(e["id"]), str(e["index"])] for e in d.events() if e["kind"] == "decide"]
    assert decided[: len(known)] == known
    assert len(decided) <= len(known) + 1


@pytest.mark.parametrize("misspecification", [0.0, 0.1])
def test_a_snapshot_has_the_rewards_that_wait(misspecification, tmp_path):
    """A decision under ζ > 0 has one more number in its row; once that displaced its reward."""
    clock = machine.Clock()
    agent = unipac.OFUL(2, noise=0.5, misspecification=misspecification)
    d = unipac.Deployment(agent, window=10.0, log=tmp_path / "log", clock=clock)
    for k in range(3):
        d.decide(None, X, id=k)
    d.reward(1, 0.75)
    d.checkpoint()
    before = d.digest()
    d.shut()
    again = opened(tmp_path / "log")
    assert [entry.value for entry in again._entries.values()] == [None, 0.75, None]
    assert again.digest() == before
    again.shut()
