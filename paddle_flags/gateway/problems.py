"""Answers that are errors: problem details (RFC 9457)."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from paddle_flags.live._errors import TITLES, LiveConnectionError, LiveError, Problem
from paddle_flags.live._rest import PROBLEM


class Refusal(LiveError):
    """A request is answered by a problem, not of a process."""

    def __init__(
        self, status: int, kind: str, detail: str, errors: tuple[dict[str, Any], ...] = ()
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(status, kind, TITLES[kind], detail, errors)


class JsonResponse(Response):
    """A document."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the document as ASCII."""
        return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"


class ProblemDetails(JsonResponse):
    """A problem."""

    media_type = "application/problem+json"


def problem_response(error: LiveError) -> ProblemDetails:
    """Return the answer to a request that was refused here, or by a process."""
    found = error.problem
    if found is None:
        kind = "unreachable" if isinstance(error, LiveConnectionError) else "internal"
        found = Problem(502, kind, TITLES[kind], str(error))
    document = {name: value for name, value in found._asdict().items() if value}
    document["type"] = PROBLEM + found.type
    headers = {"WWW-Authenticate": "Bearer"} if found.status == 401 else {}
    return ProblemDetails(document, found.status, headers)
