"""PostgreSQL: another instance takes over, and the old one acknowledges nothing any more."""

from __future__ import annotations

import http.client
import json
import signal
import time
import urllib.error
import urllib.request

import pytest

from helpers.serving import TABLE, Server
from unipac.serve.checking import checked
from unipac.serve.client import Client

pytestmark = pytest.mark.postgres

LEASE = 1.0
SLOW_TABLE = {**TABLE, "window": 3600}
CONTEXT, ACTIONS = {"tokens": 800}, ["tiny", "large"]


@pytest.fixture
def pair(tmp_path, postgres, request):
    """A writer and a standby on one database."""
    store = postgres.new(f"db_{abs(hash(request.node.name)) % 10**9}")
    first = Server(tmp_path, {"router": SLOW_TABLE}, store, name="1", lease=LEASE)
    second = Server(tmp_path, {"router": SLOW_TABLE}, store, name="2", lease=LEASE)
    with first:
        second.start()
        try:
            yield first, second, store
        finally:
            if first.process.poll() is None:
                first.process.send_signal(signal.SIGCONT)
            second.__exit__()


def status(server, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.address + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def serves_after(second, body, limit):
    begin = time.monotonic()
    while True:
        found = status(second, "/v1/deployments/router/decisions", body)
        if found[0] in (200, 201):
            return found, time.monotonic() - begin
        assert time.monotonic() < begin + limit, found
        time.sleep(0.05)


def test_a_standby_names_the_writer_and_the_client_follows(pair):
    first, second, _ = pair
    found = status(second, "/v1/deployments/router/decisions", {"context": CONTEXT, "actions": ACTIONS})
    assert (found[0], found[1]["address"]) == (421, first.address)
    assert status(second, "/readyz")[0] == 503
    assert status(first, "/readyz")[0] == 200
    with Client(second.address) as client:
        assert client.deployment("router").decide(CONTEXT, ACTIONS, id="a")["id"] == "a"
    assert [one["ours"] for one in status(second, "/v1/deployments")[1]] == [False]


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_a_writer_that_hangs_or_dies(pair, how):
    first, second, store = pair
    router = first.client().deployment("router")
    answer = router.decide(CONTEXT, ACTIONS, id="a")
    router.reward("a", 0.5)
    first.process.send_signal(how)
    body = {"id": "a", "context": CONTEXT, "actions": ACTIONS}
    (code, again), seconds = serves_after(second, body, 30)
    assert (code, again) == (200, answer)  # what was acknowledged is there
    assert seconds < LEASE + 2 + 3  # 2 s on an idle machine; this one may be busy
    assert status(second, "/v1/deployments/router/rewards", {"id": "a", "value": 0.5})[0] == 200
    if how == signal.SIGSTOP:
        first.process.send_signal(signal.SIGCONT)
        with pytest.raises(
            (ConnectionError, urllib.error.URLError, http.client.HTTPException)
        ):  # nothing is acknowledged
            status(first, "/v1/deployments/router/decisions", body)
        assert first.process.wait(20) == 70
        assert first.journal()[-1]["event"] == "commit lost"
    status(second, "/v1/deployments/router/decisions", {"id": "b", "context": CONTEXT, "actions": ACTIONS})
    assert second.stop() == 0
    (found,) = checked(store, replay=True)
    assert found.events == 4


def test_sigterm_gives_the_lease_back(pair):
    first, second, _ = pair
    first.client().deployment("router").decide(CONTEXT, ACTIONS, id="a")
    assert first.stop() == 0
    _, seconds = serves_after(second, {"id": "b", "context": CONTEXT, "actions": ACTIONS}, 30)
    assert seconds < LEASE + 2


def test_a_deployment_that_was_made_by_api_is_taken_over(pair):
    first, second, _ = pair
    table = {"agent": {"agent": "OFUL", "dim": 2}}
    first.client().create("other", table)
    first.kill()
    second.wait_until("open", count=2)
    body = {"actions": [{"id": "x", "vector": [1, 0]}]}
    assert status(second, "/v1/deployments/other/decisions", body)[0] == 201


def test_postgres_is_killed_and_started_again(tmp_path, postgres):
    store = postgres.new("killed")
    server = Server(tmp_path, {"router": SLOW_TABLE}, store, lease=LEASE)
    with server:
        router = server.client(patience=60).deployment("router")
        answer = router.decide(CONTEXT, ACTIONS, id="a")
        postgres.kill()
        time.sleep(LEASE)
        body = {"id": "b", "context": CONTEXT, "actions": ACTIONS}
        try:
            assert status(server, "/v1/deployments/router/decisions", body)[0] == 503
        except OSError:
            assert server.process.wait(20) == 70
        postgres.start()
        time.sleep(0.5)
        if server.process.poll() is not None:
            server.start()
        assert router.decide(CONTEXT, ACTIONS, id="b")["id"] == "b"
        assert router.decide(CONTEXT, ACTIONS, id="a") == answer
        assert server.stop() == 0
    (found,) = checked(store, replay=True)
    assert found.events == 3
