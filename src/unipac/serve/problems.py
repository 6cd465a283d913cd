"""Errors as RFC 9457 has them: a JSON object with type, title, status and detail."""

from __future__ import annotations

from typing import Any

import msgspec

from unipac.deployment.errors import Closed, Conflict, Full, LogClosed, Unknown
from unipac.serve.database import Unreachable

TITLES = {
    400: "not JSON", 401: "no token", 403: "not allowed", 404: "unknown", 405: "no such method", 408: "too slow",
    409: "conflict", 410: "closed", 413: "too large", 415: "not application/json", 421: "another instance writes",
    422: "refused", 429: "too many wait", 500: "failed", 503: "come again later",
}  # fmt: skip
STATUS: dict[type[Exception], int] = {Conflict: 409, Closed: 410, Unknown: 404, Full: 429, LogClosed: 503}
NOT_JSON: dict[type[Exception], str] = {
    UnicodeDecodeError: "it is not UTF-8",
    RecursionError: "it is nested too deeply",
}
LATER = (429, 503)

_encode = msgspec.json.Encoder().encode


class Problem(Exception):  # noqa: N818
    """A request that is answered with an error."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more

    def body(self) -> bytes:
        """The JSON of it."""
        kind = TITLES.get(self.status, "refused")
        told = {"type": f"urn:unipac:{kind.replace(' ', '-')}", "title": kind, "status": self.status}
        return _encode({**told, "detail": self.detail, **self.more})


def of(error: Exception) -> Problem:
    """The problem that answers an error; an error that the library did not foresee is raised again."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, msgspec.ValidationError):
        return Problem(422, str(error))
    if isinstance(error, msgspec.DecodeError):
        return Problem(400, str(error))
    if type(error) in NOT_JSON:
        return Problem(400, f"JSON is malformed: {NOT_JSON[type(error)]}")
    if isinstance(error, Unreachable):
        return Problem(503, "the database does not answer")
    if isinstance(error, ValueError):
        return Problem(STATUS.get(type(error), 422), str(error))
    raise error
