"""Requests and failures at the edges: each has its status, the process goes on or ends as the guide says."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import tempfile
import threading
import time

import pytest

from helpers.serving import PLAIN, ROUTER, Server, running
from unipac.deployment import lines
from unipac.serve import app, service as service_
from unipac.serve.checking import checked
from unipac.serve.database import Unreachable

DECISIONS = "/v1/deployments/router/decisions"
CONTEXT = {"tokens": 812}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with running(tmp_path_factory.mktemp("edges"), {"router": ROUTER, "plain": PLAIN}) as found:
        yield found


def decide(client, id_, context=CONTEXT, actions=("small", "large")):
    return client.post(DECISIONS, json={"id": id_, "context": context, "actions": list(actions)})


# -- requests ------------------------------------------------------------------------------------------------


def deep(levels):
    return '{"id":"deep","context":{"tokens":' + "[" * levels + "1" + "]" * levels + '},"actions":["small"]}'


def test_json_that_is_nested_too_deeply(client):
    headers = {"content-type": "application/json"}
    for path, text in (
        (DECISIONS, deep(5000)),
        ("/v1/deployments/new", '{"agent":' * 3000 + "1" + "}" * 3000),
    ):
        found = client.request("POST" if path == DECISIONS else "PUT", path, content=text, headers=headers)
        assert (found.status_code, found.json()["title"]) == (400, "not JSON")
    good = '{"id":"good","context":{"tokens":1},"actions":["small"]}'
    batch = f'[{{"decide":{deep(985)}}},{{"decide":{good}}}]'
    found = client.post("/v1/deployments/router/batch", content=batch, headers=headers)
    assert found.status_code in (200, 400)
    if found.status_code == 200:
        assert [one["status"] for one in found.json()] in ([400, 201], [422, 201])


def test_items_of_a_batch_are_wrong_one_by_one(client):
    good = {"decide": {"id": "item", "context": CONTEXT, "actions": ["small"]}}
    items = [{"foo": 1}, 3, None, good, {"reward": {"id": "item"}}, {**good, "more": 1}]
    found = client.post("/v1/deployments/router/batch", json=items)
    assert [one["status"] for one in found.json()] == [422, 422, 422, 201, 422, 422]
    for wrong in ({}, "text", [{}] * 1001):
        assert client.post("/v1/deployments/router/batch", json=wrong).status_code == 422
    twice = b'[{"foo": 1}, {"decide": {"id": "x", "id": "y"}}]'
    headers = {"content-type": "application/json"}
    assert client.post("/v1/deployments/router/batch", content=twice, headers=headers).status_code == 400


def test_paths(client):
    decide(client, "nl")
    for path in ("decisions/nl%0A", "watches/w%0A", "decisions%0A"):
        assert client.delete(f"/v1/deployments/router/{path}").status_code in (404, 405)
    assert decide(client, "nl").status_code == 200
    found = client.get("/v1/deployments/", follow_redirects=False)
    assert (found.status_code, "location" in found.headers) == (404, False)
    assert client.get(f"/ui/{'x' * 300}").status_code == 404
    assert client.get("/ui", headers={"range": "x"}).status_code == 200
    found = client.patch("/healthz")
    assert found.status_code == 405
    assert "GET" in found.headers["allow"]


def test_other_sites_may_not_ask_where_there_are_no_tokens(client):
    path = "/v1/deployments/plain/restart"
    for origin, status in (("http://evil.example", 403), ("null", 403), ("http://localhost:3000", 403)):
        assert client.post(path, headers={"origin": origin}).status_code == status
    seq = client.get("/v1/deployments/plain").json()["seq"]
    assert seq == 0  # nothing has begun again
    assert client.post(path, headers={"origin": "http://localhost"}).status_code == 200


def test_events_after_the_first_one(client):
    decide(client, "events")
    path = "/v1/deployments/router/log"
    whole = client.get(path).text.splitlines()
    assert client.get(path, params={"after": 0}).text.splitlines() == whole[1:]
    found, after = client.get(path, params={"limit": 1}).text.splitlines(), 0
    while lines := client.get(path, params={"limit": 1, "after": after}).text.splitlines():
        found += lines
        after = json.loads(lines[-1])["seq"]
    assert found == whole


def test_an_answer_with_events_is_not_larger_than_memory(client, monkeypatch):
    for k in range(6):
        decide(client, f"large{k}")
    monkeypatch.setattr("unipac.serve.held.LARGEST_ANSWER", 600)
    path, found, after = "/v1/deployments/router/log", [], ""
    while lines := client.get(path + after).text.splitlines():
        assert len(lines) < 5
        found += [json.loads(line)["seq"] for line in lines]
        after = f"?after={found[-1]}"
    assert found == list(range(len(found)))


def test_numbers_whose_quotients_would_be_infinite(client):
    for name in ("norm", "noise"):
        table = {"agent": {"agent": "OFUL", "dim": 2, name: 1e-300}}
        found = client.put("/v1/deployments/tiny", json=table)
        assert (found.status_code, name in found.json()["detail"]) == (422, True)


def test_a_database_that_is_away_is_503(client, monkeypatch):
    decide(client, "away")
    client.post("/v1/deployments/router/rewards", json={"id": "away", "value": 0.5})
    client.delete(f"{DECISIONS}/away")

    def away(*_):
        raise Unreachable("gone")

    log = client.service.held["router"].log
    log._recent.clear()
    monkeypatch.setattr(client.service.database, "of_id", away)
    monkeypatch.setattr(client.service.database, "read", away)
    decide(client, "kept")
    client.delete(f"{DECISIONS}/kept")
    item = {"decide": {"id": "kept", "context": CONTEXT, "actions": ["small", "large"]}}
    log._recent.clear()
    found = client.post("/v1/deployments/router/batch", json=[item])
    assert [one["status"] for one in found.json()] == [503]
    found = decide(client, "kept")
    assert (found.status_code, found.headers["retry-after"]) == (503, "1")
    assert client.get("/v1/deployments/router/log").status_code == 503


def test_a_body_that_came_in_time_though_the_loop_was_held_up(monkeypatch):
    monkeypatch.setattr(app, "IN_TIME", 0.2)
    bodies = app._Bodies()

    class Request:
        async def receive(self):
            loop, come = asyncio.get_running_loop(), asyncio.Event()
            reader, writer = os.pipe()
            loop.add_reader(reader, come.set)
            loop.call_later(
                0.05, lambda: (os.write(writer, b"x"), time.sleep(0.6))
            )  # then the loop stands still
            await come.wait()
            loop.remove_reader(reader)
            return {"type": "http.request", "body": b"{}", "more_body": False}

    assert asyncio.run(asyncio.wait_for(bodies.read(Request(), 100), 10)) == b"{}"


def test_backups_leave_nothing_behind(client, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for headers in ({}, {"range": "x"}, {"range": "bytes=999999999999-"}):
        found = client.get("/v1/backup", headers=headers)
        assert (found.status_code, found.content[:6]) == (200, b"SQLite")
        assert "content-security-policy" in found.headers
        assert list(tmp_path.iterdir()) == []


# -- retention -----------------------------------------------------------------------------------------------


def contexts(client, name):
    lines = client.get(f"/v1/deployments/{name}/log").text.splitlines()
    return [event["context"] for event in map(json.loads, lines) if event["kind"] == "decide"]


def test_retention_of_a_table_made_by_api(tmp_path):
    """By the clock, and after a restart, too; other instances that open the deployment know of it."""
    table = {**ROUTER, "retention": 0.3, "window": None, "default": None}
    table = {key: value for key, value in table.items() if value is not None}
    made = "/v1/deployments/made"
    with running(tmp_path, {}) as client:
        assert client.put(made, json=table).status_code == 201
        assert client.put(made, json={**table, "retention": 5}).status_code == 200  # the first one counts
        body = {"context": CONTEXT, "actions": ["small", "large"]}
        client.post(f"{made}/decisions", json=body)
        assert contexts(client, "made") == [CONTEXT]
        end = time.monotonic() + 20
        while contexts(client, "made") != [None]:
            assert time.monotonic() < end
            time.sleep(0.1)
        client.post(f"{made}/decisions", json=body)
        assert contexts(client, "made") == [None, CONTEXT]
    with running(tmp_path, {}) as client:
        assert client.get(made).json()["spec"]["retention"] == 0.3
        while contexts(client, "made") != [None, None]:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert client.service.held["made"].log._blanked >= -1


def test_a_log_with_blanked_vectors_is_replayed_from_the_older_snapshot(tmp_path):
    table = {key: value for key, value in ROUTER.items() if key != "window"} | {"retention": 0.01}
    told = []
    with running(tmp_path, {"router": table}) as client:
        for k in range(3):
            decide(client, f"r{k}")
            client.post("/v1/deployments/router/rewards", json={"id": f"r{k}", "value": 0.1 * k})
            if k < 2:
                time.sleep(0.02)
                client.service.held["router"].checkpoint()
        state = client.get("/v1/deployments/router").json()
        told.append((state["seq"] + 1, state["digest"]))
    with sqlite3.connect(tmp_path / "log.sqlite") as file:
        kept = [vectors for (vectors,) in file.execute("select vectors from event where kind = 'decide'")]
    file.close()
    assert 0 < sum(vectors.startswith(lines.BLANK) for vectors in kept) < len(kept)
    (found,) = checked(f"sqlite:{tmp_path}/log.sqlite", replay=True)
    assert (found.events, found.digest) == told[0]
    assert len(found.passed) == 1  # the newer one


# -- beginnings and ends -------------------------------------------------------------------------------------


def ended(server):
    server.start(wait=False)
    return server.process.wait(60)


def test_starts_that_are_refused(tmp_path):
    taken = Server(tmp_path, {"plain": PLAIN})
    with taken:
        other = Server(tmp_path, {"plain": PLAIN}, "sqlite:other.sqlite", port=taken.port, name="2")
        assert ended(other) == 2
        assert "listen" in other.journal()[-1]["error"]
    (tmp_path / "folder").mkdir()
    with sqlite3.connect(tmp_path / "foreign.sqlite") as foreign:
        foreign.execute("create table format(other text)")
    foreign.close()
    for store in ("sqlite:folder", "sqlite:foreign.sqlite", "postgresql://[::1"):
        refused = Server(tmp_path, {"plain": PLAIN}, store, name="3")
        assert ended(refused) == 2, refused.said.read_text()
        assert refused.journal()[-1]["event"] == "refused"


FAILING = """
import sqlite3, unipac.serve.sqlite as s
def fails(self, *_): raise sqlite3.OperationalError("disk I/O error")
s.Sqlite.{name} = fails
"""


def test_a_snapshot_that_fails_at_the_end(tmp_path):
    server = Server(tmp_path, {"plain": PLAIN}, patch=FAILING.format(name="add_piece"))
    with server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 70
    assert "disk I/O error" in server.journal()[-1]["error"]


def test_a_deployment_that_cannot_be_written(tmp_path):
    server = Server(tmp_path, {}, patch=FAILING.format(name="create"))
    with server:
        with pytest.raises(OSError, match="has not done"):
            server.client(patience=0.1).create("made", PLAIN)
        assert server.process.wait(30) == 70


def test_nothing_is_taken_over_at_the_end(tmp_path):
    with running(tmp_path, {"plain": PLAIN}) as client:
        client.service._take_no_more()
        found = client.put("/v1/deployments/late", json=PLAIN)
        assert found.status_code == 503
        assert list(client.service.held) == ["plain"]


def test_there_are_never_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(service_, "MOST_DEPLOYMENTS", 3)
    with running(tmp_path, {"plain": PLAIN}) as client:
        statuses = []

        def create(k):
            statuses.append(client.put(f"/v1/deployments/d{k}", json=PLAIN).status_code)

        threads = [threading.Thread(target=create, args=(k,)) for k in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert sorted(statuses) == [201, 201, 422, 422, 422, 422]
        assert client.put("/v1/deployments/plain", json=PLAIN).status_code == 200
