"""The client repeats what was not answered, and nothing else."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from unipac.serve.client import Client, Refused


class Script:
    """A server that answers as it is told: a status with a body, or None to break the connection."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                script.requests.append(
                    (self.path, json.loads(body or b"null"), self.headers.get("authorization"))
                )
                answer = script.answers.pop(0)
                if answer is None:
                    self.close_connection = True
                    self.connection.close()
                    return
                data = json.dumps(answer[1]).encode()
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_DELETE = do_POST  # noqa: N815

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


DONE = (201, {"id": "x"})


def test_what_was_not_answered_is_asked_again_with_the_same_id():
    with Script(None, (503, {}), (429, {}), DONE) as server, Client(server.address, "secret") as client:
        assert client.deployment("a b").decide({"t": 1}, ["x"]) == {"id": "x"}
    assert len(server.requests) == 4
    assert len({json.dumps(one) for one in server.requests}) == 1  # the same id each time
    path, body, token = server.requests[0]
    assert (path, len(body["id"]), token) == ("/v1/deployments/a%20b/decisions", 22, "Bearer secret")


def test_what_is_refused_is_not_asked_again():
    with Script((409, {"detail": "id must be new"})) as server, Client(server.address) as client:
        with pytest.raises(Refused, match="409: id must be new") as refused:
            client.deployment("a").reward("x", 1.0)
        assert refused.value.status == 409
    assert len(server.requests) == 1


def test_it_follows_the_one_that_writes():
    with Script(DONE, DONE) as writer, Script((421, {"address": writer.address})) as other:
        client = Client(other.address)
        for _ in range(2):
            assert client.deployment("a").reward("x", 1.0) == DONE[1]
        client.close()
    assert (len(writer.requests), len(other.requests)) == (2, 1)


def test_its_patience_ends():
    with Script(*[(503, {"detail": "busy"})] * 20) as server:
        client = Client(server.address, patience=0.2)
        with pytest.raises(OSError, match="has not done the request"):
            client.deployments()
        client.close()


def test_of_several_addresses_the_next_is_tried():
    with Script(DONE) as server, Client(["http://127.0.0.1:9", server.address]) as client:
        assert client.deployment("a").reward("x", 1.0) == DONE[1]


def test_forgetting_twice_is_no_error():
    with Script((200, {}), (410, {}), (404, {})) as server, Client(server.address) as client:
        client.deployment("a").forget("x")
        client.deployment("a").forget("x")
        with pytest.raises(Refused):
            client.deployment("a").forget("x")
