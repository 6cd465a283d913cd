"""Requests made from the service's own description: nothing fails, and many succeed."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from helpers.serving import PLAIN, Server

REQUESTS = 1500
OFFER = [{"id": "x", "vector": [1, 0]}, {"id": "y", "vector": [0, 1]}]


@pytest.mark.filterwarnings("ignore")
def test_nothing_fails(tmp_path):
    with Server(tmp_path, {"plain": PLAIN}) as server:
        schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
        operations = [found.ok() for found in schema.get_all_operations()]
        seen, wrong = Counter(), []

        def attempt(case, steer):
            if steer and "d" in (
                case.path_parameters or {}
            ):  # a deployment that is there, actions that fit it
                case.path_parameters = {**case.path_parameters, "d": "plain"}
                if isinstance(case.body, dict) and "actions" in case.body:
                    case.body = {**case.body, "actions": OFFER, "exclude": []}
            answer = case.call(base_url=server.address)
            seen[answer.status_code // 100] += 1
            if answer.status_code >= 500 and answer.status_code != 503:
                wrong.append((case.operation.label, answer.status_code, answer.text))
            if answer.status_code < 500:
                documented = case.operation.definition.raw["responses"]
                if str(answer.status_code) not in documented and answer.status_code != 405:
                    wrong.append((case.operation.label, answer.status_code, answer.text))

        for operation in operations:
            each = REQUESTS // 11  # some have nothing to vary, and are asked once
            wanted = settings(
                max_examples=each, deadline=None, derandomize=True, database=None,
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            wanted(given(case=operation.as_strategy(), steer=st.booleans())(attempt))()
        total = sum(seen.values())
        assert not wrong, wrong[:5]
        assert total >= REQUESTS
        assert seen[2] >= 0.3 * total, seen
        assert server.stop() == 0
