"""Answers that are errors: problem details (RFC 9457)."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

_TITLES = {
    "forbidden": "this isn't allowed",
    "headers": "the headers are too large",
    "host": "the request is for another host",
    "internal": "the gateway has failed",
    "malformed": "the request isn't one of this API",
    "media-type": "the body has another type",
    "method": "the method isn't for this resource",
    "timeout": "the request took too long",
    "token": "a token is needed",
    "too-large": "the body is too large",
    "unknown": "no such resource",
    "unreachable": "the process can't be reached",
    "busy": "too many requests",
}


class Refusal(Exception):  # noqa: N818 - it is an answer
    """A request is answered by a problem."""

    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.more = more
        """Other members, of which those without a value are left out."""


class Json(Response):
    """A document."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the document as ASCII."""
        return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"


class ProblemDetails(Json):
    """A problem."""

    media_type = "application/problem+json"


def problem(refusal: Refusal) -> ProblemDetails:
    """Return the answer for a refusal."""
    document = {
        "type": f"urn:paddle-flags:problem:{refusal.kind}",
        "title": _TITLES.get(refusal.kind, refusal.kind),
        "status": refusal.status,
        "detail": refusal.detail,
        **{name: value for name, value in refusal.more.items() if value},
    }
    headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}  # noqa: PLR2004
    return ProblemDetails(document, refusal.status, headers)
