"""The description of the API, as OpenAPI 3.1 has it; the schemas come from the bodies themselves."""

from __future__ import annotations

from typing import Any

import msgspec

import unipac
from unipac.serve import bodies, tokens
from unipac.serve.problems import TITLES

REFERENCE = "#/components/schemas/{name}"
DECISION = {
    "type": "object",
    "required": [
        "id", "action", "mean", "lcb", "ucb", "certificate", "certified", "propensity", "holdout", "seq"
    ],
    "properties": {
        "id": {"type": "string"},
        "action": {"type": ["string", "integer"], "description": "The id of the action to take."},
        **{
            name: {"type": ["number", "null"], "description": told}
            for name, told in (
                ("mean", "The estimate of its reward."),
                ("lcb", "The lower bound of its expected reward."),
                ("ucb", "The upper bound of its expected reward."),
                ("certificate", "A bound on what the action can lose against the best one."),
                ("propensity", "The probability with which it was taken."),
            )
        },
        "certified": {"type": "boolean", "description": "Whether the certificate is proven."},
        "holdout": {"type": "boolean", "description": "Whether it was drawn at random."},
        "seq": {"type": "integer", "description": "The number of the event in the log."},
        "misspecification": {"type": "number"},
    },
}  # fmt: skip
SEQ = {"type": "object", "required": ["seq"], "properties": {"seq": {"type": "integer"}}}
VERDICT = {
    "type": "object",
    "required": ["name", "verdict"],
    "properties": {"name": {"type": "string"}, "verdict": {"type": ["object", "null"]}},
}
BOUNDS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["action", "mean", "lcb", "ucb"],
        "properties": {
            "action": {"type": ["string", "integer"]},
            **{name: {"type": ["number", "null"]} for name in ("mean", "lcb", "ucb")},
        },
    },
}
ANSWERS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["status", "body"],
        "properties": {"status": {"type": "integer"}, "body": {"type": "object"}},
    },
}
PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
        "detail": {"type": "string"}, "address": {"type": "string"},
    },
}  # fmt: skip
OBJECT = {"type": "object"}
TEXT = {"type": "string"}
ALWAYS = (400, 401, 403, 404, 421, 503)
BODY = (408, 413, 415, 422)


def text() -> bytes:
    """The whole description."""
    return msgspec.json.encode(described())


def described() -> dict[str, Any]:
    """The same, as a dict."""
    kinds = [bodies.Decide, bodies.Reward, bodies.Offer, bodies.Item, bodies.Watch]
    schemas = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    decide, reward, offer, item, watch = schemas[0]
    batch = {"type": "array", "items": item, "maxItems": bodies.MOST_ITEMS}
    one = "/v1/deployments/{d}"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "unipac serve", "version": unipac.__version__,
            "description": "Decisions with a proven bound. What was acknowledged with 200, 201 or 204 is on the disk.",
        },
        "components": {
            "schemas": {**schemas[1], "Problem": PROBLEM, "Decision": DECISION},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
        "paths": {
            "/v1/deployments": {"get": _of("List the deployments", "read", {200: {"type": "array", "items": OBJECT}})},
            one: {
                "put": _of("Make a deployment", "admin", {200: OBJECT, 201: OBJECT}, OBJECT, (409,)),
                "get": _of("What is known of a deployment", "read", {200: OBJECT}),
                "parameters": [_in_path("d")],
            },
            f"{one}/decisions": {
                "post": _of(
                    "Decide; the same id, the same decision", "decide", dict.fromkeys((200, 201), _ref("Decision")),
                    decide, (409, 429),
                ),
                "parameters": [_in_path("d")],
            },
            f"{one}/decisions/{{id}}": {
                "delete": _of("Forget a decision: nothing is learned from it", "decide", {204: None}, None, (410, 422)),
                "parameters": [_in_path("d"), _in_path("id")],
            },
            f"{one}/rewards": {
                "post": _of("A reward has come", "reward", {200: SEQ, 201: SEQ}, reward, (409, 410)),
                "parameters": [_in_path("d")],
            },
            f"{one}/batch": {
                "post": _of("Many decisions and rewards", "decide and reward", {200: ANSWERS}, batch),
                "parameters": [_in_path("d")],
            },
            f"{one}/bounds": {
                "post": _of("Mean and bounds of each action", "read", {200: BOUNDS}, offer),
                "parameters": [_in_path("d")],
            },
            f"{one}/watches/{{name}}": {
                "put": _of("Look for an action within eps of the best", "admin", {200: VERDICT}, watch, (409, 429)),
                "get": _of("The verdict, or null", "read", {200: VERDICT}),
                "parameters": [_in_path("d"), _in_path("name")],
            },
            f"{one}/restart": {
                "post": _of("Begin with an empty agent", "admin", {200: SEQ}),
                "parameters": [_in_path("d")],
            },
            f"{one}/log": {
                "get": _of("Events as lines of JSON", "export", {200: TEXT}, None, (422,), "application/x-ndjson"),
                "parameters": [_in_path("d"), _in_query("after", 2**62), _in_query("limit", 10_000)],
            },
            f"{one}/series": {
                "get": _of("What the page draws", "read", {200: OBJECT}), "parameters": [_in_path("d")],
            },
            "/healthz": {"get": _open("Whether the process is alive", {200: OBJECT})},
            "/readyz": {"get": _open("Whether it writes its deployments", {200: OBJECT, 503: _ref("Problem")})},
            "/metrics": {"get": _of("For Prometheus", "metrics", {200: TEXT}, None, (), "text/plain")},
        },
    }  # fmt: skip


def _ref(name: str) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=name)}


def _in_path(name: str) -> dict[str, Any]:
    pattern = "^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$" if name == "d" else "^[!-~]{1,256}$"
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": pattern}}


def _in_query(name: str, most: int) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": most}}


def _open(told: str, answers: dict[int, Any]) -> dict[str, Any]:
    responses = {
        str(status): {"description": "", "content": {"application/json": {"schema": schema}}}
        for status, schema in answers.items()
    }
    return {"summary": told, "security": [], "responses": responses}


def _of(
    told: str,
    scope: str,
    answers: dict[int, Any],
    body: Any = None,
    problems: tuple[int, ...] = (),
    kind: str = "application/json",
) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, schema in answers.items():
        content = {} if schema is None else {"content": {kind: {"schema": schema}}}
        responses[str(status)] = {"description": "done", **content}
    for status in (*ALWAYS, *(BODY if body is not None else ()), *problems):
        content = {"content": {"application/problem+json": {"schema": _ref("Problem")}}}
        responses[str(status)] = {"description": TITLES[status], **content}
    found = {
        "summary": told,
        "description": f"Scope: {scope}; all are {', '.join(tokens.SCOPES)}.",
        "responses": responses,
    }
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found
