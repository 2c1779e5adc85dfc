"""The description of the API: an OpenAPI document, made from the types of the documents."""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from paddle_flags import __version__
from paddle_flags.gateway import documents
from paddle_flags.live import _documents
from paddle_flags.live._documents import UNIONS

_NAMES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    NoneType: "null",
}
_STREAM = "text/event-stream"


class _Operation(NamedTuple):
    """A request of the API."""

    name: str
    summary: str
    answer: Any
    body: Any = None
    has_since: bool = False
    media_type: str = "application/json"


_PROCESS = "/v1/processes/{pid}"
_OPERATIONS = {
    ("get", "/v1/processes"): _Operation("processes", "List the processes", documents.Processes),
    ("get", _PROCESS): _Operation("process", "What a process is", _documents.Process),
    ("get", f"{_PROCESS}/flags"): _Operation(
        "flags", "Its flags", _documents.Flags, has_since=True
    ),
    ("get", f"{_PROCESS}/flags/{{name}}"): _Operation(
        "flag", "One flag with its history", _documents.Flag
    ),
    ("get", f"{_PROCESS}/changes"): _Operation("changes", "What was changed", _documents.Changes),
    ("post", f"{_PROCESS}/changes"): _Operation(
        "change",
        "Change flags: all of them, or none",
        _documents.ChangeResult,
        documents.ChangeRequest,
    ),
    ("post", f"{_PROCESS}/undo"): _Operation(
        "undo", "Undo a change", _documents.ChangeResult, documents.UndoRequest
    ),
    ("get", f"{_PROCESS}/events"): _Operation(
        "events",
        "Server-sent events: what changes from now on",
        Annotated[
            _documents.Process | _documents.FlagEvents | _documents.Gap,
            "the data of the events `hello`, `changes` and `gap`",
        ],
        has_since=True,
        media_type=_STREAM,
    ),
    ("get", "/v1/fleets"): _Operation("fleets", "List the fleets", documents.Fleets),
    ("get", "/v1/fleets/{fleet}"): _Operation(
        "fleet", "What was seen of a fleet last", documents.Fleet
    ),
    ("post", "/v1/fleets/{fleet}/changes"): _Operation(
        "change_fleet",
        "Change flags of all members, or of some",
        documents.FleetChangeResult,
        documents.FleetChangeRequest,
    ),
    ("get", "/v1/openapi.json"): _Operation("openapi", "This document", Any),
}
_PARAMETERS = {"pid": int, "name": str, "fleet": int}


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for (verb, path), operation in _OPERATIONS.items():
        paths.setdefault(path, {})[verb] = _describe_operation(path, operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "paddle_flags gateway", "version": __version__},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_operation(
    path: str, operation: _Operation, schemas: dict[str, Any]
) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _make_json_schema(kind, schemas)}
        for name, kind in _PARAMETERS.items()
        if f"{{{name}}}" in path
    ]
    if operation.has_since:
        about = "`EPOCH-REVISION`: only what changed later"
        since = {"name": "since", "in": "query", "description": about}
        parameters.append({**since, "schema": _make_json_schema(str, schemas)})
    made = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "it is as asked",
                "content": {
                    operation.media_type: {"schema": _make_json_schema(operation.answer, schemas)}
                },
            },
            "default": {
                "description": "a problem (RFC 9457)",
                "content": {
                    "application/problem+json": {
                        "schema": _make_json_schema(documents.Problem, schemas)
                    }
                },
            },
        },
    }
    if operation.body is not None:
        body = {"application/json": {"schema": _make_json_schema(operation.body, schemas)}}
        made["requestBody"] = {"required": True, "content": body}
    return made


def _make_json_schema(form: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type; those of objects with known fields go to `schemas`."""
    origin, parts = get_origin(form), get_args(form)
    if is_typeddict(form):
        if form.__name__ not in schemas:
            schemas[form.__name__] = _object_schema(form, schemas)
        return {"$ref": f"#/components/schemas/{form.__name__}"}
    if origin is NotRequired:
        return _make_json_schema(parts[0], schemas)
    if origin is Annotated:
        made = _make_json_schema(parts[0], schemas)
        for each in form.__metadata__:
            made |= {"description": each} if isinstance(each, str) else each.keywords
        return made
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": _make_json_schema(parts[0], schemas)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _make_json_schema(parts[1], schemas)}
    if origin in UNIONS:
        return {"anyOf": [_make_json_schema(each, schemas) for each in parts]}
    return {} if form is Any else {"type": _NAMES[form]}


def _object_schema(form: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    fields = get_type_hints(form, include_extras=True)
    about = {"description": form.__doc__} if form.__doc__ else {}
    return {
        **about,
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in fields if name in form.__required_keys__],
        "properties": {name: _make_json_schema(each, schemas) for name, each in fields.items()},
    }
