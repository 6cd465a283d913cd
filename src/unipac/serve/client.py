"""A client for ``unipac serve`` that needs only Python; it repeats unanswered requests with the same id.

    from unipac.serve.client import Client

    router = Client("http://127.0.0.1:8080", token="...").deployment("router")
    decision = router.decide({"tokens": 812}, ["small", "large"])
    router.reward(decision["id"], 0.8)

A repeat is safe: the service gives the same decision again, and counts a reward once. This file may be copied into
other projects.
"""

from __future__ import annotations

import http.client
import json
import random
import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

LATER = (408, 429, 503)
MOST_WAIT = 2.0
"""Seconds between two tries, at most."""


class Refused(Exception):  # noqa: N818
    """The service has refused a request, and would refuse it again."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status}: {problem.get('detail', 'no detail')}")
        self.status, self.problem = status, problem


class Client:
    """Talks to one service, or to whichever of several instances writes.

    Threads must not share a client: each needs its own.

    Args:
        address: "http://host:port", or several.
        token: from ``unipac token``.
        patience: seconds for which a request is tried again before it fails with ``OSError``.
        timeout: seconds for one try.
    """

    def __init__(
        self,
        address: str | Sequence[str],
        token: str | None = None,
        *,
        patience: float = 30.0,
        timeout: float = 5.0,
    ) -> None:
        self._addresses = [address] if isinstance(address, str) else list(address)
        self._token, self._patience, self._timeout = token, patience, timeout
        self._turn = 0
        self._address = self._addresses[0]
        self._connection: http.client.HTTPConnection | None = None

    def deployment(self, name: str) -> RemoteDeployment:
        """One of the deployments."""
        return RemoteDeployment(self, name)

    def deployments(self) -> list[dict[str, Any]]:
        """All deployments, with the addresses that write them."""
        found: list[dict[str, Any]] = self.request("GET", "/v1/deployments")
        return found

    def create(self, name: str, table: Mapping[str, Any]) -> RemoteDeployment:
        """Make a deployment; the same again changes nothing."""
        self.request("PUT", f"/v1/deployments/{quote(name, safe='')}", table)
        return self.deployment(name)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request, again and again until it is answered; a refusal raises ``Refused``."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        end, wait = time.monotonic() + self._patience, 0.05
        while True:
            try:
                status, told = self._once(method, path, data)
                if status not in LATER:
                    break
                reason: Exception = Refused(status, told)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.close()
                self._next_address()
                reason = error
            if time.monotonic() + wait > end:
                raise OSError(f"{self._address} has not done the request in {self._patience:g} s") from reason
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, MOST_WAIT)
        if status >= 400:
            raise Refused(status, told)
        return told

    def _once(self, method: str, path: str, data: bytes | None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"} if data is not None else {}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        for _ in range(3):
            status, told = self._answer(method, path, data, headers)
            if status != 421 or not told.get("address"):
                return status, told
            self._turn_to(told["address"])  # the one that writes
        return 503, told

    def _answer(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        if self._connection is None:
            parts = urlsplit(self._address)
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(parts.hostname or "", parts.port, timeout=self._timeout)
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}

    def _next_address(self) -> None:
        self._turn = (self._turn + 1) % len(self._addresses)
        self._turn_to(self._addresses[self._turn])

    def _turn_to(self, address: str) -> None:
        if address != self._address:
            self.close()
            self._address = address

    def close(self) -> None:
        """Let go of the connection; the next request makes another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self.close()


class RemoteDeployment:
    """A deployment of a service; made by ``Client.deployment``."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._path = client, f"/v1/deployments/{quote(name, safe='')}"

    def decide(
        self,
        context: Any,
        actions: Sequence[Any] | None = None,
        id: str | None = None,  # noqa: A002
        exclude: Collection[Any] = (),
    ) -> dict[str, Any]:
        """Choose one of the actions."""
        return self._post("decisions", _question(context, actions, id, exclude))

    def reward(self, id: str, value: float) -> dict[str, Any]:  # noqa: A002
        """A reward has come."""
        return self._post("rewards", {"id": id, "value": value})

    def batch(self, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Up to 1,000 of ``{"decide": ...}`` and ``{"reward": ...}``; each answer has a status and a body."""
        listed = [dict(item) for item in items]
        for item in listed:
            if item.get("decide") is not None:
                item["decide"] = {"id": new_id(), **item["decide"]}
        found: list[dict[str, Any]] = self._client.request("POST", f"{self._path}/batch", listed)
        return found

    def bounds(self, context: Any, actions: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """Mean and bounds of each action."""
        asked = {"context": context, "actions": None if actions is None else list(actions)}
        found: list[dict[str, Any]] = self._client.request("POST", f"{self._path}/bounds", asked)
        return found

    def forget(self, id: str) -> None:  # noqa: A002
        """Nothing will be learned from a decision."""
        try:
            self._client.request("DELETE", f"{self._path}/decisions/{quote(id, safe='')}")
        except Refused as refused:
            if refused.status != 410:  # it is closed, perhaps by a try before this one
                raise

    def state(self) -> dict[str, Any]:
        """What is known of the deployment as a whole."""
        found: dict[str, Any] = self._client.request("GET", self._path)
        return found

    def _post(self, what: str, body: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._client.request("POST", f"{self._path}/{what}", body)
        return found


def new_id() -> str:
    """An id nobody can guess; 22 characters."""
    return secrets.token_urlsafe(16)


def _question(
    context: Any, actions: Sequence[Any] | None, id_: str | None, exclude: Collection[Any]
) -> dict[str, Any]:
    """The body of a question; it always has an id, so that a repeat is the same question."""
    asked = {"id": new_id() if id_ is None else id_, "context": context, "exclude": list(exclude)}
    return asked if actions is None else {**asked, "actions": list(actions)}
