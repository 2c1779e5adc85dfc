"""The requests that a gateway answers, from which its routes and its OpenAPI document are made."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from paddle_flags._core.status import to_text
from paddle_flags._native import lib

_URN = "urn:paddle-flags:schema:"
_SINCE = "`EPOCH-REVISION`: only what changed later"


class Operation(NamedTuple):
    """One request."""

    method: str
    path: str
    """As Starlette writes it."""
    handler: str
    """The method of Gateway that answers."""
    summary: str
    answer: str
    """The schema of the answer, or the media type."""
    body: str = ""
    """The schema of the body."""
    since: bool = False
    """Whether it takes the parameter `since`."""


_PROCESS = "/v1/processes/{pid:int}"
_FLEET = "/v1/fleets/{fleet:int}"

ROUTES = (
    Operation("GET", "/v1/processes", "processes", "List the processes", "processes"),
    Operation("GET", _PROCESS, "process", "What a process is", "process"),
    Operation("GET", f"{_PROCESS}/flags", "flags", "Its flags", "flags", since=True),
    Operation("GET", f"{_PROCESS}/flags/{{name}}", "flag", "One flag with its history", "flag"),
    Operation("GET", f"{_PROCESS}/changes", "changes", "What was changed", "changes"),
    Operation(
        "POST",
        f"{_PROCESS}/changes",
        "change",
        "Change flags: all of them, or none",
        "change-result",
        "change-request",
    ),
    Operation("POST", f"{_PROCESS}/undo", "undo", "Undo a change", "change-result", "undo-request"),
    Operation(
        "GET",
        f"{_PROCESS}/events",
        "events",
        "Server-sent events: what changes from now on",
        "text/event-stream",
        since=True,
    ),
    Operation("GET", "/v1/fleets", "fleets", "List the fleets", "fleets"),
    Operation("GET", _FLEET, "fleet", "What was seen of a fleet last", "fleet"),
    Operation(
        "POST",
        f"{_FLEET}/changes",
        "change_fleet",
        "Change flags of all members, or of some",
        "fleet-change-result",
        "fleet-change-request",
    ),
    Operation("GET", "/v1/openapi.json", "openapi", "This document", "application/json"),
)


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for each in ROUTES:
        path = each.path.replace(":int", "")
        paths.setdefault(path, {})[each.method.lower()] = _operation(each)
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "paddle_flags gateway", "version": to_text(lib.PD_VERSION)},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {"schemas": _schemas(), "securitySchemes": {"token": bearer}},
    }


def _operation(each: Operation) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if kind else "string"},
        }
        for name, kind in re.findall(r"\{(\w+)(:int)?\}", each.path)
    ]
    if each.since:
        since = {
            "name": "since",
            "in": "query",
            "description": _SINCE,
            "schema": {"type": "string"},
        }
        parameters.append(since)
    made: dict[str, Any] = {
        "operationId": each.handler,
        "summary": each.summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "it is as asked", "content": _content(each.answer)},
            "default": {
                "description": "a problem (RFC 9457)",
                "content": {"application/problem+json": {"schema": _reference("problem")}},
            },
        },
    }
    if each.body:
        made["requestBody"] = {"required": True, "content": _content(each.body)}
    return made


def _content(name: str) -> dict[str, Any]:
    if "/" in name:
        return {name: {}}
    return {"application/json": {"schema": _reference(name)}}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas() -> dict[str, Any]:
    """Return the schemas of the package, each as it is in one document."""
    found = {}
    for file in sorted(
        files(__package__).joinpath("schemas").iterdir(), key=lambda each: each.name
    ):
        name = file.name.removesuffix(".json")
        schema = _embed(json.loads(file.read_text("ascii")), name)
        del schema["$schema"], schema["$id"]
        found[name] = schema
    return found


def _embed(node: Any, name: str) -> Any:
    """Return a part of the schema `name` as it is in the document."""
    if isinstance(node, list):
        return [_embed(each, name) for each in node]
    if not isinstance(node, dict):
        return node
    parts = {key: _embed(each, name) for key, each in node.items()}
    if isinstance(parts.get("$ref"), str):
        other, _, pointer = parts["$ref"].partition("#")
        parts["$ref"] = f"#/components/schemas/{other.removeprefix(_URN) or name}{pointer}"
    return parts
