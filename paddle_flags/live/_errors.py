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


_PREFIX = "urn:paddle-flags:problem:"
_MOST_ERRORS = 1000


def refusal(status: int, document: Any) -> LiveError:
    """Return the exception for a problem that a process answered."""
    fields: dict[str, Any] = document if isinstance(document, dict) else {}
    title = _text(fields, "title") or f"HTTP status {status}"
    listed: Any = fields.get("errors")
    listed = listed[:_MOST_ERRORS] if isinstance(listed, list) else []
    current: Any = fields.get("current")
    problem = Problem(
        status,
        _text(fields, "type").removeprefix(_PREFIX),
        title,
        _text(fields, "detail") or title,
        tuple(each for each in listed if isinstance(each, dict)),
        {str(k): str(v) for k, v in current.items()} if isinstance(current, dict) else None,
    )
    error = LiveError(problem.detail)
    error.problem = problem
    error._errors = tuple(_part(each, problem) for each in problem.errors)  # noqa: SLF001
    if error.errors:
        error.status = error.errors[0].status
    return error


def _part(fields: dict[str, Any], problem: Problem) -> LiveError:
    name = _text(fields, "name")
    part = LiveError(_text(fields, "detail") or f"{name}: {problem.title}")
    part.problem = problem
    part.name = name or None
    part.status = _text(fields, "code") or LiveError.status
    return part


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
