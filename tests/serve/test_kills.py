"""Nothing that was acknowledged is lost, whatever ends the process."""

from __future__ import annotations

import json
import signal
import time

import pytest

from helpers import programs
from helpers.serving import TABLE, Server, losses, storm
from unipac import Deployment
from unipac.serve.checking import checked

PIECES = "import unipac.serve.log as l; l.PIECE = 2000"
"""So that a kill may come between two pieces of a snapshot."""
EARLY = """
import unipac.serve.writer as w
async def on_disk(self): pass
w.Writer.on_disk = on_disk
"""
"""Answers before the commit: the control that must lose something."""
SLOW = """
import time, unipac.serve.writer as w
step = w.Writer._step
def slow(self):
    time.sleep(0.02)
    return step(self)
w.Writer._step = slow
"""


def events_of(server):
    found, after = [], ""
    while rows := _get(server, f"/v1/deployments/router/log?limit=10000{after}").splitlines():
        found += map(json.loads, rows)
        after = f"&after={found[-1]['seq']}"
    return found


def _get(server, path):
    import urllib.request

    with urllib.request.urlopen(server.address + path) as answer:
        return answer.read().decode()


def killed(tmp_path, kills, store="sqlite:log.sqlite", seed=0):
    server = Server(tmp_path, {"router": TABLE}, store, snapshot_every=400, lease=0.5, patch=PIECES)
    with server:
        told = storm(server, kills, seed)
        assert not told.wrong, told.wrong[:3]
        events = events_of(server)
        assert server.stop() == 0
    assert losses(told, events) == (0, 0, 0, 0)
    live = [line for line in server.journal() if line["event"] == "shut"][-1]
    whole = Deployment.replay(events)
    url = store if "://" in store else f"sqlite:{tmp_path}/log.sqlite"
    (found,) = checked(url, replay=True)
    assert found.digest == live["digest"]  # uninterrupted replay = what was live
    assert found.passed  # and the snapshots are what the events lead to
    if whole._seq == live["seq"]:  # windows may have ended since
        assert whole.digest() == live["digest"]
    assert len(told.decided) >= 25 * kills / 2
    return told


def test_kills(tmp_path):
    killed(tmp_path, 20)


@pytest.mark.slow
def test_many_kills(tmp_path):
    killed(tmp_path, 500, seed=1)


@pytest.mark.postgres
def test_kills_with_postgres(tmp_path, postgres):
    killed(tmp_path, 20, postgres.new("kills"))


@pytest.mark.postgres
@pytest.mark.slow
def test_many_kills_with_postgres(tmp_path, postgres):
    killed(tmp_path, 500, postgres.new("many_kills"), seed=1)


def test_control_answers_before_the_commit_lose_some(tmp_path):
    server = Server(tmp_path, {"router": TABLE}, patch=EARLY + SLOW, snapshot_every=400)
    with server:
        told = storm(server, 8)
        events = events_of(server)
    lost, changed, _, _ = losses(told, events)
    assert lost + changed + len(told.wrong) > 0


@pytest.mark.parametrize("synchronous", ["full", "normal"])
def test_answers_leave_after_the_sync(tmp_path, synchronous):
    patch = f"import unipac.serve.sqlite as s; s.Sqlite.__init__.__defaults__ = ({synchronous!r},)"
    server = Server(tmp_path, {"router": {**TABLE, "window": 3600}}, patch=patch)
    trace = tmp_path / "trace"
    strace = [
        programs.needed("strace"),
        "-D",
        "-f",
        "-qq",
        "-s",
        "64",
        "-e",
        "trace=fdatasync,fsync,sendto,write,writev",
        "-o",
        str(trace),
    ]
    with server:
        pass
    server.start(before=strace)
    try:
        router = server.client().deployment("router")
        for k in range(25):
            router.decide({"tokens": k}, ["tiny", "large"], id=f"a{k}")
    finally:
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)
    synced, late = 0, 0
    for line in trace.read_text().splitlines():
        if "fdatasync(" in line or "fsync(" in line:
            synced = 1
        elif "HTTP/1.1 201" in line:
            late += not synced
            synced = 0  # each answer asks for a sync of its own: the requests come one after the other
    assert (late == 0) == (synchronous == "full")  # normal is the control: it syncs at checkpoints alone


