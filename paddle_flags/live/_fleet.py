"""Requests of the fleet: the library judges them like all others, and the fleet answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags.live._body import Field


class Asked(NamedTuple):
    """A request of the fleet that whoever asks may make."""

    fields: list[Field] | None
    """What to change, as the library has checked it; None: the request only reads."""

    duration: float | None
    """Seconds; None: for good."""

    who: dict[str, Any]
    """As in an event of the audit."""


class Reply(NamedTuple):
    """What the fleet answers."""

    status: int
    document: dict[str, Any] | None = None
    detail: str = ""
    """What is wrong, if there is no document."""

    event: dict[str, Any] | None = None
    """For the audit."""


_answerer: Callable[[Asked], Reply] | None = None  # of the fleet that this process is a member of


def let_answer(answerer: Callable[[Asked], Reply] | None) -> None:
    """Let a function answer requests of the fleet from now on; None: there is no fleet."""
    global _answerer  # noqa: PLW0603 - one process, one membership
    _answerer = answerer


def answer(asked: Asked) -> Reply:
    """Return the answer of the fleet."""
    answerer = _answerer
    if answerer is None:
        return Reply(404, detail="no fleet: this process is no member of one")
    return answerer(asked)
