"""The log of a deployment in a database: what a store must do, damage, backups, what is drawn, ids seen before."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.serving import PLAIN, TABLE, Server
from helpers.stores import conforms, record
from unipac.serve.checking import checked
from unipac.serve.database import Unreachable
from unipac.serve.log import Log
from unipac.serve.seen import FIRST, Seen
from unipac.serve.series import MOST, Series
from unipac.serve.service import Service
from unipac.serve.sqlite import Sqlite
from unipac.serve.writer import Writer

ROUTER = {**TABLE, "window": 3600}


class Alone(Log):
    """With a database and a writer of its own, which end with it."""

    def __init__(self, database):
        writer = Writer(database)
        writer.start()
        number = database.create("one", "{}").number
        database.take(number)
        super().__init__(database, writer, number)

    def shut(self):
        super().shut()
        if self._writer.is_alive():
            self._writer.end()
            self._database.give_back()
            self._database.close()


def test_sqlite_is_a_store(tmp_path):
    conforms(lambda: Alone(Sqlite(tmp_path / "log.sqlite")), indexes=False)


@pytest.mark.postgres
def test_postgres_is_a_store(postgres):
    from unipac.serve.postgres import Postgres

    url = postgres.new("conforms")

    def make():
        database = Postgres(url, "here", 60.0)
        number = database.create("one", "{}").number
        lease = database.take(number)
        if lease.epoch is None:
            database.close()
            raise ValueError("the lease must be free")
        database._all("update lease set expires = clock_timestamp() - interval '1 s' returning epoch")
        return Alone(database)

    conforms(make, indexes=False)


def keeps_large_snapshots(log, monkeypatch):
    """A snapshot of several pieces is read as it was written, whatever a crash left of another one."""
    monkeypatch.setattr("unipac.serve.log.PIECE", 10)
    database, do = log._database, log._writer.do

    def pieces():
        return sorted(bytes(body) for (body,) in database._all("select body from piece"))

    assert list(log.read(-1)) == []
    for seq in range(4):
        log.append([record(seq, "spec" if seq == 0 else "restart")])
        log.keep(b"%d" % seq * 25, log.position())
    assert list(log.snapshots()) == [(3, b"3" * 25), (2, b"2" * 25)]
    assert pieces() == [b"2" * 5, b"2" * 10, b"2" * 10, b"3" * 5, b"3" * 10, b"3" * 10]
    do(lambda: database.add_piece(log._number, b"n" * 16, 7, b"cut short"))
    assert list(log.snapshots()) == [(3, b"3" * 25), (2, b"2" * 25)]
    log.keep(b"shorter", log.position())  # at the same event: the last one counts
    assert list(log.snapshots()) == [(3, b"shorter"), (2, b"2" * 25)]
    assert pieces() == [b"2" * 5, b"2" * 10, b"2" * 10, b"shorter"]

    monkeypatch.setattr(database, "add_piece", lambda *_: None)  # as if another writer had deleted them
    with pytest.raises(Unreachable, match="gone"):
        log.keep(b"never whole", log.position())
    assert list(log.snapshots()) == [(3, b"shorter"), (2, b"2" * 25)]


@pytest.mark.parametrize("moment", ["add_piece", "keep"])
def test_a_kill_while_a_snapshot_is_written_again_leaves_the_old_one(moment, tmp_path):
    """At the same event, as at the end of a service without new events; what it covers is blanked already."""
    log = Alone(Sqlite(tmp_path / "log.sqlite"))
    assert list(log.read(-1)) == []
    log.append([record(0, "spec")])
    log.keep(b"old", log.position())

    def killed(*_):  # the only error after which the process of this test goes on
        raise Unreachable

    setattr(log._database, moment, killed)
    with pytest.raises(Unreachable):
        log.keep(b"new", log.position())
    assert list(log.snapshots()) == [(0, b"old")]
    log.shut()


def test_sqlite_keeps_snapshots_in_pieces(tmp_path, monkeypatch):
    log = Alone(Sqlite(tmp_path / "log.sqlite"))
    keeps_large_snapshots(log, monkeypatch)
    log._database._all(
        "insert into snapshot values(?, 9, ?, ?)", log._number, b"whole", b""
    )  # as older ones were
    assert next(iter(log.snapshots())) == (9, b"whole")
    log.shut()


@pytest.mark.postgres
def test_postgres_keeps_snapshots_in_pieces(postgres, monkeypatch):
    from unipac.serve.postgres import Postgres

    log = Alone(Postgres(postgres.new("pieces"), "here", 60.0))
    keeps_large_snapshots(log, monkeypatch)
    log.shut()


def test_commits_go_between_the_pieces_of_a_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr("unipac.serve.log.PIECE", 10)
    database, done = Sqlite(tmp_path / "log.sqlite"), []
    log = Alone(database)
    assert list(log.read(-1)) == []
    log.append([record(0, "spec")])
    log.sync()
    add, commit = database.add_piece, database.commit

    def added(*arguments):
        add(*arguments)
        done.append("piece")
        log.append([record(len(done), "restart")])  # a request that comes just then
        log._writer.rouse()

    def committed(rows):
        commit(rows)
        done.append("commit")

    database.add_piece, database.commit = added, committed
    log.keep(b"x" * 30, log.position())
    assert done[:5] == ["piece", "commit", "piece", "commit", "piece"]
    log.shut()


def test_the_more_decisions_wait_the_rarer_snapshots_are():
    service = SimpleNamespace(config=SimpleNamespace(snapshot_every=100))

    def due(events, pending):
        log = SimpleNamespace(position=lambda: SimpleNamespace(seq=1000 + events))
        held = SimpleNamespace(log=log, snapshot_at=1000, deployment=SimpleNamespace(pending=pending))
        return Service._is_due(service, held)

    assert [due(99, 0), due(100, 0), due(100, 100)] == [False, True, True]
    assert [due(999, 1000), due(1000, 1000)] == [False, True]


def test_no_question_reads_all_events(tmp_path):
    database, plans = Sqlite(tmp_path / "log.sqlite"), []
    ask = database._all

    def explained(sql, *values):
        if sql.startswith("select") and " event " in sql:
            plans.append(ask(f"explain query plan {sql}", *values)[0][3])
        return ask(sql, *values)

    database._all = explained
    database.of_id(1, "a")
    database.chain(1, 3)
    database.read(1, 3, 10)
    database.ids(1)
    database.close()
    assert len(plans) == 4
    assert all("=? AND " in plan for plan in plans), plans  # by more than the deployment alone


def test_offers_are_written_once_and_read_with_the_events_that_name_them(tmp_path):
    path, name = tmp_path / "log.sqlite", "ab" * 16

    def offer(seq):
        rest = b'{"seq":%d,"kind":"actions","offer":"%b","actions":2}' % (seq, name.encode())
        return record(seq, "actions")._replace(rest=rest, vectors=b"AAAA")

    def decide(seq, id_):
        rest = b'{"seq":%d,"kind":"decide","id":"%b","offer":"%b"}' % (seq, id_.encode(), name.encode())
        return record(seq, "decide", id_, 1.0)._replace(rest=rest)

    log = Alone(Sqlite(path))
    assert list(log.read(-1)) == []
    log.append([record(0, "spec")])
    log.append([offer(1), decide(1, "a")])
    log.append([offer(2), decide(2, name)])  # a decision may have the name of an offer
    log.sync()
    assert [(r.seq, r.kind) for r in log.read(-1)] == [
        (0, "spec"),
        (1, "actions"),
        (1, "decide"),
        (2, "decide"),
    ]
    assert [(r.seq, r.kind) for r in log.read(1)] == [(1, "actions"), (2, "decide")]
    log.shut()
    log = Alone(Sqlite(path))
    assert len(list(log.read(-1))) == 4
    log.append([offer(3), decide(3, "c")])  # a new process does not know that it is there
    assert log.find("c").offer.vectors == b"AAAA"
    log.shut()
    with sqlite3.connect(path) as db:
        assert db.execute("select count(*) from event where kind = 'actions'").fetchone() == (1,)
    db.close()


def test_an_event_that_was_changed_is_found(tmp_path):
    server = Server(tmp_path, {"router": ROUTER})
    with server:
        router = server.client().deployment("router")
        for k in range(5):
            router.decide({"tokens": k}, ["tiny", "large"], id=f"a{k}")
        server.kill()  # no snapshot: the events are read
    path = tmp_path / "log.sqlite"
    assert checked(f"sqlite:{path}")[0].events == 6
    with sqlite3.connect(path) as db:
        db.execute("update event set body = replace(cast(body as text), 'a3', 'b3') where seq = 4")
        db.execute("update event set body = cast(body as blob) where seq = 4")
    db.close()
    with pytest.raises(ValueError, match="event 4"):
        checked(f"sqlite:{path}")
    server.start(wait=False)
    assert server.process.wait(30) == 3
    assert server.journal()[-1]["event"] == "damaged"
    told = subprocess.run(
        [sys.executable, "-m", "unipac", "log", f"sqlite:{path}", "--verify"], capture_output=True, text=True
    )
    assert told.returncode == 2
    assert "event 4" in told.stderr


def test_a_changed_file_is_refused(tmp_path):
    with Server(tmp_path, {"plain": PLAIN}) as server:
        assert server.stop() == 0
    other = Server(tmp_path, {"plain": {"agent": {"agent": "OFUL", "dim": 3}}})
    other.start(wait=False)
    assert other.process.wait(30) == 2
    assert "plain" in other.journal()[-1]["error"]


def test_a_backup_of_a_running_service(tmp_path):
    with Server(tmp_path, {"router": ROUTER}) as server:
        router = server.client().deployment("router")
        answers = {k: router.decide({"tokens": k}, ["tiny", "large"], id=f"a{k}") for k in range(5)}
        command = [
            sys.executable,
            "-m",
            "unipac",
            "backup",
            str(server.config),
            str(tmp_path / "copy.sqlite"),
        ]
        told = subprocess.run(command, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        assert (tmp_path / "copy.sqlite").stat().st_mode & 0o777 == 0o600  # it holds contexts
        again = subprocess.run(command, capture_output=True, text=True)
        assert again.returncode == 2
        assert "exists" in again.stderr
        server.kill()
    assert checked(f"sqlite:{tmp_path}/copy.sqlite", replay=True)[0].events == 6
    with Server(tmp_path, {"router": ROUTER}, "sqlite:copy.sqlite") as restored:
        found = restored.client().deployment("router").decide({"tokens": 3}, ["tiny", "large"], id="a3")
        assert found == answers[3]


def test_commands(tmp_path):
    def unipac(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "unipac", *arguments], capture_output=True, text=True, cwd=tmp_path
        )

    told = unipac("token", "shop", "decide,reward")
    assert (told.returncode, len(told.stdout.strip())) == (0, 43)
    assert unipac("token", "shop", "fly").returncode == 2
    missing = unipac("serve", "none.toml")
    assert missing.returncode == 2
    assert json.loads(missing.stderr)["event"] == "refused"


# -- ids ---------------------------------------------------------------------------------------------------------


def test_ids_seen_before():
    ids = [f"id-{k}" for k in range(3 * FIRST)]
    read, told = Seen(ids), Seen()
    for one in ids:
        told.add(one)
    for seen in (read, told):
        assert all(one in seen for one in ids)
        strangers = sum(f"other-{k}" in seen for k in range(20_000))
        assert (
            strangers < 0.03 * 20_000
        )  # about 1 % a filter; a filter that holds all, or nothing, fails here
    assert "a" not in Seen()


# -- what is drawn -----------------------------------------------------------------------------------------------


def test_a_series_adds_up_and_goes_on_after_a_snapshot():
    rng, records = np.random.default_rng(0), [record(0, "spec")]
    for k in range(1000):
        answer = json.dumps([0.5, 0.1, 0.6, 0.4, 0.25, True, "a"])
        rest = f'{{"seq":{2 * k + 1},"kind":"decide","id":"{k}","level":{k % 2},"holdout":false,"answer":{answer}}}'
        records.append(record(2 * k + 1, "decide", str(k), float(k))._replace(rest=rest.encode()))
        records.append(record(2 * k + 2, "reward", str(k), value=float(rng.random())))
    whole = Series(windowed=False)
    for one in records:
        whole.note(one)
    first = Series(windowed=False)
    for one in records[:700]:
        first.note(one)
    second = Series(False, first.kept())
    for one in records[600:]:  # a snapshot may be older than the series beside it
        second.note(one)
    assert second.kept() == whole.kept()
    told = json.loads(whole.kept())
    assert len(told["bins"]) <= MOST
    assert sum(one["decisions"] for one in told["bins"]) == told["decisions"] == 1000
    assert sum(one["rewards"] for one in told["bins"]) == 1000
    assert sum(one["certificates"] for one in told["bins"]) == pytest.approx(250.0)
    assert whole.share_explored == 0.5
    assert told["pending"] == 0
