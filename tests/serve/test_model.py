"""The service does what a dictionary would do, whatever is asked in whatever order, and through restarts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from starlette.testclient import TestClient

from unipac.serve import app, config
from unipac.serve.service import Service, opened

TABLES = {
    "now": {"agent": {"agent": "OFUL", "dim": 2, "noise": 0.1}},
    "later": {"agent": {"agent": "OFUL", "dim": 2, "noise": 0.1}, "window": 3600},
}
OFFERS = (
    [{"id": "x", "vector": [1, 0]}, {"id": "y", "vector": [0, 1]}],
    [{"id": "x", "vector": [1, 0]}, {"id": "z", "vector": [0.5, 0.5]}],
)
IDS = st.sampled_from([f"id{k}" for k in range(12)])
NAMES = st.sampled_from(list(TABLES))


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.decided, self.rewarded, self.forgotten = {}, {}, set()
        self._start()

    def _start(self):
        made = config.made({"store": "sqlite:log.sqlite", "deployments": TABLES}, Path(self.folder.name))
        service = Service(made, opened(made))
        service.open_all()
        self.client = TestClient(app.made(service), base_url="http://localhost")
        self.client.__enter__()

    def _stop(self):
        self.client.__exit__(None, None, None)

    def teardown(self):
        self._stop()
        self.folder.cleanup()

    def _post(self, name, what, body):
        return self.client.post(f"/v1/deployments/{name}/{what}", json=body)

    @rule(name=NAMES, id_=IDS, k=st.integers(0, 1))
    def decide(self, name, id_, k):
        told = self._post(name, "decisions", {"id": id_, "actions": OFFERS[k]})
        known = self.decided.get((name, id_))
        if known is None:
            assert told.status_code == 201
            self.decided[name, id_] = k, told.content
        elif known[0] == k:
            assert (told.status_code, told.content) == (200, known[1])
        else:
            assert told.status_code == 409

    @rule(name=NAMES, id_=IDS, value=st.sampled_from([0.0, 0.5]))
    def reward(self, name, id_, value):
        told, key = self._post(name, "rewards", {"id": id_, "value": value}), (name, id_)
        if key not in self.decided:
            expected = 404
        elif key in self.forgotten:
            expected = 410
        elif key not in self.rewarded:
            expected, self.rewarded[key] = 201, value
        else:
            expected = 200 if self.rewarded[key] == value else 409
        assert told.status_code == expected

    @rule(name=NAMES, id_=IDS)
    def forget(self, name, id_):
        told, key = self.client.delete(f"/v1/deployments/{name}/decisions/{id_}"), (name, id_)
        closed = key in self.forgotten or (key in self.rewarded and name == "now")
        expected = 404 if key not in self.decided else 410 if closed else 204
        assert told.status_code == expected
        if expected == 204:
            self.forgotten.add(key)

    @rule(name=NAMES)
    def pending(self, name):
        state = self.client.get(f"/v1/deployments/{name}").json()
        waiting = {
            key for key in self.decided
            if key[0] == name and key not in self.forgotten and not (key in self.rewarded and name == "now")
        }  # fmt: skip
        assert state["pending"] == len(waiting)

    @rule(crash=st.integers(0, 9))
    def restart(self, crash):
        if crash == 0:
            before = {name: self.client.get(f"/v1/deployments/{name}").json() for name in TABLES}
            self._stop()
            self._start()
            assert {name: self.client.get(f"/v1/deployments/{name}").json() for name in TABLES} == before


def run(steps):
    per_example = 100
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=steps // per_example, stateful_step_count=per_example, deadline=None, derandomize=True,
            database=None,
        ),
    )  # fmt: skip


def test_it_does_what_a_dictionary_does():
    run(2000)


@pytest.mark.slow
def test_it_does_what_a_dictionary_does_for_long():
    run(100_000)
