"""The routes: check the token, read the body, do it in memory, wait for the disk, answer."""

from __future__ import annotations

import asyncio
import functools
import mimetypes
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from unipac.serve import backups, bodies, config as config_, journal, openapi, problems
from unipac.serve.held import Answer, Held
from unipac.serve.problems import LATER, Problem
from unipac.serve.service import Service
from unipac.serve.tokens import ALL, find

IN_TIME = 10.0
"""Seconds within which the whole body must have arrived."""
MOST_EVENTS = 10_000
JSON, LINES = "application/json", "application/x-ndjson"
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
PAGE = Path(__file__).parent / "page"
LOCAL = ("localhost", "127.0.0.1", "[::1]")
Work = Callable[[Held, bytes], Answer]
Endpoint = Callable[[Request], Awaitable[Response]]


def made(service: Service) -> Starlette:
    """The application of a service."""
    made = Starlette(routes=_Routes(service).all(), lifespan=service.life, exception_handlers={
        HTTPException: _refused, Exception: _failed,
    })  # fmt: skip
    made.router.redirect_slashes = False  # a redirect would be to whatever host the request names
    return made


async def _refused(request: Request, error: Exception) -> Response:
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    response = _response(Problem(status, "there is no such path, or no such method of it"))
    response.headers.update(headers or {})  # such as Allow
    return response


async def _failed(request: Request, error: Exception) -> Response:
    return _response(Problem(500, "the request could not be done; the journal of the service has the reason"))


def _response(answer: Problem | Answer, kind: str = JSON) -> Response:
    if isinstance(answer, Problem):
        headers = {**HEADERS, "retry-after": "1"} if answer.status in LATER else dict(HEADERS)
        if answer.status == 401:
            headers["www-authenticate"] = "Bearer"
        return Response(answer.body(), answer.status, headers, "application/problem+json")
    return Response(b"", 204, HEADERS) if answer[0] == 204 else _Usual(*answer, kind.encode())


class _Usual(Response):
    """An answer with the usual headers, which are encoded once."""

    ENCODED = tuple((name.encode(), value.encode()) for name, value in HEADERS.items())

    def __init__(self, status: int, body: bytes, kind: bytes) -> None:
        self.status_code, self.body, self.background = status, body, None
        self.raw_headers = [
            *self.ENCODED, (b"content-length", b"%d" % len(body)), (b"content-type", kind)
        ]  # fmt: skip


class _Endpoint:
    """The ASGI application of one path; its work answers every error, so Starlette adds no error handling."""

    def __init__(self, work: Endpoint) -> None:
        self.work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.work(Request(scope, receive, send))
        await response(scope, receive, send)


