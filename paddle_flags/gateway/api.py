"""The OpenAPI document of a gateway, which is made of the rows below and the schemas."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from paddle_flags._core.status import to_text
from paddle_flags._native import lib

_PID, _FLEET = "/v1/processes/{pid}", "/v1/fleets/{fleet}"
_STREAM = "text/event-stream"

# Method and path: an identity, a summary, the schemas of the answer and of the body.
_REQUESTS = {
    "get /v1/processes": ("processes", "List the processes", "processes", ""),
    f"get {_PID}": ("process", "What a process is", "process", ""),
    f"get {_PID}/flags": ("flags", "Its flags", "flags", ""),
    f"get {_PID}/flags/{{name}}": ("flag", "One flag with its history", "flag", ""),
    f"get {_PID}/changes": ("changes", "What was changed", "changes", ""),
    f"post {_PID}/changes": (
        "change",
        "Change flags: all of them, or none",
        "change-result",
        "change-request",
    ),
    f"post {_PID}/undo": ("undo", "Undo a change", "change-result", "undo-request"),
    f"get {_PID}/events": ("events", "Server-sent events: what changes from now on", _STREAM, ""),
    "get /v1/fleets": ("fleets", "List the fleets", "fleets", ""),
    f"get {_FLEET}": ("fleet", "What was seen of a fleet last", "fleet", ""),
    f"post {_FLEET}/changes": (
        "change_fleet",
        "Change flags of all members, or of some",
        "fleet-change-result",
        "fleet-change-request",
    ),
    "get /v1/openapi.json": ("openapi", "This document", "application/json", ""),
}
_SINCE = {
    "name": "since",
    "in": "query",
    "description": "`EPOCH-REVISION`: only what changed later",
    "schema": {"type": "string"},
}
_ELSEWHERE = re.compile(r'"urn:paddle-flags:schema:([a-z-]+)#?')


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for request, row in _REQUESTS.items():
        method, path = request.split()
        paths.setdefault(path, {})[method] = _operation(path, *row)
    folder = files("paddle_flags.gateway").joinpath("schemas")
    found = sorted(folder.iterdir(), key=lambda each: each.name)
    schemas = {each.name.removesuffix(".json"): each.read_text("ascii") for each in found}
    return {
        "openapi": "3.1.0",
        "info": {"title": "paddle_flags gateway", "version": to_text(lib.PD_VERSION)},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": {name: _part(name, schemas[name]) for name in schemas},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(path: str, name: str, summary: str, answer: str, body: str) -> dict[str, Any]:
    parameters = [
        {"name": each, "in": "path", "required": True, "schema": {"type": _type_of(each)}}
        for each in re.findall(r"\{(\w+)\}", path)
    ]
    problem = {"description": "a problem (RFC 9457)", "content": _content("problem", "problem+")}
    made: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "parameters": parameters + ([_SINCE] if name in ("flags", "events") else []),
        "responses": {
            "200": {"description": "it is as asked", "content": _content(answer)},
            "default": problem,
        },
    }
    if body:
        made["requestBody"] = {"required": True, "content": _content(body)}
    return made


def _type_of(parameter: str) -> str:
    return "string" if parameter == "name" else "integer"


def _content(name: str, kind: str = "") -> dict[str, Any]:
    """Return what says that a body follows a schema; a media type stands for itself."""
    if "/" in name:
        return {name: {}}
    return {f"application/{kind}json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _part(name: str, text: str) -> dict[str, Any]:
    """Return the schema of a file as it is in the document, where others have other addresses."""
    text = text.replace('"#/', f'"#/components/schemas/{name}/')
    schema: dict[str, Any] = json.loads(_ELSEWHERE.sub(r'"#/components/schemas/\1', text))
    del schema["$schema"], schema["$id"]
    return schema
