"""The OpenAPI document of a gateway, in which its paths and the schemas come together."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from paddle_flags._core.status import to_text
from paddle_flags._native import lib

_ELSEWHERE = re.compile(r'"urn:paddle-flags:schema:([a-z-]+)#?')


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    package = files("paddle_flags.gateway")
    document: dict[str, Any] = json.loads(package.joinpath("openapi.json").read_text("ascii"))
    document["info"]["version"] = to_text(lib.PD_VERSION)
    found = sorted(package.joinpath("schemas").iterdir(), key=lambda each: each.name)
    schemas = {each.name.removesuffix(".json"): each.read_text("ascii") for each in found}
    document["components"]["schemas"] = {name: _part(name, schemas[name]) for name in schemas}
    return document


def _part(name: str, text: str) -> dict[str, Any]:
    """Return the schema of a file as it is in the document, where others have other addresses."""
    text = text.replace('"#/', f'"#/components/schemas/{name}/')
    schema: dict[str, Any] = json.loads(_ELSEWHERE.sub(r'"#/components/schemas/\1', text))
    del schema["$schema"], schema["$id"]
    return schema
