"""What a client raises."""

from __future__ import annotations

from typing import Any, NamedTuple

from paddle_flags.errors import FlagError


class Problem(NamedTuple):
    """What a process answered in place of doing what was asked (RFC 9457)."""

    status: int
    """The code of the error: 422."""
    type: str
    """What the type ends in: `"rejected"`."""
    title: str
    detail: str
    errors: tuple[dict[str, Any], ...] = ()
    """All that was wrong, as `{"name", "code", "detail"}`."""
    current: dict[str, str] | None = None
    """With 409, the texts that the flags have, by name."""


class LiveError(FlagError):
    """A process refused a request, or its answer isn't one of the live protocol.

    `errors` has one exception for each thing that was wrong.
    """

    __module__ = "paddle_flags.live"

    problem: Problem | None = None
    """The answer; None if there was none, or it isn't one of the live protocol."""

    name: str | None = None
    """The flag that it is about, in `errors`."""


class LiveConnectionError(LiveError, OSError):
    """The process can't be reached, or the connection to it was lost."""

    __module__ = "paddle_flags.live"


TITLES = {
    "busy": "too much is asked at a time",
    "confirm": "an unsafe flag must be confirmed",
    "conflict": "something has changed meanwhile",
    "forbidden": "this isn't allowed",
    "headers": "the headers are too large",
    "host": "the request is for another host",
    "internal": "the server has failed",
    "malformed": "the request isn't one of this API",
    "media-type": "the body has another type",
    "method": "the method isn't for this resource",
    "rejected": "a value was rejected",
    "timeout": "it took too long",
    "token": "a token is needed",
    "too-large": "the body is too large",
    "unknown": "no such flag, change or resource",
    "unreachable": "the process can't be reached",
}
"""The titles of all types of problems, also of those that only a gateway has."""

_MOST_ERRORS = 1000


def make_problem_error(status: int, kind: str, fields: dict[str, Any]) -> LiveError:
    """Return the exception for a problem, of which `fields` has `detail`, `errors` and `current`.

    They may come from any program that listens there.
    """
    listed, current = fields.get("errors"), fields.get("current")
    title = TITLES.get(kind, kind or f"HTTP status {status}")
    problem = Problem(
        status,
        kind,
        title,
        _get_text_field(fields, "detail") or title,
        tuple(each for each in listed[:_MOST_ERRORS] if isinstance(each, dict))
        if isinstance(listed, list)
        else (),
        {str(k): str(v) for k, v in current.items()} if isinstance(current, dict) else None,
    )
    error = LiveError(problem.detail)
    error.problem = problem
    error._errors = tuple(_make_flag_error(each, problem) for each in problem.errors)
    if error.errors:
        error.status = error.errors[0].status
    return error


def _make_flag_error(fields: dict[str, Any], problem: Problem) -> LiveError:
    name = _get_text_field(fields, "name")
    part = LiveError(_get_text_field(fields, "detail") or f"{name}: {problem.title}")
    part.problem = problem
    part.name = name or None
    part.status = _get_text_field(fields, "code") or LiveError.status
    return part


def _get_text_field(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
