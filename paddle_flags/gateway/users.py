"""Tokens, and who they stand for."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.frames import public_class
from paddle_flags._core.status import shown
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from typing import Literal

    May = Literal["read", "change"]

_SHORTEST, _LONGEST = 16, 512
_LABEL = re.compile(r"[^\s#]{1,100}")
_SUGGESTION = "make one with secrets.token_urlsafe()"


class User(NamedTuple):
    """Who a request comes from, and what they may do.

    `label` is shown in the list of changes; `may` is `"read"`, or `"change"`, which includes
    reading.
    """

    label: str
    may: May = "read"


@public_class
class Token:
    """A secret of clients, and what it allows: `"read"`, or `"change"`, which includes reading."""

    __slots__ = ("may", "text")

    def __init__(self, text: str, *, may: May = "read") -> None:
        if not isinstance(text, str):
            message = f"expected the token as str, not {type(text).__name__}"
            raise FlagTypeError(message)
        if not _SHORTEST <= len(text) <= _LONGEST:
            what = f"has {len(text)} characters, expected {_SHORTEST} to {_LONGEST}"
            message = f"the token {what}; {_SUGGESTION}"
            raise FlagArgumentError(message)
        if not all("!" <= character <= "~" for character in text):
            message = f"the token isn't printable ASCII without blanks; {_SUGGESTION}"
            raise FlagArgumentError(message)
        if may not in ("read", "change"):
            message = f"may: {shown(may)}: expected 'read' or 'change'"
            raise FlagArgumentError(message)
        self.text = text
        self.may = may

    def __repr__(self) -> str:
        """Return what the token allows, without its text."""
        return f"<Token: may {self.may}>"


def read_tokens(path: str) -> dict[str, Token]:
    """Return the tokens in a file by label; each line has `LABEL read|change TOKEN`.

    Nobody but its owner may be able to read the file.
    """
    try:
        with open(path, encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                message = f"{path}: others can read it; run: chmod 600 {path}"
                raise FlagArgumentError(message)
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "expected UTF-8"
        message = f"{path}: {why}"
        raise FlagArgumentError(message) from None
    tokens: dict[str, Token] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        try:
            _add(tokens, parts)
        except FlagArgumentError as error:
            message = f"{path}:{number}: {error}"
            raise FlagArgumentError(message) from None
    if not tokens:
        message = f"{path}: expected lines with LABEL read|change TOKEN"
        raise FlagArgumentError(message)
    return tokens


def _add(tokens: dict[str, Token], parts: list[str]) -> None:
    """Add the token of a line."""
    if len(parts) != 3 or not _LABEL.fullmatch(parts[0]):  # noqa: PLR2004 - columns
        message = "expected LABEL read|change TOKEN"
        raise FlagArgumentError(message)
    label, may, text = parts
    if label in tokens:
        message = f"the label {shown(label)} is there twice"
        raise FlagArgumentError(message)
    tokens[label] = Token(text, may=may)  # type: ignore[arg-type] # checked