def test_a_commit_that_fails(tmp_path):
    """An error from the 5th commit on: no acknowledgement without it, exit 70, and a sound restart."""
    patch = """
import sqlite3, unipac.serve.sqlite as s
commit, count = s.Sqlite.commit, [0]
def failing(self, rows):
    count[0] += 1
    if count[0] >= 5:
        raise sqlite3.OperationalError("disk I/O error")
    commit(self, rows)
s.Sqlite.commit = failing
"""
    sick = Server(tmp_path, {"router": {**TABLE, "window": 3600}}, patch=patch)
    acknowledged = _until_it_ends(sick)
    assert sick.process.returncode == 70
    _sound_after(sick, tmp_path, acknowledged)


def test_a_disk_that_fails(tmp_path):
    """The kernel answers EIO to every sync from the 12th on: no acknowledgement, exit 70, and a sound restart."""
    sick = Server(tmp_path, {"router": {**TABLE, "window": 3600}})
    with sick:
        assert sick.stop() == 0
    failing = "inject=fdatasync,fsync:error=EIO:when=12+"
    strace = [
        programs.needed("strace"),
        "-D",
        "-f",
        "-qq",
        "-e",
        "trace=fdatasync,fsync",
        "-e",
        failing,
        "-o",
        f"{tmp_path}/trace",
    ]
    acknowledged = _until_it_ends(sick, strace)
    assert "EIO" in (tmp_path / "trace").read_text()
    assert 3 < len(acknowledged) < 12
    assert sick.journal()[-1]["event"] == "commit failed"
    assert sick.journal()[-1]["exit"] == sick.process.returncode == 70
    _sound_after(sick, tmp_path, acknowledged)


def test_a_full_disk(tmp_path):
    """A limit on the size of files, as a full disk is: exit 70, and a sound restart."""
    patch = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
"""
    full = Server(tmp_path, {"router": {**TABLE, "window": 3600}}, patch=patch)
    acknowledged = _until_it_ends(full)
    assert full.process.returncode == 70
    assert len(acknowledged) > 3
    _sound_after(full, tmp_path, acknowledged)


def _until_it_ends(server, before=()):
    server.start(before=before)
    router, acknowledged = server.client(patience=0.5).deployment("router"), {}
    for k in range(2000):
        try:
            decision = router.decide({"tokens": k}, ["tiny", "large"], id=f"a{k}")
        except OSError:
            break
        acknowledged[decision["id"]] = decision
    server.process.wait(20)
    return acknowledged


def _sound_after(server, tmp_path, acknowledged):
    again = Server(tmp_path, {"router": {**TABLE, "window": 3600}})
    with again:
        router = again.client().deployment("router")
        for id_, decision in acknowledged.items():
            assert router.decide({"tokens": int(id_[1:])}, ["tiny", "large"], id=id_) == decision
        assert again.stop() == 0


def test_sigterm_ends_with_0_and_a_snapshot(tmp_path):
    server = Server(tmp_path, {"router": TABLE})
    with server:
        server.client().deployment("router").decide({"tokens": 1}, ["tiny", "large"], id="a")
        time.sleep(0.4)  # its window ends
        begin = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begin < 30
    assert server.events("shut") == 1
    (found,) = checked(f"sqlite:{tmp_path}/log.sqlite", replay=True)
    assert len(found.passed) == 1


def test_a_service_that_cannot_close_windows_ends(tmp_path):
    """It must not go on as if nothing had happened: rewards would never be learned."""
    patch = """
import unipac.serve.held as h
def tick(self): raise RuntimeError("a defect")
h.Held.tick = tick
"""
    server = Server(tmp_path, {"router": TABLE}, patch=patch)
    server.start(wait=False)
    assert server.process.wait(30) == 70
    assert "a defect" in server.journal()[-1]["error"]
