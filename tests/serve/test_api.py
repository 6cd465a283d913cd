"""What each request is answered with, in one process."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time

import pytest

from helpers.serving import PLAIN, ROUTER, Server, running
from unipac.serve import app, config, openapi, specs, tokens
from unipac.serve.problems import Problem
from unipac.serve.service import opened

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with running(tmp_path_factory.mktemp("api"), {"router": ROUTER, "plain": PLAIN}) as found:
        yield found


def decide(client, id_="r1", tokens_=812, actions=("small", "large"), **more):
    body = {"id": id_, "context": {"tokens": tokens_}, "actions": list(actions), **more}
    return client.post("/v1/deployments/router/decisions", json=body)


def reward(client, id_, value):
    return client.post("/v1/deployments/router/rewards", json={"id": id_, "value": value})


def send(client, data, path="router/decisions", kind="application/json"):
    return client.post(f"/v1/deployments/{path}", content=data, headers={"content-type": kind})


def test_a_decision_and_its_reward(client):
    first = decide(client, "first")
    assert first.status_code == 201
    told = first.json()
    assert set(told) == {
        "id", "action", "mean", "lcb", "ucb", "certificate", "certified", "propensity", "holdout", "seq"
    }  # fmt: skip
    assert (told["id"], told["certified"], told["holdout"], told["propensity"]) == ("first", True, False, 1.0)
    assert told["lcb"] <= told["mean"] <= told["ucb"]
    again = decide(client, "first")
    assert (again.status_code, again.content) == (200, first.content)
    come = reward(client, "first", 0.8)
    assert (come.status_code, come.json()["seq"]) == (201, told["seq"] + 1)
    repeated = reward(client, "first", 0.8)
    assert (repeated.status_code, repeated.content) == (200, come.content)
    assert first.headers["content-security-policy"] == "default-src 'self'; frame-ancestors 'none'"
    assert "access-control-allow-origin" not in first.headers


def test_an_id_that_is_made_has_22_characters(client):
    told = client.post(
        "/v1/deployments/router/decisions", json={"context": {"tokens": 1}, "actions": ["small"]}
    )
    assert len(told.json()["id"]) == 22
    assert reward(client, told.json()["id"], 0.1).status_code == 201


def test_without_features_actions_bring_vectors(client):
    body = {
        "id": "v",
        "actions": [{"id": "x", "vector": [1, 0]}, {"id": "y", "vector": [0, 1]}],
        "exclude": ["x"],
    }
    told = client.post("/v1/deployments/plain/decisions", json=body)
    assert (told.status_code, told.json()["action"]) == (201, "y")
    assert client.post("/v1/deployments/plain/rewards", json={"id": "v", "value": 1}).status_code == 201
    again = client.post("/v1/deployments/plain/decisions", json=body)  # it is closed, and found in the log
    assert (again.status_code, again.content) == (200, told.content)
    bounds = client.post("/v1/deployments/plain/bounds", json={"actions": body["actions"]}).json()
    assert [one["action"] for one in bounds] == ["x", "y"]
    assert bounds[1]["mean"] > bounds[0]["mean"] == 0.0


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b'{"id": NaN}', b'{"id": "\xff"}', b'{"id": "\\ud800", "context": {"tokens": 1}}',
        b'{"id": "a", "id": "a", "context": {"tokens": 1}, "actions": ["small"]}',
        b'{"context": {"tokens": 1, "tokens": 2}, "actions": ["small"]}',
        b'{"context": {"tokens": 1, "\\u0074okens": 2}, "actions": ["small"]}',
        b'{"context": {":a": 1, ":a": 2, "tokens": 3}, "actions": ["small"]}',
    ],
)  # fmt: skip
def test_what_is_not_json_is_400(client, data):
    found = send(client, data)
    assert found.status_code == 400
    assert found.headers["content-type"] == "application/problem+json"
    assert found.json()["status"] == 400


@pytest.mark.parametrize(
    "data",
    [
        b'[{"decide": {"id": "a", "id": "b"}}]',
        b'[{"decide": {"id": "q"}}, {"decide": {"id": "a"}, "decide": {"id": "b"}}]',
        b'[{"decide": {"id": "a", "context": {"decide": 1, "decide": 1}}}, {}]',
        b'[{"decide": {"id": "a", "context": {"decide": 1, "x": 1, "decide": 1, "x": 2}}}, {}, {}]',
        b'[{"reward": {"id": "a", "value": 1}}, {"reward": {"id": "a", "\\u0069d": "b", "value": 1}}]',
        b'[{"decide": null, "reward": {"id": "a"}, "decide": null}]',
    ],
)
def test_a_key_twice_in_a_batch_is_400(client, data):
    assert send(client, data, "router/batch").status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"id": 3, "context": {"tokens": 1}, "actions": ["small"]},
        {"id": "a b", "context": {"tokens": 1}, "actions": ["small"]},
        {"id": "", "context": {"tokens": 1}, "actions": ["small"]},
        {"id": "a\0b", "context": {"tokens": 1}, "actions": ["small"]},
        {"id": "a\n", "context": {"tokens": 1}, "actions": ["small"]},
        {"id": "ä", "context": {"tokens": 1}, "actions": ["small"]},
        {"id": "a" * 257, "context": {"tokens": 1}, "actions": ["small"]},
        {"id": "a", "context": {"tokens": 1}, "actions": ["small"], "more": 1},
        {"id": "a", "context": {"tokens": 1}, "actions": ["unknown"]},
        {"id": "a", "context": {"tokens": 1}, "actions": ["small", "small"]},
        {"id": "a", "context": {"tokens": 1}, "actions": []},
        {"id": "a", "context": {"tokens": 1}},
        {"id": "a", "context": {}, "actions": ["small"]},
        {"id": "a", "context": {"tokens": "many"}, "actions": ["small"]},
        {"id": "a", "context": {"tokens": 1}, "actions": ["small"], "exclude": ["small"]},
        {"id": "a", "context": {"tokens": 1}, "actions": [f"a{k}" for k in range(1001)]},
        {"id": "a", "context": {"tokens": 1}, "actions": [{"id": "small", "vector": [1]}]},
        [],
    ],
)
def test_what_does_not_fit_is_422_and_changes_nothing(client, body):
    before = client.get("/v1/deployments/router").json()
    found = send(client, json.dumps(body))
    assert found.status_code == 422, found.content
    after = client.get("/v1/deployments/router").json()
    assert (after["seq"], after["digest"]) == (before["seq"], before["digest"])


def test_numbers_out_of_range(client):
    decide(client, "range")
    assert send(client, b'{"id": "range", "value": 1e400}', "router/rewards").status_code in (400, 422)
    assert reward(client, "range", 1e200).status_code == 422
    assert send(client, b'{"id": "range", "value": true}', "router/rewards").status_code == 422


def test_conflicts_and_closed_decisions(client):
    decide(client, "c")
    assert decide(client, "c", actions=("small", "tiny")).status_code == 409
    assert reward(client, "c", 0.2).status_code == 201
    assert reward(client, "c", 0.3).status_code == 409
    assert reward(client, "never", 0.3).status_code == 404
    decide(client, "f")
    assert client.delete("/v1/deployments/router/decisions/f").status_code == 204
    assert client.delete("/v1/deployments/router/decisions/f").status_code == 410
    assert client.delete("/v1/deployments/router/decisions/never").status_code == 404
    assert reward(client, "f", 0.3).status_code == 410
    assert decide(client, "f").status_code == 200


def test_unknown_paths_and_methods(client):
    for method, path, status in (
        ("GET", "/", 404), ("GET", "/v1/deployments/none", 404), ("GET", "/v1/deployments/router/none", 404),
        ("GET", "/v1/deployments/router/decisions", 405), ("POST", "/v1/deployments/none/decisions", 404),
        ("GET", "/ui/../config.toml", 404), ("GET", "/ui/..%2fapp.py", 404),
    ):  # fmt: skip
        found = client.request(method, path)
        assert found.status_code == status, path
        assert found.headers["content-type"] == "application/problem+json"


def test_sizes_and_kinds(client):
    assert send(client, b"{}", kind="text/plain").status_code == 415
    assert send(client, b" " * (2**20 + 1)).status_code == 413


def test_a_body_in_pieces_that_is_too_large(client):
    def pieces():
        for _ in range(20):
            yield b" " * 2**16

    found = client.post("/v1/deployments/router/decisions", content=pieces(), headers=JSON)
    assert found.status_code == 413


def test_a_body_that_does_not_come_is_408(tmp_path):
    server = Server(tmp_path, {"router": ROUTER}, patch="import unipac.serve.app as a; a.IN_TIME = 0.3")
    with server, socket.create_connection(("127.0.0.1", server.port), 10) as slow:
        head = "POST /v1/deployments/router/decisions HTTP/1.1\r\nHost: localhost\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{{".encode())
        answer = slow.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408"), answer
        assert server.client().deployment("router").state()["seq"] == 0  # nothing has changed


class Silent:
    """A request whose body never comes."""

    async def receive(self):
        await asyncio.Event().wait()


@pytest.mark.parametrize("cancelled", [False, True])
def test_who_cancels_a_request_whose_body_is_late(cancelled, monkeypatch):
    """The limit makes it a 408; a service that ends at the same moment ends the request. In every event loop."""
    monkeypatch.setattr(app, "IN_TIME", 0.02)
    reader = app._Bodies()

    async def late():
        task = asyncio.create_task(reader.read(Silent(), 100))
        while not reader._late:  # the look that cancels it
            await asyncio.sleep(0)
        if cancelled:
            task.cancel()
        with pytest.raises(asyncio.CancelledError if cancelled else Problem) as caught:
            await asyncio.wait_for(task, 10)
        assert cancelled or caught.value.status == 408
        assert not reader._since
        assert not reader._late

    for _ in range(2):
        asyncio.run(asyncio.wait_for(late(), 10))


def test_a_batch(client):
    items = [
        {"decide": {"id": "b1", "context": {"tokens": 5}, "actions": ["small", "large"]}},
        {"reward": {"id": "b1", "value": 0.5}},
        {"reward": {"id": "b1", "value": 0.6}},
        {"reward": {"id": "b1", "value": 0.5}},
        {},
        {"decide": {"id": "b 2", "context": {"tokens": 5}, "actions": ["small", "large"]}},
    ]
    found = client.post("/v1/deployments/router/batch", json=items)
    assert found.status_code == 200
    assert [one["status"] for one in found.json()] == [201, 201, 409, 200, 422, 422]
    assert client.post("/v1/deployments/router/batch", json=[{"reward": None}] * 1001).status_code == 422
    assert client.post("/v1/deployments/router/batch", json=[]).json() == []


def test_watches(client):
    body = {"context": {"tokens": 100}, "actions": ["small", "large"], "eps": 0.1}
    for _ in range(2):
        told = client.put("/v1/deployments/router/watches/both", json=body)
        assert (told.status_code, told.json()) == (200, {"name": "both", "verdict": None})
    assert client.get("/v1/deployments/router/watches/both").json()["verdict"] is None
    assert client.get("/v1/deployments/router/watches/none").status_code == 404
    assert client.put("/v1/deployments/router/watches/both", json={**body, "eps": -1}).status_code == 422


def test_the_log_is_exported(client):
    for k in range(3):
        decide(client, f"log{k}")
        reward(client, f"log{k}", 0.5)
    lines = client.get("/v1/deployments/router/log").text.splitlines()
    assert json.loads(lines[0])["kind"] == "spec"
    assert [json.loads(line)["seq"] for line in lines] == list(range(len(lines)))
    part = client.get("/v1/deployments/router/log", params={"after": 2, "limit": 3}).text.splitlines()
    assert part == lines[3:6]
    assert client.get("/v1/deployments/router/log", params={"after": -1}).status_code == 422
    ended = client.get("/v1/deployments/router/log", params={"after": 10**6})
    assert (ended.status_code, ended.content) == (200, b"")


def test_state_and_series(client):
    decide(client, "series")
    state = client.get("/v1/deployments/router").json()
    assert {
        "spec",
        "seq",
        "rounds",
        "pending",
        "consistent",
        "guarantee",
        "explored",
        "drift",
        "digest",
    } <= set(state)
    assert state["spec"]["agent"]["agent"] == "Guarded"
    series = client.get("/v1/deployments/router/series").json()
    assert sum(one["decisions"] for one in series["bins"]) == series["decisions"] > 0
    assert series["pending"] == state["pending"]
    names = [one["name"] for one in client.get("/v1/deployments").json()]
    assert {"plain", "router"} <= set(names)


def test_deployments_by_api(client):
    table = {"agent": {"agent": "OFUL", "dim": 3}, "window": 60}
    path = "/v1/deployments/new"
    assert client.put(path, json=table).status_code == 201
    assert client.put(path, json={**table, "window": 60.0}).status_code == 200
    other = client.put(path, json={**table, "window": 61, "default": 0.5})
    assert other.status_code == 409
    assert other.json()["detail"].endswith("got another default and window")
    for wrong in (
        {}, {"agent": {"agent": "os:system"}}, {"agent": {"agent": "None"}}, {"agent": {"agent": "OFUL"}},
        {"agent": {"agent": "OFUL", "dim": 3, "colour": 1}}, {"agent": {"agent": "OFUL", "dim": 1001}},
        {"agent": {"agent": "OFUL", "dim": 3}, "holdout": 2}, {"agent": {"agent": "CertVI"}},
        {"agent": {"agent": "OFUL", "dim": 3}, "colour": 1},
        {"agent": {"agent": "OFUL"}, "features": {"kind": "Blocks", "ids": []}},
        {"agent": {"agent": "OFUL"}, "features": {"kind": "Bocks", "ids": ["a"]}},
    ):  # fmt: skip
        found = client.put("/v1/deployments/wrong", json=wrong)
        assert found.status_code == 422, (wrong, found.content)
        assert client.get("/v1/deployments/wrong").status_code == 404
    assert client.put("/v1/deployments/a%20b", json=table).status_code == 422
    assert client.post(f"{path}/restart").status_code == 200


def test_tables_differ_in_these_keys():
    assert specs.differing('{"a":1,"c":{"d":2}}', '{"a":true,"b":null,"c":{"d":2}}') == ["a", "b"]
    assert specs.differing('{"a":1,"c":{"d":2}}', '{"a":1,"c":{"d":3}}') == ["c"]


def test_a_deployment_that_several_ask_for_at_once_is_made_once(client):
    """Two that wrote one log would end the process: its commit is refused."""
    answers, table = [], {"agent": {"agent": "OFUL", "dim": 3}}

    def ask():
        answers.append(client.put("/v1/deployments/raced", json=table).status_code)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {200, 201}
    assert len(client.get("/v1/deployments/raced/log").text.splitlines()) == 1


def test_full(tmp_path):
    with running(tmp_path, {"router": {**ROUTER, "max_pending": 2}}) as client:
        decide(client, "1")
        decide(client, "2")
        found = decide(client, "3")
        assert (found.status_code, found.headers["retry-after"]) == (429, "1")


def test_too_many_wait_for_the_disk(tmp_path, monkeypatch):
    with running(tmp_path, {"router": ROUTER}) as client:
        monkeypatch.setattr("unipac.serve.service.MOST_WAITING", 0)
        found = decide(client, "1")
        assert (found.status_code, found.headers["retry-after"]) == (503, "1")


def test_answers_wait_for_the_commit(tmp_path, monkeypatch):
    with running(tmp_path, {"router": ROUTER}) as client:
        database, going = client.service.database, threading.Event()
        commit = database.commit
        monkeypatch.setattr(database, "commit", lambda rows: (going.wait(10), commit(rows)))
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(decide(client, "same"))) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        assert answers == []  # neither the decision nor its repeat
        going.set()
        for thread in threads:
            thread.join()
        assert sorted(one.status_code for one in answers) == [200, 201]
        assert answers[0].content == answers[1].content


# -- tokens ----------------------------------------------------------------------------------------------------


def test_tokens(tmp_path):
    path = tmp_path / "tokens"
    made = {}
    for name, scopes, deployment in (
        ("all", tokens.SCOPES, "*"), ("one", ("decide",), "router"), ("reader", ("read",), "*"),
    ):  # fmt: skip
        made[name], kept = tokens.made(name, scopes, deployment)
        tokens.add(path, kept)
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(secret not in path.read_text() for secret in made.values())
    assert len(made["all"]) == 43
    body = {"context": {"tokens": 1}, "actions": ["small"]}

    def status(token, method="POST", where="router/decisions"):
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return client.request(method, f"/v1/deployments/{where}", json=body, headers=headers)

    with running(tmp_path, {"router": ROUTER}, tokens="tokens", listen="0.0.0.0:8080") as client:
        assert status(None).status_code == 401
        assert status(None).headers["www-authenticate"] == "Bearer"
        assert status("wrong").status_code == 401
        assert status(made["one"]).status_code == 201
        assert status(made["reader"]).status_code == 403
        assert status(made["one"], where="other/decisions").status_code == 403  # whether it exists or not
        assert status(made["all"], where="other/decisions").status_code == 404
        assert status(made["one"], "GET", "router").status_code == 403
        assert status(made["reader"], "GET", "router").status_code == 200
        assert client.get("/healthz").status_code == 200
        assert client.get("/metrics").status_code == 401
        found = client.get("/metrics", headers={"authorization": f"Bearer {made['all']}"})
        assert 'unipac_requests_total{route="decisions",status="201"} 1.0' in found.text
        secret, kept = tokens.made("late", ("decide",))
        tokens.add(path, kept)
        assert status(secret).status_code == 401
        client.service.read_tokens()
        assert status(secret).status_code == 201
    os.chmod(path, 0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        tokens.read(path)


def test_without_tokens_only_this_machine(client, tmp_path):
    with pytest.raises(ValueError, match="loopback"):
        config.made({"store": "sqlite:x", "listen": "0.0.0.0:1"}, tmp_path)
    for host, status in (("localhost:80", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.example", 403)):
        assert client.get("/v1/deployments", headers={"host": host}).status_code == status
        assert client.get("/healthz", headers={"host": host}).status_code == status


def test_a_second_process_is_refused(client, tmp_path):
    path = client.service.config.store
    with pytest.raises(ValueError, match="locked"):
        opened(config.made({"store": path}, tmp_path))


def test_the_description_names_every_path(client):
    found = client.get("/openapi.json").json()
    assert found == openapi.described() or set(found["paths"]) == set(openapi.described()["paths"])
    routes = {route.path.replace(":path", "") for route in client.app.routes}
    hidden = {"/openapi.json", "/ui", "/ui/{name}", "/v1/backup"}
    assert set(found["paths"]) == routes - hidden


def test_answers_name_no_paths(client):
    for found in (
        send(client, b"{"),
        decide(client, "a b"),
        client.put("/v1/deployments/x", json={"agent": 1}),
    ):
        assert "/work" not in found.text
        assert "site-packages" not in found.text
        assert "Traceback" not in found.text