class _Bodies:
    """Reads bodies within a time limit; one check of all of them now and then is cheaper than a timer for each."""

    def __init__(self) -> None:
        self._since: dict[asyncio.Task[Any], float] = {}
        """The tasks that read a body, oldest first, each with the time at which it began."""
        self._late: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop in which the next check is scheduled; None if none is."""

    async def read(self, request: Request, most: int) -> bytes:
        """The body of a request."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        self._since[task] = loop.time()
        if self._loop is not loop:
            self._loop = loop
            self._look_later(loop)
        found, more = bytearray(), True
        try:
            while more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                found += message.get("body", b"")
                more = message.get("more_body", False)
                if len(found) > most:
                    raise Problem(413, f"the body must have at most {most} bytes")
        except asyncio.CancelledError:
            if task not in self._late or task.uncancel() > 0:  # somebody else has cancelled it
                raise
            raise Problem(408, f"the body must be there within {IN_TIME:g} seconds") from None
        finally:
            del self._since[task]
            self._late.discard(task)
        return bytes(found)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_later(IN_TIME / 10, self._look, loop, loop.time() + IN_TIME / 10)

    def _look(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        """Cancel the tasks that take too long; but if the loop was held up, what has arrived is read first."""
        held_up = loop.time() > due + IN_TIME / 10
        for task, since in self._since.items():
            if held_up or loop.time() < since + IN_TIME:
                break
            if task not in self._late:
                self._late.add(task)
                task.cancel()
        self._loop = loop if self._since else None
        if self._since:
            self._look_later(loop)


class _Routes:
    def __init__(self, service: Service) -> None:
        self.service, self.bodies = service, _Bodies()

    def all(self) -> list[Route]:
        """Every path."""
        one = "/v1/deployments/{d}"
        return [
            self._on(f"{one}/decisions", "POST", "decide", lambda h, b: h.decide(bodies.read_decide(b))),
            self._on(f"{one}/rewards", "POST", "reward", lambda h, b: h.reward(bodies.read_reward(b))),
            self._on(f"{one}/batch", "POST", ("decide", "reward"), self._batch),
            self._on(f"{one}/bounds", "POST", "read", lambda h, b: h.bounds(bodies.read_offer(b))),
            self._on(f"{one}/restart", "POST", "admin", lambda h, b: h.restart()),
            self._on(f"{one}/series", "GET", "read", lambda h, b: h.drawn()),
            self._with(f"{one}/decisions/{{id:path}}", "DELETE", "decide", lambda h, p, b: h.forget(p["id"])),
            self._with(f"{one}/watches/{{name:path}}", "GET", "read", lambda h, p, b: h.settled(p["name"])),
            self._with(
                f"{one}/watches/{{name:path}}", "PUT", "admin",
                lambda h, p, b: h.watch(p["name"], bodies.read_watch(b)),
            ),
            Route(f"{one}/log", self._guarded("export", "log", self._log), methods=["GET"]),
            Route(one, self._guarded("read", "state", self._state), methods=["GET"]),
            Route(one, self._guarded("admin", "create", self._create), methods=["PUT"]),
            Route("/v1/deployments", self._guarded("read", "list", self._list), methods=["GET"]),
            Route("/v1/backup", self._guarded("admin", "backup", self._backup), methods=["GET"]),
            Route("/metrics", self._guarded("metrics", "metrics", self._metrics), methods=["GET"]),
            Route("/healthz", self._open(self._health), methods=["GET"]),
            Route("/readyz", self._open(self._ready), methods=["GET"]),
            Route("/openapi.json", self._open(self._openapi), methods=["GET"]),
            Route("/ui", self._open(self._page), methods=["GET"]),
            Route("/ui/{name}", self._open(self._page), methods=["GET"]),
        ]  # fmt: skip

    # -- who may call ------------------------------------------------------------------------------------------

    def _open(self, work: Endpoint) -> _Endpoint:
        """For everybody who reaches it."""

        async def endpoint(request: Request) -> Response:
            try:
                self._check_sender(request)
                return await work(request)
            except Problem as problem:
                return _response(problem)

        return _Endpoint(endpoint)

    def _guarded(self, scopes: str | tuple[str, ...], route: str, work: Endpoint) -> _Endpoint:
        """For those whose token has the scopes; counted and timed."""
        needed = (scopes,) if isinstance(scopes, str) else scopes

        async def endpoint(request: Request) -> Response:
            begin = time.perf_counter()
            try:
                self._check_sender(request)
                self._check_token(request, needed)
                response = await work(request)
            except ClientDisconnect:
                response = _response(Problem(400, "the request ended too soon"))
            except Exception as error:
                try:
                    response = _response(problems.of(error))
                except Exception:
                    journal.line("request failed", route=route, error=f"{type(error).__name__}: {error}")
                    response = await _failed(request, error)
            self.service.metrics.answered(route, response.status_code, time.perf_counter() - begin)
            return response

        return _Endpoint(endpoint)

    def _check_sender(self, request: Request) -> None:
        if request.scope["path"].endswith("\n"):  # which a pattern that ends with $ overlooks
            raise Problem(404, "there is no such path")
        if self.service.tokens is None:
            # Pages of other sites must not reach us, nor through a host name of theirs.
            host, origin = request.headers.get("host", ""), request.headers.get("origin")
            name = host[: host.rfind(":")] if host.rpartition(":")[2].isdigit() else host
            if name.lower() not in LOCAL:
                raise Problem(403, "without tokens the host must be localhost")
            if origin is not None and origin.partition("://")[2] != host:
                raise Problem(403, "without tokens pages of other sites may not ask")

    def _check_token(self, request: Request, needed: tuple[str, ...]) -> None:
        if self.service.tokens is None:
            return
        token = find(self.service.tokens, request.headers.get("authorization", ""))
        if token is None:
            raise Problem(401, "a token of this service is needed: Authorization: Bearer TOKEN")
        about = request.path_params.get("d", ALL)
        if not all(token.allows(scope, about) for scope in needed):
            raise Problem(403, f"the token must have {' and '.join(needed)}, for this deployment")

    # -- a deployment ------------------------------------------------------------------------------------------

    def _on(self, path: str, method: str, scopes: str | tuple[str, ...], work: Work) -> Route:
        return self._with(path, method, scopes, lambda held, parameters, body: work(held, body))

    def _with(
        self,
        path: str,
        method: str,
        scopes: str | tuple[str, ...],
        work: Callable[[Held, Any, bytes], Answer],
    ) -> Route:
        takes_body = method in ("POST", "PUT") and not path.endswith("/restart")

        async def endpoint(request: Request) -> Response:
            parameters, service = request.path_params, self.service
            held = service.of(parameters["d"])
            body = await self._body(request) if takes_body else b""
            answer: Problem | Answer
            try:
                answer = work(held, parameters, body)
            except Exception as error:
                answer = problems.of(error)
            # Refusals wait as well: they may reveal something that is not on the disk yet.
            await service.writer.on_disk()
            return _response(answer)

        name = path.removeprefix("/v1/deployments/{d}/").partition("/")[0]
        return Route(path, self._guarded(scopes, name, endpoint), methods=[method])

    async def _body(self, request: Request) -> bytes:
        kind = request.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != JSON:
            raise Problem(415, "the body must be application/json")
        most = self.service.config.max_body
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > most:
            raise Problem(413, f"the body must have at most {most} bytes")
        return await self.bodies.read(request, most)

    def _batch(self, held: Held, body: bytes) -> Answer:
        items = bodies.read_batch(body)
        answers = []
        for item in items:
            answer: Problem | Answer
            try:
                asked = item.read()
                answer = held.reward(asked) if isinstance(asked, bodies.Reward) else held.decide(asked)
            except Exception as error:
                answer = problems.of(error)
            status, told = (answer.status, answer.body()) if isinstance(answer, Problem) else answer
            answers.append(b'{"status":%d,"body":%b}' % (status, told))
        return 200, b"[%b]" % b",".join(answers)

    async def _state(self, request: Request) -> Response:
        held = self.service.of(request.path_params["d"])
        answer = await asyncio.to_thread(held.state)  # the digest takes a while
        await self.service.writer.on_disk()
        return _response(answer)

    async def _log(self, request: Request) -> Response:
        held = self.service.of(request.path_params["d"])
        after = _count(request, "after", -1, 2**62)
        limit = _count(request, "limit", 1000, MOST_EVENTS)
        lines = await asyncio.to_thread(held.events, after, limit)
        return _response((200, lines), LINES)

    async def _create(self, request: Request) -> Response:
        name = config_.named("name", request.path_params["d"])
        table = bodies.read_table(await self._body(request))
        status = await asyncio.to_thread(self.service.create, name, table)
        held = self.service.of(name)
        await self.service.writer.on_disk()
        return _response((status, (await asyncio.to_thread(held.state))[1]))

    async def _list(self, request: Request) -> Response:
        service = self.service
        ours = {
            name: {"name": name, "address": service.config.address, "ours": True}
            for name in list(service.held)
        }
        rest = {
            name: {"name": name, "address": where, "ours": False}
            for name, where in list(service.others.items())
        }
        return _response((200, bodies.encode([found for _, found in sorted({**rest, **ours}.items())])))

    # -- the service itself --------------------------------------------------------------------------------------

    async def _backup(self, request: Request) -> Response:
        await self.service.writer.on_disk()
        size, pieces = await asyncio.to_thread(backups.made, self.service.database)
        headers = {**HEADERS, "content-length": str(size)}
        return StreamingResponse(pieces, 200, headers, "application/vnd.sqlite3")

    async def _metrics(self, request: Request) -> Response:
        return Response(self.service.metrics.text(), 200, HEADERS, "text/plain; version=0.0.4; charset=utf-8")

    async def _health(self, request: Request) -> Response:
        return _response((200, b'{"status":"alive"}'))

    async def _ready(self, request: Request) -> Response:
        service = self.service
        missing = sorted(name for name in service.config.deployments if name not in service.held)
        if missing or service.writer.troubled:
            return _response(
                Problem(503, "this instance does not write all deployments of its file", missing=missing)
            )
        return _response((200, b'{"status":"ready"}'))

    async def _openapi(self, request: Request) -> Response:
        return _response((200, openapi.text()))

    async def _page(self, request: Request) -> Response:
        found = _pages().get(request.path_params.get("name", "index.html"))
        if found is None:
            raise Problem(404, "there is no such page")
        content, kind = found
        return Response(content, 200, HEADERS, kind)


@functools.cache
def _pages() -> dict[str, tuple[bytes, str | None]]:
    """The files of the page, by name: each with its content and its type."""
    return {path.name: (path.read_bytes(), mimetypes.guess_type(path)[0]) for path in PAGE.iterdir()}


def _count(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise Problem(422, f"{name} must be an integer from 0 to {most}")
    return int(text)
