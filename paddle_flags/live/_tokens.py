"""Who may do what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.status import shown
from paddle_flags._native import lib
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from typing import Literal

    May = Literal["read", "change"]

SHORTEST, LONGEST = 16, 512
_SUGGESTION = "make one with secrets.token_urlsafe()"


def may_bits(may: str) -> int:
    """Return PD_LIVE_READ and the like; raise FlagArgumentError for another right."""
    if may == "read":
        return int(lib.PD_LIVE_READ)
    if may == "change":
        return int(lib.PD_LIVE_READ | lib.PD_LIVE_CHANGE)
    message = f"may: {shown(may)}: expected 'read' or 'change'"
    raise FlagArgumentError(message)


class Token:
    """A secret of clients on TCP, and what it allows.

    `may` is `"read"`, or `"change"`, which includes reading.
    """

    __slots__ = ("bits", "may", "text")

    def __init__(self, text: str, *, may: May = "read") -> None:
        if not isinstance(text, str):
            message = f"expected the token as str, not {type(text).__name__}"
            raise FlagTypeError(message)
        if not SHORTEST <= len(text) <= LONGEST:
            what = f"has {len(text)} characters, expected {SHORTEST} to {LONGEST}"
            message = f"the token {what}; {_SUGGESTION}"
            raise FlagArgumentError(message)
        if not all("!" <= character <= "~" for character in text):
            message = f"the token isn't printable ASCII without blanks; {_SUGGESTION}"
            raise FlagArgumentError(message)
        self.text = text
        self.may = may
        self.bits = may_bits(may)

    def __repr__(self) -> str:
        return f"<Token: may {self.may}>"


class User(NamedTuple):
    """Who a request of a WSGI application comes from, and what they may do.

    `label` is shown in the list of changes; `may` is `"read"` or `"change"`.
    """

    label: str
    may: May = "read"
